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
from server.query import QueryRequest, QueryResponse
from server.threads import Threads
from tests.unit.server.http.fakes import answer

KEPT, FRESH = QueryRequest("ada", "SELECT 1"), QueryRequest("ada", "SELECT 2")


@dataclass
class Busy:
    """Keeps one answer; whatever else it is asked, it measures until it is let go."""

    free: threading.Event = field(default_factory=threading.Event)
    measured: list[tuple[QueryRequest, threading.Event | None]] = field(default_factory=list)

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        return answer(request) if request == KEPT else None

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        self.measured.append((request, cancelled))
        assert self.free.wait(20)
        return answer(request)


def asked(busy: Busy, ask: Callable[[Asking], Coroutine[Any, Any, None]]) -> None:
    """Run with two threads for measuring, and a queue of two."""
    asyncio.run(ask(Asking(busy, Threads(2, 2), Threads(2, 2))))


def test_what_is_kept_is_answered_while_every_thread_measures() -> None:
    busy = Busy()

    async def ask(asking: Asking) -> None:
        fresh = [asyncio.ensure_future(asking.answer(FRESH)) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert await asyncio.wait_for(asking.answer(KEPT), 5) == answer(KEPT)
        with pytest.raises(TooManyQueries):
            await asking.answer(FRESH)
        busy.free.set()
        assert await asyncio.gather(*fresh) == [answer(FRESH)] * 2

    asked(busy, ask)
    assert all(request == FRESH for request, _ in busy.measured)


def test_who_does_not_want_the_answer_any_more_is_heard() -> None:
    busy, cancelled = Busy(), threading.Event()
    busy.free.set()

    async def ask(asking: Asking) -> None:
        await asking.answer(FRESH, cancelled)

    asked(busy, ask)
    assert busy.measured == [(FRESH, cancelled)]
