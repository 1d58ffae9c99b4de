"""The port that speaks PostgreSQL's protocol."""

from __future__ import annotations

import asyncio
import socket

from server.connections.accept import Entrance
from server.connections.connection_places import Place
from server.pgwire.codec import encode
from server.pgwire.codec.channel import Channel
from server.pgwire.connection import Connection, ListenerContext, too_many
from server.pgwire.errors import told

_GRACE_S = 30.0


class Listener:
    """Accepts connections, each served by a task of its own.

    Who only holds a place, without a key, cannot keep those out who have one: he gives it up to the next.

    Args:
      reception: what every connection needs.
    """

    def __init__(self, reception: ListenerContext) -> None:
        self._reception = reception
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._entrance: Entrance | None = None

    async def start(self, listening: socket.socket) -> None:
        """Serve a socket that is bound and listens."""
        farewell = encode.error(told(too_many()), severity="FATAL")
        most = self._reception.limits.connections
        self._entrance = Entrance(listening, lambda place: _Greeting(self, place), most, farewell=farewell)

    async def stop(self) -> None:
        """Accept nobody more, let statements under way end, for a while; then cut off."""
        if self._entrance is None:
            return
        self._entrance.close()
        for connection in self._connections.values():
            connection.stop()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=_GRACE_S)

    def greet(self, channel: Channel, place: Place) -> None:
        """Serve a connection that has just been made."""
        connection = Connection(channel, self._reception, place)
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._connections[task] = connection
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task, None)


class _Greeting(Channel):
    """A channel that tells the listener once when it is connected (TLS connects it again), and leaves its place."""

    def __init__(self, listener: Listener, place: Place) -> None:
        super().__init__()
        self._listener: Listener | None = listener
        self._place = place

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        super().connection_made(transport)
        if self._listener is not None:
            self._listener.greet(self, self._place)
            self._listener = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        super().connection_lost(exc)
        self._place.leave()
