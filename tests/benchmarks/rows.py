"""One measured figure, and what it has to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, on what, in which unit (`1` for a ratio or a count), and between which bars it has to be.

    Attributes:
      least, most: the bars; None for none.
    """

    case: str
    metric: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def held(self) -> bool | None:
        """Whether the value is within its bars; None without any. What is not a number holds none."""
        if self.bar is None:
            return None
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    @property
    def bar(self) -> str | None:
        """The bars in words; None without any."""
        words = [f"{name} {bar:g}" for name, bar in (("least", self.least), ("most", self.most)) if bar is not None]
        return f"at {', at '.join(words)}" if words else None

    def as_json(self) -> dict[str, str | float | bool]:
        """The row as it is stored; bars only where there are some."""
        row: dict[str, str | float | bool] = {
            "case": self.case,
            "metric": self.metric,
            "value": self.value,
            "unit": self.unit,
        }
        bars = {"least": self.least, "most": self.most, "held": self.held}
        return row | {name: bar for name, bar in bars.items() if bar is not None}


def by_case(document: Mapping[str, object]) -> dict[str, dict[str, float]]:
    """The values of a stored document, by case and metric."""
    rows = document["rows"]
    assert isinstance(rows, list), "a list of rows"
    cases: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        cases[row["case"]][row["metric"]] = row["value"]
    return cases
