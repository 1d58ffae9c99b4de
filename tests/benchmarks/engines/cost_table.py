"""`make readme`: the measured cost model of the engines, written into server/backends/README.md.

Everything in it follows from `tests/benchmarks/results/engines.json`; `tests/unit/test_cost_table.py` fails where the
README says anything else.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.engines.costs import COSTED, READ, ROWS, STEPS
from tests.benchmarks.rows import by_case
from tests.release.readme import replaced

RESULTS = Path(__file__).parents[1] / "results" / "engines.json"
README = Path(__file__).parents[3] / "server" / "backends" / "README.md"
MARKERS = ("<!-- cost model: written by `make readme` -->", "<!-- end of cost model -->")

_STORED_WITH = "PostgreSQL"
_MILLION = 1e6

Figures = Mapping[str, Mapping[str, float]]
"""By case and metric, what was measured."""


@dataclass(frozen=True)
class Line:
    """Seconds against rows: of two measurements, those that pass through both.

    Attributes:
      fixed_s: without rows; never below 0.
      each_s: per row.
    """

    fixed_s: float
    each_s: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Line:
        """The line through the measurement of the fewest rows and that of the most; of one, through none."""
        (few, few_s), (many, many_s) = min(points), max(points)
        if few == many:
            return cls(0.0, many_s / many)
        each_s = (many_s - few_s) / (many - few)
        return cls(max(0.0, few_s - each_s * few), each_s)

    def rows_until_below(self, other: Line) -> float:
        """From how many rows on this one takes less; 0: always, infinity: never."""
        if self.each_s >= other.each_s:
            return 0.0 if self.each_s == other.each_s and self.fixed_s < other.fixed_s else math.inf
        return max(0.0, (self.fixed_s - other.fixed_s) / (other.each_s - self.each_s))


def block(document: Mapping[str, object]) -> str:
    """The cost model as Markdown.

    Args:
      document: what `make benchmark NAME=engines` has stored.
    Raises: KeyError for a document without the costs of the steps.
    """
    found, measured = by_case(document), document["parts"]
    assert isinstance(measured, Mapping), "by name"
    commits, machines = (
        ", ".join(dict.fromkeys(part[name] for part in measured.values())) for name in ("commit", "machine")
    )
    parts = [
        f"By `make benchmark NAME=engines` at {commits}, on {machines}:\nsums by nation of TPC-H, in seconds.",
        "\n".join(_steps(found)),
        "\n".join(_lines(found)),
        "\n".join(_where_each_pays(found)),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Rewrite the block between the markers; returns the exit code."""
    text = README.read_text(encoding="utf-8")
    README.write_text(replaced(text, MARKERS, block(json.loads(RESULTS.read_text()))), encoding="utf-8")
    return 0


def _measured(found: Figures) -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """Engine, question and figures, in the order in which they were taken; scales rise."""
    for question in COSTED.values():
        engines = dict.fromkeys(case.split(",")[0] for case in found if case.endswith(f": {question}"))
        for engine in engines:
            for case, metrics in found.items():
                if case.startswith(f"{engine}, scale ") and case.endswith(f": {question}"):
                    yield engine, question, metrics


def _steps(found: Figures) -> Iterator[str]:
    yield "| engine | question | rows of the largest table | read | group | transfer | encode | solve |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for engine, question, metrics in _measured(found):
        database, *others = (metrics[step] for step in STEPS)
        known = metrics.get(READ)
        if known is None:  # figures of an older benchmark, which measured both together
            inside = f"{database:.2f} together | "
        else:
            inside = f"{min(known, database):.2f} | {max(0.0, database - known):.2f}"
        shown = " | ".join(f"{seconds:.2f}" for seconds in others)
        yield f"| {engine} | {question} | {metrics[ROWS] / _MILLION:.1f} million | {inside} | {shown} |"


def _line_of(found: Figures, engine: str, question: str) -> Line:
    points = [
        (metrics[ROWS], sum(metrics[step] for step in STEPS))
        for one, other, metrics in _measured(found)
        if (one, other) == (engine, question)
    ]
    return Line.through(points)


def _engines(found: Figures) -> list[str]:
    return list(dict.fromkeys(engine for engine, _, _ in _measured(found)))


def _lines(found: Figures) -> Iterator[str]:
    yield "All steps together, as a line through the smallest and the largest scale:"
    yield ""
    yield "| engine | question | fixed | per million rows |"
    yield "| --- | --- | --- | --- |"
    for engine in _engines(found):
        for question in COSTED.values():
            line = _line_of(found, engine, question)
            yield f"| {engine} | {question} | {line.fixed_s:.2f} | {line.each_s * _MILLION:.2f} |"


def _where_each_pays(found: Figures) -> Iterator[str]:
    """One line per engine beside PostgreSQL, and how many questions a mirror has to answer."""
    for engine in _engines(found):
        if engine == _STORED_WITH:
            continue
        each = []
        for question in COSTED.values():
            of = _line_of(found, engine, question), _line_of(found, _STORED_WITH, question)
            each.append(f"{_rows_in_words(of[0].rows_until_below(of[1]))} ({question})")
        yield f"* {engine} is faster than {_STORED_WITH} {', '.join(each)}."
    for case, metrics in found.items():
        if metrics.keys() >= {"the copy is made"}:
            yield from _mirrored(case, metrics["the copy is made"], found)


def _rows_in_words(rows: float) -> str:
    if math.isinf(rows):
        return "for no number of rows"
    return f"from {rows:,.0f} rows on" if rows >= 1 else "for any number of rows"


def _mirrored(mirror: str, copy_s: float, found: Figures) -> Iterator[str]:
    for case, metrics in found.items():
        if not case.startswith(f"{mirror}: "):
            continue
        saved_s = metrics["PostgreSQL, median"] - metrics["mirror, median"]
        pays = "saves nothing"
        if saved_s > 0:
            least = math.ceil(copy_s / saved_s)
            pays = f"saves {saved_s:.2f} s each time, pays off from question {least:,} of a data version on"
        yield f"* A {case.replace(': ', ', ')}: copied in {copy_s:.1f} s, {pays}."


if __name__ == "__main__":
    sys.exit(main())
