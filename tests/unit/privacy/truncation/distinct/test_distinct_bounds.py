import numpy as np

from privacy.ladder import Ladder
from privacy.truncation.distinct.distinct_bounds import distinct_bounds
from privacy.truncation.distinct.distinct_instance import distinct_instance
from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import ONE
from tests.unit.privacy.truncation.distinct.distinct_instances import Pair, distinct_tuples, projection_optimum

LADDER = Ladder(-4, 4)


def _bounds(pairs: list[Pair], group: list[int] | None = None, n_groups: int = 1) -> StartingBounds:
    return distinct_bounds(distinct_instance(distinct_tuples(pairs, group, n_groups)), LADDER)


def _pairs(*pairs: tuple[set[int], int]) -> list[Pair]:
    return [(frozenset(owners), value) for owners, value in pairs]


def test_linear_as_far_as_no_value_binds_and_flat_from_the_busiest_unit_up() -> None:
    start = _bounds(_pairs(*(({unit}, 0) for unit in range(4)), *(({9}, value) for value in range(1, 4))))
    assert start.linear.tolist() == [2]  # four people reach the first value, so a quarter of each
    assert start.lower[0, :3].tolist() == start.upper[0, :3].tolist() == [5 * ONE >> shift for shift in (4, 3, 2)]
    assert start.lower[0, 6:].tolist() == start.upper[0, 6:].tolist() == [4 * ONE] * 3


def test_two_values_of_one_pair_of_owners() -> None:
    start = _bounds(_pairs(({0, 1}, 0), ({0, 1}, 1)))
    assert start.lower.tolist() == start.upper.tolist()
    assert (start.lower[0] / ONE).tolist() == [0.0625, 0.125, 0.25, 0.5, 1, 2, 2, 2, 2]


def test_groups_side_by_side_and_an_empty_one() -> None:
    first, second = _pairs(({0}, 0), ({0}, 1), ({1}, 1)), _pairs(({0, 1}, 0))
    both = _bounds(first + second, [0, 0, 0, 2], 3)
    for group, alone in ((0, first), (2, second)):
        for j, tau in enumerate(LADDER.units.tolist()):
            assert both.lower[group, j] <= projection_optimum(alone, tau) * (1 + 1e-6)
            assert both.upper[group, j] >= projection_optimum(alone, tau) * (1 - 1e-6)
    assert not both.upper[1].any()
    assert both.linear[1] == -1


def test_a_random_table_is_bounded_within_a_factor_of_two() -> None:
    random = np.random.default_rng(0)
    start = _bounds([(frozenset({int(a), 50 + int(b)}), int(v)) for a, b, v in random.integers(0, 50, (500, 3))])
    assert np.all(start.lower[0] <= start.upper[0])
    assert np.all(start.upper[0] <= 2 * start.lower[0])
