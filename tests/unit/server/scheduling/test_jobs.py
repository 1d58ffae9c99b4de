from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from server.errors import CancelledEarly, TooManyOwnQueries, TooManyQueries, UnknownJob
from server.query import QueryRequest, QueryResponse
from server.scheduling.jobs import Jobs
from tests.unit.server.http.fakes import answer

Work = Callable[[threading.Event], Awaitable[QueryResponse]]

ANSWER = answer(QueryRequest("ada", "SELECT 1"))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def at_once(cancelled: threading.Event) -> QueryResponse:
    return ANSWER


async def until_cancelled(cancelled: threading.Event) -> QueryResponse:
    while not cancelled.is_set():
        await asyncio.sleep(0.001)
    raise CancelledEarly("you cancelled it")


def test_a_result_is_taken_once() -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.start("ada", at_once)
        assert await jobs.wait(job, 60.0)
        assert jobs.get("ada", job.id) is job
        assert jobs.take(job) is ANSWER
        with pytest.raises(UnknownJob):
            jobs.get("ada", job.id)

    asyncio.run(run())


def test_nobody_else_sees_it() -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.start("ada", at_once)
        with pytest.raises(UnknownJob):
            jobs.get("eve", job.id)

    asyncio.run(run())


def test_waiting_does_not_end_it_and_cancelling_does() -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.start("ada", until_cancelled)
        assert not await jobs.wait(job, 0.01)
        states = [job.state]
        job.cancelled.set()
        states.append(job.state)
        assert await jobs.wait(job, 60.0)
        assert [*states, job.state] == ["running", "cancelling", "done"]
        with pytest.raises(CancelledEarly):
            jobs.take(job)

    asyncio.run(run())


def test_only_so_many_are_kept() -> None:
    cases: list[tuple[int, int, type[TooManyQueries]]] = [(1, 16, TooManyOwnQueries), (100, 256, TooManyQueries)]
    for analysts, room, refusal in cases:
        _only_so_many_are_kept(analysts, room, refusal)


def _only_so_many_are_kept(analysts: int, room: int, refusal: type[TooManyQueries]) -> None:
    async def run() -> None:
        jobs = Jobs()
        for number in range(room):
            jobs.start(f"analyst {number % analysts}", until_cancelled)
        with pytest.raises(TooManyQueries, match="too many") as refused:
            jobs.start("analyst 0", until_cancelled)
        assert refused.type is refusal
        await jobs.close(0.01)

    asyncio.run(run())


def test_whoever_has_none_gets_one_however_many_there_are() -> None:
    async def run() -> None:
        jobs = Jobs()
        for number in range(256):
            jobs.start(f"analyst {number // 16}", until_cancelled)
        assert jobs.start("ada", at_once).analyst == "ada"
        with pytest.raises(TooManyQueries):
            jobs.start("ada", at_once)
        await jobs.close(0.01)

    asyncio.run(run())


def test_what_nobody_fetched_is_forgotten_and_what_runs_is_not() -> None:
    async def run() -> None:
        clock = Clock()
        jobs = Jobs(clock)
        done, running = jobs.start("ada", at_once), jobs.start("ada", until_cancelled)
        await jobs.wait(done, 60.0)
        clock.now = 599.0
        assert jobs.get("ada", done.id).state == "done"
        clock.now = 601.0
        with pytest.raises(UnknownJob):
            jobs.get("ada", done.id)
        assert jobs.get("ada", running.id) is running
        assert jobs.elapsed_s(running) == 601.0
        await jobs.close(0.01)

    asyncio.run(run())


def test_stopping_lets_finish_then_cancels_and_begins_nothing() -> None:
    async def run() -> None:
        jobs = Jobs()

        async def soon(cancelled: threading.Event) -> QueryResponse:
            for _ in range(3):
                await asyncio.sleep(0)
            assert not cancelled.is_set()
            return ANSWER

        finishing, stuck = jobs.start("ada", soon), jobs.start("ada", until_cancelled)
        await jobs.close(0.2)
        assert jobs.take(finishing) is ANSWER
        with pytest.raises(CancelledEarly):
            jobs.take(stuck)
        with pytest.raises(TooManyQueries, match="stopping"):
            jobs.start("ada", at_once)

    asyncio.run(run())


def test_names_cannot_be_guessed() -> None:
    async def run() -> set[str]:
        jobs = Jobs()
        return {jobs.start(f"analyst {number}", at_once).id for number in range(50)}

    names = asyncio.run(run())
    assert len(names) == 50 and all(len(name) >= 22 for name in names)


def test_results_that_nobody_fetches_are_bounded_by_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.scheduling.jobs._MOST_BYTES", 2 * ANSWER.n_bytes)

    async def run() -> None:
        jobs = Jobs()
        started = []
        for _ in range(4):
            started.append(jobs.start("ada", at_once))
            assert await jobs.wait(started[-1], 60.0)
            await asyncio.sleep(0)
        for forgotten in started[:2]:
            with pytest.raises(UnknownJob):
                jobs.get("ada", forgotten.id)
        assert [jobs.take(job) for job in started[2:]] == [ANSWER, ANSWER]

    asyncio.run(run())


def test_whoever_holds_most_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.scheduling.jobs._MOST_BYTES", 4 * ANSWER.n_bytes)

    async def run() -> None:
        jobs = Jobs()
        grace, *adas = [jobs.start(analyst, at_once) for analyst in ("grace", *("ada",) * 8)]
        for job in (grace, *adas):
            assert await jobs.wait(job, 60.0)
        await asyncio.sleep(0)
        assert jobs.take(grace) is ANSWER, "hers is the oldest, and she holds least"
        for forgotten in adas[:-3]:
            with pytest.raises(UnknownJob):
                jobs.get("ada", forgotten.id)
        assert [jobs.take(job) for job in adas[-3:]] == [ANSWER] * 3

    asyncio.run(run())


def test_one_result_that_is_larger_than_all_room_throws_nobodys_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.scheduling.jobs._MOST_BYTES", 2 * ANSWER.n_bytes)
    large = replace(ANSWER, text_bytes=10 * ANSWER.n_bytes)

    async def run() -> None:
        jobs = Jobs()

        async def much(cancelled: threading.Event) -> QueryResponse:
            return large

        jobs_of = {}
        for analyst, work in (("grace", at_once), ("ada", much)):
            jobs_of[analyst] = jobs.start(analyst, work)
            assert await jobs.wait(jobs_of[analyst], 60.0)
            await asyncio.sleep(0)
        assert jobs.get("grace", jobs_of["grace"].id) and jobs.get("ada", jobs_of["ada"].id)
        last = jobs.start("ada", at_once)
        assert await jobs.wait(last, 60.0)
        await asyncio.sleep(0)
        with pytest.raises(UnknownJob):
            jobs.get("ada", jobs_of["ada"].id)
        assert [jobs.take(job) for job in (jobs_of["grace"], last)] == [ANSWER, ANSWER]

    asyncio.run(run())
