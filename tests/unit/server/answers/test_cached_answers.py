"""Who pays for an answer, and when it is measured."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import cast

import pytest

from planner.released_expression import ReleasedValue
from server.answers import cached_answers
from server.answers.cached_answers import CachedAnswers, Served, Wanted
from server.answers.encoding import decoded, encoded
from server.answers.released import Released
from server.backends.columns import Domain
from server.errors import BudgetExhausted, DuplicateRequest, KeyReused, QueryFailed
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import Budget, QueryResponse
from server.question import Question
from tests.support.memory_ledger import MemoryLedger
from tests.support.released_plan import answer_plan, noisy_answer


@dataclass
class Service:
    """Asks as an analyst; every measurement releases the next number."""

    ledger: MemoryLedger = field(default_factory=lambda: MemoryLedger({"ada": 2.0, "grace": 1.0, "poor": 0.5}))
    measured: int = 0
    before_commit: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.kept = CachedAnswers(cast(Ledger, self.ledger))

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
        wanted = Wanted(charge, lambda: None, self._measure)
        return self.kept.serve([wanted], [])[answer_key]

    def _measure(self, reservation: Reservation, served: Mapping[str, Served]) -> tuple[Released, Budget]:
        self.measured += 1
        self.before_commit()
        released = Released(Domain(()), (noisy_answer([float(self.measured)]),))
        return released, self.ledger.commit(reservation, encoded(released))


def value(served: Served) -> float:
    return float(served.released.noisy[0].values[0])


def test_the_same_analyst_pays_once() -> None:
    service = Service()
    first, again = service.ask(), service.ask()
    assert (first.cached, first.epsilon, first.budget.epsilon_left) == (False, 1.0, 1.0)
    assert (again.cached, again.epsilon, again.budget.epsilon_left) == (True, 0.0, 1.0)
    assert value(first) == value(again) == 1.0
    assert service.measured == 1 and len(service.ledger.charged) == 1


def test_what_is_paid_is_free_and_nothing_else_is_looked_up() -> None:
    service = Service()
    charge = Charge("ada", 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, "")
    assert service.kept.find(charge) is None
    service.ask()
    paid = service.kept.find(charge)
    assert paid is not None and paid.small
    again = service.kept.again(paid)
    assert value(again) == 1.0 and (again.cached, again.epsilon) == (True, 0.0)
    assert not replace(paid, cached=replace(paid.cached, answer=bytes(1 << 14))).small
    assert service.kept.find(Charge("grace", 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, "")) is None
    assert len(service.ledger.charged) == 1


def test_another_analyst_pays_for_the_same_answer_and_the_dataset_does_not() -> None:
    service = Service()
    service.ask("ada")
    other, again = service.ask("grace"), service.ask("grace")
    assert (other.cached, other.epsilon, other.budget.epsilon_left) == (True, 1.0, 0.0)
    assert (again.epsilon, value(other), value(again)) == (0.0, 1.0, 1.0)
    assert service.measured == 1
    assert service.ledger.dataset == 10**9


def test_only_who_has_paid_finds_the_answer() -> None:
    service = Service()

    def found(analyst: str, idempotency_key: str = "") -> Served | None:
        charge = Charge(analyst, 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, idempotency_key, "q")
        paid = service.kept.find(charge)
        return None if paid is None else service.kept.again(paid)

    assert found("ada") is None
    paid = service.ask("ada", idempotency_key="once")
    assert found("grace") is None
    for again in (found("ada"), found("ada", "once")):
        assert again is not None
        assert (again.cached, again.epsilon, value(again)) == (True, 0.0, value(paid))
    assert service.measured == 1 and len(service.ledger.charged) == 1


def test_who_cannot_pay_is_not_told() -> None:
    service = Service()
    service.ask("ada")
    with pytest.raises(BudgetExhausted):
        service.ask("poor")
    assert service.ledger.budget("poor").epsilon_left == 0.5


def test_another_question_is_measured() -> None:
    service = Service()
    assert value(service.ask(answer_key="k")) != value(service.ask(answer_key="other"))


def test_eight_panels_are_charged_once() -> None:
    service = Service()
    together = threading.Barrier(8)

    def panel(_: int) -> Served:
        together.wait()
        return service.ask()

    with ThreadPoolExecutor(8) as panels:
        served = list(panels.map(panel, range(8)))
    assert service.measured == 1
    assert [one.cached for one in served].count(False) == 1
    assert {value(one) for one in served} == {1.0}
    assert service.ledger.budget("ada").epsilon_left == 1.0


def test_the_answer_under_the_very_name_is_served_though_the_analyst_has_a_newer_one() -> None:
    """Names of other questions say which answer they read (`Question.after`)."""
    service = Service()
    first = service.ask()
    charge = Charge("ada", 1.0, 0.0, "r", "policy", "p", "gem", None, "k", None, "")
    newer = service.ask(answer_key=service.kept.anew(charge).answer_key)
    assert value(newer) != value(first) == value(service.ask())


def test_a_failure_is_not_kept() -> None:
    service = Service()

    def fail() -> None:
        raise QueryFailed("the query could not be finished")

    service.before_commit = fail
    with pytest.raises(QueryFailed):
        service.ask()
    service.before_commit = lambda: None
    assert not service.ask().cached


def test_a_request_that_is_sent_again_gets_the_answer_it_got() -> None:
    service = Service()
    first = service.ask(idempotency_key="order-7")
    again = service.ask(answer_key="after a bump of the data", idempotency_key="order-7")
    assert (value(again), again.epsilon, again.cached) == (value(first), 0.0, True)
    assert service.measured == 1


def test_an_idempotency_key_is_the_analysts_own() -> None:
    service = Service()
    service.ask("ada", "one", idempotency_key="order-7")
    assert not service.ask("grace", "another", idempotency_key="order-7").cached


def test_an_idempotency_key_names_one_question() -> None:
    service = Service()
    service.ask(plan_hash="one", idempotency_key="order-7")
    with pytest.raises(DuplicateRequest, match="something else"):
        service.ask(plan_hash="another", answer_key="another", idempotency_key="order-7")
    with pytest.raises(KeyReused, match="another request"):
        service.ask(plan_hash="one", idempotency_key="order-7", request_hash="other settings")
    assert service.ledger.budget("ada").epsilon_left == 1.0


def test_what_was_not_answered_is_not_asked_again() -> None:
    for state in ["reserved", "failed", "released", "crashed"]:
        service = Service()
        service.ask(idempotency_key="order-7")
        service.ledger.charged[0] = (service.ledger.charged[0][0], state)  # type: ignore[assignment]
        with pytest.raises(DuplicateRequest, match="idempotency key") as refused:
            service.ask(idempotency_key="order-7")
        assert refused.value.hint is not None and "this attempt was not charged" in refused.value.hint, state
        assert service.measured == 1, state


def test_nothing_of_an_answer_is_looked_at_before_its_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size, or how long it takes to decode, would tell about it for free."""
    service = Service()
    service.ask()
    service.kept = CachedAnswers(cast(Ledger, service.ledger))
    seen: list[float] = []

    def looked_at(answer: bytes) -> Released:
        seen.append(service.ledger.budget("grace").epsilon_left)
        return decoded(answer)

    monkeypatch.setattr(cached_answers, "decoded", looked_at)
    with pytest.raises(BudgetExhausted):
        service.ask("poor")
    assert not seen and service.ledger.cached_answer("k", "poor") is not None
    assert service.ask("grace").cached and seen == [0.0]


def test_the_answers_in_memory_are_bounded_by_what_they_take() -> None:
    service = Service(MemoryLedger({"ada": 10.0}))
    service.kept = replace(service.kept, releases=LruCache(1024, 100, lambda released: released.n_bytes))
    for number in range(5):
        service.ask(answer_key=str(number))
        service.ask(answer_key=str(number))
    assert len(service.kept.releases) == 100 // 48


def test_those_who_read_an_answer_that_is_too_large_for_the_cache_share_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As long as one of them reads: then it is made again."""
    monkeypatch.setattr(cached_answers, "shown_answers", LruCache(1, 0, lambda shown: shown.n_bytes))
    question = cast("Question", SimpleNamespace(serial=-1, plan=answer_plan(ReleasedValue(0))))
    budget = Budget(1.0, 0.0, 1.0, 0.0)

    def served(analyst: str) -> QueryResponse:
        return Served(Released(Domain(()), (noisy_answer([7.0]),)), budget, 0.0, 0.0, 3).response(question, analyst)

    first, second = served("ada"), served("grace")
    assert second.rows is first.rows and (first.request_id, second.request_id) == ("ada", "grace")
    rows = weakref.ref(first.rows)
    del first, second
    gc.collect()
    assert rows() is None, "nobody keeps them"
    assert tuple(served("ada").rows) == ((7.0,),)
