"""Relative errors of the scalar mechanisms, sampled and whole, against the floor; and gem against R2T.

CASES="published" runs graphs of the papers and TPC-H totals alone, CASES="generated" generated graphs. Pictures of
error against time go beside the results.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privacy.truncation.truncated_answer import TruncatedAnswer
from tests.benchmarks.parts import Measured, Parts
from tests.benchmarks.rows import Row
from tests.support.scalar_study.case import ScalarCase, cases, names
from tests.support.scalar_study.contenders import answers, on_tuples, released, releases, seconds_on_tuples
from tests.support.scalar_study.figures import draw
from tests.support.scalar_study.floor import best_known, floor, release_scales
from tests.support.scalar_study.generated import SIZES, generated_cases
from tests.support.scalar_study.study import Effort, Studied, study
from tests.support.simulated_entropy import SimulatedEntropy

_QUICK_CASES = ["Enron, edges", "TPC-H Q3 total"]
_QUICK = Effort(whole_runs=500, samples=10, fewest=10, runs=100, timings=1)
_FOLDER = Path(__file__).parent / "results"
_QUICK_FOLDER = Path(".noisegate") / "benchmarks"
_BAR_AT_SMALL_EPSILON, _BAR = 0.6, 1 / 3
_BAR_SAMPLED = 1.05
_STANDARD_ERRORS = 3.0
_OF_R2T_AT_MOST = {1.0: 1 / 4, 0.1: 1.0}
_OF_R2T, _FLOOR_OF_R2T = "gem, of r2t, medians", "best fixed threshold, of r2t"
_TIMES_USUAL, _MOST_FAR, _HALF_WIDTHS = 20.0, 1 / 300, 3.0
_FAR = f"gem, further off than {_TIMES_USUAL:g} times the 95th percentile"
_MOST_SECONDS = 60.0
"""Of one release, of the processor."""


def _studied(quick: bool) -> Measured:
    """Every wanted case, and last how many bars were missed."""
    rows: list[Row] = []
    for case in cases(_QUICK_CASES if quick else names(), 0.1 if quick else 1.0):
        found = []
        rows.append(Row(case.name, "join tuples", len(case.tuples.group), "tuples"))
        for studied in study(case, _QUICK if quick else Effort()):
            found.append(studied)
            rows += _rows(case.name, studied)
        draw(case.name, found, _QUICK_FOLDER if quick else _FOLDER)
    missed = sum(row.value for row in rows if row.unit == "missed")
    return Measured([*rows, Row("all cases", "bars missed", missed, "missed")])


def _generated(quick: bool) -> Measured:
    """gem against R2T on generated graphs, none of which a setting was chosen on."""
    runs, others = (1_000, 500) if quick else (6_000, 2_000)
    rows: list[Row] = []
    for case in generated_cases(SIZES[:1] if quick else SIZES):
        (answer,) = answers(case, 1.0, 1, np.random.default_rng(2))
        rows.append(Row(case.name, "join tuples", len(case.tuples.group), "tuples"))
        for epsilon in _OF_R2T_AT_MOST:
            rows += _against_r2t(case, answer, epsilon, runs, others)
    of_bars = [row for row in rows if row.metric == _OF_R2T]
    held = sum(bool(row.held) for row in of_bars)
    can = [row for row in rows if row.metric == _FLOOR_OF_R2T]
    within = sum(one.value <= bar.most for one, bar in zip(can, of_bars, strict=True) if bar.most is not None)
    rows += [
        Row("all generated", "cells", len(of_bars), "1"),
        Row("all generated", "cells within their bar against R2T", held, "1", least=len(of_bars)),
        Row("all generated", "cells whose bar the best fixed threshold holds", within, "1"),
        Row("all generated", f"{_FAR}: most of a cell", max(row.value for row in rows if row.metric == _FAR), "1"),
    ]
    return Measured(rows)


def _against_r2t(case: ScalarCase, answer: TruncatedAnswer, epsilon: float, runs: int, others: int) -> list[Row]:
    """Medians, and how often one of `runs` releases of gem is far off; what is below 0 shows as 0."""
    entropy = SimulatedEntropy(1)
    parts = list(releases(on_tuples("gem", case, epsilon, 1.0), answer, runs, entropy))
    values, low, high = (np.concatenate([getattr(one, end) for one in parts]) for end in ("values", "low", "high"))
    r2t = released(on_tuples("r2t", case, epsilon, 1.0), answer, others, 1.0, entropy)
    errors, rival = (np.abs(np.maximum(one, 0.0) - case.truth) / case.truth for one in (values, r2t))
    seconds = seconds_on_tuples(on_tuples("gem", case, epsilon, 1.0), case, 1.0, entropy, 1)
    scales = release_scales(case, epsilon, 1.0)
    best, _ = floor(best_known(answer, scales, case.truth, 1.0)[None], scales, case.truth, 1.0)
    far = errors > _TIMES_USUAL * np.quantile(errors, 0.95)
    silent = far & (errors * case.truth > _HALF_WIDTHS * (high - low) / 2)
    name, bar = f"{case.name}, eps {epsilon:g}", _OF_R2T_AT_MOST[epsilon]
    return [
        Row(name, "gem, median", 100 * float(np.median(errors)), "%"),
        Row(name, "gem, 95th percentile", 100 * float(np.quantile(errors, 0.95)), "%"),
        Row(name, "r2t, median", 100 * float(np.median(rival)), "%"),
        Row(name, _OF_R2T, float(np.median(errors) / np.median(rival)), "1", most=bar),
        Row(name, _FLOOR_OF_R2T, float(best / np.median(rival)), "1"),
        Row(name, "gem, one release", seconds, "s", most=_MOST_SECONDS),
        Row(name, _FAR, float(far.mean()), "1", most=_MOST_FAR),
        Row(name, f"of {runs:,}, far off and more than {_HALF_WIDTHS:g} half-widths", int(silent.sum()), "1", most=0),
    ]


PARTS: Parts = {"published": _studied, "generated": _generated}


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
