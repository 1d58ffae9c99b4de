"""What is kept never waits behind what is measured."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from server.asking import Asking
from server.errors import TooManyQueries
from server.ledger_reads import LedgerReads
from server.query import QueryRequest, QueryResponse
from server.threads import Threads
from tests.unit.server.http.fakes import answer

AT_HAND, KEPT, FRESH = (QueryRequest("ada", f"SELECT {number}") for number in range(3))


@dataclass
class Busy:
    """Keeps one answer; whatever else it is asked, it measures until it is let go."""

    free: threading.Event = field(default_factory=threading.Event)
    measured: list[tuple[QueryRequest, threading.Event | None]] = field(default_factory=list)
    looked_for: list[tuple[str, bool]] = field(default_factory=list)

    def answer_at_hand(self, request: QueryRequest) -> QueryResponse | None:
        self.looked_for.append(("at hand", threading.current_thread() is threading.main_thread()))
        return answer(request) if request == AT_HAND else None

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        self.looked_for.append(("kept", threading.current_thread() is threading.main_thread()))
        return answer(request) if request == KEPT else None

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        self.measured.append((request, cancelled))
        assert self.free.wait(20)
        return answer(request)


def asked(busy: Busy, ask: Callable[[Asking], Coroutine[Any, Any, None]], *, local: bool = True) -> None:
    """Run with two threads for measuring, and a queue of two."""
    lookups = Threads(2, 2)
    asyncio.run(ask(Asking(busy, LedgerReads(local, lookups), lookups, Threads(2, 2))))


def test_what_is_kept_is_answered_while_every_thread_measures() -> None:
    busy = Busy()

    async def ask(asking: Asking) -> None:
        fresh = [asyncio.ensure_future(asking.answer(FRESH)) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert (await asyncio.wait_for(asking.answer(KEPT), 5)).rows[0] == answer(KEPT).rows[0]
        with pytest.raises(TooManyQueries):
            await asking.answer(FRESH)
        busy.free.set()
        assert [one.rows[0] for one in await asyncio.gather(*fresh)] == [answer(FRESH).rows[0]] * 2

    asked(busy, ask)
    assert all(request == FRESH for request, _ in busy.measured)


def test_who_does_not_want_the_answer_any_more_is_heard() -> None:
    busy, cancelled = Busy(), threading.Event()
    busy.free.set()

    async def ask(asking: Asking) -> None:
        await asking.answer(FRESH, cancelled)

    asked(busy, ask)
    assert busy.measured == [(FRESH, cancelled)]


@pytest.mark.parametrize(
    ("local", "request_", "looked_for"),
    [
        (True, AT_HAND, [("at hand", True)]),
        (True, KEPT, [("at hand", True), ("kept", False)]),
        (False, KEPT, [("kept", False)]),
    ],
)
def test_the_event_loop_reads_only_a_local_ledger(
    local: bool, request_: QueryRequest, looked_for: list[tuple[str, bool]]
) -> None:
    busy = Busy()

    async def ask(asking: Asking) -> None:
        await asking.answer(request_)

    asked(busy, ask, local=local)
    assert busy.looked_for == looked_for and not busy.measured


@pytest.mark.parametrize("local", [True, False])
def test_a_read_returns_and_raises_what_the_ledger_does(local: bool) -> None:
    def read(number: int, *, fail: bool = False) -> tuple[int, bool]:
        if fail:
            raise KeyError(number)
        return number, threading.current_thread() is threading.main_thread()

    async def both() -> Any:
        reads = LedgerReads(local, Threads(1, 1))
        with pytest.raises(KeyError):
            await reads.call(read, 2, fail=True)
        return await reads.call(read, 1)

    assert asyncio.run(both()) == (1, local)
