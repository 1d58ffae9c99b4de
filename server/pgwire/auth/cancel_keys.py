"""Who may cancel what: each session has a number and a secret, which only its client is told."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CancelKey:
    """What a client must show to cancel.

    Attributes:
      process: the session's number; means no process.
      secret: 4 random bytes, as protocol 3.0 has room for.
    """

    process: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class _Known:
    """A session: whose, what its client must show, what ends a statement, and what ends all of it."""

    analyst: str
    secret: bytes = field(repr=False)
    cancel: Callable[[], None]
    end: Callable[[], None]


class CancelKeys:
    """The sessions that may be cancelled: by whoever shows the secret, and by other sessions of the same analyst."""

    def __init__(self) -> None:
        self._sessions: dict[int, _Known] = {}

    def add(self, analyst: str, cancel: Callable[[], None], end: Callable[[], None]) -> CancelKey:
        """A key for a new session.

        Args:
          analyst: whose it is.
          cancel: ends what the session is doing.
          end: ends the session, too.
        """
        process = secrets.randbelow((1 << 31) - 1) + 1
        while process in self._sessions:
            process = secrets.randbelow((1 << 31) - 1) + 1
        secret = secrets.token_bytes(4)
        self._sessions[process] = _Known(analyst, secret, cancel, end)
        return CancelKey(process, secret)

    def remove(self, key: CancelKey) -> None:
        """The session has ended."""
        self._sessions.pop(key.process, None)

    def cancel(self, process: int, secret: bytes) -> None:
        """Cancel, if the key is right; nobody is told whether it was."""
        known = self._sessions.get(process)
        if known is not None and hmac.compare_digest(known.secret, secret):
            known.cancel()

    def stop_own(self, analyst: str, process: int, *, session: bool) -> bool:
        """Cancel what another session of an analyst is doing, or end it; False: the analyst has no such session.

        Of others' sessions nobody is told that there are any. Args: session: all of it?
        """
        known = self._sessions.get(process)
        if known is None or known.analyst != analyst:
            return False
        known.cancel()
        if session:
            known.end()
        return True
