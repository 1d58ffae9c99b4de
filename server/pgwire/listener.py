"""The port that speaks PostgreSQL's protocol."""

from __future__ import annotations

import asyncio
import socket

from server.pgwire.channel import Channel
from server.pgwire.connection import Connection, Reception, too_many

_GRACE_S = 30.0


class Listener:
    """Accepts connections, each served by a task of its own.

    Args:
      reception: what every connection needs.
    """

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._server: asyncio.Server | None = None

    async def start(self, listening: socket.socket) -> None:
        """Serve a socket that is bound and listens."""
        self._server = await asyncio.get_running_loop().create_server(lambda: _Greeting(self), sock=listening)

    async def stop(self) -> None:
        """Accept nobody more, let statements under way end, for a while; then cut off."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._connections.values():
            connection.stop()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=_GRACE_S)

    def greet(self, channel: Channel) -> None:
        """Serve a connection that has just been made."""
        connection = Connection(channel, self._reception)
        if len(self._connections) >= self._reception.limits.connections and not self._make_room():
            connection.refuse(too_many())
            return
        task = asyncio.get_running_loop().create_task(connection.serve())
        self._connections[task] = connection
        task.add_done_callback(self._ended)

    def _make_room(self) -> bool:
        """Let go of who has been longest without saying who it is; whether there is anybody.

        Who only holds a place, without a key, can so not keep those out who have one.
        """
        for task, connection in self._connections.items():
            if not connection.known:
                connection.make_room()
                del self._connections[task]
                return True
        return False

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task, None)


class _Greeting(Channel):
    """A channel that tells the listener once when it is connected (TLS connects it again)."""

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self._listener: Listener | None = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        super().connection_made(transport)
        if self._listener is not None:
            self._listener.greet(self)
            self._listener = None
