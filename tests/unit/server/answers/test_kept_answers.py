"""Who pays for an answer, and when it is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from server.answers.encoding import encoded
from server.answers.kept_answers import KeptAnswers
from server.answers.released import Released
from server.answers.served import Served
from server.backends.columns import Domain
from server.errors import BudgetExhausted, DuplicateRequest, KeyReused, QueryFailed
from server.ledger.charge import Charge, KeptAnswer
from server.query import Budget
from tests.support.memory_ledger import MemoryLedger
from tests.support.released_plan import noisy_answer


@dataclass
class Desk:
    """Asks as an analyst; every measurement releases the next number."""

    ledger: MemoryLedger = field(default_factory=lambda: MemoryLedger({"ada": 2.0, "grace": 1.0, "poor": 0.5}))
    measured: int = 0
    before_commit: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.kept = KeptAnswers(self.ledger)

    def ask(
        self,
        analyst: str = "ada",
        answer_key: str = "k",
        *,
        plan_hash: str = "p",
        idempotency_key: str = "",
        request_hash: str = "q",
    ) -> Served:
        names = answer_key, None, idempotency_key, request_hash
        charge = Charge(analyst, 1.0, 0.0, "r", "policy", plan_hash, "gem", None, *names)
        return self.kept.serve(charge, lambda: self._measure(charge))

    def _measure(self, charge: Charge) -> tuple[Released, Budget] | None:
        reservation = self.ledger.claim(charge)
        if reservation is None:
            return None
        self.measured += 1
        self.before_commit()
        released = Released(Domain(()), (noisy_answer([float(self.measured)]),))
        return released, self.ledger.commit(reservation, encoded(released))


def value(served: Served) -> float:
    return float(served.released.noisy[0].values[0])


def test_the_same_analyst_pays_once() -> None:
    desk = Desk()
    first, again = desk.ask(), desk.ask()
    assert (first.cached, first.epsilon, first.budget.epsilon_left) == (False, 1.0, 1.0)
    assert (again.cached, again.epsilon, again.budget.epsilon_left) == (True, 0.0, 1.0)
    assert value(first) == value(again) == 1.0
    assert desk.measured == 1 and len(desk.ledger.charged) == 1


def test_what_is_paid_is_free_and_nothing_else_is_looked_up() -> None:
    desk = Desk()
    charge = Charge("ada", 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, "")
    assert desk.kept.paid(charge) is None
    desk.ask()
    again = desk.kept.paid(charge)
    assert again is not None and value(again) == 1.0 and (again.cached, again.epsilon) == (True, 0.0)
    assert desk.kept.paid(charge, longest=10) is None, "the kept bytes are more"
    assert desk.kept.paid(Charge("grace", 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, "")) is None
    assert len(desk.ledger.charged) == 1


def test_another_analyst_pays_for_the_same_answer_and_the_dataset_does_not() -> None:
    desk = Desk()
    desk.ask("ada")
    other, again = desk.ask("grace"), desk.ask("grace")
    assert (other.cached, other.epsilon, other.budget.epsilon_left) == (True, 1.0, 0.0)
    assert (again.epsilon, value(other), value(again)) == (0.0, 1.0, 1.0)
    assert desk.measured == 1
    assert desk.ledger.dataset == 10**9


def test_only_who_has_paid_finds_the_answer() -> None:
    desk = Desk()

    def found(analyst: str, idempotency_key: str = "") -> Served | None:
        charge = Charge(analyst, 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, idempotency_key, "q")
        return desk.kept.find(charge)

    assert found("ada") is None
    paid = desk.ask("ada", idempotency_key="once")
    assert found("grace") is None
    for again in (found("ada"), found("ada", "once")):
        assert again is not None
        assert (again.cached, again.epsilon, value(again)) == (True, 0.0, value(paid))
    assert desk.measured == 1 and len(desk.ledger.charged) == 1


def test_who_cannot_pay_is_not_told() -> None:
    desk = Desk()
    desk.ask("ada")
    with pytest.raises(BudgetExhausted):
        desk.ask("poor")
    assert desk.ledger.budget("poor").epsilon_left == 0.5


def test_another_question_is_measured() -> None:
    desk = Desk()
    assert value(desk.ask(answer_key="k")) != value(desk.ask(answer_key="other"))


def test_eight_panels_are_charged_once() -> None:
    desk = Desk()
    together = threading.Barrier(8)

    def panel(_: int) -> Served:
        together.wait()
        return desk.ask()

    with ThreadPoolExecutor(8) as panels:
        served = list(panels.map(panel, range(8)))
    assert desk.measured == 1
    assert [one.cached for one in served].count(False) == 1
    assert {value(one) for one in served} == {1.0}
    assert desk.ledger.budget("ada").epsilon_left == 1.0


def test_a_failure_is_not_kept() -> None:
    desk = Desk()

    def fail() -> None:
        raise QueryFailed("the query could not be finished")

    desk.before_commit = fail
    with pytest.raises(QueryFailed):
        desk.ask()
    desk.before_commit = lambda: None
    assert not desk.ask().cached


def test_nothing_is_charged_for_a_kept_answer_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    desk.ask("ada")
    desk = Desk(desk.ledger)  # a new process has nothing in memory
    damaged = KeptAnswer(1, b"{}", desk.ledger.charged[0][0], paid=False)
    monkeypatch.setattr(desk.ledger, "kept_answer", lambda *_: damaged)
    with pytest.raises(Exception, match="cannot be read"):
        desk.ask("grace")
    assert desk.ledger.budget("grace").epsilon_left == 1.0


def test_a_request_that_is_sent_again_gets_the_answer_it_got() -> None:
    desk = Desk()
    first = desk.ask(idempotency_key="order-7")
    again = desk.ask(answer_key="after a bump of the data", idempotency_key="order-7")
    assert (value(again), again.epsilon, again.cached) == (value(first), 0.0, True)
    assert desk.measured == 1


def test_an_idempotency_key_is_the_analysts_own() -> None:
    desk = Desk()
    desk.ask("ada", "one", idempotency_key="order-7")
    assert not desk.ask("grace", "another", idempotency_key="order-7").cached


def test_an_idempotency_key_names_one_question() -> None:
    desk = Desk()
    desk.ask(plan_hash="one", idempotency_key="order-7")
    with pytest.raises(DuplicateRequest, match="something else"):
        desk.ask(plan_hash="another", answer_key="another", idempotency_key="order-7")
    with pytest.raises(KeyReused, match="another request"):
        desk.ask(plan_hash="one", idempotency_key="order-7", request_hash="other settings")
    assert desk.ledger.budget("ada").epsilon_left == 1.0


def test_a_key_older_than_requests_are_noted_names_its_answer() -> None:
    desk = Desk()
    first = desk.ask(idempotency_key="order-7", request_hash="")
    assert value(desk.ask(idempotency_key="order-7")) == value(first)
    with pytest.raises(KeyReused):
        desk.ask(answer_key="another", idempotency_key="order-7")


@pytest.mark.parametrize("state", ["reserved", "failed", "released", "crashed"])
def test_what_was_not_answered_is_not_asked_again(state: str) -> None:
    desk = Desk()
    desk.ask(idempotency_key="order-7")
    desk.ledger.charged[0] = (desk.ledger.charged[0][0], state)  # type: ignore[assignment]
    with pytest.raises(DuplicateRequest, match="idempotency key") as refused:
        desk.ask(idempotency_key="order-7")
    assert refused.value.hint is not None and "nothing was charged now" in refused.value.hint
    assert desk.measured == 1
