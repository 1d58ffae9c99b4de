"""Whether a question is measured, served again, or sold again (privacy.md section 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from server.answers.encoding import decoded
from server.answers.idempotency import first_attempt
from server.answers.released import Released
from server.answers.served import Served
from server.answers.single_flight import SingleFlight
from server.ledger.charge import Charge, KeptAnswer
from server.ledger.ledger import Charges
from server.query import Budget
from server.recent import Recent

_RECENT = 1024


@dataclass(frozen=True)
class KeptAnswers:
    """The answers that a ledger keeps.

    An answer is free to an analyst who was charged for it. Another analyst, and that analyst's group, pay for it in
    full, since they learn it now; the dataset does not, since nothing new is released.

    Attributes:
      ledger: keeps them.
      flights: one measurement per question at a time.
      recent: releases by the number of their charge, so that a busy dashboard's are read once.
    """

    ledger: Charges
    flights: SingleFlight = field(default_factory=SingleFlight)
    recent: Recent[int, Released] = field(default_factory=lambda: Recent(_RECENT))

    def find(self, charge: Charge) -> Served | None:
        """What the analyst has paid for already, which is free; None where the question must be charged.

        Raises: DuplicateRequest.
        Cost: two reads of the ledger; waits for nobody.
        """
        earlier = first_attempt(self.ledger, charge)
        return self.paid(charge) if earlier is None else self._again(earlier, charge.analyst)

    def paid(self, charge: Charge, longest: int | None = None) -> Served | None:
        """As `find`, whatever the idempotency key.

        Args:
          longest: the bytes of a kept answer above which None is returned; None: any length.
        """
        kept = self._lookup(charge)
        if kept is None or not kept.paid or (longest is not None and len(kept.answer) > longest):
            return None
        return self._again(kept, charge.analyst)

    def serve(self, charge: Charge, measure: Callable[[], tuple[Released, Budget]]) -> Served:
        """Serve what a charge is for.

        Args:
          charge: what the question would cost; its `answer_key` names the question.
          measure: charges and measures; called by one thread at a time, and only where nothing is kept.
        Raises: BudgetExhausted and its kin for an answer that must be paid; DuplicateRequest; what `measure` raises.
        """
        found = self.find(charge)
        if found is not None:
            return found
        with self.flights.alone(charge.answer_key):
            kept = self._lookup(charge)  # while this thread waited, another one may have finished
            if kept is None:
                released, budget = measure()
                return Served(released, budget, charge.epsilon, charge.delta)
            return self._again(kept, charge.analyst) if kept.paid else self._repeated(kept, charge)

    def _lookup(self, charge: Charge) -> KeptAnswer | None:
        return self.ledger.kept_answer(charge.answer_key, charge.analyst)

    def _again(self, kept: KeptAnswer, analyst: str) -> Served:
        """Free: the analyst was charged for it."""
        return Served(self._released(kept), self.ledger.budget(analyst), 0.0, 0.0, kept.number)

    def _repeated(self, kept: KeptAnswer, charge: Charge) -> Served:
        """Charge another analyst for what was released already. It is read first, so that nothing can fail after."""
        released = self._released(kept)
        reservation = self.ledger.reserve(replace(charge, repeats=kept.number))
        return Served(released, self.ledger.commit(reservation), charge.epsilon, charge.delta, kept.number)

    def _released(self, kept: KeptAnswer) -> Released:
        known = self.recent.get(kept.number)
        return self.recent.put(kept.number, decoded(kept.answer)) if known is None else known
