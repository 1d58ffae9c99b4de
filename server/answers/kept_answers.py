"""Whether a question is measured, served again, or sold again (privacy.md section 7)."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from server.answers.encoding import decoded
from server.answers.idempotency import first_attempt
from server.answers.released import Released
from server.answers.served import Served
from server.answers.single_flight import SingleFlight, check_waiting
from server.ledger.charge import Charge, KeptAnswer
from server.ledger.ledger import Charges
from server.query import Budget
from server.recent import Recent

_RECENT = 1024
_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""Between looks for an answer that another proxy measures; the last one again and again."""

_WAIT_S = 420.0
"""The longest that a question may take: a wait for a worker, and two attempts."""


Measure = Callable[[], tuple[Released, Budget] | None]
"""Charges and measures; None where another proxy has claimed the question."""


@dataclass(frozen=True)
class KeptAnswers:
    """The answers that a ledger keeps.

    An answer is free to an analyst who was charged for it. Another analyst, and that analyst's group, pay for it in
    full, since they learn it now; the dataset does not, since nothing new is released.

    Attributes:
      ledger: keeps them.
      flights: one measurement per question at a time, within this proxy.
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

    def serve(self, charge: Charge, measure: Measure, cancelled: threading.Event | None = None) -> Served:
        """Serve what a charge is for.

        Args:
          charge: what the question would cost; its `answer_key` names the question.
          measure: claims the charge and measures; called by one thread at a time, and only where nothing is kept.
          cancelled: ends a wait for others early.
        Raises: BudgetExhausted and its kin for an answer that must be paid; DuplicateRequest; TooManyQueries and
          CancelledEarly for what others measured all the while; what `measure` raises.
        """
        found = self.find(charge)
        if found is not None:
            return found
        end = time.monotonic() + _WAIT_S
        with self.flights.alone(charge.answer_key, _WAIT_S, cancelled):
            for pause_s in itertools.chain(_PAUSES_S, itertools.repeat(_PAUSES_S[-1])):
                served = self._once(charge, measure)  # while this thread waited, another one may have finished
                if served is not None:
                    return served
                check_waiting(end, cancelled)
                time.sleep(pause_s)
        raise AssertionError("the wait ends")

    def _once(self, charge: Charge, measure: Measure) -> Served | None:
        """What can be served now; None while another proxy is at it."""
        kept = self._lookup(charge)
        if kept is not None:
            return self._again(kept, charge.analyst) if kept.paid else self._repeated(kept, charge)
        measured = measure()
        return None if measured is None else Served(*measured, charge.epsilon, charge.delta)

    def _lookup(self, charge: Charge) -> KeptAnswer | None:
        return self.ledger.kept_answer(charge.answer_key, charge.analyst)

    def _again(self, kept: KeptAnswer, analyst: str) -> Served:
        """Free: the analyst was charged for it."""
        return Served(self._released(kept), self.ledger.budget(analyst), 0.0, 0.0, kept.number)

    def _repeated(self, kept: KeptAnswer, charge: Charge) -> Served | None:
        """Charge another analyst for what was released already. It is read first, so that nothing can fail after."""
        released = self._released(kept)
        reservation = self.ledger.claim(replace(charge, repeats=kept.number))
        if reservation is None:
            return None
        return Served(released, self.ledger.commit(reservation), charge.epsilon, charge.delta, kept.number)

    def _released(self, kept: KeptAnswer) -> Released:
        known = self.recent.get(kept.number)
        return self.recent.put(kept.number, decoded(kept.answer)) if known is None else known
