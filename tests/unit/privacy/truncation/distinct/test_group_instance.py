import numpy as np

from privacy.truncation.compact import compact
from privacy.truncation.distinct.group_instance import GroupInstance, group_instance
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import Tuple, from_sets

TUPLES: list[Tuple] = [
    (frozenset({1, 2}), 3 * ONE),
    (frozenset({2}), ONE),
    (frozenset({2, 5}), 5 * ONE),
    (frozenset({1, 5}), 0),
]


def _instance() -> GroupInstance:
    return group_instance(compact(from_sets(TUPLES, [0, 0, 2, 2], 3)), 0)


def test_a_unit_of_two_groups_is_two_members_and_weightless_tuples_are_gone() -> None:
    instance = _instance()
    assert instance.row_group.tolist() == [0, 0, 2]
    assert instance.member_group.tolist() == [0, 0, 2, 2]
    assert (instance.loads // ONE).tolist() == [3, 4, 5, 5]


def test_totals_and_extremes_of_every_group() -> None:
    instance = _instance()
    assert (instance.totals // ONE).tolist() == [4, 0, 5]
    assert (instance.heaviest // ONE).tolist() == [4, 0, 5]
    assert instance.lightest.tolist() == [ONE, MAX_UNITS, 5 * ONE]


def test_the_program_of_a_group_holds_its_tuples_only() -> None:
    program = _instance().program(2, 7)
    assert (program.weights.tolist(), program.caps.tolist()) == ([5 * ONE], [7, 7])
    assert program.incidence.units.tolist() == [0, 1]
    assert len(_instance().program(1, 7).weights) == 0


def test_many_groups_are_ranked_by_sorting() -> None:
    group = [0, 40_000, 99_999, 99_999]
    instance = group_instance(compact(from_sets(TUPLES, group, 100_000)), 0)
    assert instance.member_group.tolist() == [0, 0, 40_000, 99_999, 99_999]
    assert np.flatnonzero(instance.totals).tolist() == [0, 40_000, 99_999]
