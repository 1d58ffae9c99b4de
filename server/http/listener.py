"""The HTTP port: uvicorn's server with limits on unauthenticated connections."""

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
"""The most bytes of a request's line, headers, trailers and chunk framing."""

FRAME_BYTES = 16
"""The framing that one byte of a body may have: chunks of one byte are allowed."""

REQUEST_S = 30.0
"""The longest time from a connection, or the last answer, to the end of the next request."""

FAREWELL_S = 1.0
"""The longest wait for the other side's end of TLS when the server stops."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol over httptools, with limits on headers and waiting.

    Args:
      place: the connection's place, until it is lost.
    """

    def __init__(self, place: Place, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        super().__init__(config, server_state, app_state, asyncio.get_running_loop())
        self._place = place
        self._standing = Standing.STRANGER
        self._received = 0
        self._room = HEAD_BYTES
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The connection is open and TLS is established."""
        self._place.end = transport.abort
        super().connection_made(transport)
        self._await_client(REQUEST_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed: stop its timers and free its place."""
        self._stop_waiting()
        self._place.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of each read and close the connection above the limit."""
        self._received += len(data)
        super().data_received(data)
        if self._received > self._room and not self.transport.is_closing():
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request starts, with the full allowance for its head."""
        self._received, self._room = 0, HEAD_BYTES
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """A part of a body, which has its own limit (`exchange.py`)."""
        self._room += FRAME_BYTES * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has arrived completely."""
        self._stop_waiting()
        self._place.stand(Standing.SERVED)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The request is answered; written bytes may still wait for the client."""
        shown = Standing.KNOWN if is_known(self.cycle.scope) else Standing.ANSWERED
        self._standing = max(self._standing, shown)
        super().on_response_complete()
        self._await_client(REQUEST_S)

    def pause_writing(self) -> None:
        """The client reads more slowly than the server writes."""
        super().pause_writing()
        self._await_client(STALL_S)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        if not self.waits:
            self._stop_waiting()
            self._place.stand(Standing.SERVED)

    def shutdown(self) -> None:
        """The server stops: close idle connections, without waiting for TLS."""
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(FAREWELL_S, self.transport.abort)

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client to send or to read."""
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
      connections: the most connections per socket.
    """

    def __init__(self, config: uvicorn.Config, connections: int) -> None:
        super().__init__(config)
        self._connections = connections
        self._entrances: list[Entrance] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections."""
        await super().startup(sockets=[])  # uvicorn's own servers would count a connection after its handshake
        if self.started:
            self._entrances = [
                Entrance(each, self._protocol, self._connections, context=self.config.ssl) for each in sockets or []
            ]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections; running requests are finished."""
        for entrance in self._entrances:
            entrance.close()
        await super().shutdown(sockets)

    def _protocol(self, place: Place) -> asyncio.Protocol:
        return BoundedProtocol(place, self.config, self.server_state, self.lifespan.state)
