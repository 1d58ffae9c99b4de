"""Counts of distinct values keep their claim, and the plain count with sensitivity 1 across two owners does not."""

from __future__ import annotations

import numpy as np

from privacy.join_tuples import DistinctTuples
from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.truncation.truncate_distinct import truncate_distinct
from tests.audit.auditing import audit
from tests.audit.mutants import WeakerNoise, plain_distinct_count
from tests.audit.pairs import Table
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.distinct.distinct_instances import Pair, distinct_tuples

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
    answer = truncate_distinct(distinct_tuples(pairs), measurement.ladder, measurement.gap)
    return np.array([answer.solve(0, j) for j in range(len(measurement.ladder))])


def test_a_determined_count_spends_what_it_may_and_no_more() -> None:
    fixed = Fixed(1.0, groups_per_unit=1, gap=0.01)
    assert 0.85 < audit(fixed, _pair(fixed, DETERMINED, ONE_MORE)) <= 1.0


def test_a_count_that_was_called_determined_by_mistake_is_still_private() -> None:
    fixed = Fixed(1.0, groups_per_unit=1, gap=0.01)
    assert 0.85 < audit(fixed, _pair(fixed, WITHOUT, WITH)) <= 1.0


def test_a_supplier_of_many_customers_is_hidden_by_the_projection_program() -> None:
    gem = Gem(1.0, groups_per_unit=1, gap=0.01, ladder=Ladder(-3, 4))
    assert audit(gem, _pair(gem, WITHOUT, WITH)) <= 1.0


def test_catches_sensitivity_one_across_two_owners() -> None:
    fixed = Fixed(1.0, groups_per_unit=1, gap=0.01)
    tuples: list[DistinctTuples] = [distinct_tuples(pairs) for pairs in (WITHOUT, WITH)]
    first, second = (plain_distinct_count(table) for table in tuples)
    assert audit(fixed, (first, second)) > 1.0


def test_catches_half_the_noise() -> None:
    fixed = Fixed(1.0, groups_per_unit=1)
    noise = WeakerNoise(SimulatedEntropy(1), laplace=0.5)
    assert audit(fixed, (np.zeros(1, np.int64), plain_distinct_count(distinct_tuples(DETERMINED[:1]))), noise) > 1.0


def test_catches_one_group_per_unit_where_it_is_two() -> None:
    fixed = Fixed(1.0, groups_per_unit=1)
    pair = np.zeros(1, np.int64), plain_distinct_count(distinct_tuples(DETERMINED[:1]))
    assert audit(fixed, pair, together=2) > 1.0
    assert audit(Fixed(1.0, groups_per_unit=2), pair, together=2) <= 1.0
