"""How many sessions each analyst has, so that nobody takes the places of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from server.errors import WireError
from server.scheduling.fair_shares import FairShares


class SessionLimit:
    """The sessions of one server, counted on its event loop.

    Args:
      most_of_one: how many one analyst may have at once.
    """

    def __init__(self, most_of_one: int = 100) -> None:
        self._sessions = FairShares(most_of_one)

    @contextmanager
    def present(self, analyst: str) -> Iterator[None]:
        """Be one of the analyst's sessions. Raises: WireError when there are as many as may be."""
        if self._sessions.refusal(analyst) is not None:
            raise WireError("you have too many sessions", "53300", hint="close some")
        self._sessions.take(analyst)
        try:
            yield
        finally:
            self._sessions.give_back(analyst)
