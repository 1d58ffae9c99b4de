"""The port that speaks HTTP: uvicorn's server, with bounds on connections of which nobody knows who speaks."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from server.connections import STALL_S, Entrance, Place, Standing
from server.http.exchange import is_known

HEAD_BYTES = 64 * 1024
"""Of a request's line and headers, its trailers, and what frames the chunks of its body."""

FRAME_BYTES = 16
"""What a byte of the body may have around it: chunks of one byte are allowed."""

REQUEST_S = 30.0
"""The longest from a connection, or the end of an answer, to the last byte of the next request."""

FAREWELL_S = 1.0
"""The longest that the other side's end of TLS is waited for when the server stops."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol over httptools, which by itself keeps headers of any length and waits for ever.

    Args:
      place: what the connection holds, until it is lost.
    """

    def __init__(self, place: Place, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        super().__init__(config, server_state, app_state, asyncio.get_running_loop())
        self._place = place
        self._standing = Standing.STRANGER
        self._received = 0
        self._room = HEAD_BYTES
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The connection is there, and the handshake is over."""
        self._place.end = transport.abort
        super().connection_made(transport)
        self._await_client(REQUEST_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over: its timers end, and its place is another's."""
        self._stop_waiting()
        self._place.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived. Counted per read, so that one read's bytes at most are taken in above the bound."""
        self._received += len(data)
        super().data_received(data)
        if self._received > self._room and not self.transport.is_closing():
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins, with the whole allowance for its head."""
        self._received, self._room = 0, HEAD_BYTES
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """A part of a body, which has a bound of its own (`exchange.py`)."""
        self._room += FRAME_BYTES * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is there as a whole."""
        self._stop_waiting()
        self._place.stand(Standing.SERVED)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """It is answered; what was written may still wait for the client to take it."""
        shown = Standing.KNOWN if is_known(self.cycle.scope) else Standing.ANSWERED
        self._standing = max(self._standing, shown)
        super().on_response_complete()
        self._await_client(REQUEST_S)

    def pause_writing(self) -> None:
        """The client takes less than there is for it."""
        super().pause_writing()
        self._await_client(STALL_S)

    def resume_writing(self) -> None:
        """It has caught up."""
        super().resume_writing()
        if not self.waits:
            self._stop_waiting()
            self._place.stand(Standing.SERVED)

    def shutdown(self) -> None:
        """The server stops: who is not being answered is let go, and over TLS not waited for."""
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(FAREWELL_S, self.transport.abort)

    @property
    def waits(self) -> bool:
        """Is it the client's turn to say something, or to listen?"""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body or self.flow.write_paused

    def _await_client(self, seconds: float) -> None:
        self._stop_waiting()
        if self.waits:  # of several requests at once another may be under way
            self._place.stand(self._standing)
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self.waits:
            self.transport.abort()


class HttpListener(uvicorn.Server):
    """Serves the sockets that `serve` is given.

    Args:
      connections: how many at once, per socket.
    """

    def __init__(self, config: uvicorn.Config, connections: int) -> None:
        super().__init__(config)
        self._connections = connections
        self._entrances: list[Entrance] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept."""
        await super().startup(sockets=[])  # uvicorn's own servers would count a connection after its handshake
        if self.started:
            self._entrances = [
                Entrance(each, self._protocol, self._connections, context=self.config.ssl) for each in sockets or []
            ]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nobody more; what is being answered is finished."""
        for entrance in self._entrances:
            entrance.close()
        await super().shutdown(sockets)

    def _protocol(self, place: Place) -> asyncio.Protocol:
        return BoundedProtocol(place, self.config, self.server_state, self.lifespan.state)
