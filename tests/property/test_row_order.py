"""Values and programs are functions of the set of join tuples: neither the order of rows nor of positions shows."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.programs_by_threshold import programs_by_threshold
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.support.seeds import sampled

THRESHOLDS = Thresholds(-2, 5)
N_GROUPS = 2


@st.composite
def tables(draw: st.DrawFn) -> JoinTuples:
    """Rows of one to five owner positions of one relation, some without an owner, in two groups or in none."""
    m, positions = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return _table(random, m, positions, n_units=draw(st.integers(2, 9)), missing=draw(st.sampled_from([0.0, 0.2])))


def _table(random: np.random.Generator, m: int, positions: int, n_units: int, missing: float) -> JoinTuples:
    owners = tuple(
        OwnerColumn("n", random.integers(0, n_units, m), random.random(m) < missing) for _ in range(positions)
    )
    weights = random.choice([0, 1, ONE // 3, ONE, 3 * ONE], (1, m))
    return JoinTuples(owners, random.integers(-1, N_GROUPS, m), N_GROUPS, weights)


def _reordered(tuples: JoinTuples, rows: NDArray[np.int64], positions: list[int]) -> JoinTuples:
    moved = [OwnerColumn(o.relation, o.keys[rows], o.missing[rows]) for o in tuples.owners]
    return JoinTuples(
        tuple(moved[position] for position in positions), tuples.group[rows], N_GROUPS, tuples.weights[:, rows]
    )


def _shuffled(tuples: JoinTuples, random: Random) -> JoinTuples:
    positions = list(range(len(tuples.owners)))
    random.shuffle(positions)
    rows = np.arange(len(tuples.group))
    random.shuffle(rows)  # type: ignore[arg-type]
    return _reordered(tuples, rows, positions)


def _assert_same_programs(first: JoinTuples, second: JoinTuples) -> None:
    ours, theirs = (programs_by_threshold(encode(tuples), 0, THRESHOLDS) for tuples in (first, second))
    for group in range(N_GROUPS):
        for index in range(len(THRESHOLDS)):
            a, b = ours.reduced(group, index), theirs.reduced(group, index)
            assert a.settled == b.settled
            assert (a.core is None) == (b.core is None)
            if a.core is not None and b.core is not None:
                assert a.core.weights.tolist() == b.core.weights.tolist()
                assert a.core.caps.tolist() == b.core.caps.tolist()
                assert a.core.incidence.indptr.tolist() == b.core.incidence.indptr.tolist()
                assert a.core.incidence.units.tolist() == b.core.incidence.units.tolist()


@given(tables(), st.randoms(use_true_random=False))
def test_what_a_solver_sees(tuples: JoinTuples, random: Random) -> None:
    _assert_same_programs(tuples, _shuffled(tuples, random))


@given(tables(), st.randoms(use_true_random=False), st.sampled_from([0.02, 0.3]))
def test_values_and_bounds_whatever_was_asked_before(tuples: JoinTuples, random: Random, gap: float) -> None:
    first, second = (truncate(encode(table), 0, THRESHOLDS, gap) for table in (tuples, _shuffled(tuples, random)))
    assert np.array_equal(first.bounds(), second.bounds())
    cells = [(group, index) for group in range(N_GROUPS) for index in range(len(THRESHOLDS))]
    values = [first.solve(*cell) for cell in cells]
    for cell in random.sample(cells, len(cells)):
        second.sharpen(*cell)
    assert [second.solve(*cell) for cell in cells] == values


@pytest.mark.parametrize("positions", sampled([2, 3, 4], 1))
def test_hundreds_of_rows(positions: int) -> None:
    random = np.random.default_rng(positions)
    tuples = _table(random, 800, positions, n_units=30, missing=0.1)
    other = _shuffled(tuples, Random(positions))
    _assert_same_programs(tuples, other)
    ours, theirs = (truncate(encode(table), 0, THRESHOLDS, 0.01) for table in (tuples, other))
    for index in range(len(THRESHOLDS)):
        assert ours.solve(1, index) == theirs.solve(1, index)
