from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.vector.truncated_vector import merged, truncated_vector, vector_instance
from privacy.truncation.encode import encode
from privacy.truncation.vector.certificate.shares import SHARE_BITS, WHOLE
from privacy.units import ONE

LADDER = Ladder(0, 4)


def tuples() -> JoinTuples:
    """Person 1 has three tuples in each of two groups, one of them together with person 2; person 3 has one."""
    first = np.array([1, 1, 1, 1, 1, 1, 3])
    second = np.array([0, 0, 2, 0, 0, 2, 0])
    nobody = second == 0
    owners = OwnerColumn("p", first, np.zeros(7, bool)), OwnerColumn("p", second, nobody)
    group = np.array([0, 0, 0, 2, 2, 2, 1])
    return JoinTuples(owners, group, 4, np.stack([np.full(7, 5), np.full(7, ONE)]))


def test_a_person_in_several_groups_is_one_person() -> None:
    compact = merged(encode(tuples()), 1)
    assert (compact.n_units, compact.n_groups) == (3, 4)
    assert compact.group.tolist() == [0, 0, 1, 2, 2]
    assert sorted(compact.weights[0].tolist()) == [ONE, ONE, ONE, 2 * ONE, 2 * ONE]
    assert len(set(compact.units[compact.indptr[:-1]].tolist())) == 2


def test_nobody_is_removed_where_all_are_short() -> None:
    found = truncated_vector(vector_instance(encode(tuples()), 1, 4), LADDER, np.full(5, 0, np.int64))
    assert found is not None
    assert (LADDER.taus[found.rung], found.removed) == (8.0, 0)  # the vector of person 1 is 4.24 long
    assert [total / 2 ** (SHARE_BITS + 30) for total in found.sums] == [3.0, 1.0, 3.0, 0.0]


def test_a_part_of_a_person_is_removed_at_a_smaller_threshold() -> None:
    found = truncated_vector(vector_instance(encode(tuples()), 1, 4), LADDER, np.full(5, WHOLE, np.int64))
    assert found is not None
    assert LADDER.taus[found.rung] == 1.0
    assert 0.7 * WHOLE < found.removed < WHOLE
    assert "0." not in repr(found)


def test_who_is_removed_is_told_to_the_last_step() -> None:
    many = (1 << 55) + 1  # 2^24 people and a step
    instance = Mock(select=lambda *_: 0, removal=lambda _: Mock(removed=many), sums=lambda _: ())
    found = truncated_vector(instance, LADDER, np.full(5, 0, np.int64))
    assert found is not None
    assert found.removed == many


def test_no_threshold_is_an_answer_too() -> None:
    assert truncated_vector(vector_instance(encode(tuples()), 1, 4), LADDER, np.full(5, -1, np.int64)) is None


@pytest.mark.parametrize(("row", "n_groups"), [(2, 4), (-1, 4), (0, 3), (0, 5)])
def test_other_tuples_than_it_was_made_for_are_refused(row: int, n_groups: int) -> None:
    with pytest.raises(InvalidParameter):
        vector_instance(encode(tuples()), row, n_groups)


def test_no_tuples_are_no_people() -> None:
    none = np.zeros(0, np.int64)
    empty = JoinTuples((OwnerColumn("p", none, none > 0),), none, 4, np.zeros((1, 0), np.int64))
    found = truncated_vector(vector_instance(encode(empty), 0, 4), LADDER, np.full(5, 0, np.int64))
    assert found is not None
    assert (found.rung, found.removed, found.sums) == (0, 0, (0, 0, 0, 0))
