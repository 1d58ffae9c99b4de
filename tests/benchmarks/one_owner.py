"""The default of a sum over tuples of one owner, beside the best threshold in hindsight, and all rivals compared.

Populations of 300 to 100,000 units, of many shapes, at epsilons from 0.1 to 4. In hindsight: the real number whose
release as a threshold with the whole of epsilon has the least median error, which needs the data to be known. All
rivals compared: how the default chose before it chose by doublings, with 0.4 of epsilon.

No epsilon-DP mechanism is as good as hindsight everywhere (`limit`). Add k units of load M to a population: hindsight
errs by M ln(2) / epsilon at most. A mechanism that errs by less than f k M there, at half of its draws, says between
(1 - f) k M and (1 + f) k M more than is true without them, and says so without them with a chance of exp(-k epsilon)
/ 2 at least. For n loads M, each (1 + f) / (1 - f) times the one before, these are different answers, and wrong ones
where the first M is f / (1 - f) times the largest load or more and the mechanism is as good without them; so
n exp(-k epsilon) <= 1. For a smaller k it errs by f k M beside some M, f k epsilon / ln(2) times what hindsight does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.exact import exact, exact_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.gem import COST, NESTED_SELECTION
from privacy.mechanisms.noise.threshold_noise import rungs
from privacy.mechanisms.selection.scores import selection_noise
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.units import ONE
from tests.benchmarks.rows import Row
from tests.support.gem_tuning.degree_distributions import truncated
from tests.support.simulated_entropy import SimulatedEntropy

RIVALS = SelectionSettings(0.4)
"""How the default chose before."""

_UNITS = (300, 1_500, 10_000, 100_000)
_EPSILONS = (0.1, 0.3, 1.0, 2.0, 4.0)
_RUNS, _QUICK_RUNS = 4_000, 400
_FINE = 400
_WORST_MEDIAN, _WORST_TAIL, _WORST_MEAN = 1.08, 1.15, 1.12
"""How much worse than before a median, a 95th percentile and a mean of errors may be, in any task."""

_VISITS = "visits of 1,500 patients"
_UNBOUNDED = 24
"""Doublings from their 256 visits at most to 2^32, above which no ladder goes."""

Loads = NDArray[np.float64]


def run(quick: bool) -> list[Row]:
    """Median errors, and how the default's compare over all populations; a quick run is too coarse for bars."""
    runs = _QUICK_RUNS if quick else _RUNS
    rows: list[Row] = []
    over = []
    for (name, loads), epsilon in product(populations(quick), _EPSILONS):
        best, total = in_hindsight(loads, epsilon), float(loads.sum())
        now, before = (spread(loads, epsilon, how, runs) for how in (NESTED_SELECTION, RIVALS))
        over.append(now / before)
        case = f"{name}, epsilon {epsilon:g}"
        rows += [
            Row(case, "best threshold in hindsight, median error", 100 * best / total, "%"),
            Row(case, "default, median, of hindsight", now[0] / best, "1"),
            Row(case, "all rivals compared, median, of hindsight", before[0] / best, "1"),
            Row(case, "default, 95th percentile, of all rivals compared", now[1] / before[1], "1"),
        ]
    rows += _summary(np.array(over), quick)
    rows += _tuned_to_one(runs, quick)
    for epsilon in _EPSILONS[:-1]:  # at 4 one unit more is told apart
        case = f"{_VISITS}, epsilon {epsilon:g}"
        least = limit(_UNBOUNDED, epsilon)
        rows.append(Row(case, "any mechanism, beside a few units more of some load, of hindsight", least, "1"))
    return rows


def populations(quick: bool) -> Iterator[tuple[str, Loads]]:
    """(name, (n,) what each unit adds, in normalised weight)."""
    yield _VISITS, _zipf(1_500, 26)
    for units in _UNITS[:2] if quick else _UNITS:
        rng = np.random.default_rng(units)
        outlier = rng.geometric(0.15, units).astype(float)
        outlier[0] = 1_000.0
        shapes = {
            "as n to the power of -1.7, to 200": _zipf(units, units),
            "lognormal 1": np.ceil(rng.lognormal(1.0, 1.0, units)),
            "lognormal 2": np.ceil(rng.lognormal(1.0, 2.0, units)),
            "Pareto 1.2": np.floor(rng.random(units) ** (-1 / 1.2)),
            "Pareto 2": np.floor(rng.random(units) ** (-1 / 2)),
            "geometric": rng.geometric(0.15, units).astype(float),
            "geometric and one with 1,000": outlier,
            "uniform to 100": rng.integers(0, 101, units).astype(float),
            "10 each": np.full(units, 10.0),
            "1 each and twenty with 1,000": np.concatenate((np.ones(units), np.full(20, 1_000.0))),
            "money": rng.gamma(2.0, 0.1, units),
        }
        yield from ((f"{name}, {units:,} units", loads) for name, loads in shapes.items())


def spread(loads: Loads, epsilon: float, selection: SelectionSettings, runs: int) -> NDArray[np.float64]:
    """(3,) median, 95th percentile and mean of the absolute errors of so many releases, in normalised weight."""
    ladder = Ladder() if (loads % 1).any() else Ladder(low=0)
    entropy, values = SimulatedEntropy(15), truncated(loads, ladder.taus)
    selecting = exact_epsilon(epsilon) * exact(selection.split)
    scores = selection.scores(ladder, 0.0, (COST,) * len(ladder), float(selecting))
    units = np.floor(values * ONE).astype(np.int64)[None]
    (score,) = replace(scores, monotone=True, nested=True)(units, units)
    rung = np.argmin(score - selection_noise((runs, len(ladder)), selecting, entropy), axis=1)
    off = values[rung] - float(loads.sum())
    for chosen, noise in enumerate(rungs(ladder, 0.0, exact_epsilon(epsilon) - selecting)):
        here = rung == chosen
        off[here] += noise.step_weight * noise.draw(int(here.sum()), entropy)
    off = np.abs(off)
    return np.array([np.median(off), np.quantile(off, 0.95), off.mean()])


def in_hindsight(loads: Loads, epsilon: float) -> float:
    """The least median error of a release at any threshold with Laplace noise for the whole of epsilon."""
    taus = np.append(loads.max() * 2.0 ** np.linspace(-12, 0, _FINE), loads.max())
    bias, scale = loads.sum() - truncated(loads, taus), taus / epsilon
    low, high = np.zeros_like(bias), bias + 2 * scale
    for _ in range(60):  # the median of |noise - bias|, halved in by its distribution
        middle = (low + high) / 2
        inside = _below(bias + middle, scale) - _below(bias - middle, scale)
        low, high = np.where(inside < 0.5, middle, low), np.where(inside < 0.5, high, middle)
    return float(high.min())


def _below(value: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution function of Laplace noise."""
    tail = 0.5 * np.exp(-np.abs(value) / scale)
    return np.where(value < 0, tail, 1 - tail)


def _summary(over: NDArray[np.float64], quick: bool) -> Iterator[Row]:
    """(tasks, 3) errors of the default, of all rivals compared."""
    bars = {"median": _WORST_MEDIAN, "95th percentile": _WORST_TAIL, "mean": _WORST_MEAN}
    for (name, bar), ratio in zip(bars.items(), over.T, strict=True):
        case = f"default, {name} error, of all rivals compared"
        yield Row(case, f"geometric mean of {len(ratio)} tasks", float(np.exp(np.log(ratio).mean())), "1")
        yield Row(case, "least", float(ratio.min()), "1")
        yield Row(case, "most", float(ratio.max()), "1", most=None if quick else bar)


def _tuned_to_one(runs: int, quick: bool) -> Iterator[Row]:
    """The settings of a grid that would be best for one population, which somebody had to know."""
    loads = _zipf(1_500, 26)
    splits, rarities = ((0.3,), (3.5,)) if quick else ((0.1, 0.2, 0.3, 0.4, 0.5), (1.5, 2.5, 3.5, 5.0, 8.0))
    ways = [
        SelectionSettings(split, rarity=rarity, growth=growth, by_doublings=True)
        for split, rarity, growth in product(splits, rarities, (0.0, 0.2, 0.5))
    ]
    for epsilon in _EPSILONS:
        errors = [spread(loads, epsilon, way, runs)[0] for way in ways]
        best = int(np.argmin(errors))
        words = f"split {ways[best].split:g}, rarity {ways[best].rarity:g}, growth {ways[best].growth:g}"
        case = f"{_VISITS}, epsilon {epsilon:g}"
        of_hindsight = errors[best] / in_hindsight(loads, epsilon)
        yield Row(case, f"settings tuned to it alone ({words}), median, of hindsight", of_hindsight, "1")


def limit(doublings: int, epsilon: float) -> float:
    """How many times hindsight's median error no mechanism can stay below, beside a population and those near it.

    Args:
      doublings: from the largest load of the population to the largest that nobody rules out.
    """
    found = 0.0
    for apart in range(1, doublings):
        # Between one M and the next; the first is f / (1 - f) times the largest load, or a little more.
        f = math.tanh(apart * math.log(2) / 2)  # (2^apart - 1) / (2^apart + 1)
        loads = (doublings - (apart - 1)) // apart + 1
        people = math.ceil(math.log(loads) / epsilon) - 1
        found = max(found, f * people * epsilon / math.log(2))
    return found


def _zipf(units: int, seed: int) -> Loads:
    chances = np.arange(1, 202) ** -1.7
    return np.random.default_rng(seed).choice(201, size=units, p=chances / chances.sum()).astype(float)
