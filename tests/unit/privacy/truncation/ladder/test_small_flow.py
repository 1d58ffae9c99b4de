from __future__ import annotations

import numpy as np
import pytest

from privacy.join_tuples import JoinTuples
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.flow.exact_flow import exact_optimum
from privacy.truncation.ladder.capacities import Capacities
from privacy.truncation.ladder.cheap_bounds import cheap_bounds
from privacy.truncation.ladder.ladder_instance import ladder_instance
from privacy.truncation.ladder.small_flow import FEW, small_optimum
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import join_tuples, owner

LADDER = Ladder(-3, 4)


def table(people: int, groups: int, tuples: int, seed: int, alone: float = 0.2) -> JoinTuples:
    """Pairs, some of one person twice, some with a missing owner."""
    pick = np.random.default_rng(seed)
    first = pick.integers(0, people, tuples).tolist()
    second = [None if pick.random() < alone else key for key in pick.integers(0, people, tuples).tolist()]
    weights = pick.choice([0, 1, ONE // 3, ONE, 3 * ONE], tuples)
    return join_tuples(
        [owner("u", first), owner("u", second, np.int64)], weights, (np.arange(tuples) % groups).tolist(), groups
    )


@pytest.mark.parametrize("people", [2, 3, 5, 12])
def test_agrees_with_the_flow_of_large_groups(people: int) -> None:
    for seed in range(6):
        instance = ladder_instance(encode(table(people, 12, 12 * 9, seed)), 0, LADDER)
        slow = LazyAnswer(instance, cheap_bounds(instance), LADDER, 0.0, exact_optimum)
        for group in range(12):
            for index in range(len(LADDER)):
                assert small_optimum(instance, group, index) == slow.solve(group, index)


def test_a_triangle_is_half_of_an_odd_number() -> None:
    triangle = join_tuples([owner("u", [1, 2, 3]), owner("u", [2, 3, 1])], [ONE, ONE, ONE])
    odd = Capacities((("u", 1025),))  # of the threshold of 1024 units
    assert small_optimum(ladder_instance(encode(triangle), 0, Ladder(-20, 0), odd), 0, 0) == 3 * 1025 // 2


def test_large_groups_and_large_numbers_are_left_to_others() -> None:
    many = ladder_instance(encode(table(9, 1, FEW + 1, 1, alone=0.0)), 0, LADDER)
    assert small_optimum(many, 0, 0) is None
    heavy = ladder_instance(encode(join_tuples([owner("u", [1]), owner("u", [2])], [1 << 60])), 0, LADDER)
    assert small_optimum(heavy, 0, 0) is None
    few = ladder_instance(encode(join_tuples([owner("u", [1]), owner("u", [2])], [5 * ONE])), 0, Ladder(0, 30))
    assert small_optimum(few, 0, 30) is None
    assert small_optimum(few, 0, 1) == 2 * ONE
