"""Tuples of at most two owners: values are the optimum to the half unit, and move by what one unit may move them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.truncation.encode import encode
from privacy.truncation.programs.exact_flow import exact_flow
from privacy.truncation.programs.library_solvers import ReferenceSolver
from privacy.truncation.truncate import truncate
from tests.property.truncation_strategies import THRESHOLDS, Tuple, graphs, small_integers
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import from_sets, optimum_of, program

CELLS = range(len(THRESHOLDS))
NEW_UNIT = 999


@given(st.lists(small_integers(graphs(min_size=1)), min_size=1, max_size=40))
def test_thousands_of_graphs_have_the_optimum_of_the_reference_formulation(
    many: list[tuple[list[Tuple], list[int]]],
) -> None:
    """Graphs side by side are one program for the reference, whose optimum is optimal on each of them."""
    side_by_side = [
        (frozenset(unit + 8 * i for unit in owners), weight)
        for i, (table, _) in enumerate(many)
        for owners, weight in table
    ]
    whole = program(side_by_side, [cap for _, caps in many for cap in caps])
    x = next(ReferenceSolver().points(whole))[0] * whole.scale
    ends = np.cumsum([0, *(len(table) for table, _ in many)])
    for i, (table, caps) in enumerate(many):
        half_units = 2 * float(x[ends[i] : ends[i + 1]].sum())
        assert abs(half_units - round(half_units)) < 1e-2
        assert exact_flow(program(table, caps)).value == round(half_units)


@given(graphs(), st.permutations(CELLS))
def test_values_are_the_optimum_rounded_down_in_any_order_of_questions(table: list[Tuple], order: list[int]) -> None:
    answer = truncate(encode(from_sets(table)), 0, THRESHOLDS, 0.0)
    fresh = [truncate(encode(from_sets(table)), 0, THRESHOLDS, 0.0).solve(0, j) for j in CELLS]
    for j in order:
        low, high = answer.bounds()
        assert np.all((low[0] <= fresh) & (fresh <= high[0]))
        assert answer.solve(0, j) == fresh[j]
        tau = int(THRESHOLDS.units[j])
        assert -1e-6 * tau <= optimum_of(table, tau) - fresh[j] <= 1 + 1e-6 * tau


@given(graphs(), st.sampled_from([0, 1, NEW_UNIT]), graphs(max_size=6))
@settings(max_examples=examples(40, 300))
def test_computed_values_move_by_at_most_the_threshold_and_what_was_added(
    table: list[Tuple], unit: int, added: list[Tuple]
) -> None:
    """No tolerance: these are the numbers that noise is added to."""
    more = [(frozenset({unit, min(owners)}), weight) for owners, weight in added]
    small = truncate(encode(from_sets(table)), 0, THRESHOLDS, 0.0)
    large = truncate(encode(from_sets(table + more)), 0, THRESHOLDS, 0.0)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        assert 0 <= large.solve(0, j) - small.solve(0, j) <= min(tau, sum(weight for _, weight in more))


@given(small_integers(graphs(min_size=1)), st.integers(0, 7), st.lists(st.integers(0, 30), min_size=20, max_size=20))
@settings(max_examples=examples(40, 300))
def test_what_one_unit_owns_is_worth_at_most_its_cap(
    graph: tuple[list[Tuple], list[int]], unit: int, weights: list[int]
) -> None:
    """In half units, with any weights in place of the unit's own."""
    table, caps = graph
    changed = [(owners, weights[i] if unit in owners else weight) for i, (owners, weight) in enumerate(table)]
    without = [(owners, 0 if unit in owners else weight) for owners, weight in table]
    base = exact_flow(program(without, caps)).value
    assert 0 <= exact_flow(program(changed, caps)).value - base <= 2 * caps[unit]
