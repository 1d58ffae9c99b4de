"""Whether a question is measured, served again, or sold again; here its charge is reserved before a row is read.

Theorem and proof: docs/mathematics.md, section 8.4.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from planner.limits import check_cells
from server.answers.encoding import decoded
from server.answers.released import Released, alone_if_large
from server.errors import DuplicateRequest, KeyReused
from server.ledger.charge import CachedAnswer, Charge, Reservation
from server.ledger.currency import charged_delta, charged_epsilon
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import Budget, QueryResponse
from server.question import Question, shown_answers
from server.results.notes import confidence_notes
from server.results.response import response
from server.scheduling.single_flight import SingleFlight, check_waiting

_ANEW = "nothing was charged now; ask with a new key"
_AGAIN = {
    "reserved": ("is under way, or was cut off", "nothing was charged now; ask again a little later"),
    "crashed": ("was cut off after its charge", _ANEW),
    "failed": ("failed after its charge", _ANEW),
    "released": ("could not be begun", _ANEW),
}


def first_attempt(ledger: Ledger, charge: Charge) -> CachedAnswer | None:
    """The answer that the analyst got, or should have got, for this very request.

    It is that answer even when the policy or the data version has changed since, or the answer is kept anew.

    Args:
      ledger: knows which charge the key has made.
      charge: of the request as it is now.
    Returns: None without a key, or when it has made no charge.
    Raises: KeyReused when it was sent with another request: statement, parameters and settings are compared as they
      were written; DuplicateRequest when it was for another price or reading of the same request, or never answered.
    """
    if not charge.idempotency_key:
        return None
    record = ledger.charge_of(charge.analyst, charge.idempotency_key)
    if record is None:
        return None
    if record.charge.request_hash != charge.request_hash:
        raise KeyReused("The idempotency key belongs to another request.", hint=_ANEW)
    if _priced(record.charge) != _priced(charge):
        raise DuplicateRequest(
            "The request with this idempotency key meant something else when it was first sent.", hint=_ANEW
        )
    kept = ledger.cached_answer(record.charge.answer_key, charge.analyst) if record.state == "committed" else None
    if kept is None or not kept.paid:
        what, hint = _AGAIN.get(record.state, ("was answered, but its answer was not kept", _ANEW))
        raise DuplicateRequest(f"The request with this idempotency key {what}.", hint=hint)
    return kept


def _priced(charge: Charge) -> tuple[object, ...]:
    """What is read, and for how much: under a policy or at a time that changed it, the answer kept is of another."""
    return charge.plan_hash, charge.mechanism, charged_epsilon(charge.epsilon), charged_delta(charge.delta)


@dataclass(frozen=True)
class Served:
    """What an analyst is given.

    Attributes:
      released: what was measured, now or before.
      budget: the analyst's, after this.
      epsilon, delta: what was charged now; 0 for an answer that the analyst has paid for.
      number: of the charge under which it was measured before; None for what was measured now.
    """

    released: Released
    budget: Budget
    epsilon: float
    delta: float
    number: int | None = None

    @property
    def cached(self) -> bool:
        """Was it measured before?"""
        return self.number is not None

    def response(self, question: Question, request_id: str) -> QueryResponse:
        """The answer to a question that releases just this; how it is shown is the question's own."""
        return replace(
            self._shown(question),
            budget=self.budget,
            request_id=request_id,
            epsilon=self.epsilon,
            delta=self.delta,
            cached=self.cached,
        )

    def _shown(self, question: Question) -> QueryResponse:
        """What follows from releases and plan alone, worked out once for what is served again and again."""
        known = None if self.number is None else shown_answers.get((question.serial, self.number))
        if known is not None:
            return known
        with alone_if_large(self.released.n_values):
            shown = response(question.plan, self.released.domain, self.released.noisy, self.budget, "")
            shown = replace(shown, notes=(*shown.notes, *confidence_notes(shown.confidence)))
        return shown if self.number is None else shown_answers.put((question.serial, self.number), shown)


_RECENT = 1024
_RECENT_BYTES = 64 << 20
_SMALL = 1 << 13  # bytes of a kept answer: some 800 values
_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""Between looks for an answer that another proxy measures; the last one again and again."""

_WAIT_S = 420.0
"""The longest that a question may take: a wait for a worker, and two attempts."""


@dataclass(frozen=True)
class Paid:
    """A kept answer that the analyst who asks was charged for.

    Attributes:
      budget: the analyst's, which serving it does not change.
    """

    kept: CachedAnswer
    budget: Budget

    @property
    def small(self) -> bool:
        """Is it decoded and shown in milliseconds?"""
        return len(self.kept.answer) <= _SMALL


@dataclass(frozen=True)
class Wanted:
    """A question that is to be paid for.

    Attributes:
      charge: what it would cost.
      check: that it may be claimed; everything that is public about it is looked at before anything is charged.
      measure: under a reservation, which it settles whatever happens.
      columns: of the answer.
    """

    charge: Charge
    check: Callable[[], None]
    measure: Callable[[Reservation], tuple[Released, Budget]]
    columns: int


@dataclass(frozen=True)
class CachedAnswers:
    """The answers that a ledger keeps.

    An answer is free to an analyst who was charged for it. Another analyst, and that analyst's group, pay for it in
    full, since they learn it now; the dataset does not, since nothing new is released.

    Attributes:
      ledger: keeps them.
      flights: one measurement per question at a time, within this proxy.
      releases: releases by the number of their charge, so that a busy dashboard's are read once.
    """

    ledger: Ledger
    flights: SingleFlight = field(default_factory=SingleFlight)
    releases: LruCache[int, Released] = field(
        default_factory=lambda: LruCache(_RECENT, _RECENT_BYTES, lambda released: released.n_bytes)
    )

    def find(self, charge: Charge) -> Paid | None:
        """What the analyst has paid for already, which is free; None where the question must be charged.

        Raises: KeyReused, DuplicateRequest.
        Cost: two reads of the ledger, one more for each answer, two more with an idempotency key; waits for nobody.
        """
        earlier = first_attempt(self.ledger, charge)
        kept = self._newest(charge) if earlier is None else earlier
        return None if kept is None or not kept.paid else self._paid(kept, charge)

    def anew(self, charge: Charge) -> Charge:
        """The charge of a question that is measured whatever the analyst has: under a name that holds no paid answer.

        The n-th that an analyst asks anew has the same name for all, so that it is sold to the next, as every answer.
        Cost: one read of the ledger for each answer to the question that the analyst has paid for.
        """
        kept = ((named, self._lookup(named)) for named in _names(charge))
        return next(named for named, one in kept if one is None or not one.paid)

    def again(self, paid: Paid) -> Served:
        """Serve it again, free. Reads no ledger.

        Raises: LedgerInvalid for bytes that are no answer.
        """
        return Served(self._released(paid.kept), paid.budget, 0.0, 0.0, paid.kept.number)

    def released_to(self, answer_key: str, analyst: str) -> Released | None:
        """The releases of a kept answer that the analyst was charged for; None where the analyst has none.

        Raises: LedgerInvalid for bytes that are no answer.
        Cost: one indexed read of the ledger.
        """
        kept = self.ledger.cached_answer(answer_key, analyst)
        return None if kept is None or not kept.paid else self._released(kept)

    def serve(
        self, wanted: Sequence[Wanted], charged: list[str], cancelled: threading.Event | None = None
    ) -> dict[str, Served]:
        """Serve what charges are for; every charge is reserved before the first question is measured.

        Args:
          wanted: the questions; those with one answer key are one, and charged once. Each is measured by one thread
            at a time, and only where nothing is kept.
          charged: where the answer key of each is noted once its charge stands and its answer is kept.
          cancelled: ends a wait for others early.
        Returns: what is served, by answer key.
        Raises: StatementTooComplex for an answer that would be too large; BudgetExhausted and its kin, and then no
          charge is made; DuplicateRequest; TooManyQueries and CancelledEarly for what others measured all the while;
          what `measure` raises. What was measured before a failure stays charged, and kept; what was not begun is
          given back.
        """
        questions = {one.charge.answer_key: one for one in wanted}
        paid = {key: self.find(one.charge) for key, one in questions.items()}  # it may have waited long for its turn
        served = {key: self.again(one) for key, one in paid.items() if one is not None}
        questions = {key: one for key, one in questions.items() if key not in served}
        if not questions:
            return served
        end = time.monotonic() + _WAIT_S
        with ExitStack() as stack:
            for key in sorted(questions):  # two statements never wait in a ring
                stack.enter_context(self.flights.alone(key, max(0.0, end - time.monotonic()), cancelled))
            for pause_s in itertools.chain(_PAUSES_S, itertools.repeat(_PAUSES_S[-1])):
                others = self._together(questions, charged)
                if others is not None:
                    return served | others
                check_waiting(end, cancelled)
                time.sleep(pause_s)
        raise AssertionError("the wait ends")

    def _together(self, questions: Mapping[str, Wanted], charged: list[str]) -> dict[str, Served] | None:
        """All of them, by answer key; None while another proxy is at one."""
        served: dict[str, Served] = {}
        repeated: dict[str, Released] = {}
        charges: list[Charge] = []
        for key, one in questions.items():
            kept = self._lookup(one.charge)
            if kept is not None and kept.paid:
                served[key] = self.again(self._paid(kept, one.charge))
            elif kept is None:
                one.check()
                charges.append(one.charge)
            else:
                repeated[key] = self._released(kept)
                check_cells(len(repeated[key].domain), one.columns)
                charges.append(replace(one.charge, repeats=kept.number))
        reservations = self.ledger.claim_all(charges) if charges else ()
        if reservations is None:
            return None
        with ExitStack() as unsettled:
            given_back = [unsettled.enter_context(ExitStack()) for _ in reservations]
            for undo, reservation in zip(given_back, reservations, strict=True):
                undo.callback(self.ledger.release, reservation)
            for charge, undo, reservation in zip(charges, given_back, reservations, strict=True):
                key = charge.answer_key
                undo.pop_all()  # whoever measures settles it, whatever happens
                served[key] = self._settled(questions[key], reservation, repeated.get(key))
                charged.append(key)
        return served

    def _settled(self, one: Wanted, reservation: Reservation, repeated: Released | None) -> Served:
        """Measure under its reservation, or sell what is kept; a failure settles the reservation by itself."""
        charge = reservation.charge
        if repeated is not None:
            return Served(repeated, self.ledger.commit(reservation), charge.epsilon, charge.delta, charge.repeats)
        return Served(*one.measure(reservation), charge.epsilon, charge.delta)

    def _lookup(self, charge: Charge) -> CachedAnswer | None:
        return self.ledger.cached_answer(charge.answer_key, charge.analyst)

    def _newest(self, charge: Charge) -> CachedAnswer | None:
        """The last answer to the question that the analyst was charged for; else what others have, or nothing."""
        newest = None
        for named in _names(charge):
            kept = self._lookup(named)
            if kept is None or not kept.paid:
                return newest or kept
            newest = kept
        raise AssertionError("some name is free")

    def _paid(self, kept: CachedAnswer, charge: Charge) -> Paid:
        return Paid(kept, self.ledger.budget(charge.analyst))

    def _released(self, kept: CachedAnswer) -> Released:
        known = self.releases.get(kept.number)
        if known is not None:
            return known
        with alone_if_large(len(kept.answer)):
            return self.releases.get(kept.number) or self.releases.put(kept.number, decoded(kept.answer))


def _names(charge: Charge) -> Iterator[Charge]:
    """A question's charge under its own name, and then under those of each measurement anew."""
    yield charge
    for number in itertools.count(1):
        key = hashlib.sha256(f"anew {number} {charge.answer_key}".encode()).hexdigest()
        yield replace(charge, answer_key=key)
