"""Every statement of a question, each with the columns that it has."""

from __future__ import annotations

from dataclasses import replace

from planner.plan import BackendQuery
from privacy.join_tuples import DistinctTuples, JoinTuples
from privacy.units import ONE
from server.backends.columns import Column, Domain
from server.backends.query_tuples import Room, query_tuples

QUERY = BackendQuery(
    join="sums",
    distinct=(None, "values", None),
    relations=("person", "firm"),
    domains=(None,),
    values=(("a", "b"),),
    n_releases=2,
    fingerprint="fingerprint",
)
DOMAIN = Domain((("a", "b"),))

RESULTS: dict[str, list[Column]] = {
    "sums": [(1,), (2,), ("b",), (3,), (4,)],
    "values": [(1, 1), (2, None), ("a", "b"), ("x", "y"), (ONE, ONE)],
}


class Reader:
    """Answers from RESULTS, or without rows, and remembers what it was asked."""

    def __init__(self, *, empty: bool = False) -> None:
        self.asked: list[tuple[str, int]] = []
        self._empty = empty

    def __call__(self, statement: str, width: int) -> list[Column]:
        self.asked.append((statement, width))
        return [()] * width if self._empty else RESULTS[statement]


def test_sums_share_a_statement_and_each_count_of_values_has_its_own() -> None:
    read = Reader()
    _, tuples = query_tuples(QUERY, DOMAIN, read, Room(100))
    assert read.asked == [("sums", 5), ("values", 5)]
    assert isinstance(tuples.join, JoinTuples)
    assert tuples.join.weights.tolist() == [[3], [4]]
    first, counted, last = tuples.distinct
    assert first is None and last is None and isinstance(counted, DistinctTuples)
    assert counted.value.tolist() == [0, 1]
    assert counted.group.tolist() == [0, 1]
    assert counted.owners[1].missing.tolist() == [False, True]


def test_without_sums_there_is_no_join() -> None:
    read = Reader()
    _, tuples = query_tuples(replace(QUERY, join=None, distinct=("values",), n_releases=0), DOMAIN, read, Room(100))
    assert tuples.join is None
    assert read.asked == [("values", 5)]


def test_no_rows_and_nothing_private_shown() -> None:
    _, tuples = query_tuples(QUERY, DOMAIN, Reader(empty=True), Room(100))
    counted = tuples.distinct[1]
    assert tuples.join is not None and isinstance(counted, DistinctTuples)
    assert len(tuples.join.group) == len(counted.value) == 0
    assert "x" not in repr(query_tuples(QUERY, DOMAIN, Reader(), Room(100))[1]).replace("<private>", "")
