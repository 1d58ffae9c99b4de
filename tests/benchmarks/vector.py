"""Relative L2 errors of the vector mechanisms on TPC-H and MathOverflow, sampled and whole; smooth noise over d.

CASES="TPC-H Q5;MathOverflow c2a, 1-paths" runs those alone; `vector_scale_4` runs TPC-H at four times the
size. Pictures of error against time, and of noise against d, go beside the results.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.benchmarks.rows import Row
from tests.support.vector_study.case import cases, names
from tests.support.vector_study.figures import draw
from tests.support.vector_study.smooth_noise import smooth_noise
from tests.support.vector_study.study import Effort, Studied, study

_QUICK_CASES = ["TPC-H Q5", "TPC-H Q7a", "TPC-H lines by week", "MathOverflow c2a, 1-paths"]
_QUICK = Effort(runs=20, samples=2, timings=1, rates=(1.0, 1 / 8))
_FOLDER = Path(__file__).parent / "results"
_QUICK_FOLDER = Path(".noisegate") / "benchmarks"
_ABSOLUTE = {"TPC-H Q5": 0.01}
"""Bars at q = 1: error of the default mechanism."""

_OF_S4S = {"TPC-H Q5": 1 / 10, "TPC-H Q7a": 1 / 4, "TPC-H Q7b": 1 / 3, "TPC-H Q7c": 1 / 3}
"""As a part of that of s4s_vector as published."""

_OF_PMSJA = 1 / 5
"""On MathOverflow, as a part of that of pmsja, the better of the two."""


def run(quick: bool) -> list[Row]:
    """Smooth noise over d, and every wanted case."""
    chosen = [name for name in os.environ.get("CASES", "").split(";") if name]
    wanted = chosen or (_QUICK_CASES if quick else names())
    assert set(wanted) <= set(names()), f"CASES names some of: {'; '.join(names())}"
    folder = folder_of(quick or bool(chosen))
    return [*smooth_noise(folder), *at_scale(wanted, 0.1 if quick else 1.0, quick, folder)]


def folder_of(partial: bool) -> Path:
    """Where pictures go: a partial run replaces none of those that are kept."""
    return _QUICK_FOLDER if partial else _FOLDER


def at_scale(wanted: list[str], scale: float, quick: bool, folder: Path) -> list[Row]:
    """Some cases, TPC-H at a scale."""
    rows: list[Row] = []
    found: dict[str, dict[str, list[Studied]]] = {}
    for case in cases(wanted, scale):
        at = f"{case.name}, scale {scale:g}" if case.name.startswith("TPC-H") else case.name
        rows.append(Row(at, "join tuples", len(case.tuples.group), "tuples"))
        studied = list(study(case, _QUICK if quick else Effort()))
        rows += [row for one in studied for row in _rows(at, one)] + _bars(case.name, at, studied[0])
        family, _, rest = case.name.partition(" ")
        found.setdefault(family, {})[rest] = studied
    for family, panels in found.items():
        draw(family if scale == 1 or family != "TPC-H" else f"{family} scale {scale:g}", panels, folder)
    return rows


def _rows(case: str, studied: Studied) -> list[Row]:
    case = f"{case}, q 1/{1 / studied.rate:g}"
    rows = []
    for name in studied.errors:
        rows += [
            Row(case, f"{name}, L2 error, middle 60%", 100 * studied.errors[name], "%"),
            Row(case, f"{name}, L2 error, 95th percentile", 100 * studied.p95[name], "%"),
            Row(case, f"{name}, one release", studied.seconds[name], "s"),
        ]
    return rows


def _bars(name: str, case: str, whole: Studied) -> list[Row]:
    """What the default mechanism must reach at q = 1."""
    error = whole.errors["default"]
    if name.startswith("MathOverflow"):
        part = error / min(whole.errors["pmsja"], whole.errors["pmsja as published"])
        return [Row(case, "default / the better pmsja", part, "1", most=_OF_PMSJA)]
    part = error / whole.errors["s4s_vector as published"]
    rows = [Row(case, "default / s4s_vector as published", part, "1", most=_OF_S4S.get(name))]
    if name in _ABSOLUTE and not os.environ.get("QUICK"):
        rows.append(Row(case, "default, L2 error", 100 * error, "%", most=100 * _ABSOLUTE[name]))
    return rows
