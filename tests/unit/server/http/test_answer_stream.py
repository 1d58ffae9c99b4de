"""A reader that takes its time holds one piece of its answer, and room for the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from starlette.types import Message

from server.connections import Outgoing
from server.http.representations import AnswerStream
from tests.unit.server.test_outgoing_bytes import SIZE, large


class Slow:
    """A client that takes a piece when it is let, and goes when it is told."""

    def __init__(self) -> None:
        self.made = 0
        self.taken: list[Message] = []
        self.may_take = asyncio.Semaphore(0)
        self.leaves = asyncio.Event()

    def pieces(self) -> Iterator[bytes]:
        for _ in range(5):
            self.made += 1
            yield b"piece"

    async def send(self, message: Message) -> None:
        self.taken.append(message)
        await self.may_take.acquire()

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}


async def _served(client: Slow, room: Outgoing) -> asyncio.Task[None]:
    stream = AnswerStream(client.pieces(), room.hold("ada", large()).close, "text/csv", {})
    task = asyncio.ensure_future(stream({"type": "http"}, client.receive, client.send))
    await asyncio.sleep(0.1)
    return task


def test_no_piece_is_made_before_the_one_before_is_taken() -> None:
    async def scene() -> None:
        client, room = Slow(), Outgoing()
        task = await _served(client, room)
        for made in (0, 1, 2, 3):
            assert (client.made, room.n_bytes) == (made, SIZE)
            client.may_take.release()
            await asyncio.sleep(0.1)
        for _ in range(4):
            client.may_take.release()
        await task
        assert b"".join(message.get("body", b"") for message in client.taken) == b"piece" * 5
        assert client.taken[-1]["more_body"] is False and room.n_bytes == 0

    asyncio.run(scene())


def test_a_reader_who_goes_lets_go_of_all() -> None:
    async def scene() -> None:
        client, room = Slow(), Outgoing()
        task = await _served(client, room)
        client.may_take.release()
        client.leaves.set()
        await task
        assert client.made <= 1 and room.n_bytes == 0

    asyncio.run(scene())


def test_one_piece_is_made_per_round_of_the_loop_however_many_answers_are_read() -> None:
    """A task beside twenty readers who take all at once: it never waits for more than one piece."""

    async def scene() -> int:
        clients, room, most = [Slow() for _ in range(20)], Outgoing(), 0
        for client in clients:
            for _ in range(10):
                client.may_take.release()
        streams = [AnswerStream(one.pieces(), room.hold("ada", large()).close, "text/csv", {}) for one in clients]
        tasks = [
            asyncio.ensure_future(stream({"type": "http"}, client.receive, client.send))
            for stream, client in zip(streams, clients, strict=True)
        ]
        for _ in range(20):  # the first pieces leave when their answers begin
            await asyncio.sleep(0)
        made = sum(client.made for client in clients)
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            now = sum(client.made for client in clients)
            most, made = max(most, now - made), now
        assert made == 5 * len(clients)
        return most

    assert asyncio.run(scene()) == 1
