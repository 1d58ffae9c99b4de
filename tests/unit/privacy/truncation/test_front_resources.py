"""Memory and degenerate tables, from the join tuples to an answer with its bounds."""

import tracemalloc

import numpy as np
import pytest

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import from_sets, optimum_of


def _random(m: int, owners: int, n_units: int) -> JoinTuples:
    random = np.random.default_rng(owners)
    columns = tuple(OwnerColumn("n", random.integers(0, n_units, m), np.zeros(m, bool)) for _ in range(owners))
    return JoinTuples(columns, np.zeros(m, np.int64), 1, random.integers(0, ONE, (1, m)))


def _answer(tuples: JoinTuples) -> int:
    """Compact, bound, and take the largest core that there is out."""
    ladder = Ladder(-4, 16)
    answer = truncate(encode(tuples), 0, ladder, 0.01 if len(tuples.owners) > 2 else 0.0)
    answer.sharpen(0, len(ladder) // 2)
    return int(answer.bounds()[0][0, -1])


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_at_most_sixty_bytes_per_tuple_and_owner(owners: int) -> None:
    m = 200_000
    _answer(_random(100, owners, 50))  # compiling takes memory of its own
    tuples = _random(m, owners, 5_000)
    tracemalloc.start()
    try:
        _answer(tuples)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 60 * m * owners


def test_ten_million_tuples_of_one_owner() -> None:
    m = 10_000_000
    keys = OwnerColumn("n", np.arange(m) % 1_000_003, np.zeros(m, bool))
    tuples = JoinTuples((keys,), np.zeros(m, np.int64), 1, np.full((1, m), ONE))
    assert _answer(tuples) == m * ONE


@pytest.mark.parametrize("weight", [1, ONE])
def test_one_unit_that_owns_everything_and_units_that_occur_twice(weight: int) -> None:
    table = [(frozenset({0, i % 3}), weight) for i in range(40)]
    answer = truncate(encode(from_sets(table)), 0, Ladder(-20, 8), 0.0)
    for j, tau in enumerate(Ladder(-20, 8).units.tolist()):
        assert answer.solve(0, j) == min(tau, 40 * weight)


def test_weights_from_a_billionth_to_one() -> None:
    random = np.random.default_rng(2)
    sets = [frozenset(pair) for pair in random.integers(0, 12, (60, 2)).tolist()]
    table = [(units, 1 << int(bits)) for units, bits in zip(sets, random.integers(0, 31, 60), strict=True)]
    ladder = Ladder(-20, 4)
    answer = truncate(encode(from_sets(table)), 0, ladder, 0.0)
    for j, tau in enumerate(ladder.units.tolist()):
        assert abs(answer.solve(0, j) - optimum_of(table, tau)) <= 1 + 1e-6 * tau


@pytest.mark.parametrize("table", [[], [(frozenset({1, 2}), 0)], [(frozenset({1}), 0), (frozenset({2, 3}), 0)]])
def test_nothing_is_worth_nothing(table: list[tuple[frozenset[int], int]]) -> None:
    answer = truncate(encode(from_sets(table)), 0, Ladder(), 0.0)
    assert not np.any(answer.bounds())
