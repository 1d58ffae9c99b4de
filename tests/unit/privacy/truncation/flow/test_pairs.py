import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.flow.pairs import pairs_of
from privacy.units import MAX_UNITS
from tests.unit.privacy.truncation.flow.graphs import pairs
from tests.unit.privacy.truncation.instances import program


def test_tuples_of_one_member_fill_it_first() -> None:
    settled, found = pairs_of(program([(frozenset({0}), 3), (frozenset({0, 1}), 9), (frozenset({1}), 7)], [5, 6]))
    assert settled == 3 + 6
    assert found.caps.tolist() == [2, 0]
    assert found.weights.tolist() == [0]


def test_weights_are_cut_to_the_smaller_cap() -> None:
    settled, found = pairs_of(program([(frozenset({0, 1}), 9), (frozenset({1, 2}), 1)], [5, 4, 7]))
    assert settled == 0
    assert found.weights.tolist() == [4, 1]
    assert (found.first.tolist(), found.second.tolist()) == ([0, 1], [1, 2])
    assert found.loads().tolist() == [4, 5, 1]


def test_no_tuples_are_no_pairs() -> None:
    settled, found = pairs_of(program([], [5]))
    assert (settled, len(found.weights), found.loads().tolist()) == (0, 0, [0])


def test_three_members_are_refused() -> None:
    with pytest.raises(SolverFailed, match="at most two members"):
        pairs_of(program([(frozenset({0, 1, 2}), 1)], [1, 1, 1]))


def test_loads_of_pairs_stop_at_the_largest_weight() -> None:
    heavy = MAX_UNITS - 1
    found = pairs([(0, 1, heavy), (1, 2, heavy), (1, 0, heavy)], [heavy] * 3)
    assert found.loads().tolist() == [MAX_UNITS, MAX_UNITS, heavy]
    assert np.all(found.loads() <= MAX_UNITS)


def test_a_repr_tells_nothing() -> None:
    assert repr(pairs([(0, 1, 7)], [7, 7])) == "Pairs(<private>)"
