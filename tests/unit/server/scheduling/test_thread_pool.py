from __future__ import annotations

import asyncio
import threading

import pytest

from server.errors import TooManyOwnQueries, TooManyQueries
from server.scheduling.thread_pool import ThreadPool, leave_place


def test_a_full_queue_refuses_and_the_others_finish() -> None:
    finish = threading.Event()

    async def exchange() -> list[object]:
        threads = ThreadPool(running=1, waiting=2)
        running = [asyncio.create_task(threads.call(finish.wait, 60)) for _ in range(3)]
        await asyncio.sleep(0)  # all three are in, though none has reached a thread yet
        with pytest.raises(TooManyQueries):
            await threads.call(finish.wait, 60)
        finish.set()
        return list(await asyncio.gather(*running))

    assert asyncio.run(exchange()) == [True, True, True]


def test_one_analyst_takes_half_of_it_at_most() -> None:
    finish = threading.Event()

    async def exchange() -> bool:
        threads = ThreadPool(running=2, waiting=4)
        greedy = [asyncio.create_task(threads.call_for("ann", finish.wait, 60)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(TooManyOwnQueries):
            await threads.call_for("ann", finish.wait, 60)
        other = await asyncio.wait_for(threads.call_for("bob", finish.is_set), 60)
        finish.set()
        assert await asyncio.gather(*greedy) == [True, True, True]
        return other

    assert asyncio.run(exchange()) is False


def test_who_leaves_its_place_keeps_nobody_out() -> None:
    """As an answer that is only held: its analyst asks on, and so do others."""
    finish = threading.Event()

    def hold() -> bool:
        leave_place()
        return finish.wait(60)

    async def exchange() -> list[bool]:
        threads = ThreadPool(running=2, waiting=2)
        held = [asyncio.create_task(threads.call_for("ann", hold)) for _ in range(2)]
        await _all_left(threads)
        for owner in ("ann", "bob", "ann"):
            assert await asyncio.wait_for(threads.call_for(owner, finish.is_set), 60) is False
        held += [asyncio.create_task(threads.call_for("ann", hold)) for _ in range(2)]  # no place is given back twice
        await _all_left(threads)
        finish.set()
        return await asyncio.gather(*held)

    assert asyncio.run(exchange()) == [True] * 4


async def _all_left(threads: ThreadPool) -> None:
    await asyncio.sleep(0)  # who asks is in
    while threads._threads.total:
        await asyncio.sleep(0.001)


def test_however_many_take_all_of_it_another_does_not_wait() -> None:
    for greedy in [2, 20]:
        _however_many_take_all_of_it_another_does_not_wait(greedy)


def _however_many_take_all_of_it_another_does_not_wait(greedy: int) -> None:
    finish = threading.Event()

    async def exchange() -> bool:
        threads = ThreadPool(running=4, waiting=8)
        taken = [
            asyncio.create_task(threads.call_for(f"greedy {number}", finish.wait, 60))
            for number in range(greedy)
            for _ in range(min(5, 40 // greedy))
        ]
        await asyncio.sleep(0.05)
        other = await asyncio.wait_for(threads.call_for("bob", finish.is_set), 60)
        finish.set()
        done = await asyncio.gather(*taken, return_exceptions=True)
        assert all(one is True or isinstance(one, TooManyQueries) for one in done)
        assert [one is True for one in done].count(True) >= greedy
        assert await asyncio.wait_for(threads.call_for("bob", finish.is_set), 60)
        assert not threads._threads.total and not threads._calls.total and not threads._waiting
        return other

    assert asyncio.run(exchange()) is False


def test_threads_are_bounded_and_go_round() -> None:
    """One call ends after the other, each when all that were let in are at work: no delay of a thread tells."""
    order, ends, most = list[str](), threading.Semaphore(0), 0

    def work(owner: str) -> None:
        order.append(owner)
        assert ends.acquire(timeout=60)

    async def exchange() -> None:
        nonlocal most
        threads = ThreadPool(running=2, waiting=40)
        calls = [asyncio.create_task(threads.call_for(owner, work, owner)) for owner in ["ann"] * 12 + ["bob"] * 3]
        await asyncio.sleep(0)
        for ended in range(len(calls)):
            while len(order) < ended + threads._threads.total or sum(call.done() for call in calls) < ended:
                await asyncio.sleep(0.001)
            most = max(most, threads._threads.total)
            ends.release()
        await asyncio.gather(*calls)

    asyncio.run(exchange())
    assert most <= 3  # two, and one more owner's first
    assert max(place for place, owner in enumerate(order) if owner == "bob") <= 7


def test_who_is_cancelled_while_waiting_leaves_no_trace() -> None:
    finish = threading.Event()

    async def exchange() -> None:
        threads = ThreadPool(running=1, waiting=4)
        first = asyncio.create_task(threads.call_for("ann", finish.wait, 60))
        second = asyncio.create_task(threads.call_for("ann", finish.wait, 60))
        await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        finish.set()
        assert await first
        assert not threads._threads.total and not threads._calls.total and not threads._waiting

    asyncio.run(exchange())


def test_an_error_comes_through_as_it_is() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        asyncio.run(ThreadPool(1, 1).call(fail))
