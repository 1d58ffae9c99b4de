"""A unit that comes moves sums that are scaled in a database by tau and its rounding, and counts of units by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privacy.mechanisms.unit_vectors import RoundedNoise
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import FINER_BITS, NormHistogram, VectorsOfSum
from privacy.units import MAX_UNITS, ONE
from tests.support.lengths import Vectors, length_of, lengths_of
from tests.support.seeds import examples

MOST_GROUPS = 7
THRESHOLDS = Thresholds(-20, 32, parts=4)
BIG = 1 << 40
BOTH = pytest.mark.parametrize("euclidean", [False, True])

weights = st.one_of(
    st.sampled_from([0, 1, ONE, 2 * ONE, ONE - 1, ONE + 1, BIG, MAX_UNITS // 8, MAX_UNITS - 1]),
    st.integers(0, 4 * ONE),
    st.integers(0, MAX_UNITS // 8),
)
vectors = st.lists(weights, min_size=MOST_GROUPS, max_size=MOST_GROUPS)


def found(units: Vectors, *, euclidean: bool) -> NormHistogram:
    return lengths_of([units], len(units[0]), THRESHOLDS.units.tolist(), euclidean=euclidean)


def within(moved: list[Fraction], tau: Fraction, euclidean: bool) -> bool:
    """Is a vector no longer than tau, exactly?"""
    return sum(part * part for part in moved) <= tau * tau if euclidean else sum(moved) <= tau


@given(st.integers(1, MOST_GROUPS), vectors, vectors, st.integers(0, len(THRESHOLDS) - 1), st.booleans())
@settings(max_examples=examples(80, 800))
@example(6, [BIG, 0, 0, 0, 0, 0, 0], [0] + [BIG] * 6, 80, False)
@example(7, [ONE - 1] * 7, [MAX_UNITS // 8] * 7, 80, True)
@example(7, [MAX_UNITS // 8] * 7, [ONE // 7] * 7, 208, False)
@example(3, [1, 1, 1, 0, 0, 0, 0], [BIG, BIG, 1, 0, 0, 0, 0], 0, True)
def test_a_unit_that_comes_moves_sums_by_tau_and_its_rounding(
    groups: int, unit: list[int], crowd: list[int], level: int, euclidean: bool
) -> None:
    both, others = ([crowd[:groups], unit[:groups]], [crowd[:groups]])
    more, fewer = (VectorsOfSum(found(units, euclidean=euclidean), 0) for units in (both, others))
    tau = int(THRESHOLDS.units[level])
    noise = RoundedNoise(tau, 0.0, Fraction(1), groups=groups)
    moved = (more.sums(tau, noise.step) - fewer.sums(tau, noise.step)).tolist()
    in_steps = Fraction(tau << FINER_BITS, noise.step)
    assert all(part >= 0 for part in moved)
    assert within([Fraction(max(0, part - 1)) for part in moved], in_steps, euclidean), (
        "each group rounds one step off"
    )
    assert within(list(map(Fraction, moved)), Fraction(noise.sensitivity), euclidean)
    counted, before = (one.kept(THRESHOLDS).exceedances for one in (more, fewer))
    assert counted is not None and before is not None
    assert set((counted - before).ravel().tolist()) <= {0, 1}


@BOTH
def test_every_small_vector_exactly(euclidean: bool) -> None:
    """All vectors of three groups up to five units, at thresholds up to seven, beside one that leaves a remainder.

    Steps of one unit are coarse beside them, so that rounding counts: sums do move by more than tau.
    """
    taus, beyond = [*range(1, 8)], 0
    for vector in product(range(6), repeat=3):
        alone, beside, crowd = (
            VectorsOfSum(lengths_of([units], 3, taus, euclidean=euclidean), 0)
            for units in ([vector], [vector, (7, 5, 3)], [(7, 5, 3)])
        )
        for tau in taus:
            fine = alone.sums(tau, 1).tolist()
            exact = [Fraction(part, 1 << FINER_BITS) for part in fine]
            assert within(exact, Fraction(tau), euclidean)
            if sum(vector) and length_of(vector, euclidean) > tau:
                length = Fraction(length_of(vector, euclidean))
                wanted = [part * tau / length for part in vector]
                assert all(0 <= full - kept < Fraction(1, 1 << 16) for full, kept in zip(wanted, exact, strict=True))
            else:
                assert exact == list(vector), "what is shorter stays as it is"
            moved = beside.sums(tau, 1 << FINER_BITS) - crowd.sums(tau, 1 << FINER_BITS)
            assert all(0 <= part <= kept + 1 for part, kept in zip(moved.tolist(), exact, strict=True))
            beyond = max(beyond, int(moved.sum()) - tau)
    assert euclidean or beyond in (1, 2)


@BOTH
def test_a_euclidean_length_is_no_less_than_it_is(euclidean: bool) -> None:
    """And hardly more, of vectors of every size."""
    rng = np.random.default_rng(1)
    for bits in range(1, 59):
        vector = (rng.integers(1, 1 << bits, 5) if bits > 1 else np.ones(5, np.int64)).tolist()
        length = length_of(vector, euclidean)
        exact = sum(part * part for part in vector)
        assert length * length >= exact
        if euclidean:
            assert (length - 1) ** 2 <= exact * (1 + 2**-25)


def test_shares_that_are_rounded_up_are_seen() -> None:
    """They would add up to more than tau: the bound is tight."""
    taus = [1 << 20]
    units = [[1 << 30] * 7]
    histogram = lengths_of([units], 7, taus, euclidean=False)
    object.__setattr__(histogram, "shares", histogram.shares + 1)
    kept = VectorsOfSum(histogram, 0).sums(taus[0], 1)
    assert int(kept.sum()) > taus[0] << FINER_BITS
