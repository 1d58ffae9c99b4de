"""One measured figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, on what, and in which unit (`1` for a ratio)."""

    case: str
    metric: str
    value: float
    unit: str

    def as_json(self) -> dict[str, str | float]:
        """The row as it is stored."""
        return asdict(self)
