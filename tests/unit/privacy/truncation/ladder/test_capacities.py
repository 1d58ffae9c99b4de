from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.ladder.capacities import ALIKE, Capacities, member_capacities
from privacy.truncation.truncate import truncate
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import join_tuples, owner

LADDER = Ladder(-20, 32)
TWICE = Capacities((("b", 2048), ("c", 3 << 9)))
TUPLES = encode(
    join_tuples(
        [owner("a", [1, 2, 2]), owner("b", [7, 7, None], np.int64), owner("c", [None, 5, 6], np.int64)],
        [ONE, ONE, ONE],
        [0, 1, 1],
        2,
    )
)


def test_members_have_the_capacity_of_their_relation() -> None:
    found = member_capacities(TUPLES, LADDER, TWICE)
    tau = LADDER.units[20]
    assert TUPLES.relations == (("a", 2), ("b", 3), ("c", 5))
    assert found.at(slice(None), 20).tolist() == [tau, 2 * tau, tau, 2 * tau, 3 * tau // 2, 3 * tau // 2]
    assert found.at(np.array([1, 4]), 20).tolist() == [2 * tau, 3 * tau // 2]


def test_they_double_with_the_threshold_until_they_saturate() -> None:
    table = member_capacities(TUPLES, LADDER, Capacities((("b", 1025),))).table
    assert (table[0] == LADDER.units).all()
    assert (table[1, 1:-1] == 2 * table[1, :-2]).all()
    assert table[1, 0] == 1025
    assert table[1, -1] == MAX_UNITS


def test_relations_that_are_not_named_have_the_threshold() -> None:
    assert member_capacities(TUPLES, LADDER, ALIKE).table.shape == (1, len(LADDER))
    assert member_capacities(TUPLES, LADDER, Capacities((("nobody", 4096),))).at(slice(None), 3).max() == 8 << 10


@pytest.mark.parametrize("ladder", [Ladder(0, 3, 3), Ladder(1, 1, Fraction(3, 2))])
def test_other_ladders_have_one_capacity(ladder: Ladder) -> None:
    assert member_capacities(TUPLES, ladder, ALIKE).table.tolist() == [ladder.units.tolist()]
    with pytest.raises(InvalidParameter):
        member_capacities(TUPLES, ladder, TWICE)


def test_no_kind_has_less_than_the_threshold() -> None:
    with pytest.raises(InvalidParameter):
        Capacities((("a", 1023),))


@pytest.mark.parametrize("gap", [0.0, 0.01])
def test_a_saturated_load_saturates_the_answer(gap: float) -> None:
    """A unit of 2^32 weights with that capacity, shared with others of less."""
    heavy = join_tuples([owner("a", [1, 1]), owner("b", [1, 2])], [[MAX_UNITS, MAX_UNITS]])
    answer = truncate(encode(heavy), 0, Ladder(29, 32), gap, capacities=Capacities((("a", 4096),)))
    values = [answer.solve(0, j) for j in range(4)]
    assert values[0] in range(int((2 - gap) * 2**59), 2**60 + 1)
    assert values[1] in range(int((2 - gap) * 2**60), 2**61 + 1)
    assert values[2:] == pytest.approx([MAX_UNITS, MAX_UNITS], rel=1e-2)


def test_repr_tells_nothing() -> None:
    assert repr(member_capacities(TUPLES, LADDER, TWICE)) == "MemberCapacities(<private>)"
