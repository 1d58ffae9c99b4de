"""r2t, laplace_global, counts of distinct values and completed provenance keep their claims; mutants do not.

Provenance completion without its filter is caught: what a removed row leaves dangling must vanish with it. That the
rows of a real database come to this is shown by `tests/property/test_partial_removal.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from privacy.join_tuples import DistinctTuples
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.shared_threshold import fixed_threshold
from privacy.papers.r2t import R2T
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.units import ONE
from tests.audit.auditing import RUNS, audit, slow
from tests.audit.mutants import UnsplitR2T, WeakerNoise, plain_distinct_count
from tests.audit.pairs import Table, crowd_and_one_more, empty_and_full_unit, level_race
from tests.audit.sampled_auditing import Pairs, tuples_of
from tests.support.papers.laplace_global import LaplaceGlobal
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.distinct_instances import Pair, distinct_tuples

BOUND = 16.0
FEW = examples(50_000, RUNS)
"""Runs that show a mistake, which more do not show better."""


@pytest.mark.parametrize("epsilon", [slow(0.5), 1.0, slow(2.0)])
def test_a_level_race_spends_nearly_everything_and_no_more(epsilon: float) -> None:
    r2t = R2T(epsilon, BOUND, groups_per_unit=1)
    assert epsilon - 0.3 < audit(r2t, level_race(r2t), runs=300_000) <= epsilon


@pytest.mark.slow
def test_empty_and_a_crowd_against_a_unit_at_every_bound() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1)
    assert audit(r2t, empty_and_full_unit(r2t.thresholds)) <= 1.0
    assert audit(r2t, crowd_and_one_more(r2t.thresholds, people=100, contribution=5.0)) <= 1.0


def test_a_solver_gap_is_paid_for() -> None:
    r2t = R2T(1.0, BOUND, groups_per_unit=1, gap=0.5)
    assert 0.75 < audit(r2t, level_race(r2t), runs=300_000) <= 1.0


def test_a_unit_in_two_groups() -> None:
    r2t = R2T(1.0, 4.0, groups_per_unit=2)
    assert 0.75 < audit(r2t, level_race(r2t, n_groups=2), together=2, runs=300_000) <= 1.0


def test_catches_too_little_noise() -> None:
    """Half of it, an unsplit budget, one group per unit where there are two, and noise that forgets the gap."""
    r2t, unsplit, few = (made(1.0, most, 1) for made, most in ((R2T, BOUND), (UnsplitR2T, BOUND), (R2T, 4.0)))
    assert audit(r2t, level_race(r2t), WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > 1.0
    assert audit(unsplit, level_race(unsplit)) > 1.0
    assert audit(few, level_race(few, n_groups=2), together=2) > 1.0
    first, second = level_race(r2t)
    assert audit(r2t, (first, second + (second - first) // 2)) > 1.0


LOAD = 24.0


def nobody_and(contribution: float) -> tuple[Table, Table]:
    return np.zeros(1, np.int64), np.array([round(contribution * ONE)], np.int64)


@pytest.mark.parametrize("epsilon", [slow(0.5), 1.0, slow(2.0)])
def test_a_unit_at_the_bound_costs_all_and_no_more(epsilon: float) -> None:
    mechanism = LaplaceGlobal(epsilon, LOAD, groups_per_unit=1)
    assert epsilon - 0.2 < audit(mechanism, nobody_and(LOAD)) <= epsilon


def test_a_broken_promise_costs_what_is_announced() -> None:
    """The threshold cuts whoever has more at 32, so that is the worst."""
    mechanism = LaplaceGlobal(1.0, LOAD, groups_per_unit=1)
    assert 1.0 < audit(mechanism, nobody_and(32.0)) <= mechanism.epsilon_if_bound_fails()


def test_catches_half_the_noise_and_an_answer_that_is_not_truncated_and_a_second_group() -> None:
    mechanism = LaplaceGlobal(1.0, LOAD, groups_per_unit=1)
    assert audit(mechanism, nobody_and(LOAD), WeakerNoise(SimulatedEntropy(1), laplace=0.5), runs=FEW) > 1.0
    assert audit(mechanism, nobody_and(100.0), runs=FEW) > mechanism.epsilon_if_bound_fails()
    assert audit(mechanism, nobody_and(LOAD), together=2, runs=FEW) > 1.0


SUPPLIER, OTHER_SUPPLIER = 1000, 1001
CUSTOMERS = 6


def _bought(supplier: int, customers: range) -> list[Pair]:
    """Lines whose owners are a customer and a supplier; the customer is the value."""
    return [(frozenset({customer, supplier}), customer) for customer in customers]


WITHOUT = _bought(OTHER_SUPPLIER, range(100, 101))
WITH = WITHOUT + _bought(SUPPLIER, range(CUSTOMERS))
"""COUNT(DISTINCT customer): one supplier brings six values, though each customer brings one."""

DETERMINED = [(frozenset({nation, 10 + nation}), nation) for nation in range(4)]
ONE_MORE = [*DETERMINED, (frozenset({4, 14}), 4)]
"""Customer and supplier of the same nation, which is the value: one unit brings one."""


def _pair(measurement: Measurement, first: list[Pair], second: list[Pair]) -> tuple[Table, Table]:
    return _table(measurement, first), _table(measurement, second)


def _table(measurement: Measurement, pairs: list[Pair]) -> Table:
    """Every value along the measurement's ladder, as the mechanism would solve it."""
    answer = truncate_distinct(distinct_tuples(pairs), measurement.thresholds, measurement.gap)
    return np.array([answer.solve(0, j) for j in range(len(measurement.thresholds))])


def test_a_determined_count_spends_what_it_may_and_so_does_one_that_was_called_so_by_mistake() -> None:
    fixed = fixed_threshold(1.0, groups_per_unit=1, gap=0.01)
    assert 0.85 < audit(fixed, _pair(fixed, DETERMINED, ONE_MORE)) <= 1.0
    assert 0.85 < audit(fixed, _pair(fixed, WITHOUT, WITH)) <= 1.0


@pytest.mark.slow
def test_a_supplier_of_many_customers_is_hidden_by_the_projection_program() -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=1, gap=0.01, thresholds=Thresholds(-3, 4))
    assert audit(gem, _pair(gem, WITHOUT, WITH)) <= 1.0


def test_catches_sensitivity_one_across_two_owners() -> None:
    fixed = fixed_threshold(1.0, groups_per_unit=1, gap=0.01)
    tuples: list[DistinctTuples] = [distinct_tuples(pairs) for pairs in (WITHOUT, WITH)]
    first, second = (plain_distinct_count(table) for table in tuples)
    assert audit(fixed, (first, second), runs=FEW) > 1.0


def test_catches_half_the_noise_and_one_group_per_unit_where_it_is_two() -> None:
    fixed = fixed_threshold(1.0, groups_per_unit=1)
    pair = np.zeros(1, np.int64), plain_distinct_count(distinct_tuples(DETERMINED[:1]))
    assert audit(fixed, pair, WeakerNoise(SimulatedEntropy(1), laplace=0.5), runs=FEW) > 1.0
    assert audit(fixed, pair, together=2, runs=FEW) > 1.0
    assert audit(fixed_threshold(1.0, groups_per_unit=2), pair, together=2) <= 1.0


HUB = 51
WHOLE: Pairs = [(person, HUB, 1.0) for person in range(50)]
"""Fifty people's lines, each joined with the one line of the hub, which owns all fifty tuples."""

DANGLING: Pairs = [(person, -1, 1.0) for person in range(50)]
"""The hub's order is gone and its line is not: without the filter it still joins, and nobody bounds it."""


def completed(rows: Pairs, thresholds: Thresholds) -> Table:
    answer = truncate(encode(tuples_of(rows)), 0, thresholds, 0.0)
    return np.array([answer.solve(0, i) for i in range(len(thresholds))], np.int64)


@pytest.mark.parametrize(
    "mechanism", [fixed_threshold(1.0, 1), slow(Gem(PureBudget(1.0), 1, thresholds=Thresholds(-2, 4)))]
)
def test_a_hub_whose_order_is_gone_is_hidden_and_not_without_its_filter(mechanism: Measurement) -> None:
    whole, nothing, dangling = (completed(rows, mechanism.thresholds) for rows in (WHOLE, [], DANGLING))
    assert audit(mechanism, (whole, nothing)) <= 1.0
    assert audit(mechanism, (whole, dangling), runs=FEW) > 1.0
