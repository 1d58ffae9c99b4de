"""Answers that are being read take room, once each, and no one client takes all of it."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from server.answer_columns import CellColumn, LazyRows
from server.connections import SMALL_BYTES, Held, Outgoing
from server.errors import AnswersTooLarge, OwnAnswersTooLarge
from server.lru_cache import LruCache
from server.query import Budget, Interval, QueryResponse, ResultColumn
from server.scheduling.fair_shares import Refusal

N = 1 << 17
SIZE = 8 * N


def large(n_rows: int = N) -> QueryResponse:
    """A column of numbers, without intervals."""
    cells = CellColumn((np.arange(float(n_rows)),), lambda values: values)
    nothing: LazyRows[Interval | None] = LazyRows([CellColumn((), None)], n_rows)
    columns, budget = (ResultColumn("x", "float8"),), Budget(1.0, 0.0, 1.0, 0.0)
    return QueryResponse(
        columns, LazyRows([cells], n_rows), nothing, 0.95, "clipped value", "gem", 0.0, 0.0, budget, "r"
    )


def test_readers_of_one_answer_take_its_room_once() -> None:
    room, one = Outgoing(SIZE), large()
    readers = [room.hold(name, replace(one, request_id=name)) for name in ("ada", "grace", "joan")]
    assert room.n_bytes == SIZE
    for reader in readers:
        reader.close()
        reader.close()
    assert room.n_bytes == 0


def test_one_owner_s_readers_of_one_answer_take_the_owner_s_share_once() -> None:
    answer, another = large(), large()
    room = Outgoing(3 * answer.n_bytes)
    readers = [room.hold("ada", answer) for _ in range(5)]
    assert room.n_bytes == answer.n_bytes
    with pytest.raises(OwnAnswersTooLarge):
        room.hold("ada", another)
    for reader in readers:
        reader.close()
    assert room.n_bytes == 0
    room.hold("ada", another).close()


def test_who_finds_no_room_is_told_so_until_somebody_has_read() -> None:
    room = Outgoing(2 * SIZE)
    first, _second = room.hold("ada", large()), room.hold("grace", large())
    with pytest.raises(AnswersTooLarge):
        room.hold("joan", large())
    assert room.hold("joan", large(SMALL_BYTES // 8)), "a small one always finds its way"
    first.close()
    assert room.hold("joan", large())


def test_nobody_takes_more_than_half() -> None:
    room = Outgoing(4 * SIZE)
    held = [room.hold("ada", large()) for _ in range(2)]
    with pytest.raises(OwnAnswersTooLarge):
        room.hold("ada", large())
    assert room.hold("grace", large()) and held


def test_what_is_forgotten_is_let_go() -> None:
    room = Outgoing(SIZE)
    held = room.hold("ada", large())
    assert room.n_bytes == SIZE
    del held
    assert room.n_bytes == 0


def test_one_that_is_larger_than_all_room_is_read_alone() -> None:
    assert Outgoing(SIZE // 2).hold("ada", large())


def test_a_map_that_forgets_forgets_by_weight_too() -> None:
    kept: LruCache[int, bytes] = LruCache(10, 100, len)
    for number in range(4):
        kept.put(number, bytes(40))
    assert [number for number in range(4) if kept.get(number) is not None] == [2, 3]
    assert len(kept.put(9, bytes(101))) == 101 and kept.get(9) is None
    assert len(kept) == 2
    kept.put(2, bytes(1))
    kept.put(5, bytes(50))
    assert {number for number in range(6) if kept.get(number) is not None} == {2, 3, 5}


def test_what_is_collected_while_room_is_being_taken_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector may run in the middle of taking room, in the very thread that holds the lock."""
    room, other = Outgoing(2 * SIZE), large()
    cycle: list[object] = [room.hold("ada", large())]
    cycle.append(cycle)
    del cycle
    refusal = room._room.refusal

    def collecting(*asked: Any, **further: Any) -> Refusal | None:
        gc.collect()
        return refusal(*asked, **further)

    monkeypatch.setattr(room._room, "refusal", collecting)
    held = list[Held]()
    asking = threading.Thread(target=lambda: held.append(room.hold("grace", other)), daemon=True)
    asking.start()
    asking.join(60)
    assert not asking.is_alive()
    assert held and room.n_bytes == SIZE
