"""Sums and averages by group over tuples of one owner: what is cut of a unit's total, and what of each group.

Generated populations: how much units have in all, in how many groups each has it, in 2 to 36 groups, at epsilons from
0.3 to 4. Errors are those of all groups together, relative to their sum. Keys of time alone have `group_lp` as their
default, where units are likely to have the same in every group; all others `l1_clip`. `before` is what was the
default: `group_lp` with one threshold for all groups, and of averages a sum and a count that are clipped apart. In
hindsight: the total whose release with all of epsilon has the least median error, which needs the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.group_lp import GroupLp, group_lps
from privacy.mechanisms.joint_scale import ScaledSum, release_at_one_scale
from privacy.mechanisms.measurement import GroupMeasurement
from privacy.mechanisms.shared_threshold import SharedThreshold
from privacy.mechanisms.sums import Sum
from privacy.registry import AllGroups, group_measurements
from privacy.thresholds import Thresholds, useful_thresholds
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.benchmarks.rows import Row
from tests.support.simulated_entropy import SimulatedEntropy

_UNITS = (300, 3_000)
_GROUPS = (2, 6, 12, 36)
_EPSILONS = (0.3, 1.0, 4.0)
_RUNS, _QUICK_RUNS = 21, 5
_THRESHOLDS = useful_thresholds(whole=True, tuples_per_unit=None, fine=True)
_NOTHING = 0.9
"""Above this relative error nothing was answered, and ratios of such errors say nothing."""

_MARKED_RUNS, _MARKED = 4, 95.0
"""Releases, and how many in a hundred rows that are off by half have to bear a mark."""

_OF_BEFORE, _APART_OF_BEFORE, _AVERAGE_OF_BEFORE = 0.75, 0.9, 0.7

Vectors = NDArray[np.float64]
"""(units, groups) what each unit adds to each."""


def run(quick: bool) -> list[Row]:
    """Ratios of median errors over all populations; a quick run is too coarse for bars."""
    runs = _QUICK_RUNS if quick else _RUNS
    rows = [*_sums(quick, runs), *_one_group(quick, runs), *_averages(quick, runs)]
    return [replace(row, least=None, most=None) for row in rows] if quick else rows


def populations(quick: bool) -> Iterator[tuple[str, str, Vectors]]:
    """(name, how units are spread over groups, vectors of whole numbers)."""
    for units, groups in product(_UNITS[:1] if quick else _UNITS, _GROUPS[:2] if quick else _GROUPS):
        rng = np.random.default_rng(1_000 * groups + units)
        chances = np.arange(1, 202) ** -1.7
        totals = {
            "Pareto 1.2": np.floor(rng.random(units) ** (-1 / 1.2)),
            "lognormal 2": np.ceil(rng.lognormal(1.0, 2.0, units)),
            "geometric": rng.geometric(0.15, units).astype(float),
            "as n to the power of -1.7, to 200": rng.choice(201, units, p=chances / chances.sum()).astype(float),
        }
        for (name, total), (spread, over) in product(totals.items(), _SPREADS.items()):
            yield f"{name}, {units:,} units, {groups} groups", spread, over(total, groups, rng)


def _in_one(total: NDArray[np.float64], groups: int, rng: np.random.Generator) -> Vectors:
    vectors = np.zeros((len(total), groups))
    vectors[np.arange(len(total)), rng.integers(0, groups, len(total))] = total
    return vectors


def _in_a_few(total: NDArray[np.float64], groups: int, rng: np.random.Generator) -> Vectors:
    return np.floor(rng.dirichlet([0.3] * groups, len(total)) * total[:, None])


def _rows_at_random(total: NDArray[np.float64], groups: int, rng: np.random.Generator) -> Vectors:
    return np.array([rng.multinomial(int(own), [1 / groups] * groups) for own in total], float)


def _alike(total: NDArray[np.float64], groups: int, rng: np.random.Generator) -> Vectors:
    return np.repeat(np.ceil(total / groups)[:, None], groups, axis=1)


_SPREADS: dict[str, Callable[[NDArray[np.float64], int, np.random.Generator], Vectors]] = {
    "each unit in one group": _in_one,
    "in a few": _in_a_few,
    "rows at random": _rows_at_random,
    "the same in every group": _alike,
}


def coded(*weights: Vectors) -> CodedJoinTuples:
    """One tuple per unit and group that has anything, with a row of weights for each."""
    unit, group = np.nonzero(np.any(np.array(weights) > 0, axis=0))
    values = np.array([np.round(one[unit, group] * ONE) for one in weights]).astype(np.int64)
    column = OwnerColumn("unit", unit, np.zeros(len(unit), bool))
    return encode(JoinTuples((column,), group, weights[0].shape[1], values))


def _median_error(release: Callable[[SimulatedEntropy], NDArray[np.float64]], truth: Vectors, runs: int) -> float:
    source = SimulatedEntropy(seed=20261126)
    errors = [np.abs(release(source) - truth).sum() for _ in range(runs)]
    return float(np.median(errors) / np.abs(truth).sum())


def _values(measurement: GroupMeasurement, tuples: CodedJoinTuples, source: SimulatedEntropy) -> NDArray[np.float64]:
    return measurement.release(tuples, 0, source).values


def _before(epsilon: float, groups_per_unit: int | None) -> GroupLp:
    return GroupLp(SharedThreshold(PureBudget(epsilon), groups_per_unit, 0.0, _THRESHOLDS, nested=True))


def _in_hindsight(tuples: CodedJoinTuples, truth: Vectors, epsilon: float, runs: int) -> float:
    one_level = (Clip(PureBudget(epsilon), Thresholds(level, level)) for level in range(13))
    return min(_median_error(partial(_values, one, tuples), truth, runs) for one in one_level)


def _sums(quick: bool, runs: int) -> Iterator[Row]:
    ratios: dict[str, list[float]] = {spread: [] for spread in _SPREADS}
    hindsight: list[float] = []
    each: dict[str, list[float]] = {spread: [] for spread in _SPREADS}
    for (_, spread, vectors), epsilon in product(populations(quick), _EPSILONS):
        tuples, truth = coded(vectors), vectors.sum(axis=0)
        (by_group,) = group_lps([Sum(epsilon, 0.0, _THRESHOLDS, nested=True)], 0.0, None, None)
        contenders = (Clip(PureBudget(epsilon), _THRESHOLDS), _before(epsilon, None), by_group)
        now, before, apart = (_median_error(partial(_values, one, tuples), truth, runs) for one in contenders)
        if min(now, before) < _NOTHING:
            ratios[spread].append(now / before)
            each[spread].append(apart / before)
            hindsight.append(now / _in_hindsight(tuples, truth, epsilon, runs))
    whole = [ratio for found in ratios.values() for ratio in found]
    for spread, found in ratios.items():
        case = f"sums, {spread}"
        few = spread in ("each unit in one group", "in a few")
        of_total, of_each = (_OF_BEFORE, None) if few else (None, _APART_OF_BEFORE)
        yield Row(case, f"l1_clip, of before, geometric mean of {len(found)}", _mean(found), "1", most=of_total)
        yield Row(case, "l1_clip, of before, most", max(found), "1")
        yield Row(case, "group_lp, of before, geometric mean", _mean(each[spread]), "1", most=of_each)
        yield Row(case, "group_lp, of before, most", max(each[spread]), "1")
    yield Row("sums", f"l1_clip, of before, geometric mean of {len(whole)}", _mean(whole), "1", most=_OF_BEFORE)
    yield Row("sums", "l1_clip, of before, least", min(whole), "1")
    yield Row("sums", "l1_clip, of the best total in hindsight, geometric mean", _mean(hindsight), "1")
    yield from _marks(quick)


def _marks(quick: bool) -> Iterator[Row]:
    """Of groups whose answer is off by more than half: how many are marked, as noise or as cut."""
    off, marked, source = 0, 0, SimulatedEntropy(seed=20261127)
    for (_, _, vectors), epsilon in product(populations(quick), _EPSILONS):
        truth, tuples = vectors.sum(axis=0), coded(vectors)
        for _ in range(_MARKED_RUNS):
            answer = Clip(PureBudget(epsilon), _THRESHOLDS).release(tuples, 0, source)
            wrong = (truth > 0) & (np.abs(answer.values - truth) > truth / 2)
            low_precision = (answer.high - answer.low) / 2 > np.abs(answer.values)
            off += int(wrong.sum())
            marked += int((wrong & (low_precision | answer.may_be_clipped)).sum())
    yield Row("sums", f"l1_clip, of {off} rows that are off by half, marked", 100 * marked / off, "%", least=_MARKED)


def _one_group(quick: bool, runs: int) -> Iterator[Row]:
    """Where keys show that a unit reaches one group."""
    found = []
    for (_, spread, vectors), epsilon in product(populations(quick), _EPSILONS):
        if spread != "each unit in one group":
            continue
        tuples, truth = coded(vectors), vectors.sum(axis=0)
        (now,) = group_lps([Sum(epsilon, 0.0, _THRESHOLDS, nested=True)], 0.0, 1, None)
        errors = [_median_error(partial(_values, one, tuples), truth, runs) for one in (now, _before(epsilon, 1))]
        if min(errors) < _NOTHING:
            found.append(errors[0] / errors[1])
    case = "sums of which a unit reaches one group"
    yield Row(case, f"default, of before, geometric mean of {len(found)}", _mean(found), "1", most=_APART_OF_BEFORE)
    yield Row(case, "default, of before, most", max(found), "1")


def _averages(quick: bool, runs: int) -> Iterator[Row]:
    """Of values whose mean differs by group and by unit, a row each."""
    found = []
    for (_, _, counts), epsilon in product(populations(quick), _EPSILONS):
        rng = np.random.default_rng(7)
        value = rng.beta(2, 5, (len(counts), 1)) * rng.uniform(0.5, 1.0, counts.shape[1])
        tuples, truth = coded(counts, counts * value), (counts * value).sum(axis=0) / counts.sum(axis=0)
        made = group_measurements("joint_scale", AllGroups([Sum(epsilon / 2, 0.0, _THRESHOLDS)] * 2, 0.0, None))
        sums = [one for one in made if isinstance(one, ScaledSum)]
        apart = Clip(PureBudget(epsilon / 2), _THRESHOLDS)
        releases = partial(_quotients, sums, tuples), partial(_quotients_apart, apart, tuples)
        errors = [_median_error(one, truth, runs) for one in releases]
        if min(errors) < _NOTHING:
            found.append(errors[0] / errors[1])
    case = "averages"
    yield Row(case, f"default, of before, geometric mean of {len(found)}", _mean(found), "1", most=_AVERAGE_OF_BEFORE)
    yield Row(case, "default, of before, most", max(found), "1")


def _quotients(sums: list[ScaledSum], tuples: CodedJoinTuples, source: SimulatedEntropy) -> NDArray[np.float64]:
    """Averages as they are served: between the ends of the range, of one row at least."""
    return _quotient(*(noisy.values for noisy in release_at_one_scale(sums, tuples, source)))


def _quotients_apart(clip: Clip, tuples: CodedJoinTuples, source: SimulatedEntropy) -> NDArray[np.float64]:
    return _quotient(*(clip.release(tuples, row, source).values for row in (0, 1)))


def _quotient(count: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(total / np.maximum(count, 1.0), 0.0, 1.0)


def _mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
