"""A response that is written while it is read: the process holds a piece of it at a time, however slow its reader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Room(Protocol):
    """What holds room for an answer: one `Held`, or several."""

    def close(self) -> None:
        """Let go of it."""
        ...


class AnswerStream(Response):
    """Sends pieces one after the other, each when the client has taken most of what came before.

    Between two of them everybody else has a turn. A client that takes nothing is cut off by its connection
    (`connection_limits`), and whoever is gone ends it.

    Args:
      pieces: of the body.
      held: the room that the answer takes, let go at the end.
    """

    def __init__(self, pieces: Iterator[bytes], held: Room, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(None, headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, until it is sent or its client is gone."""
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)
            self._held.close()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
