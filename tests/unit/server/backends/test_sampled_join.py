from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from planner.plan import CONSTANT, BackendQuery, TreeShape
from server.backends.columns import Column, Integers
from server.backends.query_tuples import Room, sampled_columns
from server.errors import QueryCancelled
from tests.support.seeded_draws import SeededDraws
from tests.support.seeds import examples

SHAPE = TreeShape(
    parents=(-1, 0),
    meets=((), ((0, 1),)),
    widths=(2, 2),
    comparisons=(((0, 0), "<", (1, 1)),),
    outputs=((0, 0), (0, 1), (1, 1), (CONSTANT, 7)),
)
EDGES = [(1, 2), (2, 1), (2, 3), (3, 2), (2, 4), (4, 2), (3, 4), (4, 3)]
WEDGES = [(a, b, c) for (a, b), (other, c) in itertools.product(EDGES, EDGES) if b == other and a < c]


def query(rate: float, shape: TreeShape = SHAPE) -> BackendQuery:
    return BackendQuery(
        join=None,
        distinct=(),
        relations=("node",) * 3,
        domains=(),
        values=(),
        n_releases=1,
        fingerprint="",
        sampling_rate=rate,
        parts=tuple(f"part {place}" for place in range(len(shape.parents))),
        tree=shape,
    )


def read(statement: str, width: int) -> Sequence[Column]:
    return list(zip(*EDGES, strict=True))


def integers(statement: str, width: int) -> Sequence[Column]:
    return [Integers(np.array(column, np.int64), np.zeros(len(column), bool)) for column in read(statement, width)]


def rows(columns: Sequence[Column]) -> list[tuple[object, ...]]:
    return list(zip(*columns, strict=True))


def test_at_rate_1_it_is_the_join() -> None:
    cases: list[object] = [read, integers]
    for reader in cases:
        found = rows(sampled_columns(query(1.0), read if reader is read else integers, Room(100)))
        assert Counter(found) == Counter((a, b, c, 7) for a, b, c in WEDGES), reader


def test_every_set_of_tuples_is_as_likely_as_independent_trials_make_it() -> None:
    """Also those that share a row, and although only some of the tuples that are drawn pass: all 2^N sets."""
    from scipy.stats import chi2

    rate, runs, draws = 0.3, examples(2_000, 8_000), SeededDraws(3)
    tuples = sorted(WEDGES)
    assert len(tuples) == 5
    found = Counter(
        frozenset((row[0], row[1], row[2]) for row in rows(sampled_columns(query(rate), read, Room(100), draws)))
        for _ in range(runs)
    )
    statistic = 0.0
    for size in range(len(tuples) + 1):
        expected = runs * rate**size * (1 - rate) ** (len(tuples) - size)
        for chosen in itertools.combinations(tuples, size):
            statistic += (found[frozenset(chosen)] - expected) ** 2 / expected
    assert chi2.sf(statistic, 2 ** len(tuples) - 1) > 1e-9


def test_texts_and_absent_values_are_shown_as_they_are() -> None:
    def texts(statement: str, width: int) -> Sequence[Column]:
        keys = Integers(np.array([1, 1, 2]), np.zeros(3, bool))
        if statement == "part 1":
            return [keys, Integers(np.array([8, 9, 10]), np.array([False, True, False]))]
        return [keys, ("x", None, "y")]

    shape = TreeShape((-1, 0), ((), ((0, 0),)), (2, 2), (), ((0, 1), (1, 1)))
    found = rows(sampled_columns(query(1.0, shape), texts, Room(100)))
    assert Counter(found) == Counter([("x", 8), ("x", None), (None, 8), (None, None), ("y", 10)])


def test_no_rows_are_no_tuples() -> None:
    columns = sampled_columns(query(0.5), lambda statement, width: [()] * width, Room(100))
    assert [len(column) for column in columns] == [0, 0, 0, 0]


def test_more_tuples_than_are_taken_in_are_refused() -> None:
    assert len(rows(sampled_columns(query(1.0), read, Room(len(WEDGES))))) == len(WEDGES)
    with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
        sampled_columns(query(1.0), read, Room(len(WEDGES) - 1))


def test_more_tuples_than_can_be_numbered_are_refused_before_any_is_drawn() -> None:
    def zeros(statement: str, width: int) -> Sequence[Column]:
        return [Integers(np.zeros(10**4, np.int64), np.zeros(10**4, bool))]

    meets = ((), *(((0, 0),) for _ in range(4)))
    shape = TreeShape((-1, 0, 0, 0, 0), meets, (1,) * 5, (), ((CONSTANT, 1),))
    with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
        sampled_columns(query(1e-6, shape), zeros, Room(10**9))
