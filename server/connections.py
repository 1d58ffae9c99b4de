"""Connections of both ports: admitted, evicted if there are too many, and limited in unread answers.

In: accepted sockets before authentication; answers that are being sent. Out: admitted connections. If all places are
taken, the address with the most connections loses one (`server/README.md`).

Timeouts: 30 s to the first byte; then 30 s for an HTTP request (`server/http/listener.py`), or 30 s for PostgreSQL's
authentication and an hour of idle session (`server/pgwire/connection.py`). A client that stops reading is
disconnected after `STALL_S`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from weakref import WeakKeyDictionary

from server.errors import AnswersTooLarge, OwnAnswersTooLarge
from server.query import QueryResponse
from server.scheduling.fair_shares import FairShares, Refusal


class Standing(IntEnum):
    """The progress of a connection; those with less progress are evicted first."""

    SILENT = 0
    """It has sent nothing."""

    STRANGER = 1
    """It is in the TLS handshake, or in its first request or authentication."""

    ANSWERED = 2
    """It has received an answer without authentication, and is idle."""

    KNOWN = 3
    """It has received an answer with a valid key, and is idle."""

    SERVED = 4
    """It is being answered or has a session, and is not evicted."""


class Place:
    """The place of one connection, from its acceptance on.

    Attributes:
      address: the address that it counts for.
      end: disconnects it at once.
      standing: its progress.
    """

    __slots__ = ("_places", "address", "end", "standing")

    def __init__(self, places: Places, address: str, end: Callable[[], object]) -> None:
        self._places: Places | None = places
        self.address = address
        self.end = end
        self.standing = Standing.SILENT

    def stand(self, standing: Standing) -> None:
        """Set its progress; it becomes the newest of those with the same progress."""
        if self._places is not None:
            self._places.move(self, standing)

    def leave(self) -> None:
        """Give up the place; a second call does nothing."""
        if self._places is not None:
            self._places.remove(self)
            self._places = None


class Places:
    """The places of one port. Used on the event loop only.

    If all are taken, the address with the most evictable connections loses the one with the least progress, and among
    those the oldest. So a client with many connections displaces its own.

    Args:
      most: the number of places, >= 1.

    Cost: constant; an eviction looks at each address once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._n = 0
        self._waiting: dict[str, tuple[dict[Place, None], ...]] = {}
        self._crowds: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._n

    def enter(self, address: str, end: Callable[[], object]) -> Place | None:
        """Take a place for a new connection; None if all others are being served.

        Args:
          address: from `origin`.
          end: disconnects it at once.
        """
        if self._n >= self._most and not self.make_room():
            return None
        place = Place(self, address, end)
        self._n += 1
        self._add(place)
        return place

    def make_room(self) -> bool:
        """Evict a connection, and return whether one was evictable."""
        if not self._crowds:
            return False
        crowd = self._waiting[max(self._crowds, key=self._crowds.__getitem__)]
        going = next(iter(next(standing for standing in crowd if standing)))
        going.leave()
        going.end()
        return True

    def move(self, place: Place, standing: Standing) -> None:
        """Change the progress of a place."""
        self._take(place)
        place.standing = standing
        self._add(place)

    def remove(self, place: Place) -> None:
        """Free a place."""
        self._take(place)
        self._n -= 1

    def _add(self, place: Place) -> None:
        if place.standing is Standing.SERVED:
            return
        if place.address not in self._waiting:
            self._waiting[place.address] = ({}, {}, {}, {})
        self._waiting[place.address][place.standing][place] = None
        self._crowds[place.address] += 1

    def _take(self, place: Place) -> None:
        if place.standing is Standing.SERVED:
            return
        del self._waiting[place.address][place.standing][place]
        self._crowds[place.address] -= 1
        if not self._crowds[place.address]:
            del self._crowds[place.address], self._waiting[place.address]


def origin(peer: object) -> str:
    """The address that a peer counts for: an IPv4 address, or the first 64 bits of an IPv6 address; empty for others.

    One customer has 2^64 IPv6 addresses. All connections through a reverse proxy come from one address.

    >>> origin(("192.0.2.1", 5000)), origin(("2001:db8::7:1", 5000, 0, 0)), origin(("::ffff:192.0.2.1", 1, 0, 0))
    ('192.0.2.1', '2001:db8::', '192.0.2.1')
    """
    if not isinstance(peer, tuple):
        return ""
    address = ipaddress.ip_address(str(peer[0]).partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(address) >> 64 << 64))


MOST_BYTES = 192 << 20
"""Bytes of all large answers that are being read."""

SMALL_BYTES = 1 << 16
"""An answer up to this size is not counted."""

STALL_S = 60.0
"""The longest time without progress while a client reads an answer, about ten thousand bytes."""

_HINT = "Read or close open ones, then ask again: the answer is cached and free."

_writing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def turn_to_write() -> None:
    """Wait for the turn to write the next piece of a long answer, in order of arrival.

    At most one piece is written per round of the event loop. So another request waits for one piece at most in each
    of its steps, however many answers are being read.
    """
    async with _writing.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await asyncio.sleep(0)


class Outgoing:
    """Limits the bytes of answers that are being read. Thread-safe.

    Several readers of one object count once in total, and once per owner. One owner gets half of the bytes
    (`FairShares`), or one answer of any size if others leave room. An answer larger than the total is read alone.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._room = FairShares(most_bytes // 2, most_bytes)
        self._lock = threading.Lock()
        self._readers: Counter[Hashable] = Counter()
        self._read_by: Counter[tuple[str, Hashable]] = Counter()
        self._ended: deque[tuple[str, Hashable, int]] = deque()

    def hold(self, owner: str, response: QueryResponse) -> Held:
        """Count an answer.

        Returns: an object that counts it until it is closed or garbage-collected.
        Raises: OwnAnswersTooLarge beyond the owner's half; AnswersTooLarge if no room is left.
        """
        n_bytes = response.n_bytes
        if n_bytes <= SMALL_BYTES:
            return Held(None, owner, None, 0)
        name = id(response.rows)  # unique while it is read, because `Held` keeps it alive
        with self._lock:
            self._settle()
            is_new = name not in self._readers
            adds = n_bytes if is_new else 0
            own = 0 if self._read_by[owner, name] else n_bytes
            refusal = self._room.refusal(owner, min(own, self._room.of_one), adds=adds)
            if refusal is Refusal.OWN:
                raise OwnAnswersTooLarge("You are reading too many large answers at once.", hint=_HINT)
            if refusal is Refusal.ALL:
                raise AnswersTooLarge("Too many large answers are being read.", hint=_HINT)
            self._readers[name] += 1
            self._read_by[owner, name] += 1
            self._room.take(owner, own, adds=adds)
        return Held(self, owner, response, n_bytes)

    @property
    def n_bytes(self) -> int:
        """The bytes that are counted."""
        with self._lock:
            self._settle()
            return self._room.total

    def _let_go(self, owner: str, response: QueryResponse, n_bytes: int) -> None:
        """Queue a release without the lock, because garbage collection may run while this thread holds it."""
        self._ended.append((owner, id(response.rows), n_bytes))

    def _settle(self) -> None:
        """Apply the queued releases before the next count."""
        while self._ended:
            owner, name, n_bytes = self._ended.popleft()
            self._readers[name] -= 1
            is_last = not self._readers[name]
            if is_last:
                del self._readers[name]
            self._read_by[owner, name] -= 1
            own = 0 if self._read_by[owner, name] else n_bytes
            if own:
                del self._read_by[owner, name]
            self._room.give_back(owner, own, adds=n_bytes if is_last else 0)


@dataclass(eq=False, repr=False)
class Held:
    """Counts an answer's bytes until `close`.

    Attributes:
      room: the counter; None for a small answer.
      response: the answer; None if it is not counted.
    """

    room: Outgoing | None
    owner: str
    response: QueryResponse | None
    n_bytes: int

    def close(self) -> None:
        """Release the bytes; a second call does nothing."""
        room, self.room = self.room, None
        if room is not None and self.response is not None:
            room._let_go(self.owner, self.response, self.n_bytes)
            self.response = None

    def __del__(self) -> None:
        self.close()


SILENT_S = 30.0
"""The time limit from acceptance to the first byte."""

HANDSHAKE_S = 10.0
"""The time limit of a TLS handshake."""

TENURE_S = 0.5
"""The shortest time in which all places may change hands; a handshake must fit in it."""

_BACKLOG = 4_096
_SHARES = 16
_FULL_S = 0.1


class Entrance:
    """Accepts the connections of one socket.

    The event loop's own servers allocate 70 kB per connection and report it only after the handshake. Here a
    connection is a bare socket until its first byte arrives; in all our protocols the client speaks first.

    If each new connection evicts another, accepting slows down, so that every client has time to send its first
    bytes. The rest wait in the system's queue.

    Args:
      listening: bound, and listening.
      protocol: creates the protocol of a connection, which leaves its place when it is lost.
      most: connections at once, >= 1.
      context: TLS from the first byte on; None: up to the protocol.
      farewell: sent to connections that are evicted before they have sent anything.
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
        """Accept no more, and disconnect clients that have sent nothing."""
        if not self._open:
            return
        self._open = False
        self._loop.remove_reader(self._listening)
        if self._paused is not None:
            self._paused.cancel()
        for place in list(self._silent):
            self._let_go(place)
        for task in self._shaking:
            task.cancel()

    def _accept(self) -> None:
        for _ in range(self._share):
            try:
                accepted, peer = self._listening.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # the client has disconnected
            except OSError:  # out of descriptors or memory
                self._places.make_room()
                self._pause(_FULL_S)
                return
            self._admit(accepted, peer)
        if len(self._places) >= self._most:
            self._pause(TENURE_S * self._share / self._most)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._paused = self._loop.call_later(seconds, self._loop.add_reader, self._listening, self._accept)

    def _admit(self, accepted: socket.socket, peer: object) -> None:
        accepted.setblocking(False)
        place = self._places.enter(origin(peer), lambda: None)
        if place is None:
            self._hang_up(accepted)
            return
        place.end = partial(self._drop, place)
        self._silent[place] = accepted, self._loop.call_later(SILENT_S, self._let_go, place)
        self._loop.add_reader(accepted, self._begin, place)

    def _let_go(self, place: Place) -> None:
        place.leave()
        self._drop(place)

    def _drop(self, place: Place) -> None:
        self._hang_up(self._taken(place))

    def _taken(self, place: Place) -> socket.socket:
        accepted, deadline = self._silent.pop(place)
        deadline.cancel()
        self._loop.remove_reader(accepted)
        return accepted

    def _begin(self, place: Place) -> None:
        accepted, _ = self._silent[place]
        try:
            said = accepted.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return  # an event of the descriptor's previous owner
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
        place.end = task.cancel

    async def _connect(self, accepted: socket.socket, place: Place) -> None:
        handshake_s = None if self._context is None else HANDSHAKE_S
        try:
            await self._loop.connect_accepted_socket(
                partial(self._protocol, place), accepted, ssl=self._context, ssl_handshake_timeout=handshake_s
            )
        except OSError:  # an invalid or slow TLS handshake
            place.leave()
        except asyncio.CancelledError:  # by an eviction or `close`
            place.leave()
            raise

    def _hang_up(self, accepted: socket.socket) -> None:
        if self._farewell:
            with suppress(OSError):
                accepted.send(self._farewell)
        accepted.close()
