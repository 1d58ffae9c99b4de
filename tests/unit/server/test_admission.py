"""What is kept never waits behind what is measured."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from planner.policy.policy import Policy
from server.admission import Admission, LedgerReads
from server.answers.work import Cached, Measure, Work
from server.errors import TooManyQueries
from server.ledger.analyst import Act
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.question import Question
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.thread_pool import ThreadPool
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy
from tests.support.scripted_gateway import kept
from tests.unit.server.http.fakes import answer

AT_HAND, KEPT, FRESH, LARGE = (QueryRequest("ada", f"SELECT {number}") for number in range(4))


def here() -> bool:
    """Is this the event loop's thread?"""
    return threading.current_thread() is threading.main_thread()


@dataclass
class Busy:
    """Keeps two answers, and one that is large; whatever else it is asked, it measures until it is let go."""

    free: threading.Event = field(default_factory=threading.Event)
    measured: list[tuple[QueryRequest, threading.Event | None]] = field(default_factory=list)
    steps: list[tuple[str, bool]] = field(default_factory=list)
    policy: Policy = field(default_factory=demo_policy)

    def find_planned(self, request: QueryRequest) -> Work | None:
        self.steps.append(("planned", here()))
        return None if request == KEPT else found(request)

    def find(self, request: QueryRequest, cancelled: threading.Event | None = None) -> Work:
        self.steps.append(("found", here()))
        return found(request)

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        self.steps.append(("finished", here()))
        if not isinstance(found, Cached):
            self.measured.append((request, cancelled))
            assert self.free.wait(60)
        return answer(request)


def found(request: QueryRequest) -> Work:
    if request == FRESH:
        return Measure(cast(Question, None), cast(Charge, None))
    return kept(1 << 20 if request == LARGE else 0)


def asked(busy: Busy, ask: Callable[[Admission], Coroutine[Any, Any, None]], *, local: bool = True) -> None:
    """Run with two threads for measuring, and a queue of two."""
    lookups = ThreadPool(2, 2)
    reads = LedgerReads(cast(Ledger, MemoryLedger({})), local, lookups)
    asyncio.run(ask(Admission(lambda: busy, reads, lookups, ThreadPool(2, 2))))


def test_what_is_kept_is_answered_while_every_thread_measures() -> None:
    busy = Busy()

    async def ask(admission: Admission) -> None:
        fresh = [asyncio.ensure_future(admission.answer(FRESH)) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert (await asyncio.wait_for(admission.answer(KEPT), 60)).rows[0] == answer(KEPT).rows[0]
        with pytest.raises(TooManyQueries):
            await admission.answer(FRESH)
        busy.free.set()
        assert [one.rows[0] for one in await asyncio.gather(*fresh)] == [answer(FRESH).rows[0]] * 2

    asked(busy, ask)
    assert all(request == FRESH for request, _ in busy.measured)


def test_who_does_not_want_the_answer_any_more_is_heard() -> None:
    busy, cancelled = Busy(), threading.Event()
    busy.free.set()

    async def ask(admission: Admission) -> None:
        await admission.answer(FRESH, cancelled)

    asked(busy, ask)
    assert busy.measured == [(FRESH, cancelled)]


def test_a_question_is_looked_up_once_and_the_event_loop_reads_only_a_local_ledger() -> None:
    cases: list[tuple[bool, QueryRequest, list[tuple[str, bool]]]] = [
        (True, AT_HAND, [("planned", True), ("finished", True)]),
        (True, LARGE, [("planned", True), ("finished", False)]),
        (True, KEPT, [("planned", True), ("found", False), ("finished", True)]),
        (True, FRESH, [("planned", True), ("finished", False)]),
        (False, KEPT, [("found", False), ("finished", True)]),
        (False, LARGE, [("found", False), ("finished", False)]),
        (False, FRESH, [("found", False), ("finished", False)]),
    ]
    for local, request_, steps in cases:
        _a_question_is_looked_up_once_and_the_event_loop_reads_only_a_local_ledger(local, request_, steps)


def _a_question_is_looked_up_once_and_the_event_loop_reads_only_a_local_ledger(
    local: bool, request_: QueryRequest, steps: list[tuple[str, bool]]
) -> None:
    busy = Busy()
    busy.free.set()

    async def ask(admission: Admission) -> None:
        await admission.answer(request_)

    asked(busy, ask, local=local)
    assert busy.steps == steps


def test_what_is_large_and_kept_is_shown_while_every_thread_measures() -> None:
    busy = Busy()

    async def ask(admission: Admission) -> None:
        fresh = [asyncio.ensure_future(admission.answer(FRESH)) for _ in range(2)]
        await asyncio.sleep(0.05)
        await asyncio.wait_for(admission.answer(LARGE), 60)
        busy.free.set()
        await asyncio.gather(*fresh)

    asked(busy, ask)


def test_a_reload_in_the_middle_of_a_request_is_for_the_next_one() -> None:
    """Who looks a question up under one policy finishes it under the same."""
    cases: list[QueryRequest] = [AT_HAND, KEPT, LARGE, FRESH]
    for request_ in cases:
        _a_reload_in_the_middle_of_a_request_is_for_the_next_one(request_)


def _a_reload_in_the_middle_of_a_request_is_for_the_next_one(request_: QueryRequest) -> None:

    class Reloading(Busy):
        def find_planned(self, request: QueryRequest) -> Work | None:
            pipeline.reload(Act("ada"))
            return super().find_planned(request)

    old, new = Reloading(), Busy()
    old.free.set()
    pipeline = ReloadablePipeline(cast(Pipeline, old), lambda *_: (cast(Pipeline, new), ()))

    async def ask() -> None:
        lookups = ThreadPool(2, 2)
        reads = LedgerReads(cast(Ledger, MemoryLedger({})), True, lookups)
        await Admission(lambda: pipeline.current, reads, lookups, ThreadPool(2, 2)).answer(request_)

    asyncio.run(ask())
    assert cast(object, pipeline.current) is new
    assert old.steps[-1][0] == "finished" and not new.steps


def test_a_read_returns_and_raises_what_the_ledger_does() -> None:
    for local in [True, False]:
        _a_read_returns_and_raises_what_the_ledger_does(local)


def _a_read_returns_and_raises_what_the_ledger_does(local: bool) -> None:
    def read(number: int, *, fail: bool = False) -> tuple[int, bool]:
        if fail:
            raise KeyError(number)
        return number, threading.current_thread() is threading.main_thread()

    async def both() -> Any:
        reads = LedgerReads(cast(Ledger, MemoryLedger({})), local, ThreadPool(1, 1))
        with pytest.raises(KeyError):
            await reads.call(read, 2, fail=True)
        return await reads.call(read, 1)

    assert asyncio.run(both()) == (1, local)


def test_guesses_of_strangers_delay_nobody_whose_key_was_found_before() -> None:
    free = threading.Event()

    def guess() -> str | None:
        free.wait()
        return None

    def nobody() -> str | None:
        return None

    async def asked() -> None:
        reads = LedgerReads(cast(Ledger, MemoryLedger({})), False, ThreadPool(2, 2))
        assert await reads.look_up("hash of ada's", lambda: "ada") == "ada"
        assert await reads.look_up("a guess", nobody) is None
        guesses = [asyncio.ensure_future(reads.look_up(f"guess {place}", guess)) for place in range(100)]
        guesses += [asyncio.ensure_future(reads.of_stranger(guess)) for _ in range(100)]
        guesses.append(asyncio.ensure_future(reads.look_up("a guess", guess)))
        await asyncio.sleep(0)
        try:
            assert await asyncio.wait_for(reads.look_up("hash of ada's", lambda: "ada"), 60) == "ada"
        finally:
            free.set()
            assert await asyncio.gather(*guesses) == [None] * 201

    asyncio.run(asked())
