"""The port that speaks HTTP: uvicorn's server, with connections accepted by an entrance."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from server.connections.accept import Entrance
from server.connections.connection_places import Place
from server.http.limits.connection_limits import BoundedProtocol


class HttpListener(uvicorn.Server):
    """Serves the sockets that `serve` is given.

    Args:
      config: uvicorn's.
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
