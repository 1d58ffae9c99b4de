"""The tuples that sampled units bring."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from privacy.join_tuples import JoinTuples
from privacy.truncation.encode import encode
from privacy.units import MAX_UNITS, ONE
from tests.support.papers.unit_samples import explorable, induced
from tests.unit.privacy.refusals import refuses_calls, refuses_each
from tests.unit.privacy.truncation.instances import from_sets, join_tuples, owner


def tuples() -> JoinTuples:
    return join_tuples(
        [owner("a", [7, None, 7, None, 5], np.int64), owner("b", [7, 7, None, None, 7], np.int64)],
        [ONE, 2 * ONE, 3 * ONE, 4 * ONE, 5 * ONE],
    )


def test_units_of_different_relations_differ_and_tuples_of_nobody_are_dropped() -> None:
    filed = explorable(tuples())
    assert filed.contributions.tolist() == [5 * ONE, 4 * ONE, 2 * ONE]  # a5, a7, b7
    assert filed.n_units == 3
    assert filed.brought_by(np.array([1, 2])).weights.tolist() == [[ONE, 3 * ONE, 2 * ONE]]


def test_the_group_outside_the_domain_is_dropped() -> None:
    filed = explorable(replace(tuples(), group=np.array([-1, 0, 0, 0, -1])))
    assert filed.contributions.tolist() == [3 * ONE, 2 * ONE]


def test_units_that_bring_nothing_are_drawn_too() -> None:
    filed = explorable(tuples(), n_units=100)
    assert filed.n_units == 100
    assert filed.contributions_of(np.array([99, 0, 0])).tolist() == [0, 5 * ONE, 5 * ONE]
    assert len(filed.brought_by(np.array([50, 99])).group) == 0


def test_no_tuples_at_all() -> None:
    empty = join_tuples([owner("a", [], np.int64)], [[]])
    filed = explorable(empty, n_units=4)
    assert filed.contributions_of(np.array([0, 3])).tolist() == [0, 0]
    assert filed.brought_by(np.array([0, 3])).weights.shape == (1, 0)
    assert explorable(empty).n_units == 1


def test_loads_of_units_stop_at_the_largest_weight_and_nothing_private_is_shown() -> None:
    filed = explorable(join_tuples([owner("a", [1, 1], np.int64)], [MAX_UNITS, MAX_UNITS]))
    assert filed.contributions.tolist() == [MAX_UNITS]
    assert repr(explorable(tuples())) == "Explorable(<private>)"


def test_refuses_other_shapes() -> None:
    ones = np.ones((2, 5), np.int64)
    weights = [ones, -ones[:1], ones[:1, :4], ones[:1].astype(np.int32)]
    wrong: dict[str, list[Any]] = {"weights": weights, "n_groups": [2], "group": [ones[0]], "owners": [()]}
    for name, values in wrong.items():
        refuses_each(explorable, [replace(tuples(), **{name: value}) for value in values])


def test_the_numbers_of_owners_are_those_of_what_stays() -> None:
    whole = encode(from_sets([(frozenset({1, 2, 3}), ONE), (frozenset({2, 3}), 2 * ONE), (frozenset({3}), 3 * ONE)]))
    assert whole.owners == (1, 3)
    part = induced(whole, np.array([False, True, True]))
    assert part.owners == (1, 2)
    assert part.members.tolist() == [[1, 2], [2, -1], [-1, -1]]
    assert part.row_start.tolist() == [0, 2]
    assert part.member_start.tolist() == [0, 3]
    assert part.weights.tolist() == [[2 * ONE, 3 * ONE]]
    assert induced(whole, np.zeros(3, bool)).owners == (1, 1)


def test_refuses_another_number_of_units_and_several_groups() -> None:
    whole = encode(from_sets([(frozenset({1, 2, 3}), ONE)]))
    refuses_each(partial(induced, whole), [np.ones(2, bool), np.ones(4, bool), np.ones(3, np.int64)])
    several = encode(from_sets([(frozenset({1}), ONE), (frozenset({2}), ONE)], [0, 1], 2))
    refuses_calls(induced, (several, np.ones(2, bool)))
