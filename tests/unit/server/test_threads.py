from __future__ import annotations

import asyncio
import threading

import pytest

from server.errors import TooManyQueries
from server.threads import Threads


def test_a_full_queue_refuses_and_the_others_finish() -> None:
    finish = threading.Event()

    async def exchange() -> list[object]:
        threads = Threads(running=1, waiting=2)
        running = [asyncio.create_task(threads.call(finish.wait, 5)) for _ in range(3)]
        await asyncio.sleep(0)  # all three are in, though none has reached a thread yet
        with pytest.raises(TooManyQueries):
            await threads.call(finish.wait, 5)
        finish.set()
        return list(await asyncio.gather(*running))

    assert asyncio.run(exchange()) == [True, True, True]


def test_one_analyst_takes_half_of_it_at_most() -> None:
    finish = threading.Event()

    async def exchange() -> bool:
        threads = Threads(running=2, waiting=4)
        greedy = [asyncio.create_task(threads.call_for("ann", finish.wait, 20)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(TooManyQueries):
            await threads.call_for("ann", finish.wait, 20)
        other = await asyncio.wait_for(threads.call_for("bob", finish.is_set), 5)
        finish.set()
        assert await asyncio.gather(*greedy) == [True, True, True]
        return other

    assert asyncio.run(exchange()) is False


def test_an_error_comes_through_as_it_is() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        asyncio.run(Threads(1, 1).call(fail))
