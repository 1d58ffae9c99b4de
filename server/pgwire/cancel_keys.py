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


class CancelKeys:
    """The sessions that may be cancelled."""

    def __init__(self) -> None:
        self._sessions: dict[int, tuple[bytes, Callable[[], None]]] = {}

    def add(self, cancel: Callable[[], None]) -> CancelKey:
        """A key for a new session.

        Args:
          cancel: ends what the session is doing.
        """
        process = secrets.randbelow((1 << 31) - 1) + 1
        while process in self._sessions:
            process = secrets.randbelow((1 << 31) - 1) + 1
        secret = secrets.token_bytes(4)
        self._sessions[process] = (secret, cancel)
        return CancelKey(process, secret)

    def remove(self, key: CancelKey) -> None:
        """The session has ended."""
        self._sessions.pop(key.process, None)

    def cancel(self, process: int, secret: bytes) -> None:
        """Cancel, if the key is right; nobody is told whether it was."""
        known, cancel = self._sessions.get(process, (b"", None))
        if cancel is not None and hmac.compare_digest(known, secret):
            cancel()
