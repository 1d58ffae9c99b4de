"""Errors of thirty daily releases whose thresholds are remembered, of those that choose anew every day.

One question over thirty versions of its data, at the same epsilon every day, by the real mechanisms with simulated
noise: sums without groups over loads of many shapes, of TPC-H and of a site whose data lies beside the project, and
sums by group. The data stay, grow by 1% a day, shrink, waver, or change by eight times on one day; a first threshold
may have been a bad draw. Other rules than the one that is served are beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.rows import Row
from tests.support.gem_tuning.degree_distributions import DISTRIBUTIONS
from tests.support.remembered_study.loads import real_loads
from tests.support.remembered_study.rules import RULES, at
from tests.support.remembered_study.study import grouped_errors, scalar_errors, summed
from tests.support.remembered_study.worlds import CHANGES, SHIFT_DAY, World, daily, growing, shifting_up, stable

_SERVED = "fitted"
_EPSILONS = (0.1, 0.5, 2.0)
_RUNS, _QUICK_RUNS = 200, 20
_GROUPED_RUNS, _QUICK_GROUPED_RUNS = 40, 4
_GROUPS = 25
_LOWEST = {"money, 10,000 units": -20}
_QUICK = ("Poisson 4, 100,000 units", "Pareto 2, 30,000 units")
_FAR = 4
"""Doublings by which the first threshold is a bad draw."""

_WITHIN = 3
"""Releases after a shift in which the mechanism must have recovered."""

BAR = 0.65


def run(quick: bool) -> list[Row]:
    """Every data set under every change; then the bars."""
    rows: list[Row] = []
    ratios: dict[str, list[float]] = {name: [] for name in RULES}
    for case, world, epsilon in _scalars(quick):
        runs = _QUICK_RUNS if quick else _RUNS
        found = {name: scalar_errors(world, epsilon, rule, runs, seed=21) for name, rule in RULES.items()}
        rows += _compared(f"{case}, eps {epsilon:g}", found, ratios)
    for case, world, epsilon in _grouped(quick):
        runs = _QUICK_GROUPED_RUNS if quick else _GROUPED_RUNS
        rules = {name: RULES[name] for name in ("today", _SERVED)}
        found = {name: grouped_errors(world, epsilon, rule, runs, seed=22) for name, rule in rules.items()}
        rows += _compared(f"{case}, {_GROUPS} groups, eps {epsilon:g}", found, {_SERVED: []})
    rows += list(_recovered(quick))
    for name, of_today in ratios.items():
        if name != "today":
            rows.append(Row("sums without groups", f"{name}, of today: geometric mean", _geometric(of_today), "1"))
            rows.append(Row("sums without groups", f"{name}, of today: the worst", max(of_today), "1"))
    return [*rows, Row("sums without groups", f"{_SERVED}, of today", _geometric(ratios[_SERVED]), "1", most=BAR)]


def _scalars(quick: bool) -> Iterator[tuple[str, World, float]]:
    loads = {name: made() for name, made in DISTRIBUTIONS.items() if not quick or name in _QUICK}
    loads |= {} if quick else real_loads()
    for (name, own), (change, changed) in product(loads.items(), CHANGES.items()):
        low = _LOWEST.get(name, -20 if name not in DISTRIBUTIONS else 0)
        world = daily([own], changed, low)
        for epsilon in _EPSILONS[1:2] if quick else _EPSILONS:
            yield f"{name}, {change}", world, epsilon


def _grouped(quick: bool) -> Iterator[tuple[str, World, float]]:
    rng = np.random.default_rng(31)
    for name in _QUICK:
        loads = DISTRIBUTIONS[name]()
        groups = np.array_split(rng.permutation(loads), _GROUPS)
        for changed in (stable, growing):
            world = daily(groups, changed)
            for epsilon in _EPSILONS[1:2] if quick else _EPSILONS:
                yield f"{name}, {changed.__name__}", world, epsilon


def _compared(case: str, found: dict[str, NDArray[np.float64]], ratios: dict[str, list[float]]) -> Iterator[Row]:
    today, middle = summed(found["today"])
    yield Row(case, "today, mean error", 100 * today, "%")
    yield Row(case, "today, middle 60%", 100 * middle, "%")
    for name, errors in found.items():
        if name == "today":
            continue
        mean, trimmed = summed(errors)
        ratios.setdefault(name, []).append(mean / today)
        bar = BAR if name == _SERVED else None
        yield Row(case, f"{name}, mean error of today's", mean / today, "1", most=bar)
        yield Row(case, f"{name}, middle 60% of today's", trimmed / middle, "1")


def _recovered(quick: bool) -> Iterator[Row]:
    """The errors a few releases after everything changed, and after a first threshold that was a bad draw."""
    runs = _QUICK_RUNS if quick else _RUNS
    loads = DISTRIBUTIONS[_QUICK[1]]()
    world = daily([loads], shifting_up)
    late = slice(SHIFT_DAY + _WITHIN, SHIFT_DAY + _WITHIN + 5)
    today, served = (scalar_errors(world, 0.5, RULES[name], runs, 23)[late] for name in ("today", _SERVED))
    yield _ratio(f"from the {_WITHIN + 1}. release after a shift", served, today)
    world = daily([loads], stable)
    today = scalar_errors(world, 0.5, RULES["today"], runs, 24)
    usual = int(np.log2(max(1.0, float(np.quantile(loads, 0.999)))))
    for far in (-_FAR, _FAR):
        served = scalar_errors(world, 0.5, RULES[_SERVED], runs, 25, first=at(max(0, usual + far)))
        yield _ratio(f"last ten days after a first threshold 2^{far} times the usual", served[-10:], today[-10:])


def _ratio(case: str, served: NDArray[np.float64], today: NDArray[np.float64]) -> Row:
    return Row(case, f"{_SERVED}, mean error of today's", summed(served)[0] / summed(today)[0], "1", most=1.0)


def _geometric(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
