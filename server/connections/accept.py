"""A port: connections are counted when they are accepted, and cost a descriptor until they say something."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from server.connections.connection_places import Place, Places, Standing, origin

SILENT_S = 30.0
"""The longest from being accepted to the first byte."""

HANDSHAKE_S = 10.0
"""The longest from the first byte of a TLS handshake to its last."""

TENURE_S = 0.5
"""How fast places change hands at most: in this time every one of them, once. A handshake must fit in it."""

_BACKLOG = 4_096
_SHARES = 16
_FULL_S = 0.1


class Entrance:
    """Accepts what connects to one socket.

    The event loop's own servers make transports, buffers and TLS objects of whatever is accepted, seventy kilobytes
    each, and tell nobody before a handshake is over. Here a connection is no more than a socket until its first byte
    is there; every protocol that is served has the client speak first.

    While one must go for each that comes, no more are accepted than leave a newcomer the time to say who he is; the
    rest wait in the system's queue.

    Args:
      listening: bound, and listening.
      protocol: makes the protocol of a connection, which leaves its place when the connection is lost.
      most: how many connections at once, >= 1.
      context: TLS from the first byte on; None: what the protocol makes of it.
      farewell: sent to who is cut off before it has said anything.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[Place], asyncio.BaseProtocol],
        most: int,
        *,
        context: ssl.SSLContext | None = None,
        farewell: bytes = b"",
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._most = most
        self._share = max(1, most // _SHARES)
        self._places = Places(most)
        self._context = context
        self._farewell = farewell
        self._loop = asyncio.get_running_loop()
        self._silent: dict[Place, tuple[socket.socket, asyncio.TimerHandle]] = {}
        self._shaking: set[asyncio.Task[None]] = set()
        self._paused: asyncio.TimerHandle | None = None
        self._open = True
        listening.setblocking(False)
        listening.listen(_BACKLOG)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Accept nobody more, and let go of who has said nothing."""
        if not self._open:
            return
        self._open = False
        self._loop.remove_reader(self._listening)
        if self._paused is not None:
            self._paused.cancel()
        for place in list(self._silent):
            place.leave()
            self._drop(place)
        for task in self._shaking:
            task.cancel()

    def _accept(self) -> None:
        """A share at a time: those that are served go on in between."""
        for _ in range(self._share):
            try:
                accepted, peer = self._listening.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # it has gone again
            except OSError:  # no descriptor, or no memory, is left in this process or in the system
                self._places.make_room()
                self._pause(_FULL_S)
                return
            self._admit(accepted, peer)
        if len(self._places) >= self._most:
            self._pause(TENURE_S * self._share / self._most)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._paused = self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._loop.add_reader(self._listening, self._accept)

    def _admit(self, accepted: socket.socket, peer: object) -> None:
        accepted.setblocking(False)
        place = self._places.enter(origin(peer), lambda: None)
        if place is None:
            self._hang_up(accepted)
            return
        place.end = partial(self._drop, place)
        self._silent[place] = accepted, self._loop.call_later(SILENT_S, self._too_late, place)
        self._loop.add_reader(accepted, self._begin, place)

    def _too_late(self, place: Place) -> None:
        place.leave()
        self._drop(place)

    def _drop(self, place: Place) -> None:
        """Hang up on somebody who has not said anything."""
        self._hang_up(self._taken(place))

    def _taken(self, place: Place) -> socket.socket:
        """The socket, no longer waited for."""
        accepted, deadline = self._silent.pop(place)
        deadline.cancel()
        self._loop.remove_reader(accepted)
        return accepted

    def _begin(self, place: Place) -> None:
        """Somebody says something, or leaves without a word."""
        accepted, _ = self._silent[place]
        try:
            said = accepted.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return  # an event of the descriptor's last owner
        except OSError:
            said = b""
        self._taken(place)
        if not said:
            place.leave()
            accepted.close()
            return
        place.stand(Standing.STRANGER)
        task = self._loop.create_task(self._connect(accepted, place))
        self._shaking.add(task)
        task.add_done_callback(self._shaking.discard)
        place.end = lambda: _cancel(task)

    async def _connect(self, accepted: socket.socket, place: Place) -> None:
        handshake_s = None if self._context is None else HANDSHAKE_S
        try:
            await self._loop.connect_accepted_socket(
                partial(self._protocol, place), accepted, ssl=self._context, ssl_handshake_timeout=handshake_s
            )
        except OSError:  # TLS that is none, or takes too long
            place.leave()
        except asyncio.CancelledError:  # by who made room, or closed
            place.leave()
            raise

    def _hang_up(self, accepted: socket.socket) -> None:
        if self._farewell:
            with suppress(OSError):
                accepted.send(self._farewell)
        accepted.close()


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
