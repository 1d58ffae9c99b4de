from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.sampling.units.explorable import explorable
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import join_tuples, owner


def tuples() -> JoinTuples:
    return join_tuples(
        [owner("a", [7, None, 7, None, 5], np.int64), owner("b", [7, 7, None, None, 7], np.int64)],
        [ONE, 2 * ONE, 3 * ONE, 4 * ONE, 5 * ONE],
    )


def test_units_of_different_relations_differ_and_tuples_of_nobody_are_dropped() -> None:
    filed = explorable(tuples())
    assert filed.loads.tolist() == [5 * ONE, 4 * ONE, 2 * ONE]  # a5, a7, b7
    assert filed.n_units == 3
    assert filed.brought_by(np.array([1, 2])).weights.tolist() == [[ONE, 3 * ONE, 2 * ONE]]


def test_the_group_outside_the_domain_is_dropped() -> None:
    filed = explorable(replace(tuples(), group=np.array([-1, 0, 0, 0, -1])))
    assert filed.loads.tolist() == [3 * ONE, 2 * ONE]


def test_units_that_bring_nothing_are_drawn_too() -> None:
    filed = explorable(tuples(), n_units=100)
    assert filed.n_units == 100
    assert filed.loads_of(np.array([99, 0, 0])).tolist() == [0, 5 * ONE, 5 * ONE]
    assert len(filed.brought_by(np.array([50, 99])).group) == 0


def test_no_tuples_at_all() -> None:
    empty = join_tuples([owner("a", [], np.int64)], [[]])
    filed = explorable(empty, n_units=4)
    assert filed.loads_of(np.array([0, 3])).tolist() == [0, 0]
    assert filed.brought_by(np.array([0, 3])).weights.shape == (1, 0)
    assert explorable(empty).n_units == 1


def test_loads_of_units_stop_at_the_largest_weight() -> None:
    filed = explorable(join_tuples([owner("a", [1, 1], np.int64)], [MAX_UNITS, MAX_UNITS]))
    assert filed.loads.tolist() == [MAX_UNITS]


def test_nothing_private_is_shown() -> None:
    assert repr(explorable(tuples())) == "Explorable(<private>)"


@pytest.mark.parametrize(
    "wrong",
    [
        replace(tuples(), n_groups=2),
        replace(tuples(), weights=np.ones((2, 5), np.int64)),
        replace(tuples(), weights=-np.ones((1, 5), np.int64)),
        replace(tuples(), weights=np.ones((1, 4), np.int64)),
        replace(tuples(), weights=np.ones((1, 5), np.int32)),
        replace(tuples(), group=np.ones(5, np.int64)),
        replace(tuples(), owners=()),
    ],
)
def test_refuses_other_shapes(wrong: JoinTuples) -> None:
    with pytest.raises(InvalidParameter):
        explorable(wrong)
