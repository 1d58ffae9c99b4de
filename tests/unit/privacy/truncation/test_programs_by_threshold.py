"""What bucketing settles, and the core that it leaves, are worth what the whole program is worth."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.join_tuples import CodedJoinTuples, JoinTuples
from privacy.thresholds import Thresholds
from privacy.truncation.distinct import group_instance
from privacy.truncation.encode import compact, encode
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.programs.exact_flow import exact_optimum
from privacy.truncation.programs_by_threshold import ALIKE, Capacities, member_capacities, programs_by_threshold
from privacy.truncation.small_groups import FEW, cheap_bounds, settle_small_groups, small_optimum
from privacy.truncation.truncate import truncate
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.refusals import refuses_calls, refuses_each
from tests.unit.privacy.truncation.instances import Tuple, from_sets, join_tuples, ones, optimum, optimum_of, owner

THRESHOLDS = Thresholds(-3, 6)


def _tuples(seed: int, m: int, owners: int) -> list[Tuple]:
    random = np.random.default_rng(seed)
    weights = random.choice([0, 1, ONE // 3, ONE, 9 * ONE], m)
    return [(frozenset(random.integers(0, 9, owners).tolist()), int(w)) for w in weights]


def test_settled_and_core_add_up_to_the_program() -> None:
    for owners in [1, 2, 3, 5]:
        for n_groups in [1, 3]:
            random = np.random.default_rng(owners)
            for seed, m in enumerate([0, 1, 5, 12, 30]):
                tuples = from_sets(_tuples(seed, m, owners), random.integers(0, n_groups, m).tolist(), n_groups)
                instance, whole = (
                    programs_by_threshold(encode(tuples), 0, THRESHOLDS),
                    group_instance(compact(tuples), 0),
                )
                for j in random.permutation(len(THRESHOLDS)).tolist():
                    for group in range(n_groups):
                        tau = int(THRESHOLDS.units[j])
                        reduced = instance.reduced(group, j)
                        rest = 0.0 if reduced.core is None else optimum(reduced.core)
                        assert abs(reduced.settled + rest - optimum(whole.program(group, tau))) <= 1e-6 * tau
                        if reduced.core is not None:
                            assert np.all(reduced.core.incidence.owners > 1), (owners, n_groups)
                            assert np.all(reduced.core.weights > 0), (owners, n_groups)
                            assert np.all(reduced.core.incidence.degrees > 0), (owners, n_groups)


def test_a_core_does_not_depend_on_what_was_asked_before() -> None:
    tuples = encode(from_sets(_tuples(7, 60, 3)))
    used = programs_by_threshold(tuples, 0, THRESHOLDS)
    for j in (8, 2, 5, 0, 3):
        core, fresh = used.reduced(0, j).core, programs_by_threshold(tuples, 0, THRESHOLDS).reduced(0, j).core
        if core is None or fresh is None:
            assert core is fresh
            continue
        assert core.weights.tolist() == fresh.weights.tolist()
        assert core.caps.tolist() == fresh.caps.tolist()
        assert core.incidence.units.tolist() == fresh.incidence.units.tolist()


def test_only_tuples_with_two_binding_owners_are_left_and_only_while_these_have_room() -> None:
    hub = ones((0, 1), (0, 2), (1, 3), (0, 1), (0, 1))  # loads 4, 4, 1, 1
    reduced = programs_by_threshold(encode(from_sets(hub)), 0, Thresholds(0, 2)).reduced(0, 1)
    assert reduced.core is not None
    assert (reduced.settled, reduced.core.weights.tolist()) == (2 * ONE, [ONE])
    assert reduced.core.caps.tolist() == [ONE, ONE]
    full = programs_by_threshold(encode(from_sets(hub)), 0, Thresholds(0, 2)).reduced(0, 0)
    assert (full.settled, full.core) == (2 * ONE, None)


def test_sums_beyond_an_int64_are_exact_until_they_saturate() -> None:
    star = [(frozenset({0, i}), MAX_UNITS) for i in range(1, 6)] + [(frozenset({7, 8}), 5)]
    instance = programs_by_threshold(encode(from_sets(star)), 0, Thresholds(-20, 32))
    for j, tau in enumerate(Thresholds(-20, 32).units.tolist()):
        reduced = instance.reduced(0, j)
        rest = 0.0 if reduced.core is None else optimum(reduced.core)
        assert min(MAX_UNITS, reduced.settled + round(rest)) == min(MAX_UNITS, tau + 5)


WHOLE_THRESHOLDS = Thresholds(-20, 32)
TWICE = Capacities((("b", 2048), ("c", 3 << 9)))


@cache
def three_kinds() -> CodedJoinTuples:
    b, c = owner("b", [7, 7, None], np.int64), owner("c", [None, 5, 6], np.int64)
    return encode(join_tuples([owner("a", [1, 2, 2]), b, c], [ONE, ONE, ONE], [0, 1, 1], 2))


def test_nothing_private_is_shown() -> None:
    instance = programs_by_threshold(encode(from_sets(_tuples(1, 30, 3))), 0, THRESHOLDS)
    capacities = member_capacities(three_kinds(), WHOLE_THRESHOLDS, TWICE)
    shown = [*map(repr, (instance, instance.file, instance.reduced(0, 0), capacities))]
    assert shown == [
        f"{name}(<private>)" for name in ("ProgramsByThreshold", "LevelIndex", "Reduced", "MemberCapacities")
    ]


def test_members_have_the_capacity_of_their_relation() -> None:
    found = member_capacities(three_kinds(), WHOLE_THRESHOLDS, TWICE)
    tau = WHOLE_THRESHOLDS.units[20]
    assert three_kinds().relations == (("a", 2), ("b", 3), ("c", 5))
    assert found.at(slice(None), 20).tolist() == [tau, 2 * tau, tau, 2 * tau, 3 * tau // 2, 3 * tau // 2]
    assert found.at(np.array([1, 4]), 20).tolist() == [2 * tau, 3 * tau // 2]
    # they double with the threshold until they saturate
    table = member_capacities(three_kinds(), WHOLE_THRESHOLDS, Capacities((("b", 1025),))).table
    assert (table[0] == WHOLE_THRESHOLDS.units).all()
    assert (table[1, 1:-1] == 2 * table[1, :-2]).all()
    assert table[1, 0] == 1025
    assert table[1, -1] == MAX_UNITS


def test_relations_that_are_not_named_have_the_threshold() -> None:
    assert member_capacities(three_kinds(), WHOLE_THRESHOLDS, ALIKE).table.shape == (1, len(WHOLE_THRESHOLDS))
    unknown = member_capacities(three_kinds(), WHOLE_THRESHOLDS, Capacities((("nobody", 4096),)))
    assert unknown.at(slice(None), 3).max() == 8 << 10
    # other ladders have one capacity
    for thresholds in (Thresholds(0, 3, 3), Thresholds(1, 1, Fraction(3, 2))):
        assert member_capacities(three_kinds(), thresholds, ALIKE).table.tolist() == [thresholds.units.tolist()]
        refuses_calls(member_capacities, (three_kinds(), thresholds, TWICE))
    refuses_each(Capacities, [(("a", 1023),)])  # no kind has less than the threshold


def test_a_saturated_load_saturates_the_answer() -> None:
    """A unit of 2^32 weights with that capacity, shared with others of less."""
    for gap in [0.0, 0.01]:
        heavy = join_tuples([owner("a", [1, 1]), owner("b", [1, 2])], [[MAX_UNITS, MAX_UNITS]])
        answer = truncate(encode(heavy), 0, Thresholds(29, 32), gap, capacities=Capacities((("a", 4096),)))
        values = [answer.solve(0, j) for j in range(4)]
        assert values[0] in range(int((2 - gap) * 2**59), 2**60 + 1)
        assert values[1] in range(int((2 - gap) * 2**60), 2**61 + 1)
        assert values[2:] == pytest.approx([MAX_UNITS, MAX_UNITS], rel=1e-2), gap


def _bounds(tuples: list[Tuple]) -> tuple[list[float], list[float]]:
    start = cheap_bounds(programs_by_threshold(encode(from_sets(tuples)), 0, THRESHOLDS))
    lower, upper = start.lower, start.upper
    return (lower[0] / ONE).tolist(), (upper[0] / ONE).tolist()


def test_bounds_that_are_known_beforehand() -> None:
    # they meet where no tuple has two overloaded owners
    stars = ones(*[(0, i) for i in range(1, 11)], *[(20, i) for i in range(21, 41)])
    lower, upper = _bounds(stars)
    assert lower == upper == [2 * min(tau, 10) + min(max(tau - 10, 0), 10) for tau in THRESHOLDS.taus]
    # even shares are attained on a regular graph
    lower, upper = _bounds([(frozenset({i, (i + 1) % 9}), 4 * ONE) for i in range(9)])
    assert np.allclose(lower, upper, rtol=1e-12)
    assert np.allclose(upper, np.minimum(THRESHOLDS.taus * 4.5, 36.0))
    # a crowded side is counted once
    bipartite = ones(*[(buyer, 100 + buyer % 4) for buyer in range(80)], *[(buyer, 100) for buyer in range(80)])
    assert _bounds(bipartite)[1][3] <= 4.0
    # the linear stretch ends at the smallest weight
    groups = [(frozenset({1, 2}), 4 * ONE), (frozenset({1, 2}), ONE // 16), (frozenset({1}), MAX_UNITS)]
    instance = programs_by_threshold(encode(from_sets(groups, [0, 1, 2], 4)), 0, THRESHOLDS)
    assert cheap_bounds(instance).linear.tolist() == [5, -1, -1, -1]


def test_they_contain_the_optimum_of_large_random_tables() -> None:
    random = np.random.default_rng(11)
    owners = random.integers(0, 60, (400, 3)).tolist()
    tuples = [(frozenset(o), int(w)) for o, w in zip(owners, random.integers(1, 3 * ONE, 400), strict=True)]
    lower, upper = _bounds(tuples)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        exact = optimum_of(tuples, tau) / ONE
        assert lower[j] - 1e-6 <= exact <= upper[j] + 1e-6
        assert upper[j] <= 1.3 * exact


EIGHT = Thresholds(-3, 4)


def table(people: int, groups: int, tuples: int, seed: int, alone: float = 0.2) -> JoinTuples:
    """Pairs, some of one person twice, some with a missing owner."""
    pick = np.random.default_rng(seed)
    first = pick.integers(0, people, tuples).tolist()
    second = [None if pick.random() < alone else key for key in pick.integers(0, people, tuples).tolist()]
    weights = pick.choice([0, 1, ONE // 3, ONE, 3 * ONE], tuples)
    return join_tuples(
        [owner("u", first), owner("u", second, np.int64)], weights, (np.arange(tuples) % groups).tolist(), groups
    )


def test_agrees_with_the_flow_of_large_groups_and_a_triangle_is_half_of_an_odd_number() -> None:
    for people in [2, 3, 5, 12]:
        for seed in range(examples(2, 6)):
            instance = programs_by_threshold(encode(table(people, 12, 12 * 9, seed)), 0, EIGHT)
            slow = LazyAnswer(instance, cheap_bounds(instance), EIGHT, 0.0, exact_optimum)
            for group in range(12):
                for index in range(len(EIGHT)):
                    assert small_optimum(instance, group, index) == slow.solve(group, index), people
    triangle = join_tuples([owner("u", [1, 2, 3]), owner("u", [2, 3, 1])], [ONE, ONE, ONE])
    odd = Capacities((("u", 1025),))  # of the threshold of 1024 units
    assert small_optimum(programs_by_threshold(encode(triangle), 0, Thresholds(-20, 0), odd), 0, 0) == 3 * 1025 // 2


def test_large_groups_and_large_numbers_are_left_to_others() -> None:
    many = programs_by_threshold(encode(table(9, 1, FEW + 1, 1, alone=0.0)), 0, EIGHT)
    assert small_optimum(many, 0, 0) is None
    heavy = programs_by_threshold(encode(join_tuples([owner("u", [1]), owner("u", [2])], [1 << 60])), 0, EIGHT)
    assert small_optimum(heavy, 0, 0) is None
    few = programs_by_threshold(
        encode(join_tuples([owner("u", [1]), owner("u", [2])], [5 * ONE])), 0, Thresholds(0, 30)
    )
    assert small_optimum(few, 0, 30) is None
    assert small_optimum(few, 0, 1) == 2 * ONE


SIX = Thresholds(-2, 3)


def pairs_in_groups(people: int, groups: int, tuples: int, seed: int) -> JoinTuples:
    pick = np.random.default_rng(seed)
    owners = [owner("u", pick.integers(0, people, tuples).tolist()) for _ in range(2)]
    weights: NDArray[np.int64] = pick.integers(0, 4 * ONE, tuples)
    return join_tuples(owners, weights, pick.integers(0, groups, tuples).tolist(), groups)


def test_what_is_settled_is_the_optimum() -> None:
    settled = 0
    for seed in range(8):
        instance = programs_by_threshold(encode(pairs_in_groups(6, 20, 90, seed)), 0, SIX)
        before, after = cheap_bounds(instance), settle_small_groups(instance, cheap_bounds(instance))
        answer = LazyAnswer(instance, before, SIX, 0.0, exact_optimum)
        fresh = (before.lower < before.upper) & (after.lower == after.upper)
        settled += int(fresh.sum())
        for group, level in np.argwhere(fresh):
            assert answer.solve(int(group), int(level)) == after.lower[group, level]
        assert np.array_equal(after.upper, before.upper)
        assert np.array_equal(after.lower[~fresh], before.lower[~fresh])
    assert settled > 100


def test_groups_of_strangers_need_no_program_and_large_groups_are_left_alone() -> None:
    for of, large in ((pairs_in_groups(100_000, 50, 400, 9), False), (pairs_in_groups(40, 1, 300, 10), True)):
        instance = programs_by_threshold(encode(of), 0, SIX)
        before, after = cheap_bounds(instance), settle_small_groups(instance, cheap_bounds(instance))
        assert (before.lower < before.upper).any()
        assert np.array_equal(after.lower, before.lower if large else after.upper)
