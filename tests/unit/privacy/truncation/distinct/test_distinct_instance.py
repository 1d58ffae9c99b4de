import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import DistinctTuples, OwnerColumn
from privacy.truncation.distinct.distinct_instance import distinct_instance
from privacy.units import ONE
from tests.unit.privacy.truncation.distinct.distinct_instances import Pair, distinct_tuples
from tests.unit.privacy.truncation.instances import owner


def _pairs(*pairs: tuple[set[int], int]) -> list[Pair]:
    return [(frozenset(owners), value) for owners, value in pairs]


def test_equal_owners_and_values_merge_and_weigh_one() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({1, 2}, 5), ({2, 1}, 5), ({1, 2}, 6), ({1}, 5))))
    assert instance.graph.weights.tolist() == [ONE] * 3
    assert int(instance.is_value.sum()) == 2
    assert not instance.single_owner


def test_what_nobody_owns_or_has_no_value_or_no_group_does_not_count() -> None:
    pairs = _pairs((set(), 1), ({1}, -1), ({1}, 2), ({1}, 3))
    instance = distinct_instance(distinct_tuples(pairs, [0, 0, -1, 0]))
    assert instance.graph.weights.tolist() == [ONE]
    assert instance.single_owner


def test_a_value_has_the_cap_one_at_every_threshold() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({0}, 0), ({1}, 0), ({1}, 1))))
    for tau in (ONE >> 3, ONE, ONE << 5):
        program = instance.program(0, tau)
        assert program.caps.tolist() == [tau, tau, ONE, ONE]
        assert program.weights.tolist() == [min(tau, ONE)] * 3


def test_groups_number_their_values_apart() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({0}, 0), ({0}, 0), ({1}, 1)), [0, 1, 1], 3))
    assert [len(instance.program(group, ONE).caps) for group in range(3)] == [2, 4, 0]
    assert instance.n_groups == 3


def test_a_value_is_not_a_unit_of_the_same_key() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({3}, 3), ({4}, 4))))
    assert len(instance.program(0, ONE).caps) == 4


def test_nothing_at_all() -> None:
    instance = distinct_instance(distinct_tuples([]))
    assert instance.single_owner
    assert instance.program(0, ONE).weights.tolist() == []


def test_columns_of_other_lengths_are_refused() -> None:
    group, value = np.zeros(2, np.int64), np.zeros(2, np.int64)
    with pytest.raises(InvalidParameter):
        distinct_instance(DistinctTuples((owner("unit", [1, 2]),), group, 1, value[:1]))
    with pytest.raises(InvalidParameter):
        distinct_instance(DistinctTuples((owner("unit", [1]),), group, 1, value))
    with pytest.raises(InvalidParameter):
        distinct_instance(DistinctTuples((owner("unit", [1, 2]),), group, 1, value.astype(np.int32)))


def test_nothing_private_is_shown() -> None:
    tuples = DistinctTuples((OwnerColumn("unit", np.array([4711]), np.zeros(1, bool)),), *_one_row())
    assert "4711" not in repr(tuples) + repr(distinct_instance(tuples))


def _one_row() -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return np.zeros(1, np.int64), 1, np.array([4711])
