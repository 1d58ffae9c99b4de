"""Serve an answer from the cache, sell it again, or measure; reserve the charge before a private row is read.

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
from weakref import WeakValueDictionary

from server.answers.encoding import decoded
from server.answers.released import Released, alone_if_large
from server.errors import DuplicateRequest, KeyReused, LedgerUnavailable, PaidAnswerUnread
from server.ledger.charge import CachedAnswer, Charge, Reservation
from server.ledger.currency import charged_delta, charged_epsilon
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import Budget, QueryResponse
from server.question import Question, shown_answers
from server.results.notes import confidence_notes
from server.results.response import response
from server.scheduling.single_flight import SingleFlight, check_waiting

_ANEW = "this attempt was not charged; send it again with a new idempotency key"
_AGAIN = {
    "reserved": (
        "is still running, or was interrupted",
        "this attempt was not charged; send it again a little later",
    ),
    "crashed": ("was interrupted after its charge", _ANEW),
    "failed": ("failed after its charge", _ANEW),
    "released": ("could not start", _ANEW),
}


def first_attempt(ledger: Ledger, charge: Charge) -> CachedAnswer | None:
    """Return the answer that belongs to a request's idempotency key.

    A new data version does not change it, nor does a new policy that says the same of the question.

    Returns: None without a key, or where the key has made no charge.
    Raises: KeyReused where statement, parameters or settings differ as written. DuplicateRequest where the same
      request has another price or meaning now, or was never answered.
    """
    if not charge.idempotency_key:
        return None
    record = ledger.charge_of(charge.analyst, charge.idempotency_key)
    if record is None:
        return None
    if record.charge.request_hash != charge.request_hash:
        raise KeyReused("The idempotency key belongs to another request.", hint=_ANEW)
    same_policy = charge.policy_hash == record.charge.policy_hash or charge.answer_key == record.charge.answer_key
    if not same_policy or _priced(record.charge) != _priced(charge):
        raise DuplicateRequest(
            "The request with this idempotency key meant something else when it was first sent.", hint=_ANEW
        )
    cached = ledger.cached_answer(record.charge.answer_key, charge.analyst) if record.state == "committed" else None
    if cached is None or not cached.paid:
        what, hint = _AGAIN.get(record.state, ("was answered, but its answer is not cached", _ANEW))
        raise DuplicateRequest(f"The request with this idempotency key {what}.", hint=hint)
    return cached


def _priced(charge: Charge) -> tuple[object, ...]:
    """Return what is read and its price, which a later time may change."""
    return charge.plan_hash, charge.mechanism, charged_epsilon(charge.epsilon), charged_delta(charge.delta)


_being_read: WeakValueDictionary[tuple[int, int], QueryResponse] = WeakValueDictionary()
"""Responses that somebody holds, by the keys of `shown_answers`, which keeps no large ones."""


@dataclass(frozen=True)
class Served:
    """The released values that an analyst receives, and what they cost.

    Attributes:
      released: the released values, measured now or before.
      budget: the analyst's, after this.
      epsilon, delta: charged now; 0 for an answer that the analyst has paid for.
      number: of the charge that measured it before; None where it was measured now.
    """

    released: Released
    budget: Budget
    epsilon: float
    delta: float
    number: int | None = None

    @property
    def cached(self) -> bool:
        """Whether the answer was measured before, for this analyst or another."""
        return self.number is not None

    def response(self, question: Question, request_id: str) -> QueryResponse:
        """Return the answer to a question with these releases. The question decides how it is shown."""
        shown = self._shown(question)
        answer = replace(
            shown,
            budget=self.budget,
            request_id=request_id,
            epsilon=self.epsilon,
            delta=self.delta,
            cached=self.cached,
        )
        if self.number is not None:
            _being_read[question.serial, self.number] = answer
        return answer

    def _shown(self, question: Question) -> QueryResponse:
        """Build the answer from releases and plan, once for answers that are served repeatedly.

        Those who read a large one at once share its rows.
        """
        if self.number is None:
            return self._made(question)
        key = question.serial, self.number
        known = shown_answers.get(key) or _being_read.get(key)
        if known is not None:
            return known
        with alone_if_large(self.released.n_values):
            known = shown_answers.get(key) or _being_read.get(key)  # another may have made it meanwhile
            if known is None:
                known = _being_read[key] = shown_answers.put(key, self._made(question))
            return known

    def _made(self, question: Question) -> QueryResponse:
        with alone_if_large(self.released.n_values):
            shown = response(question.plan, self.released.domain, self.released.noisy, self.budget, "")
            return replace(shown, notes=(*shown.notes, *confidence_notes(shown.confidence)))


_RECENT = 1024
_RECENT_BYTES = 64 << 20
_SMALL = 1 << 13  # bytes of a cached answer: some 800 values
_PAUSES_S = (0.05, 0.1, 0.2, 0.4)
"""Seconds between looks for an answer that another proxy measures; the last one repeats."""

_WAIT_S = 420.0
"""The longest that a question may take: a wait for a worker, and two attempts."""


@dataclass(frozen=True)
class Paid:
    """A cached answer that the asking analyst was charged for.

    Attributes:
      budget: the analyst's. Serving does not change it.
    """

    cached: CachedAnswer
    budget: Budget

    @property
    def small(self) -> bool:
        """Whether the answer is small enough to be decoded and shown in milliseconds."""
        return len(self.cached.answer) <= _SMALL


@dataclass(frozen=True)
class Wanted:
    """A question to be paid for.

    Attributes:
      charge: its price.
      check: looks at everything public before the charge. Raises what refuses the question.
      measure: measures under a reservation, and settles it in every case. It is given what was served before, by
        answer key.
    """

    charge: Charge
    check: Callable[[], None]
    measure: Callable[[Reservation, Mapping[str, Served]], tuple[Released, Budget]]


@dataclass(frozen=True)
class CachedAnswers:
    """The answers that a ledger stores.

    An answer is free to an analyst who was charged for it. Another analyst, and that analyst's group, pay the full
    price, because they learn it now. The dataset does not pay again, because nothing new is released.

    Attributes:
      ledger: stores them.
      flights: one measurement per question at a time in this proxy.
      releases: decoded releases by the number of their charge.
    """

    ledger: Ledger
    flights: SingleFlight = field(default_factory=SingleFlight)
    releases: LruCache[int, Released] = field(
        default_factory=lambda: LruCache(_RECENT, _RECENT_BYTES, lambda released: released.n_bytes)
    )

    def find(self, charge: Charge) -> Paid | None:
        """Return the answer that the analyst has paid for; None where the question must be charged.

        Raises: KeyReused, DuplicateRequest.
        Cost: two reads of the ledger, one more for each answer, two more with an idempotency key. It waits for
          nobody.
        """
        earlier = first_attempt(self.ledger, charge)
        cached = self._newest(charge) if earlier is None else earlier
        return None if cached is None or not cached.paid else self._paid(cached, charge)

    def anew(self, charge: Charge) -> Charge:
        """Return the charge of a new measurement, under the first name without an answer that the analyst has paid
        for.

        The n-th new measurement has the same name for all analysts, so the next analyst may buy it.

        Cost: one read of the ledger for each answer to the question that the analyst has paid for.
        """
        cached = ((named, self._lookup(named)) for named in _names(charge))
        return next(named for named, one in cached if one is None or not one.paid)

    def again(self, paid: Paid) -> Served:
        """Serve a cached answer again, for free. Reads no ledger.

        Raises: LedgerInvalid for bytes that are no answer.
        """
        return Served(self._released(paid.cached), paid.budget, 0.0, 0.0, paid.cached.number)

    def released_to(self, answer_key: str, analyst: str) -> Released | None:
        """Return the releases of a cached answer that the analyst was charged for; None where there is none.

        Raises: LedgerInvalid for bytes that are no answer.
        Cost: one indexed read of the ledger.
        """
        cached = self.ledger.cached_answer(answer_key, analyst)
        return None if cached is None or not cached.paid else self._released(cached)

    def serve(
        self, wanted: Sequence[Wanted], charged: list[str], cancelled: threading.Event | None = None
    ) -> dict[str, Served]:
        """Serve questions. All charges are reserved before the first question is measured.

        Args:
          wanted: the questions. Equal answer keys are one question, charged once and measured by one thread at a
            time.
          charged: receives the answer key of each question whose charge stands and whose answer is cached.
        Returns: what is served, by answer key.
        Raises: BudgetExhausted and its kin, without any charge. DuplicateRequest. TooManyQueries and CancelledEarly
          where others measure for too long. What `measure` raises: then earlier measurements stay charged and cached,
          and later reservations are given back.

        Nothing of an answer that the analyst has not paid for decides what is said, or when, before its charge.
        """
        questions = {one.charge.answer_key: one for one in wanted}
        paid = {key: self._bought(one.charge) for key, one in questions.items()}  # another thread may have bought it
        served = {key: self.again(one) for key, one in paid.items() if one is not None}
        questions = {key: one for key, one in questions.items() if key not in served}
        if not questions:
            return served
        end = time.monotonic() + _WAIT_S
        with ExitStack() as stack:
            for key in sorted(questions):  # in order, so that statements do not deadlock
                stack.enter_context(self.flights.alone(key, max(0.0, end - time.monotonic()), cancelled))
            for pause_s in itertools.chain(_PAUSES_S, itertools.repeat(_PAUSES_S[-1])):
                others = self._together(questions, served, charged)
                if others is not None:
                    return others
                check_waiting(end, cancelled)
                time.sleep(pause_s)
        raise AssertionError("the wait ends")

    def _together(
        self, questions: Mapping[str, Wanted], before: Mapping[str, Served], charged: list[str]
    ) -> dict[str, Served] | None:
        """Serve all of them, by answer key, with those served before; None while another proxy measures one."""
        served = dict(before)
        charges: list[Charge] = []
        for key, one in questions.items():
            cached = self._lookup(one.charge)
            if cached is not None and cached.paid:
                served[key] = self.again(self._paid(cached, one.charge))
            elif cached is None:
                one.check()
                charges.append(one.charge)
            else:
                charges.append(replace(one.charge, repeats=cached.number))
        reservations = self.ledger.claim_all(charges) if charges else ()
        if reservations is None:
            return None
        with ExitStack() as unsettled:
            given_back = [unsettled.enter_context(ExitStack()) for _ in reservations]
            for undo, reservation in zip(given_back, reservations, strict=True):
                undo.callback(self.ledger.release, reservation)
            for charge, undo, reservation in zip(charges, given_back, reservations, strict=True):
                key = charge.answer_key
                undo.pop_all()  # from now on the measurement settles it
                served[key] = self._settled(questions[key], reservation, served)
                charged.append(key)
        return served

    def _settled(self, one: Wanted, reservation: Reservation, served: Mapping[str, Served]) -> Served:
        """Measure, or sell the cached answer. The reservation is settled in every case."""
        charge = reservation.charge
        if charge.repeats is not None:
            budget = self.ledger.commit(reservation)
            try:
                sold = self._lookup(charge)
            except LedgerUnavailable as error:
                raise PaidAnswerUnread("The answer is charged, and could not be read.") from error
            assert sold is not None and sold.paid, "answers are never deleted, and this one is paid for now"
            return Served(self._released(sold), budget, charge.epsilon, charge.delta, charge.repeats)
        return Served(*one.measure(reservation, served), charge.epsilon, charge.delta)

    def _bought(self, charge: Charge) -> Paid | None:
        """Return the answer under this very name that the analyst has paid for, by now or with an earlier attempt.

        A later measurement of the question will not do: the names of other questions say which one they read.
        """
        cached = first_attempt(self.ledger, charge) or self._lookup(charge)
        return None if cached is None or not cached.paid else self._paid(cached, charge)

    def _lookup(self, charge: Charge) -> CachedAnswer | None:
        return self.ledger.cached_answer(charge.answer_key, charge.analyst)

    def _newest(self, charge: Charge) -> CachedAnswer | None:
        """Return the analyst's last paid answer to the question, else another analyst's, else None."""
        newest = None
        for named in _names(charge):
            cached = self._lookup(named)
            if cached is None or not cached.paid:
                return newest or cached
            newest = cached
        raise AssertionError("some name is free")

    def _paid(self, cached: CachedAnswer, charge: Charge) -> Paid:
        return Paid(cached, self.ledger.budget(charge.analyst))

    def _released(self, cached: CachedAnswer) -> Released:
        known = self.releases.get(cached.number)
        if known is not None:
            return known
        with alone_if_large(len(cached.answer)):
            return self.releases.get(cached.number) or self.releases.put(cached.number, decoded(cached.answer))


def _names(charge: Charge) -> Iterator[Charge]:
    """Yield a question's charge under its own name, then under the names of new measurements."""
    yield charge
    for number in itertools.count(1):
        key = hashlib.sha256(f"anew {number} {charge.answer_key}".encode()).hexdigest()
        yield replace(charge, answer_key=key)
