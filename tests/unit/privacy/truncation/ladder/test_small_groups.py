from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.flow.exact_flow import exact_optimum
from privacy.truncation.ladder.cheap_bounds import cheap_bounds
from privacy.truncation.ladder.ladder_instance import ladder_instance
from privacy.truncation.ladder.small_groups import settle_small_groups
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import join_tuples, owner

LADDER = Ladder(-2, 3)


def table(people: int, groups: int, tuples: int, seed: int) -> JoinTuples:
    pick = np.random.default_rng(seed)
    owners = [owner("u", pick.integers(0, people, tuples).tolist()) for _ in range(2)]
    weights: NDArray[np.int64] = pick.integers(0, 4 * ONE, tuples)
    return join_tuples(owners, weights, pick.integers(0, groups, tuples).tolist(), groups)


def test_what_is_settled_is_the_optimum() -> None:
    settled = 0
    for seed in range(8):
        instance = ladder_instance(encode(table(6, 20, 90, seed)), 0, LADDER)
        before, after = cheap_bounds(instance), settle_small_groups(instance, cheap_bounds(instance))
        answer = LazyAnswer(instance, before, LADDER, 0.0, exact_optimum)
        fresh = (before.lower < before.upper) & (after.lower == after.upper)
        settled += int(fresh.sum())
        for group, rung in np.argwhere(fresh):
            assert answer.solve(int(group), int(rung)) == after.lower[group, rung]
        assert np.array_equal(after.upper, before.upper)
        assert np.array_equal(after.lower[~fresh], before.lower[~fresh])
    assert settled > 100


def test_groups_of_strangers_need_no_program() -> None:
    instance = ladder_instance(encode(table(100_000, 50, 400, 9)), 0, LADDER)
    assert (cheap_bounds(instance).lower < cheap_bounds(instance).upper).any()
    bounds = settle_small_groups(instance, cheap_bounds(instance))
    assert np.array_equal(bounds.lower, bounds.upper)


def test_large_groups_are_left_alone() -> None:
    instance = ladder_instance(encode(table(40, 1, 300, 10)), 0, LADDER)
    before, after = cheap_bounds(instance), settle_small_groups(instance, cheap_bounds(instance))
    assert np.array_equal(before.lower, after.lower)
