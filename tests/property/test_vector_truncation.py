"""The vector program against Clarabel, and what privacy needs of its computed values."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from privacy.errors import SolverFailed
from privacy.join_tuples import CompactJoinTuples
from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_program.reference import ReferenceVectorSolver
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.thresholds import Thresholds
from tests.property.truncation_strategies import weights
from tests.support.seeds import examples
from tests.unit.privacy.papers.vector_program.vectors import (
    Grouped,
    compacted,
    distance,
    feasible,
    persons,
    sums_of,
)

THRESHOLDS = Thresholds(-3, 4)
GAP = persons(DEFAULT_GAP)
ORACLE = 2e-5
"""Persons by which Clarabel may be off on these sizes."""

taus = st.sampled_from(THRESHOLDS.units.tolist())


def instances(max_size: int = 20) -> st.SearchStrategy[list[Grouped]]:
    owners = st.frozensets(st.integers(0, 7), min_size=1, max_size=4)
    return st.lists(st.tuples(owners, weights, st.integers(0, 2)), max_size=max_size)


def oracle(instance: CompactJoinTuples, tau: int) -> float:
    """E by whichever form Clarabel finishes; an example on which it finishes neither is drawn again."""
    solver = ReferenceVectorSolver()
    for form in (solver.in_shares, solver.published):
        with suppress(SolverFailed):
            return form(instance, 0, tau) if instance.n_units else 0.0
    return float(reject())


@settings(max_examples=examples(40, 300))
@given(instances(), taus)
def test_the_value_is_certified_and_near_the_oracle(tuples: list[Grouped], tau: int) -> None:
    instance = compacted(tuples)
    removal = VectorInstance(instance).removal(tau)
    assert feasible(instance, removal, tau)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP
    optimum = oracle(instance, tau)
    assert persons(removal.lower) - ORACLE <= optimum <= persons(removal.removed) + ORACLE


@given(instances(10), taus)
def test_shares_and_the_published_program_agree(tuples: list[Grouped], tau: int) -> None:
    instance = compacted(tuples)
    if instance.n_units:
        solver = ReferenceVectorSolver()
        try:
            shares, published = solver.in_shares(instance, 0, tau), solver.published(instance, 0, tau)
        except SolverFailed:
            reject()
        assert abs(shares - published) <= 10 * ORACLE


@settings(max_examples=examples(40, 300))
@given(
    instances(), st.lists(st.tuples(st.frozensets(st.integers(0, 7), max_size=3), weights, st.integers(0, 2))), taus
)
def test_neighbours_differ_by_what_the_noise_is_scaled_for(
    tuples: list[Grouped], more: list[Grouped], tau: int
) -> None:
    """I' has more rows, all of unit 8: E moves in [-h, 1 + h], sums by at most tau (E + E' + 1)."""
    small, large = compacted(tuples), compacted([*tuples, *((owners | {8}, w, g) for owners, w, g in more)])
    before, after = VectorInstance(small), VectorInstance(large)
    moved = persons(after.removal(tau).removed - before.removal(tau).removed)
    assert -GAP <= moved <= 1 + GAP
    removed = persons(after.removal(tau).removed + before.removal(tau).removed)
    assert distance(before.sums(tau), after.sums(tau)) <= tau * (removed + 1) * (1 + 1e-12)


@settings(max_examples=examples(40, 300))
@given(instances())
def test_fewer_are_removed_as_the_threshold_grows(tuples: list[Grouped]) -> None:
    instance = VectorInstance(compacted(tuples))
    removals = [instance.removal(tau) for tau in THRESHOLDS.units.tolist()]
    assert all(later.removed <= sooner.removed + DEFAULT_GAP for sooner, later in pairwise(removals))


@given(instances(), taus)
def test_sums_are_exact(tuples: list[Grouped], tau: int) -> None:
    instance = compacted(tuples)
    vector = VectorInstance(instance)
    assert vector.sums(tau) == sums_of(instance, vector.removal(tau))


@settings(max_examples=examples(40, 300))
@given(instances(), st.lists(st.integers(-WHOLE, 6 * WHOLE), min_size=len(THRESHOLDS), max_size=len(THRESHOLDS)))
def test_selection_equals_a_scan_of_the_whole_ladder(tuples: list[Grouped], stop: list[int]) -> None:
    instance = compacted(tuples)
    full = VectorInstance(instance)
    passing = [full.removal(tau).removed <= limit for tau, limit in zip(THRESHOLDS.units.tolist(), stop, strict=True)]
    expected = passing.index(True) if any(passing) else None
    assert VectorInstance(instance).select(THRESHOLDS, np.array(stop, np.int64)) == expected


@given(instances(), st.data())
def test_selection_is_right_when_a_stop_value_is_hit_exactly(tuples: list[Grouped], data: st.DataObject) -> None:
    """Stop values at and one step beside the values themselves, where a sloppy bound would show."""
    instance = compacted(tuples)
    full = VectorInstance(instance)
    values = [full.removal(level).removed for level in THRESHOLDS.units.tolist()]
    stop = [value + data.draw(st.integers(-1, 1)) for value in values]
    passing = [value <= limit for value, limit in zip(values, stop, strict=True)]
    expected = passing.index(True) if any(passing) else None
    assert VectorInstance(instance).select(THRESHOLDS, np.array(stop, np.int64)) == expected
