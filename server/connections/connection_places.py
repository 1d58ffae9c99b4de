"""Who has a place among the connections of one port, and who gives his up when one more comes and all are taken."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable
from enum import IntEnum


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

    def __init__(self, places: Places, address: str, end: Callable[[], None]) -> None:
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

    def enter(self, address: str, end: Callable[[], None]) -> Place | None:
        """A place for one more, who is silent yet; None where everybody else is being served.

        Args:
          address: what it is counted under (`origin`).
          end: cuts it off at once.
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
