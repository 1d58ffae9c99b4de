"""A unit that comes or goes moves scaled sums by at most tau, in whole steps, and counts of longer units by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.clip import CountedClip
from privacy.mechanisms.scores import GRID, SENSITIVITY, ExceedanceScores
from privacy.mechanisms.selection import SelectionSettings
from privacy.mechanisms.unit_vectors import UnitVectors, step_of
from privacy.thresholds import Thresholds, one_threshold
from privacy.truncation.encode import encode
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import join_tuples, owner

MOST_GROUPS = 7
THRESHOLDS = Thresholds(-20, 32, parts=4)
BIG = 1 << 40

weights = st.one_of(
    st.sampled_from([0, 1, ONE, 2 * ONE, ONE - 1, ONE + 1, BIG, MAX_UNITS - 1]),
    st.integers(0, 4 * ONE),
    st.integers(0, MAX_UNITS - 1),
)
vectors = st.lists(weights, min_size=MOST_GROUPS, max_size=MOST_GROUPS)
SCORES = SelectionSettings(0.3, beta=1e-3, rarity=8.0).exceedance_scores(THRESHOLDS, 1.5, 0.3)


def coded(units: list[list[int]]) -> CodedJoinTuples:
    """Each unit's vector."""
    groups = len(units[0])
    keys = [number for number, _ in enumerate(units) for _ in range(groups)]
    places = [*range(groups)] * len(units)
    return encode(
        join_tuples([owner("unit", keys, np.int64)], [part for one in units for part in one], places, groups)
    )


def norm_is_at_most(sums: list[int], steps: int, euclidean: bool) -> bool:
    """In exact integers."""
    return sum(part * part for part in sums) <= steps * steps if euclidean else sum(sums) <= steps


@given(st.integers(1, MOST_GROUPS), vectors, vectors, st.integers(0, len(THRESHOLDS) - 1), st.booleans())
@settings(max_examples=examples(80, 800))
@example(6, [BIG, 0, 0, 0, 0, 0, 0], [0] + [BIG] * 6, 80, False)
@example(7, [ONE - 1] * 7, [MAX_UNITS - 1] * 7, 80, True)
@example(7, [MAX_UNITS - 1] * 7, [ONE // 7] * 7, 208, False)
def test_a_unit_that_comes_moves_sums_by_tau_and_counts_by_one(
    groups: int, unit: list[int], crowd: list[int], level: int, euclidean: bool
) -> None:
    both, others = coded([crowd[:groups], unit[:groups]]), coded([crowd[:groups], [0] * groups])
    first, second = (UnitVectors.of_sum(tuples, 0, euclidean=euclidean) for tuples in (both, others))
    tau = int(THRESHOLDS.units[level])
    moved = (first.sums(tau) - second.sums(tau)).tolist()
    assert all(part >= 0 for part in moved)
    assert norm_is_at_most(moved, tau // step_of(tau), euclidean)
    counted, before = (one.kept(THRESHOLDS).exceedances for one in (first, second))
    assert counted is not None and before is not None
    more = counted - before
    assert set(more.ravel().tolist()) <= {0, 1}
    scores = SCORES(counted) - SCORES(before)
    assert np.abs(scores).max() <= GRID < SENSITIVITY


@given(st.integers(1, MOST_GROUPS), vectors, st.integers(0, len(THRESHOLDS) - 1), st.booleans())
@settings(max_examples=examples(60, 400))
def test_all_is_kept_in_proportion_that_the_length_lets_be_kept(
    groups: int, unit: list[int], level: int, euclidean: bool
) -> None:
    tau = int(THRESHOLDS.units[level])
    step, vector = step_of(tau), np.array(unit[:groups], float)
    length = float(np.linalg.norm(vector)) if euclidean else float(vector.sum())
    wanted = vector / step * min(1.0, tau // step * step / max(length, 1.0))
    kept = UnitVectors.of_sum(coded([unit[:groups]]), 0, euclidean=euclidean).sums(tau)
    assert (kept <= wanted * (1 + 1e-9) + 1e-3).all()
    assert (kept >= wanted * (1 - 1e-9) - 1 - 1e-3).all()


@pytest.mark.parametrize("euclidean", [False, True])
def test_every_small_vector_exactly(euclidean: bool) -> None:
    """All vectors of three groups up to five units, at thresholds up to seven: rounding included, in integers."""
    for vector in product(range(6), repeat=3):
        vectors = UnitVectors.of_sum(coded([list(vector)]), 0, euclidean=euclidean)
        for tau in range(1, 8):
            kept = vectors.sums(tau).tolist()
            assert norm_is_at_most(kept, tau, euclidean)
            if norm_is_at_most(list(vector), tau, euclidean) and sum(part * part for part in vector) < tau * tau:
                assert kept == list(vector), "what is shorter stays as it is"
            total = sum(vector)
            if not euclidean and total > tau:
                assert all(
                    part * tau // total - cached_part in (0, 1)
                    for part, cached_part in zip(vector, kept, strict=True)
                )


def test_a_count_that_moves_by_two_is_seen() -> None:
    """The scores have no room for a unit that counts twice."""
    scores = ExceedanceScores(Thresholds(0, 4), 0.0, 0.5, 8.0, 0.15, 0.2, 12.0)
    once, twice = np.array([[9, 7, 5, 3, 1]]), np.array([[11, 9, 7, 5, 3]])
    assert np.abs(scores(twice) - scores(once)).max() > SENSITIVITY
    halved = ExceedanceScores(Thresholds(0, 4), 0.0, 0.5, 8.0, 0.15, 0.2, 12.0, reached=2)
    assert np.abs(halved(twice) - halved(once)).max() == GRID, "in two groups it does"


@given(st.integers(50, 100_000), st.integers(2, 8))
def test_where_everybody_exceeds_the_largest_threshold_it_is_the_best(people: int, most: int) -> None:
    """A policy's `clip` may be below what everybody has. Scores that are alike would leave the choice to noise."""
    thresholds = Thresholds(0, most - 1)
    scores = ExceedanceScores(thresholds, 2.0, 1.0, 8.0, 0.15, 0.2, 5.0)
    (found,) = scores(np.full((1, len(thresholds)), people)).tolist()
    assert found[-1] == 0 and min(found[:-1]) >= (people - 2) * GRID


@given(st.integers(1, MOST_GROUPS), vectors, vectors, vectors, st.integers(0, len(THRESHOLDS) - 1))
@settings(max_examples=examples(60, 600))
@example(6, [BIG, 0, 0, 0, 0, 0, 0], [0] + [BIG] * 6, [1] * 7, 80)
def test_a_unit_that_goes_moves_sums_and_the_number_that_is_counted(
    groups: int, unit: list[int], crowd: list[int], more: list[int], level: int
) -> None:
    """Without noise: the sums by tau at most, the number by one; and the interval holds what nobody clipped."""
    units = [crowd[:groups], more[:groups], unit[:groups]]
    tau = one_threshold(Fraction(int(THRESHOLDS.units[level]), ONE))
    longest = Fraction(max(sum(one) for one in units), ONE)
    counted = CountedClip(1.0, tau, max(longest, Fraction(int(tau.units[0]), ONE)))
    both, others = (counted.release(coded(one), 0, ConstantEntropy()) for one in (units, [*units[:2], [0] * groups]))
    assert both.exceeding is not None and others.exceeding is not None
    moved = both.values - others.values
    assert (moved >= 0).all()
    assert moved.sum() <= float(tau.taus[0]) * (1 + 2.0**-40)
    longer = min(sum(unit[:groups]), MAX_UNITS) > int(tau.units[0])
    assert both.exceeding.people - others.exceeding.people == longer
    truth = np.array(units, object).sum(axis=0) / ONE
    assert (both.low <= truth.astype(float)).all()
    assert (truth.astype(float) <= both.high * (1 + 2.0**-40)).all()
