"""Connections of both ports: counted when accepted, evicted when all places are taken, written to as they read.

In: sockets as they are accepted, before anybody has said who is there; answers that are being sent.
Out: connections that have a place; a place is taken from the address with the most when all are taken (how:
`server/README.md`).

How long one may be silent: before the first byte 30 s; then a request of HTTP has 30 s
(`server/http/listener.py`), PostgreSQL's protocol 30 s to the proof and an hour in a session
(`server/pgwire/connection.py`); who does not read what is sent is let go after `STALL_S`.
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

from server.errors import AnswersTooLarge, OwnAnswersTooLarge
from server.query import QueryResponse
from server.scheduling.fair_shares import FairShares, Refusal


class Standing(IntEnum):
    """What a connection has shown of itself; who has shown less makes room first."""

    SILENT = 0
    """Nothing."""

    STRANGER = 1
    """Nothing whole: it is in the handshake, or in the middle of its first request or of its proof."""

    ANSWERED = 2
    """It was answered, to nobody in particular, and now it is its turn."""

    KNOWN = 3
    """It was answered with a key that is somebody's, and now it is its turn."""

    SERVED = 4
    """It is being answered, or has a session: it keeps its place."""


class Place:
    """What one connection holds from the moment it is accepted.

    Attributes:
      address: what it is counted under.
      end: cuts it off at once.
      standing: what it has shown so far.
    """

    __slots__ = ("_places", "address", "end", "standing")

    def __init__(self, places: Places, address: str, end: Callable[[], object]) -> None:
        self._places: Places | None = places
        self.address = address
        self.end = end
        self.standing = Standing.SILENT

    def stand(self, standing: Standing) -> None:
        """From now on this much is known; among those of whom as much is known, it is the newest."""
        if self._places is not None:
            self._places.move(self, standing)

    def leave(self) -> None:
        """The connection is gone; again is no mistake."""
        if self._places is not None:
            self._places.remove(self)
            self._places = None


class Places:
    """The places of one port. Used on the event loop only.

    When all are taken, the address that holds the most of those that could go gives up one: of its own the one with
    the lowest standing, among these the one that has had it for longest. Who takes many takes them from himself.

    Args:
      most: how many there are, >= 1.

    Cost: constant, but for choosing who goes: one look at each address.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._n = 0
        self._waiting: dict[str, tuple[dict[Place, None], ...]] = {}
        self._crowds: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._n

    def enter(self, address: str, end: Callable[[], object]) -> Place | None:
        """A place for one more, who is silent yet; None where everybody else is being served.

        It is counted under an address (`origin`), and `end` cuts it off at once.
        """
        if self._n >= self._most and not self.make_room():
            return None
        place = Place(self, address, end)
        self._n += 1
        self._add(place)
        return place

    def make_room(self) -> bool:
        """Cut one off; whether there was one that could go."""
        if not self._crowds:
            return False
        crowd = self._waiting[max(self._crowds, key=self._crowds.__getitem__)]
        going = next(iter(next(standing for standing in crowd if standing)))
        going.leave()
        going.end()
        return True

    def move(self, place: Place, standing: Standing) -> None:
        """Give a place another standing."""
        self._take(place)
        place.standing = standing
        self._add(place)

    def remove(self, place: Place) -> None:
        """Count a place no more."""
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
    """What a peer's address is counted under: an IPv4 address, the first 64 bits of an IPv6 one, nothing for others.

    One customer has 2^64 addresses of IPv6. What comes through a proxy in front of this one comes from one address.

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
"""Of all large answers that are being read."""

SMALL_BYTES = 1 << 16
"""An answer up to this size needs no room."""

STALL_S = 60.0
"""The longest that a client may leave what it is being sent unread: some ten thousand bytes must go by then."""

_HINT = "Read or close those under way, or ask again in a moment: the answer is kept, and free."


class Outgoing:
    """Room for answers that are being read; any thread may use it.

    Several readers of one and the same object take its room once, and once of each owner's share. One owner has half
    of the room (`FairShares`), or one answer of any size while others have not filled theirs; what is larger than all
    room is read alone.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._room = FairShares(most_bytes // 2, most_bytes)
        self._lock = threading.Lock()
        self._readers: Counter[Hashable] = Counter()
        self._read_by: Counter[tuple[str, Hashable]] = Counter()
        self._ended: deque[tuple[str, Hashable, int]] = deque()

    def hold(self, owner: str, response: QueryResponse) -> Held:
        """Take room for an answer.

        Returns: what holds it until it is let go, or collected.
        Raises: OwnAnswersTooLarge for more than half of the room, AnswersTooLarge where there is none left.
        """
        n_bytes = response.n_bytes
        if n_bytes <= SMALL_BYTES:
            return Held(None, owner, None, 0)
        name = id(response.rows)  # unique while somebody reads it, since what is held keeps it alive
        with self._lock:
            self._settle()
            is_new = name not in self._readers
            adds = n_bytes if is_new else 0
            own = 0 if self._read_by[owner, name] else n_bytes
            refusal = self._room.refusal(owner, min(own, self._room.of_one), adds=adds)
            if refusal is Refusal.OWN:
                raise OwnAnswersTooLarge("Too many large answers of yours are being read.", hint=_HINT)
            if refusal is Refusal.ALL:
                raise AnswersTooLarge("Too many large answers are being read.", hint=_HINT)
            self._readers[name] += 1
            self._read_by[owner, name] += 1
            self._room.take(owner, own, adds=adds)
        return Held(self, owner, response, n_bytes)

    @property
    def n_bytes(self) -> int:
        """How much is held."""
        with self._lock:
            self._settle()
            return self._room.total

    def _let_go(self, owner: str, response: QueryResponse, n_bytes: int) -> None:
        """Without the lock, which this thread may hold: what is collected is let go in the middle of anything."""
        self._ended.append((owner, id(response.rows), n_bytes))

    def _settle(self) -> None:
        """Count what was let go no more. Whoever asks next does so first; nothing else asks how much there is."""
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
    """Room that an answer takes, until `close`.

    Attributes:
      room: where it is counted; None for a small answer, which is not.
      response: the answer; None where nothing is counted.
    """

    room: Outgoing | None
    owner: str
    response: QueryResponse | None
    n_bytes: int

    def close(self) -> None:
        """Let go; a second time does nothing."""
        room, self.room = self.room, None
        if room is not None and self.response is not None:
            room._let_go(self.owner, self.response, self.n_bytes)
            self.response = None

    def __del__(self) -> None:
        self.close()


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
            self._let_go(place)
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
        place.end = task.cancel

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
