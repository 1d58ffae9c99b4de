"""Draws that choose distinct things, as samples without replacement need; served samples never do."""

from __future__ import annotations

from typing import Protocol

from privacy.errors import InvalidParameter
from privacy.sampling.draws import MAX_COUNT, Draws, SystemDraws, _generator
from privacy.units import Ints


class ChoosingDraws(Draws, Protocol):
    """Draws that choose, too."""

    def choose(self, things: int, size: int) -> Ints:
        """(size,) distinct members of 0..things-1 in any order, every set of that size equally likely.

        Raises: InvalidParameter unless 0 <= size <= things <= MAX_COUNT.
        """


def check_distinct(things: int, size: int) -> None:
    """Refuse what cannot be chosen. Raises: InvalidParameter."""
    if not 0 <= size <= things <= MAX_COUNT:
        raise InvalidParameter("a choice is made among at most 2^32 things, of which there are enough")


class SystemChoosingDraws(SystemDraws):
    """Those of production, and exactly uniform sets."""

    def choose(self, things: int, size: int) -> Ints:
        """(size,) distinct draws. Raises: InvalidParameter."""
        check_distinct(things, size)
        return _generator().choice(things, size, replace=False, shuffle=False)
