"""Some or all rows of one unit move the clipped vectors by at most their sensitivity, in whole steps."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.clipping.clipped_vectors import STEPS, ClippedVectors, sum_sensitivity
from privacy.truncation.encode import encode
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import join_tuples, owner

GROUPS = 6
LADDER = Ladder(-20, 32)

weights = st.one_of(
    st.sampled_from([0, 1, ONE, 2 * ONE, ONE - 1, ONE + 1, 1 << 40, MAX_UNITS - 1]),
    st.integers(0, 4 * ONE),
    st.integers(0, MAX_UNITS - 1),
)
vectors = st.lists(weights, min_size=GROUPS, max_size=GROUPS)


def coded(vector: list[int], crowd: list[int]) -> CodedJoinTuples:
    """One unit's vector, and another unit's that stays."""
    columns = [owner("unit", [1] * GROUPS + [2] * GROUPS, np.int64)]
    return encode(join_tuples(columns, vector + crowd, [*range(GROUPS), *range(GROUPS)], GROUPS))


def clipped(vector: list[int], tau: int) -> NDArray[np.float64]:
    """C(vector) in floats, in multiples of tau."""
    part = np.minimum(np.array(vector) / tau, 1)
    length = math.hypot(*part)
    return part * min(1, 1 / length, 2 / length**2) if length > 0 else part


@given(vectors, vectors, vectors, st.integers(0, len(LADDER) - 1))
@settings(max_examples=examples(40, 400))
@example([ONE, 0, 0, 0, 0, 0], [0] * 6, [0] * 6, 20)
@example([1 << 50, 0, 0, 0, 0, 0], [0, 1 << 61, 0, 0, 0, 0], [0] * 6, 20)
def test_rows_of_one_unit_move_sums_and_lengths_by_at_most_tau(
    kept: list[int], added: list[int], crowd: list[int], rung: int
) -> None:
    more = [min(MAX_UNITS, before + new) for before, new in zip(kept, added, strict=True)]
    first, second = ClippedVectors(coded(kept, crowd), 0), ClippedVectors(coded(more, crowd), 0)
    tau = int(LADDER.units[rung])
    move = second.sums(tau) - first.sums(tau)
    assert math.hypot(*move.tolist()) <= sum_sensitivity(GROUPS)
    lengths = (answer.lengths(LADDER).values[0, rung] for answer in (first, second))
    assert abs(int(np.subtract(*lengths))) <= tau
    assert np.abs(first.sums(tau) / STEPS - clipped(kept, tau) - clipped(crowd, tau)).max() < 4 / STEPS


@given(st.data())
@settings(max_examples=examples(40, 300))
def test_the_clip_itself_moves_by_at_most_tau(data: st.DataObject) -> None:
    """In floats and at the corners of the proof, where lengths are 1, 2 and just beside."""
    size = data.draw(st.integers(1, 12))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    towards = generator.random(size) ** data.draw(st.sampled_from([1, 4, 20]))
    most = towards / np.linalg.norm(towards) * data.draw(st.sampled_from([0.5, 1, 1 + 1e-9, 2, 2 + 1e-9, 3, 50]))
    least = most * generator.choice([0.0, 1.0, generator.random()], size)
    first, second = (clipped([int(x * ONE) for x in vector], ONE) for vector in (most, least))
    assert np.linalg.norm(first - second) <= 1 + 1e-12


def test_the_sensitivity_is_reached_and_plain_clipping_exceeds_it() -> None:
    tau = ONE
    whole = ClippedVectors(coded([tau, 0, 0, 0, 0, 0], [0] * 6), 0).sums(tau)
    assert math.hypot(*whole.tolist()) == STEPS
    some, all_rows = np.array([2.0**20, 0]), np.array([2.0**20, 2.0**40])
    plain = [vector * min(1, 1 / np.linalg.norm(vector)) for vector in (some, all_rows)]
    assert np.linalg.norm(plain[0] - plain[1]) > 1.41
    pair = [[2**50, 0, 0, 0, 0, 0], [2**50, 2**60, 0, 0, 0, 0]]
    moved = [ClippedVectors(coded(vector, [0] * 6), 0).sums(tau) for vector in pair]
    assert math.hypot(*(moved[0] - moved[1]).tolist()) < STEPS
