"""Which kept answers an analyst has paid for, by the outlines of their questions; from the ledger as it grows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from planner.reuse.outline import Outline
from server.answers.encoding import outline_in
from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache

_ANALYSTS = 256
_MOST = 512
"""Of an analyst's newest charges, as many are looked at when a proxy begins."""

_ENTRY_BYTES = 1 << 10
_BYTES = 64 << 20


@dataclass(frozen=True)
class Owned:
    """A kept answer that an analyst was charged for.

    Attributes:
      number: of the analyst's charge.
      released: of the charge under which it was released: one number, one draw of noise.
      answer_key: under which the answer is kept.
      policy_hash: of the policy that it was released under.
      epsilon: the charge's.
      outline: of its question.
    """

    number: int
    released: int
    answer_key: str
    policy_hash: str
    epsilon: float
    outline: Outline


@dataclass
class _Known:
    """What is known of one analyst's charges: up to which number, which were open then, which have an outline."""

    last: int = 0
    open: list[int] = field(default_factory=list)
    owned: list[Owned] = field(default_factory=list)
    begun: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class CachedOutlines:
    """The outlines of what analysts have paid for.

    Everything is read from the ledger: an analyst's charges are looked at once each, when a question of the analyst's
    is asked that is not kept itself. So it is the same on every proxy, and after a restart; what another proxy has
    measured is seen with the next question. Whoever has not paid for an answer has no outline of it here.

    Args:
      ledger: keeps charges and answers.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._analysts: LruCache[str, _Known] = LruCache(
            _ANALYSTS, _BYTES, lambda known: _ENTRY_BYTES * max(1, len(known.owned))
        )

    def of(self, analyst: str, policy_hash: str, data_version: int) -> list[Owned]:
        """What the analyst has paid for under a policy and a version of the data, the newest first.

        Cost: one indexed read of the ledger, and one more for every charge since the last look; _MOST at first.
        """
        every = self.of_all(analyst, policy_hash)
        return [one for one in every if one.outline.data_version == data_version]

    def of_all(self, analyst: str, policy_hash: str) -> list[Owned]:
        """What the analyst has paid for under a policy, of whatever version of the data, the newest first.

        Cost: as `of`.
        """
        with self._lock:
            known = self._analysts.get(analyst) or self._analysts.put(analyst, _Known())
        with known.lock:
            self._read(known, analyst)
            found = [one for one in known.owned if one.policy_hash == policy_hash]
        return sorted(found, key=lambda one: -one.number)

    def _read(self, known: _Known, analyst: str) -> None:
        if not known.begun:
            new = list(self._ledger.newest_charges(analyst, limit=_MOST)[::-1])
            known.begun = True
        else:
            new = _all(lambda after: self._ledger.charges(analyst, after=after, limit=_MOST), known.last)
        again = [
            record
            for number in known.open
            for record in self._ledger.charges(analyst, after=number - 1, limit=1)
            if record.number == number
        ]
        known.open = [record.number for record in (*again, *new) if record.state == "reserved"]
        known.last = max((record.number for record in new), default=known.last)
        for record in (*again, *new):
            owned = self._owned(record)
            if owned is not None and all(owned.released != other.released for other in known.owned):
                known.owned.append(owned)
        known.owned = _newest(known.owned)

    def _owned(self, record: ChargeRecord) -> Owned | None:
        """The outline of what a charge was paid for; None where it has none."""
        charge = record.charge
        if record.state != "committed" or not charge.answer_key:
            return None
        kept = self._ledger.cached_answer(charge.answer_key, charge.analyst)
        if kept is None or not kept.paid:
            return None
        outline = outline_in(kept.answer)
        if outline is None:
            return None
        return Owned(record.number, kept.number, charge.answer_key, charge.policy_hash, charge.epsilon, outline)


def _newest(owned: list[Owned]) -> list[Owned]:
    """As many as are kept: first those of the newest version of the data and those that tell of days, then others."""
    newest = max((one.outline.data_version for one in owned), default=0)
    useful = [one for one in owned if one.outline.data_version == newest or one.outline.days]
    return useful[-_MOST:]


def _all(read: Callable[[int], tuple[ChargeRecord, ...]], after: int) -> list[ChargeRecord]:
    """Page after page."""
    found: list[ChargeRecord] = []
    while page := read(after):
        found += page
        after = page[-1].number
        if len(page) < _MOST:
            break
    return found
