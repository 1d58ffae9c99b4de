"""Find the outlines of the cached answers that an analyst has paid for, as the ledger grows."""

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
"""How many of an analyst's newest charges are read when a proxy starts."""

_ENTRY_BYTES = 1 << 10
_BYTES = 64 << 20


@dataclass(frozen=True)
class Owned:
    """A cached answer that an analyst was charged for.

    Attributes:
      number: of the analyst's charge.
      released: number of the charge that measured it. One number is one draw of noise.
      answer_key: its name in the cache.
      epsilon: the charge's.
      outline: of its question.
    """

    number: int
    released: int
    answer_key: str
    epsilon: float
    outline: Outline


@dataclass
class _Known:
    """What was read of one analyst's charges: the last number, those still open, those with an outline."""

    last: int = 0
    open: list[int] = field(default_factory=list)
    owned: list[Owned] = field(default_factory=list)
    begun: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class CachedOutlines:
    """The outlines of answers, by the analyst who has paid.

    Everything comes from the ledger. Each charge is read once, when its analyst asks a question without a cached
    answer. So every proxy finds the same, also after a restart.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._analysts: LruCache[str, _Known] = LruCache(
            _ANALYSTS, _BYTES, lambda known: _ENTRY_BYTES * max(1, len(known.owned))
        )

    def of(self, analyst: str, data_version: int) -> list[Owned]:
        """Return what the analyst has paid for under a data version, the newest first.

        Cost: one indexed read of the ledger, and one for every new charge; at first `_MOST`.
        """
        return [one for one in self.of_all(analyst) if one.outline.data_version == data_version]

    def of_all(self, analyst: str) -> list[Owned]:
        """Return what the analyst has paid for under all data versions, the newest first.

        Cost: as `of`.
        """
        with self._lock:
            known = self._analysts.get(analyst) or self._analysts.put(analyst, _Known())
        with known.lock:
            self._read(known, analyst)
            return sorted(known.owned, key=lambda one: -one.number)

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
        charge = record.charge
        if record.state != "committed" or not charge.answer_key:
            return None
        cached = self._ledger.cached_answer(charge.answer_key, charge.analyst)
        if cached is None or not cached.paid:
            return None
        outline = outline_in(cached.answer)
        if outline is None:
            return None
        return Owned(record.number, cached.number, charge.answer_key, charge.epsilon, outline)


def _newest(owned: list[Owned]) -> list[Owned]:
    """Limit what is remembered: outlines of the newest data version and those with days come first."""
    newest = max((one.outline.data_version for one in owned), default=0)
    useful = [one for one in owned if one.outline.data_version == newest or one.outline.days]
    return useful[-_MOST:]


def _all(read: Callable[[int], tuple[ChargeRecord, ...]], after: int) -> list[ChargeRecord]:
    found: list[ChargeRecord] = []
    while page := read(after):
        found += page
        after = page[-1].number
        if len(page) < _MOST:
            break
    return found
