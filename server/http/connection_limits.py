"""Bounds on HTTP connections before anything is known of who speaks: how many, how long, how much."""

from __future__ import annotations

import asyncio
import time

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
"""Of a request's line and headers, its trailers, and what frames the chunks of its body."""

FRAME_BYTES = 16
"""What a byte of the body may have around it: chunks of one byte are allowed."""

REQUEST_S = 30.0
"""The longest from a connection, or the end of an answer, to the last byte of the next request."""

CONNECTIONS = 1_000
"""At once. When one more comes, the one that has been saying nothing for longest makes room."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol over httptools, which by itself keeps headers of any length and waits for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected; nobody is refused while somebody else only holds a place."""
        self._since = time.monotonic()
        self._received = 0
        self._room = HEAD_BYTES
        self._deadline: asyncio.TimerHandle | None = None
        if len(self.connections) >= CONNECTIONS and not self._make_room():
            transport.abort()
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived. Counted per read, so that one read's bytes at most are taken in above the bound."""
        self._received += len(data)
        super().data_received(data)
        if self._received > self._room and not self.transport.is_closing():
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._received, self._room = 0, HEAD_BYTES
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """A part of a body, which has a bound of its own (`body_limit`)."""
        self._room += FRAME_BYTES * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is there as a whole."""
        self._stop_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """It is answered."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._await_request()

    @property
    def waits(self) -> bool:
        """Is it the client's turn to say something?"""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _await_request(self) -> None:
        self._stop_waiting()
        self._since = time.monotonic()
        self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self.waits:  # of several requests at once another may be under way
            self.transport.abort()

    def _make_room(self) -> bool:
        """Cut off who holds a place for longest without a whole request; whether there was one."""
        waiting = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.waits]
        if not waiting:
            return False
        min(waiting, key=lambda one: one._since).transport.abort()
        return True
