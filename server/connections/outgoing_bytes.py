"""Answers on their way to clients that take their time: how many bytes of them the process holds at once.

A client that reads slowly, or not at all, keeps its answer in memory. Small ones do not count; a large one needs
room, and where there is none its client is told to come back: the answer is kept in the ledger, and asking again is
free.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Hashable

from server.errors import AnswersTooLarge, OwnAnswersTooLarge
from server.query import QueryResponse
from server.scheduling.fair_shares import FairShares, Refusal

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

    Args:
      most_bytes: of all answers together.
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


class Held:
    """Room that an answer takes, until `close`.

    Args:
      room: where it is counted; None for a small answer, which is not.
      owner: whose answer it is.
      response: the answer; None where nothing is counted.
      n_bytes: what it takes, in bytes.
    """

    def __init__(self, room: Outgoing | None, owner: str, response: QueryResponse | None, n_bytes: int) -> None:
        self._room = room
        self._owner = owner
        self._response = response
        self._n_bytes = n_bytes

    def close(self) -> None:
        """Let go; a second time does nothing."""
        room, self._room = self._room, None
        if room is not None and self._response is not None:
            room._let_go(self._owner, self._response, self._n_bytes)
            self._response = None

    def __del__(self) -> None:
        self.close()
