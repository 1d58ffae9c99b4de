"""What a query spends: asked for, reserved, recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from privacy.accounting.event import PrivacyEvent
from server.ledger.question_texts import Sealing

SHOWN_MS = 3_600_000
"""How finely anybody but the ledger's own file says when a question was put and settled: the hour."""


def shown_ms(at_ms: int) -> int:
    """The hour in which a question was put or settled, in milliseconds since the epoch.

    How long it took depends on the data, and who asks one question after another puts each when the one before ends.
    """
    return at_ms // SHOWN_MS * SHOWN_MS


ChargeState = Literal["reserved", "committed", "failed", "released", "crashed"]
"""All but `released` count as spent."""


@dataclass(frozen=True)
class Charge:
    """What one query will spend.

    Attributes:
      epsilon: above 0; rounded up to whole nano-epsilon.
      delta: in [0, 1); rounded up to whole atto-delta. The release is (epsilon, delta)-DP: accounts that count by
        basic composition are charged exactly that.
      policy_hash: of the policy that the plan was made for.
      plan_hash: of the plan; identifies the question without its literals.
      event: what accounts that count in zCDP or Renyi are charged for; None stands for the least that is known of
        an (epsilon, delta)-DP release: PureDP, or ApproxDP when delta is above 0.
      answer_key: under which the answer is kept; empty when it is not kept.
      repeats: the number of the charge whose kept answer is served again to another analyst, who pays for it in
        full, as does the analyst's group; the dataset does not, since nothing new is released. None for a release.
      idempotency_key: the client's own name of this request, unique among the analyst's charges; empty for none.
      request_hash: what was sent under that key, so that a key that is used again for something else is noticed;
        empty without a key, and in charges that are older than it.
      sealing: what seals the words of the question for the entry; None: they are not kept.
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
      id: its number among the charges of the ledger, from 1 without gaps.
    """

    id: int
    charge: Charge


@dataclass(frozen=True)
class ChargeRecord:
    """A charge as the ledger lists it.

    Attributes:
      number: its number among the charges.
      charge: what was taken; its epsilon and delta are the rounded ones.
      state: what became of it.
      accounts: the accounts that paid.
      reserved_at_ms, settled_at_ms: milliseconds since the epoch; how far they lie apart depends on the data, so
        nobody is shown them but the analyst who asked, who is shown the former.
      sealed_question: the words, as `question_texts.py` seals them; None where they were not kept.
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
        """When it was put, to the hour, as others than its analyst may know."""
        return shown_ms(self.reserved_at_ms)

    @property
    def shown_settled_at_ms(self) -> int | None:
        """When it was settled, to the hour."""
        return None if self.settled_at_ms is None else shown_ms(self.settled_at_ms)


@dataclass(frozen=True, repr=False)
class CachedAnswer:
    """A released answer that can be served again.

    Attributes:
      number: the charge under which it was released.
      answer: its bytes, as they were given to `commit`.
      charge: that charge; what another analyst would have to pay.
      paid: whether the analyst who asks was charged for this very answer.
    """

    number: int
    answer: bytes
    charge: Charge
    paid: bool

    def __repr__(self) -> str:
        return f"CachedAnswer(number={self.number}, {len(self.answer)} bytes, paid={self.paid})"
