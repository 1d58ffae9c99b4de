"""`make readme`: the errors of everyday questions, written into docs/answers.md from `results/everyday.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.benchmarks.everyday.tables import TABLES
from tests.benchmarks.rows import by_case
from tests.release.readme import replaced

RESULTS = Path(__file__).parents[1] / "results" / "everyday.json"
PAGE = Path(__file__).parents[3] / "docs" / "answers.md"
MARKERS = ("<!-- everyday: written by `make readme` -->", "<!-- end of everyday -->")

_KINDS = ("count", "sum", "average", "people", "median", "p90")
_GROUPINGS = ("plain", "5 groups", "50 groups", "500 groups", "months")
_MEAN = "of the oracle, geometric mean"
_ERROR = "error, median of"
_TOGETHER = ("all tables: counts, sums and people", "all tables: averages")


def block(document: Mapping[str, object]) -> str:
    """The table as Markdown. Raises: KeyError for a document without the figures."""
    cases = by_case(document)
    sums, averages = (cases[name][_MEAN] for name in _TOGETHER)
    (releases,) = {
        metric for metric in cases[f"{TABLES[0].name}: count, plain, epsilon 1"] if metric.startswith(_ERROR)
    }
    return "\n".join(
        [
            f"Measured by `make benchmark NAME=everyday` at {document['commit']}: {releases} releases.",
            f"The errors of counts, sums and people are {sums:.3g} times those of the best threshold in hindsight.",
            f"Those of averages are {averages:.3g} times. These are geometric means; the goals are 1.6 and 2.",
            "",
            f"| table | question | {' | '.join(_GROUPINGS)} |",
            f"| --- | --- |{' ---: |' * len(_GROUPINGS)}",
            *_lines(cases),
        ]
    )


def _lines(cases: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for table in TABLES:
        for kind in _KINDS:
            found = [_cell(cases[f"{table.name}: {kind}, {grouping}, epsilon 1"]) for grouping in _GROUPINGS]
            yield f"| {table.name} | {kind} | {' | '.join(found)} |"


def _cell(metrics: Mapping[str, float]) -> str:
    error = next((value for metric, value in metrics.items() if metric.startswith(_ERROR)), None)
    if error is None:
        return "refused"
    over = metrics.get("of the oracle")
    return f"{_short(error)}%" + ("" if over is None else f" ({_short(over)})")


def _short(value: float) -> str:
    """Two digits, and whole from ten on."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def stored() -> Mapping[str, object]:
    """What `make benchmark NAME=everyday` has stored."""
    document: Mapping[str, object] = json.loads(RESULTS.read_text())
    return document


def main() -> int:
    """Rewrite the page; returns the exit code."""
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), MARKERS, block(stored())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
