from __future__ import annotations

import sys

import pytest

from server.backends.query_tuples import OBJECT, RESERVED, ROW_OF_OBJECTS, Blocks, Room
from server.errors import QueryCancelled


def test_without_a_limit_only_rows_are_counted() -> None:
    room = Room(10)
    assert room.most(1 << 40) == 10
    room.take(10, 1 << 40)
    with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
        room.take(11, 1)


def test_rows_are_as_many_as_memory_has_room_for() -> None:
    room = Room(1_000, 600)
    assert (room.most(1), room.most(6), room.most(601)) == (600, 100, 0)
    room.take(100, 6)
    with pytest.raises(QueryCancelled):
        room.take(1, 1)


def test_each_statement_takes_from_what_the_ones_before_it_have_left() -> None:
    room = Room(1_000, 600)
    room.take(40, 10)
    assert room.most(10) == 20
    with pytest.raises(QueryCancelled):
        room.take(21, 10)
    room.take(20, 10)


def test_a_block_too_many_is_refused_before_it_is_kept() -> None:
    each = ROW_OF_OBJECTS + 2 * OBJECT
    blocks = Blocks(Room(1_000, 5 * each), 2)
    blocks.take([(1, 2)] * 3)
    with pytest.raises(QueryCancelled):
        blocks.take([(1, 2)] * 3)
    assert len(blocks.rows) == 3
    assert blocks.columns() == [(1, 1, 1), (2, 2, 2)]


def test_rows_of_all_blocks_together_are_limited() -> None:
    blocks = Blocks(Room(5), 1)
    blocks.take([(1,)] * 5)
    with pytest.raises(QueryCancelled):
        blocks.take([(1,)])


def test_texts_count_with_their_length() -> None:
    long = "x" * 10_000
    room = Room(1_000, 10 * (ROW_OF_OBJECTS + OBJECT) + sys.getsizeof(long))
    Blocks(room, 1).take([(long,)])
    with pytest.raises(QueryCancelled):
        Blocks(room, 1).take([("y" * 10_000,)])


def test_no_rows_are_columns_without_values() -> None:
    assert Blocks(Room(1), 2).columns() == [(), ()]


def test_a_process_has_what_its_limit_leaves_beside_libraries_and_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(to: int) -> None:
        monkeypatch.setattr("server.backends.query_tuples.resource.getrlimit", lambda _: (to, to))

    limited(8 << 30)
    assert Room.of_process(7) == Room(7, (8 << 30) - RESERVED)
    assert Room.of_process(7, 4 << 30) == Room(7, (8 << 30) - RESERVED - (4 << 30))
    assert Room.of_process(7, 64 << 30) == Room(7, 1 << 30), "some room, however much DuckDB was given"
    limited(-1)
    assert Room.of_process(7, 4 << 30) == Room(7)
