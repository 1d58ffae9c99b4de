"""Some or all rows of one unit move the levelled vectors by at most their sensitivity, in whole steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.clipping.levelled_vectors import Level, LevelledVectors
from privacy.truncation.encode import encode
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import join_tuples, owner

MOST_GROUPS = 7
LADDER = Ladder(-20, 32)

weights = st.one_of(
    st.sampled_from([0, 1, ONE, 2 * ONE, ONE - 1, ONE + 1, 1 << 40, MAX_UNITS - 1]),
    st.integers(0, 4 * ONE),
    st.integers(0, MAX_UNITS - 1),
)
vectors = st.lists(weights, min_size=MOST_GROUPS, max_size=MOST_GROUPS)
BIG = 1 << 40


def coded(vector: list[int], crowd: list[int]) -> CodedJoinTuples:
    """One unit's vector, and another unit's that stays."""
    groups = len(vector)
    columns = [owner("unit", [1] * groups + [2] * groups, np.int64)]
    return encode(join_tuples(columns, vector + crowd, [*range(groups), *range(groups)], groups))


def levelled(vector: list[int], level: Level) -> list[int]:
    """The same in so many words: the largest whole level at which no more than T is left."""
    parts = [min(part // level.step, level.steps) for part in vector]
    low, high = 0, level.steps
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(part, middle) for part in parts) <= level.steps else (low, middle - 1)
    return [min(part, low) for part in parts]


@given(st.integers(1, MOST_GROUPS), vectors, vectors, vectors, st.integers(0, len(LADDER) - 1))
@settings(max_examples=examples(50, 500))
@example(6, [BIG, 0, 0, 0, 0, 0, 0], [0] + [BIG] * 6, [0] * 7, 20)
@example(2, [BIG, 0, 0, 0, 0, 0, 0], [0] + [BIG] * 6, [0] * 7, 20)
@example(7, [ONE - 1] * 3 + [0] * 4, [BIG] * 7, [ONE // 7] * 7, 20)
def test_rows_of_one_unit_move_sums_and_totals_by_no_more_than_noise_is_for(
    groups: int, kept: list[int], added: list[int], crowd: list[int], rung: int
) -> None:
    kept, crowd = kept[:groups], crowd[:groups]
    more = [min(MAX_UNITS, before + new) for before, new in zip(kept, added, strict=False)]
    first, second = LevelledVectors.of_sum(coded(kept, crowd), 0), LevelledVectors.of_sum(coded(more, crowd), 0)
    level = Level(int(LADDER.units[rung]), groups)
    sums = [one.sums(level) for one in (first, second)]
    assert int(np.abs(sums[1] - sums[0]).sum()) <= level.sensitivity
    assert sums[0].tolist() == [a + b for a, b in zip(levelled(kept, level), levelled(crowd, level), strict=True)]
    totals = [one.totals(LADDER).values[0] for one in (first, second)]
    moved = totals[1] - totals[0]
    assert (np.abs(moved) <= LADDER.units).all()
    assert all(
        abs(int(above - below)) <= int(upper - lower)
        for (below, above), (lower, upper) in zip(pairwise(moved), pairwise(LADDER.units), strict=True)
    ), "what `Scores.nested` asks"


@given(st.integers(1, MOST_GROUPS), vectors, vectors, st.integers(0, len(LADDER) - 1))
@settings(max_examples=examples(40, 200))
@example(2, [BIG, 0, 0, 0, 0, 0, 0], [0, BIG, 0, 0, 0, 0, 0], 20)
def test_rows_that_are_exchanged_move_sums_by_no_more_than_twice_a_total(
    groups: int, one: list[int], other: list[int], rung: int
) -> None:
    level = Level(int(LADDER.units[rung]), groups, exchanges=True)
    sums = [LevelledVectors.of_sum(coded(vector[:groups], [0] * groups), 0).sums(level) for vector in (one, other)]
    assert int(np.abs(sums[1] - sums[0]).sum()) <= level.sensitivity


@given(st.integers(1, MOST_GROUPS), vectors, st.integers(0, len(LADDER) - 1))
@settings(max_examples=examples(40, 200))
def test_of_a_unit_all_is_kept_that_its_total_lets_it_keep(groups: int, vector: list[int], rung: int) -> None:
    vector, level = vector[:groups], Level(int(LADDER.units[rung]), groups)
    kept = LevelledVectors.of_sum(coded(vector, [0] * groups), 0).sums(level)
    most = min(level.steps, sum(part // level.step for part in vector))
    assert most - groups < int(kept.sum()) <= most


def test_the_sensitivity_is_reached_and_scaling_exceeds_it() -> None:
    for groups in (2, 4, 8):
        level = Level(ONE, groups)
        pair = [[BIG] + [0] * (groups - 1), [BIG] * groups]
        sums = [LevelledVectors.of_sum(coded(vector, [0] * groups), 0).sums(level) for vector in pair]
        assert int(np.abs(sums[1] - sums[0]).sum()) == level.sensitivity
    # Scaled to the total instead, (big, 0) and (big, huge) lie 2 T apart where levels lie T apart.
    scaled = [np.array(vector) / sum(vector) for vector in ([BIG, 0], [BIG, BIG**2])]
    assert np.abs(scaled[0] - scaled[1]).sum() > 1.9 > Level(ONE, 2).sensitivity / Level(ONE, 2).steps
