"""Relative errors of the scalar mechanisms on graphs and TPC-H totals, sampled and whole, against the floor.

CASES="Enron, edges;TPC-H Q3 total" runs those alone. Pictures of error against time go beside the results.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.benchmarks.rows import Row
from tests.support.scalar_study.case import cases, names
from tests.support.scalar_study.figures import draw
from tests.support.scalar_study.study import Effort, Studied, study

_QUICK_CASES = ["Enron, edges", "TPC-H Q3 total"]
_QUICK = Effort(whole_runs=500, samples=10, fewest=10, runs=100, timings=1)
_FOLDER = Path(__file__).parent / "results"
_QUICK_FOLDER = Path(".noisegate") / "benchmarks"
_BAR_AT_SMALL_EPSILON, _BAR = 0.6, 1 / 3
_BAR_SAMPLED = 1.05
_STANDARD_ERRORS = 3.0


def run(quick: bool) -> list[Row]:
    """Every wanted case, and last how many bars were missed."""
    chosen = [name for name in os.environ.get("CASES", "").split(";") if name]
    wanted = chosen or (_QUICK_CASES if quick else names())
    assert set(wanted) <= set(names()), f"CASES names some of: {'; '.join(names())}"
    rows: list[Row] = []
    for case in cases(wanted, 0.1 if quick else 1.0):
        found = []
        rows.append(Row(case.name, "join tuples", len(case.tuples.group), "tuples"))
        for studied in study(case, _QUICK if quick else Effort()):
            found.append(studied)
            rows += _rows(case.name, studied)
        draw(case.name, found, _QUICK_FOLDER if quick else _FOLDER)
    missed = sum(row.value for row in rows if row.unit == "missed")
    return [*rows, Row("all cases", "bars missed", missed, "missed")]


def _rows(case: str, studied: Studied) -> list[Row]:
    """Errors as percentages, ratios, and bars."""
    case = f"{case}, eps {studied.epsilon:g}, q 1/{1 / studied.rate:g}"
    rows = []
    for name, found in studied.errors.items():
        rows += [
            Row(case, f"{name}, middle 60% of {found.runs} runs", 100 * found.trimmed, "%"),
            Row(case, f"{name}, 95th percentile", 100 * found.p95, "%"),
            Row(case, f"{name}, 99.9th percentile", 100 * found.p999, "%"),
            Row(case, f"{name}, one release", studied.seconds[name], "s"),
        ]
    gem = studied.errors["gem"].trimmed
    rows += [
        Row(case, "the best fixed threshold, one Laplace release", 100 * studied.floor, "%"),
        Row(case, "gem, of that floor", gem / studied.floor, "1"),
    ]
    return rows + _bars(case, studied)


def _bars(case: str, studied: Studied) -> list[Row]:
    """How far gem is below its rivals, and whether that is far enough; Monte Carlo errors are allowed for q < 1."""
    rows = []
    gem = studied.errors["gem"]
    for rival in ("r2t", "s4s"):
        other = studied.errors[rival]
        rows.append(Row(case, f"gem, of {rival}", gem.trimmed / other.trimmed, "1"))
        if studied.rate == 1:
            bar = _BAR_AT_SMALL_EPSILON if studied.epsilon < 1 else _BAR
            rows.append(Row(case, f"gem, of {rival}: over {bar:.3g}", gem.trimmed > bar * other.trimmed, "missed"))
    other = studied.errors["s4s"]
    allowed = _BAR_SAMPLED * other.trimmed + _STANDARD_ERRORS * (gem.error**2 + other.error**2) ** 0.5
    rows.append(Row(case, f"gem, of s4s: over {_BAR_SAMPLED:g} and sampling", gem.trimmed > allowed, "missed"))
    return rows
