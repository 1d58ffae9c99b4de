import numpy as np

from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.ladder.cheap_bounds import cheap_bounds
from privacy.truncation.ladder.ladder_instance import ladder_instance
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import Tuple, from_sets, ones, optimum_of

LADDER = Ladder(-3, 6)


def _bounds(tuples: list[Tuple]) -> tuple[list[float], list[float]]:
    start = cheap_bounds(ladder_instance(encode(from_sets(tuples)), 0, LADDER))
    lower, upper = start.lower, start.upper
    return (lower[0] / ONE).tolist(), (upper[0] / ONE).tolist()


def test_they_meet_where_no_tuple_has_two_overloaded_owners() -> None:
    stars = ones(*[(0, i) for i in range(1, 11)], *[(20, i) for i in range(21, 41)])
    lower, upper = _bounds(stars)
    assert lower == upper == [2 * min(tau, 10) + min(max(tau - 10, 0), 10) for tau in LADDER.taus]


def test_even_shares_are_attained_on_a_regular_graph() -> None:
    lower, upper = _bounds([(frozenset({i, (i + 1) % 9}), 4 * ONE) for i in range(9)])
    assert np.allclose(lower, upper, rtol=1e-12)
    assert np.allclose(upper, np.minimum(LADDER.taus * 4.5, 36.0))


def test_a_crowded_side_is_counted_once() -> None:
    bipartite = ones(*[(buyer, 100 + buyer % 4) for buyer in range(80)], *[(buyer, 100) for buyer in range(80)])
    _, upper = _bounds(bipartite)
    assert upper[3] <= 4.0


def test_they_contain_the_optimum_of_large_random_tables() -> None:
    random = np.random.default_rng(11)
    owners = random.integers(0, 60, (400, 3)).tolist()
    tuples = [(frozenset(o), int(w)) for o, w in zip(owners, random.integers(1, 3 * ONE, 400), strict=True)]
    lower, upper = _bounds(tuples)
    for j, tau in enumerate(LADDER.units.tolist()):
        exact = optimum_of(tuples, tau) / ONE
        assert lower[j] - 1e-6 <= exact <= upper[j] + 1e-6
        assert upper[j] <= 1.3 * exact


def test_the_linear_stretch_ends_at_the_smallest_weight() -> None:
    groups = [(frozenset({1, 2}), 4 * ONE), (frozenset({1, 2}), ONE // 16), (frozenset({1}), MAX_UNITS)]
    instance = ladder_instance(encode(from_sets(groups, [0, 1, 2], 4)), 0, LADDER)
    assert cheap_bounds(instance).linear.tolist() == [5, -1, -1, -1]
