"""Merging, presolve, bounds and certificates keep the optimum (docs/mathematics.md, sections 3.3 and 3.4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.thresholds import Thresholds
from privacy.truncation.distinct import group_instance
from privacy.truncation.encode import compact, encode
from privacy.truncation.programs.certificate import certify
from privacy.truncation.programs.library_solvers import ReferenceSolver
from privacy.truncation.programs.presolve import presolve
from privacy.truncation.programs_by_threshold import programs_by_threshold
from privacy.truncation.small_groups import cheap_bounds
from privacy.truncation.truncate import truncate
from tests.property.truncation_strategies import THRESHOLDS, Tuple, hypergraphs
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import from_sets, optimum, optimum_of, program

GAP = 0.05
OTHER = Thresholds(THRESHOLDS.low, THRESHOLDS.high, Fraction(12, 7))
"""As many thresholds, of which none is twice another."""

CELLS = range(len(THRESHOLDS))


@given(hypergraphs(), st.sampled_from(CELLS))
def test_merging_preserves_the_optimum(table: list[Tuple], j: int) -> None:
    tau = int(THRESHOLDS.units[j])
    merged = group_instance(compact(from_sets(table)), 0).program(0, tau)
    assert abs(optimum(merged) - optimum_of(table, tau)) <= 1e-6 * tau


@given(hypergraphs(min_size=1), st.lists(st.integers(0, 1 << 31), min_size=8, max_size=8))
def test_presolve_preserves_the_optimum_for_any_caps(table: list[Tuple], caps: list[int]) -> None:
    given_program = program(table, caps)
    done = presolve(given_program)
    rest = 0.0 if done.core is None else optimum(done.core)
    assert abs(done.settled + rest - optimum(given_program)) <= 1e-6 * given_program.scale
    if done.core is not None:
        assert np.all(done.core.incidence.owners > 1)
        assert np.all(done.core.weights > 0)


@given(hypergraphs(), st.sampled_from(CELLS))
@settings(max_examples=examples(12, 25))
def test_the_reference_formulation_agrees_with_the_routes(table: list[Tuple], j: int) -> None:
    tau = int(THRESHOLDS.units[j])
    core = presolve(group_instance(compact(from_sets(table)), 0).program(0, tau)).core if table else None
    if core is not None:
        assert certify(core, *next(ReferenceSolver().points(core))).within(int(1e-3 * tau))


@given(hypergraphs(min_size=1), st.data())
def test_any_point_whatsoever_certifies_only_the_truth(table: list[Tuple], data: st.DataObject) -> None:
    numbers = st.floats(allow_nan=True, allow_infinity=True, width=32) | st.floats(0, 1)
    instance = program(table, [int(THRESHOLDS.units[4])] * 8)
    x = data.draw(st.lists(numbers, min_size=len(table), max_size=len(table)))
    y = data.draw(st.lists(numbers, min_size=8, max_size=8))
    proof = certify(instance, np.array(x), np.array(y))
    exact, slack = optimum(instance), 1e-6 * instance.scale
    assert proof.floor() <= exact + slack
    assert proof.ceiling() >= exact - slack


@given(hypergraphs(), st.sampled_from([THRESHOLDS, OTHER]))
def test_cheap_bounds_contain_the_optimum(table: list[Tuple], thresholds: Thresholds) -> None:
    start = cheap_bounds(programs_by_threshold(encode(from_sets(table)), 0, thresholds))
    for j, tau in enumerate(thresholds.units.tolist()):
        exact = optimum_of(table, tau)
        assert start.lower[0, j] - 1e-6 * tau <= exact <= start.upper[0, j] + 1e-6 * tau


@given(hypergraphs(), st.permutations(CELLS), st.sampled_from([THRESHOLDS, OTHER]))
def test_values_lie_in_the_gap_and_in_the_bounds_in_any_order_of_questions(
    table: list[Tuple], order: list[int], thresholds: Thresholds
) -> None:
    tuples = encode(from_sets(table))
    answer = truncate(tuples, 0, thresholds, GAP)
    values = [truncate(tuples, 0, thresholds, GAP).solve(0, j) for j in CELLS]
    for j in order:
        low, high = answer.bounds()
        assert np.all((low[0] <= values) & (values <= high[0]))
        assert answer.solve(0, j) == values[j]
        assert low[0, j] == high[0, j] == values[j]
        exact, tau = optimum_of(table, int(thresholds.units[j])), int(thresholds.units[j])
        assert exact - GAP * tau - 1e-6 * tau <= values[j] <= exact + 1e-6 * tau


@given(hypergraphs(), hypergraphs(), st.permutations(CELLS))
@settings(max_examples=examples(15, 30))
def test_groups_do_not_see_each_other(first: list[Tuple], second: list[Tuple], order: list[int]) -> None:
    group = [0] * len(first) + [1] * len(second)
    both = truncate(encode(from_sets(first + second, group, 2)), 0, THRESHOLDS, GAP)
    alone = [truncate(encode(from_sets(table)), 0, THRESHOLDS, GAP) for table in (first, second)]
    for j in order:
        for g in (0, 1):
            low, high = both.bounds()
            assert low[g, j] <= alone[g].solve(0, j) <= high[g, j]
            assert abs(both.solve(g, j) - alone[g].solve(0, j)) <= GAP * int(THRESHOLDS.units[j])
