"""The part of a ledger that the way of a query uses, in memory: what the stored ones do, in a page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from server.errors import BudgetExhausted, DuplicateRequest, LedgerInvalid, QueryTooExpensive, UnknownAnalyst
from server.ledger.account import AccountBalance, Grant, analyst_account
from server.ledger.analyst import Act
from server.ledger.balance import RemainingQuestions
from server.ledger.charge import CachedAnswer, Charge, ChargeRecord, ChargeState, Reservation
from server.ledger.currency import charged_epsilon, epsilon_of, granted_epsilon
from server.query import Budget


class MemoryLedger:
    """Pure budgets by analyst, and one for the dataset; deltas are not counted.

    Attributes:
      charged: every charge and its state, in order.
      dataset: nano-epsilon that the dataset has paid.
      version: of the data.
      mirror: the copy that was made of it.
    """

    def __init__(self, budgets: Mapping[str, float]) -> None:
        self._lock = threading.Lock()
        self._granted = {analyst: granted_epsilon(epsilon) for analyst, epsilon in budgets.items()}
        self._answers: dict[int, bytes] = {}
        self.charged: list[tuple[Charge, ChargeState]] = []
        self.version = 1
        self.mirror: str | None = None
        self._checked: dict[str, frozenset[str]] = {}

    @property
    def dataset(self) -> int:
        return sum(
            charged_epsilon(charge.epsilon)
            for charge, state in self.charged
            if state != "released" and charge.repeats is None
        )

    def reserve(self, charge: Charge) -> Reservation:
        with self._lock:
            if charge.idempotency_key and self.charge_of(charge.analyst, charge.idempotency_key):
                raise DuplicateRequest("The idempotency key has made a charge already.")
            if charged_epsilon(charge.epsilon) > self._left(charge.analyst):
                raise BudgetExhausted("The budget is exhausted.")
            self.charged.append((charge, "reserved"))
            return Reservation(len(self.charged), charge)

    def claim(self, charge: Charge) -> Reservation | None:
        kept = self.cached_answer(charge.answer_key, charge.analyst)
        if kept is not None and (kept.paid or charge.repeats is None):
            return None
        return self.reserve(charge)

    def claim_all(self, charges: Sequence[Charge]) -> tuple[Reservation, ...] | None:
        taken: list[Reservation] = []
        try:
            for charge in charges:
                claimed = self.claim(charge)
                if claimed is None:
                    break
                taken.append(claimed)
        except BaseException:
            self._give_back(taken)
            raise
        if len(taken) == len(charges):
            return tuple(taken)
        self._give_back(taken)
        return None

    def _give_back(self, taken: list[Reservation]) -> None:
        for reservation in taken:
            self.release(reservation)

    def budget_check(self, charges: Sequence[Charge]) -> BudgetExhausted | QueryTooExpensive | None:
        wanted = sum(charged_epsilon(one.epsilon) for one in charges)
        if not charges or wanted <= self._left(charges[0].analyst):
            return None
        return BudgetExhausted("The budget is spent.")

    def commit(self, reservation: Reservation, answer: bytes | None = None) -> Budget:
        with self._lock:
            self._settle(reservation, "committed")
            if answer is not None:
                self._answers[reservation.id] = answer
        return self.budget(reservation.charge.analyst)

    def fail(self, reservation: Reservation, *, cancelled: bool = False) -> None:
        self._settle(reservation, "failed")

    def release(self, reservation: Reservation) -> None:
        self._settle(reservation, "released")

    def cached_answer(self, answer_key: str, analyst: str) -> CachedAnswer | None:
        paid = {
            charge.repeats or number
            for number, (charge, state) in enumerate(self.charged, 1)
            if charge.analyst == analyst and state == "committed"
        }
        kept = [number for number in self._answers if self.charged[number - 1][0].answer_key == answer_key]
        if not kept:
            return None
        number = next((number for number in kept if number in paid), kept[0])
        answer = self._answers[number] if number in paid else b""
        return CachedAnswer(number, answer, self.charged[number - 1][0], number in paid)

    def paid_among(self, answer_keys: Sequence[str], analyst: str) -> frozenset[str]:
        own = {one.answer_key for one, state in self.charged if (one.analyst, state) == (analyst, "committed")}
        return frozenset(answer_keys) & own - {""}

    def charge_of(self, analyst: str, idempotency_key: str) -> ChargeRecord | None:
        return self._newest(lambda charge: (charge.analyst, charge.idempotency_key) == (analyst, idempotency_key))

    def remaining_questions(self, analyst: str) -> RemainingQuestions:
        own = self.budget(analyst)
        grant, left = Grant(own.epsilon, own.delta), (own.epsilon_left, own.delta_left)
        return RemainingQuestions((AccountBalance(analyst_account(analyst), grant, *left, None),), None, 0, None)

    def answers_to(self, analyst: str, plan_hash: str, *, limit: int = 1) -> tuple[ChargeRecord, ...]:
        found = [
            ChargeRecord(number, charge, "committed", (), 0, 0)
            for number, (charge, state) in enumerate(self.charged, 1)
            if (charge.analyst, charge.plan_hash, state) == (analyst, plan_hash, "committed") and charge.answer_key
        ]
        return tuple(reversed(found))[:limit]

    def charges(self, analyst: str | None = None, *, after: int = 0, limit: int = 1000) -> tuple[ChargeRecord, ...]:
        listed = enumerate(self.charged, 1)
        found = [self._record(number) for number, (charge, _) in listed if analyst in (None, charge.analyst)]
        return tuple(record for record in found if record.number > after)[:limit]

    def newest_charges(self, analyst: str, *, before: int | None = None, limit: int = 50) -> tuple[ChargeRecord, ...]:
        found = [one for one in self.charges(analyst) if before is None or one.number < before]
        return tuple(found[::-1][:limit])

    def budget(self, analyst: str) -> Budget:
        return Budget(epsilon_of(self._granted.get(analyst, 0)), 0.0, epsilon_of(self._left(analyst)), 0.0)

    def state(self) -> None:
        return None

    def data_version(self) -> int:
        return self.version

    def mirrored_load(self) -> tuple[int, str | None]:
        return self.version, self.mirror

    def bump_data(self, act: Act, mirror: str | None = None) -> int:
        self.version, self.mirror = self.version + 1, mirror
        return self.version

    def checked_keys(self, fingerprint: str) -> frozenset[str]:
        """Whatever the version: the rows of a test that bumps it stay as they are."""
        return self._checked.get(fingerprint, frozenset())

    def note_checked(self, version: int, fingerprint: str, keys: Sequence[str], act: Act) -> None:
        self._checked[fingerprint] = frozenset(keys)

    def recover(self) -> tuple[Reservation, ...]:
        return ()

    def _left(self, analyst: str) -> int:
        if analyst not in self._granted:
            raise UnknownAnalyst("There is no analyst of that name.")
        spent = sum(
            charged_epsilon(charge.epsilon)
            for charge, state in self.charged
            if charge.analyst == analyst and state != "released"
        )
        return self._granted[analyst] - spent

    def _settle(self, reservation: Reservation, state: ChargeState) -> None:
        charge, before = self.charged[reservation.id - 1]
        if before != "reserved":
            raise LedgerInvalid("The charge was settled before.")
        self.charged[reservation.id - 1] = (charge, state)

    def _newest(self, wanted: Callable[[Charge], bool]) -> ChargeRecord | None:
        for number, (charge, _) in reversed(list(enumerate(self.charged, 1))):
            if wanted(charge):
                return self._record(number)
        return None

    def _record(self, number: int) -> ChargeRecord:
        charge, state = self.charged[number - 1]
        return ChargeRecord(number, charge, state, (charge.analyst,), 0, None)
