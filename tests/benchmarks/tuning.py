"""gem's knobs on synthetic degree distributions: how far each setting is above the best of the grid, at worst."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.gem import COST, SELECTION
from privacy.mechanisms.selection import BETA, GROWTH, RARITY
from tests.benchmarks.rows import Row
from tests.support.gem_tuning.degree_distributions import DISTRIBUTIONS, heavy_tail, truncated
from tests.support.gem_tuning.simulated_gem import GRID, Knobs, Noise, errors, thresholds
from tests.support.scalar_study.spread import trimmed_mean

DEFAULT = Knobs(SELECTION.split, BETA, RARITY, COST, growth=GROWTH)
BAR = 1.2
"""How much worse than the best of the grid a default should be at most, in any task.

No setting holds that: the last rows say by how much the best one misses it, among all settings and among those of one
base. Which of the three ladders has a threshold just above the loads is luck, worth up to the base. And what is best
where selection is easy (little budget for it, and prices that keep from every threshold too large) is two times
worse where it is hard, and the other way round.
"""


_EPSILONS = (0.1, 1.0, 4.0)
_RUNS, _QUICK_RUNS = 3_000, 300
_LOWEST = {"money, 10,000 units": -20}


def run(quick: bool) -> list[Row]:
    """The default in every task, then it, the published scores, and the settings that are best in the worst task, and
    on average."""
    trimmed, failing = measured(_QUICK_RUNS if quick else _RUNS)
    regret = regrets(trimmed)
    default = GRID.index(DEFAULT)
    rows = []
    for task, (name, epsilon) in enumerate(tasks()):
        best = GRID[int(np.argmin(trimmed[task]))]
        case = f"{name}, eps {epsilon:g}"
        rows += [
            Row(case, "default, middle 60%", 100 * trimmed[task, default], "%"),
            Row(case, "default, runs with an error of 100% or more", 100 * failing[task, default], "%"),
            Row(case, f"best of the grid: {_spelled(best)}", 100 * trimmed[task].min(), "%"),
            Row(case, "default, of the best", regret[task, default], "1"),
        ]
    mean = np.exp(np.log(regret).mean(axis=0))
    published = GRID.index(Knobs(0.6, 1e-3, None, divisor="sum"))
    for i in [default, published, *np.argsort(regret.max(axis=0))[:8], *np.argsort(mean)[:8]]:
        rows += [
            Row(_spelled(GRID[i]), "worst task, of the best of the grid", regret[:, i].max(), "1"),
            Row(_spelled(GRID[i]), "geometric mean of tasks", mean[i], "1"),
            Row(
                _spelled(GRID[i]), "most runs of a task with an error of 100% or more", 100 * failing[:, i].max(), "%"
            ),
        ]
    return rows + held(trimmed) + heavy_tails(quick)


def heavy_tails(quick: bool) -> list[Row]:
    """What keeping the far tail near costs where loads have heavy tails: errors over those of rarity alone."""
    taus = thresholds(DEFAULT.base)
    noise = Noise.drawn(_QUICK_RUNS if quick else _RUNS, len(taus))
    settings = [replace(DEFAULT, growth=growth) for growth in (0.0, 0.3, GROWTH, 0.7, 1.0, 1.5)]
    found = []
    for shape, units, epsilon in product((1.05, 1.2, 1.4, 1.7, 2.0, 2.5), (3_000, 20_000, 100_000), (0.2, 0.6, 2.0)):
        loads = heavy_tail(shape, units)
        values = truncated(loads, taus)
        off = [errors(values, taus, float(loads.sum()), epsilon, one, noise) for one in settings]
        found.append([(np.median(one), np.quantile(one, 0.95)) for one in off])
    over = np.array(found) / np.array(found)[:, :1]
    rows = []
    for i, one in enumerate(settings[1:], 1):
        case = f"heavy tails, growth {one.growth:g}, of growth 0"
        for name, ratio in (("median", over[:, i, 0]), ("95th percentile", over[:, i, 1])):
            rows += [
                Row(case, f"{name}, geometric mean of {len(ratio)} tasks", float(np.exp(np.log(ratio).mean())), "1"),
                Row(case, f"{name}, worst task", float(ratio.max()), "1"),
            ]
    return rows


def held(trimmed: NDArray[np.float64]) -> list[Row]:
    """How many settings hold the bar, and how near the nearest comes: of all, and of the ladders of each base."""
    rows = []
    bases = sorted({knobs.base for knobs in GRID})
    parts = [(f"base {base:.3g} only", [i for i, knobs in enumerate(GRID) if knobs.base == base]) for base in bases]
    for name, part in [("all settings of the grid", list(range(len(GRID)))), *parts]:
        worst = regrets(trimmed[:, part]).max(axis=0)
        nearest = GRID[part[int(np.argmin(worst))]]
        rows += [
            Row(name, f"never worse than {BAR:g} times the best of them", int((worst <= BAR).sum()), "settings"),
            Row(name, f"least worst task: {_spelled(nearest)}", worst.min(), "1"),
        ]
        if GRID.index(DEFAULT) in part:
            rows.append(Row(name, "default, worst task", worst[part.index(GRID.index(DEFAULT))], "1"))
    return rows


def tasks() -> list[tuple[str, float]]:
    """Distributions and budgets."""
    return list(product(DISTRIBUTIONS, _EPSILONS))


def measured(runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(tasks, settings) trimmed means of the error, and shares of runs whose error is 100% or more."""
    noise = Noise.drawn(runs, len(thresholds(min(knobs.base for knobs in GRID), -20)))
    trimmed = np.empty((len(tasks()), len(GRID)))
    failing = np.empty_like(trimmed)
    for task, (name, epsilon) in enumerate(tasks()):
        loads = DISTRIBUTIONS[name]()
        threshold_sets = {base: thresholds(base, _LOWEST.get(name, 0)) for base in {knobs.base for knobs in GRID}}
        values = {base: truncated(loads, taus) for base, taus in threshold_sets.items()}
        for i, knobs in enumerate(GRID):
            off = errors(values[knobs.base], threshold_sets[knobs.base], float(loads.sum()), epsilon, knobs, noise)
            trimmed[task, i], failing[task, i] = trimmed_mean(off), np.mean(off >= 1)
    return trimmed, failing


def regrets(trimmed: NDArray[np.float64]) -> NDArray[np.float64]:
    """(tasks, settings) how many times the best setting's error."""
    return np.asarray(trimmed / trimmed.min(axis=1, keepdims=True))


def _spelled(knobs: Knobs) -> str:
    rare = f"rarity {knobs.rarity:g}, growth {knobs.growth:g}" if knobs.rarity else "published"
    rare = f"{rare}, beta {knobs.beta:g}"
    return f"split {knobs.split:g}, {rare}, c {knobs.c:g}, base {knobs.base:.3g}, {knobs.selection}, {knobs.divisor}"
