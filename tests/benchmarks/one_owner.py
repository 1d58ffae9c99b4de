"""The default of a sum over tuples of one owner, beside the best threshold in hindsight, and how far its tail goes.

Generated populations of 300 to 300,000 units, of many shapes, at epsilons from 0.1 to 4. In hindsight: the real
number whose release as a threshold with the whole of epsilon has the least error, which needs the data to be known;
the least median and the least 95th percentile may be those of two thresholds.

A far release errs by more than twenty times the 95th percentile of its population and epsilon. It says so where three
times its noise scale are a fifth of its error or more: its interval is then as wide as that, too. RELEASES=2000
releases each population so often.

A policy's `clip`, which 1 / epsilon units exceed, meets a question about a twentieth of their rows: as the one
threshold beside a count (`CountedClip`), and as the largest of the thresholds to choose from.

No epsilon-DP mechanism is as good as hindsight everywhere (`limit`). Add k units of load M to a population: hindsight
errs by M ln(2) / epsilon at most. A mechanism that errs by less than f k M there, at half of its draws, says between
(1 - f) k M and (1 + f) k M more than is true without them, and says so without them with a chance of exp(-k epsilon)
/ 2 at least. For n loads M, each (1 + f) / (1 - f) times the one before, these are different answers, and wrong ones
where the first M is f / (1 - f) times the largest load or more and the mechanism is as good without them; so
n exp(-k epsilon) <= 1. For a smaller k it errs by f k M beside some M, f k epsilon / ln(2) times what hindsight does.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clip import COUNT_SHARE
from privacy.mechanisms.gem import CAPPED_SELECTION, NESTED_SELECTION, Gem
from privacy.thresholds import Thresholds, useful_thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.benchmarks.rows import Row
from tests.support.gem_tuning.degree_distributions import truncated
from tests.support.simulated_entropy import SimulatedEntropy

_UNITS = (300, 3_000, 30_000, 300_000)
_EPSILONS = (0.1, 0.5, 1.0, 4.0)
_RELEASES, _QUICK_RELEASES = 600, 50
_FINE = 400
_HOPELESS = 0.2
"""Where hindsight errs by more than this share of the sum, nothing is answered and ratios say nothing."""

_PART = 0.05
_FAR, _SAYS = 20.0, 0.2
_NOISE_SCALES = 3.0
_MOST_ROWS = 100_000
_VISITS = "visits of 1,500 patients"
_UNBOUNDED = 24
"""Doublings from their 256 visits at most to 2^32, above which no ladder goes."""

Loads = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """The releases of one population at one epsilon.

    Attributes:
      median, tail: of the absolute errors; the tail is their 95th percentile.
      far: how many err by more than twenty times the tail.
      unsaid: how many of those have less noise than their error shows.
      farthest: the largest error.
    """

    median: float
    tail: float
    far: int
    unsaid: int
    farthest: float


def run(quick: bool) -> list[Row]:
    """Each population's errors, over hindsight's; then those of all, and their far releases."""
    releases = int(os.environ.get("RELEASES", _QUICK_RELEASES if quick else _RELEASES))
    each: list[Row] = []
    over: list[tuple[float, float]] = []
    spreads = []
    for (name, loads), epsilon in product(populations(quick), _EPSILONS):
        found, total = spread(loads, epsilon, releases), float(loads.sum())
        median, tail = (in_hindsight(loads, epsilon, quantile) for quantile in (0.5, 0.95))
        spreads.append(found)
        case = f"{name}, epsilon {epsilon:g}"
        each += [
            Row(case, "best threshold in hindsight, median error", 100 * median / total, "%"),
            Row(case, "default, median, of hindsight", found.median / median, "1"),
            Row(case, "default, 95th percentile, of hindsight", found.tail / tail, "1"),
            Row(case, "default, largest error, of the 95th percentile", found.farthest / found.tail, "1"),
        ]
        if median < _HOPELESS * total:
            over.append((found.median / median, found.tail / tail))
    return [*_summary(np.array(over)), *_far(spreads, releases), *_limits(), *_parts(quick, releases), *each]


def populations(quick: bool) -> Iterator[tuple[str, Loads]]:
    """(name, (n,) what each unit adds, in normalised weight)."""
    yield _VISITS, _zipf(1_500, 26)
    for units in _UNITS[:2] if quick else _UNITS:
        rng = np.random.default_rng(units)
        giant = rng.geometric(0.15, units).astype(float)
        giant[0] = 5_000.0
        shapes = {
            "8 each": np.full(units, 8.0),
            "20 to 40": rng.integers(20, 41, units).astype(float),
            "lognormal 0.5": np.ceil(rng.lognormal(1.5, 0.5, units)),
            "lognormal 1": np.ceil(rng.lognormal(1.5, 1.0, units)),
            "lognormal 2": np.ceil(rng.lognormal(1.5, 2.0, units)),
            "Zipf 1.5": np.minimum(rng.zipf(1.5, units), _MOST_ROWS).astype(float),
            "Zipf 2": np.minimum(rng.zipf(2.0, units), _MOST_ROWS).astype(float),
            "Zipf 2.5": np.minimum(rng.zipf(2.5, units), _MOST_ROWS).astype(float),
            "2 each, 1 in 100 with 200": np.where(np.arange(units) % 100 == 0, 200.0, 2.0),
            "2 each, 1 in 10 with 200": np.where(np.arange(units) % 10 == 0, 200.0, 2.0),
            "geometric and one with 5,000": giant,
            "money": rng.gamma(2.0, 0.1, units),
        }
        yield from ((f"{name}, {units:,} units", loads) for name, loads in shapes.items())


def _parts(quick: bool, releases: int) -> Iterator[Row]:
    """How many times less the errors are than those of the policy's clip, over a part of each population's rows."""
    ratios = []
    for (_, loads), epsilon in product(populations(quick), (0.1, 1.0)):
        above = min(len(loads), round(1 / epsilon))
        clip = float(np.sort(loads)[-above])
        part = np.random.default_rng(above).binomial(loads.astype(np.int64), _PART).astype(float)
        if clip < 1 or not part.any():
            continue
        found = spread(part, epsilon, releases, Fraction(clip))
        scale = clip / (float(1 - COUNT_SHARE) * epsilon)
        ratios.append((found.median / (scale * math.log(2)), found.tail / (scale * math.log(20))))
    for name, ratio, most in zip(("median", "95th percentile"), np.array(ratios).T, (None, 1.3), strict=True):
        case = f"up to the clip, a twentieth of the rows, {name} of errors, of those at the clip"
        yield Row(case, f"geometric mean of {len(ratio)} tasks", float(np.exp(np.log(ratio).mean())), "1", most=0.25)
        yield Row(case, "most", float(ratio.max()), "1", most=most)


def spread(loads: Loads, epsilon: float, releases: int, most: Fraction | None = None) -> Spread:
    """So many releases of the default: the groups of one, each with all of epsilon, by numpy's generator.

    Args:
      most: the largest threshold, if the policy has one.
    """
    whole = not (loads % 1).any()
    thresholds = useful_thresholds(whole, None, fine=True, most=most)
    selection = NESTED_SELECTION if most is None else CAPPED_SELECTION
    mechanism = Gem(PureBudget(epsilon), 1, thresholds=thresholds, selection=selection, monotone=True, nested=True)
    answer = mechanism.release(_repeated(loads, thresholds, releases), SimulatedEntropy(15))
    off = np.abs(answer.values - loads.sum())
    tail = float(np.quantile(off, 0.95))
    far = off > _FAR * tail
    unsaid = far & (_NOISE_SCALES * answer.noise_scale < _SAYS * off)
    return Spread(float(np.median(off)), tail, int(far.sum()), int(unsaid.sum()), float(off.max()))


def _repeated(loads: Loads, thresholds: Thresholds, times: int) -> TabulatedAnswer:
    values = np.round(truncated(loads, thresholds.taus) * ONE).astype(np.int64)
    above = len(loads) - np.searchsorted(np.sort(loads), thresholds.taus, side="right")
    shape = (times, len(thresholds))
    return TabulatedAnswer(np.broadcast_to(values, shape), thresholds, 0.0, np.broadcast_to(above, shape))


def in_hindsight(loads: Loads, epsilon: float, quantile: float) -> float:
    """The least quantile of errors of a release at any threshold with Laplace noise for the whole of epsilon."""
    taus = np.append(loads.max() * 2.0 ** np.linspace(-12, 0, _FINE), loads.max())
    bias, scale = loads.sum() - truncated(loads, taus), taus / epsilon
    low, high = np.zeros_like(bias), bias - 2 * scale * math.log(1 - quantile)
    for _ in range(60):  # the quantile of |noise - bias|, halved in by its distribution
        middle = (low + high) / 2
        inside = _below(bias + middle, scale) - _below(bias - middle, scale)
        low, high = np.where(inside < quantile, middle, low), np.where(inside < quantile, high, middle)
    return float(high.min())


def _below(value: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution function of Laplace noise."""
    tail = 0.5 * np.exp(-np.abs(value) / scale)
    return np.where(value < 0, tail, 1 - tail)


def _summary(over: NDArray[np.float64]) -> Iterator[Row]:
    """(tasks, 2) errors of the default, of hindsight's."""
    for name, ratio in zip(("median", "95th percentile"), over.T, strict=True):
        case = f"default, {name} of errors, of hindsight"
        yield Row(case, f"geometric mean of {len(ratio)} tasks", float(np.exp(np.log(ratio).mean())), "1")
        yield Row(case, "nine of ten tasks are below", float(np.quantile(ratio, 0.9)), "1")
        yield Row(case, "most", float(ratio.max()), "1")


def _far(spreads: list[Spread], releases: int) -> Iterator[Row]:
    case = f"{releases * len(spreads):,} releases"
    far, unsaid = sum(one.far for one in spreads), sum(one.unsaid for one in spreads)
    yield Row(case, "err by more than 20 times the 95th percentile", far, "releases")
    yield Row(case, "of those, do not say so by their noise", unsaid, "releases")
    yield Row(case, "largest error, of the 95th percentile", max(one.farthest / one.tail for one in spreads), "1")


def _limits() -> Iterator[Row]:
    for epsilon in _EPSILONS[:-1]:  # at 4 one unit more is told apart
        metric = "any mechanism, beside a few units more of some load, of hindsight"
        yield Row(f"{_VISITS}, epsilon {epsilon:g}", metric, limit(_UNBOUNDED, epsilon), "1")


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
