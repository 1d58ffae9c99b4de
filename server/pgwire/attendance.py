"""How many sessions each analyst has, so that nobody takes the places of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from server.errors import WireError


@dataclass(frozen=True)
class Attendance:
    """The sessions of one server, counted on its event loop.

    Attributes:
      most_of_one: how many one analyst may have at once.
    """

    most_of_one: int = 100
    _sessions: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def present(self, analyst: str) -> Iterator[None]:
        """Be one of the analyst's sessions. Raises: WireError when there are as many as may be."""
        if self._sessions[analyst] >= self.most_of_one:
            raise WireError("you have too many sessions", "53300", hint="close some")
        self._sessions[analyst] += 1
        try:
            yield
        finally:
            self._sessions[analyst] -= 1
            if not self._sessions[analyst]:
                del self._sessions[analyst]
