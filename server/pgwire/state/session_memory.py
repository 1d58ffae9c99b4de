"""How many bytes the sessions of each analyst keep: prepared statements, bound values, rows yet to be fetched."""

from __future__ import annotations

from server.errors import WireError
from server.scheduling.fair_shares import FairShares

MOST_OF_ONE = 128 << 20
"""Bytes of all sessions of one analyst together."""


class Holdings:
    """What is kept for whom, by one server; used on its event loop only.

    Args:
      most_of_one: bytes that one analyst's sessions may keep together.
    """

    def __init__(self, most_of_one: int = MOST_OF_ONE) -> None:
        self._bytes = FairShares(most_of_one)

    def of(self, analyst: str) -> Holding:
        """What one more session of an analyst keeps: nothing yet."""
        return Holding(self._bytes, analyst)


class Holding:
    """What one session keeps.

    Args:
      shares: of all sessions of all analysts, in bytes.
      analyst: whose session it is.
    """

    def __init__(self, shares: FairShares, analyst: str) -> None:
        self._shares = shares
        self._analyst = analyst
        self._n_bytes = 0

    def hold(self, n_bytes: int) -> None:
        """The session keeps so many bytes now; none when it ends."""
        self._shares.give_back(self._analyst, self._n_bytes)
        self._shares.take(self._analyst, n_bytes)
        self._n_bytes = n_bytes

    def check(self, own: int, more: int = 0) -> None:
        """May the session, which keeps `own` bytes, keep `more`? Raises: WireError."""
        self.hold(own)
        if self._shares.refusal(self._analyst, more) is not None:
            hint = f"DEALLOCATE or CLOSE some: {self._shares.of_one >> 20} MiB is the most"
            raise WireError("your sessions keep too many statements, values and rows", "53200", hint=hint)
