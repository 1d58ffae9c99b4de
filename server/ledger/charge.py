"""A charge: what a query asks for, what is reserved, and what the ledger records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from privacy.accounting.event import PrivacyEvent
from server.ledger.question_texts import Sealing

SHOWN_MS = 3_600_000
"""Times of questions are shown with this precision, one hour, to everybody but the analyst who asked."""


def shown_ms(at_ms: int) -> int:
    """Round the time of a question down to the hour, in milliseconds since the epoch.

    Exact times would reveal how long a question took, which depends on the data.
    """
    return at_ms // SHOWN_MS * SHOWN_MS


ChargeState = Literal["reserved", "committed", "failed", "released", "crashed"]
"""All states but `released` count as spent."""


@dataclass(frozen=True)
class Charge:
    """What one query will spend.

    Attributes:
      epsilon: above 0; rounded up to whole nano-epsilon.
      delta: in [0, 1); rounded up to whole atto-delta. The release is (epsilon, delta)-DP, which is what accounts
        with basic composition are charged.
      policy_hash: the policy that the plan was made for.
      plan_hash: identifies the question without its literals.
      event: what zCDP and Renyi accounts are charged for. None stands for PureDP, or for ApproxDP if delta is above
        0.
      answer_key: the cache key of the answer; empty if it is not cached.
      repeats: the charge whose cached answer is sold to another analyst. The analyst and the group pay in full. The
        dataset pays nothing, since nothing new is released. None for a release.
      idempotency_key: the client's name for this request, unique among the analyst's charges; or empty.
      request_hash: of the request under that key, to detect reuse of the key for another request; or empty.
      sealing: encrypts the question text for the entry; None: the text is not stored.
    """

    analyst: str
    epsilon: float
    delta: float
    request_id: str
    policy_hash: str
    plan_hash: str
    mechanism: str
    event: PrivacyEvent | None = None
    answer_key: str = ""
    repeats: int | None = None
    idempotency_key: str = ""
    request_hash: str = ""
    sealing: Sealing | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Reservation:
    """A charge that is durably taken from all its accounts.

    Attributes:
      id: the charge's number in the ledger, from 1 without gaps.
    """

    id: int
    charge: Charge


@dataclass(frozen=True)
class ChargeRecord:
    """A charge as the ledger lists it.

    Attributes:
      charge: with epsilon and delta as rounded.
      state: whether it is open, and how it ended.
      reserved_at_ms, settled_at_ms: milliseconds since the epoch. Their difference depends on the data: only the
        analyst who asked sees the first, and nobody sees the second exactly.
      sealed_question: the encrypted question text (`question_texts.py`), or None.
    """

    number: int
    charge: Charge
    state: ChargeState
    accounts: tuple[str, ...]
    reserved_at_ms: int
    settled_at_ms: int | None
    sealed_question: str | None = None

    @property
    def shown_reserved_at_ms(self) -> int:
        """The hour of the reservation, for everybody but its analyst."""
        return shown_ms(self.reserved_at_ms)

    @property
    def shown_settled_at_ms(self) -> int | None:
        """The hour of the settlement, or None."""
        return None if self.settled_at_ms is None else shown_ms(self.settled_at_ms)


@dataclass(frozen=True, repr=False)
class CachedAnswer:
    """A released answer that can be served again.

    Attributes:
      number: the charge under which it was released.
      answer: the bytes given to `commit`; empty for an analyst who has not paid for them.
      charge: that charge, which is the price for another analyst.
      paid: has the asking analyst paid for this very answer?
    """

    number: int
    answer: bytes
    charge: Charge
    paid: bool

    def __repr__(self) -> str:
        return f"CachedAnswer(number={self.number}, {len(self.answer)} bytes, paid={self.paid})"
