"""Whose answers decide where a question starts, what its answer is called, and who may buy it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from planner.policy.policy import Policy
from planner.rewriting.rewrite import rewrite
from server.answers.encoding import encoded
from server.answers.kept_answers import KeptAnswers
from server.answers.released import Released
from server.answers.remembered import Remembering
from server.backends.columns import Domain
from server.ledger.analyst import CUSTODIAN
from server.query import QueryRequest
from server.question import Question, Start, base_of
from server.results.response import response
from server.workers.measure import plan_measurements
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy, planned
from tests.support.released_plan import noisy_answer

COUNT = "SELECT count(*) FROM orders"
ALONE = Domain(())


@dataclass
class Desk:
    """Asks as analysts do; every measurement releases the number and the threshold that it is told to."""

    ledger: MemoryLedger = field(default_factory=lambda: MemoryLedger({"ada": 50.0, "grace": 50.0}))
    policy: Policy = field(default_factory=lambda: replace(demo_policy(), remember_thresholds=True))

    def __post_init__(self) -> None:
        self.remembering = Remembering(self.ledger, self.policy.remember_thresholds)
        self.kept = KeptAnswers(self.ledger)

    def question(self, analyst: str = "ada", sql: str = COUNT, epsilon: float = 1.0) -> Question:
        plan = planned(sql, policy=self.policy, epsilon=epsilon)
        made = plan_measurements(plan, self.policy)
        plain = Question.of(plan, rewrite(plan), made, time_grain="day", data_version=self.ledger.version)
        return self.remembering.own(plain, analyst)

    def ask(
        self, analyst: str = "ada", sql: str = COUNT, epsilon: float = 1.0, value: float = 1e5, rung: int = 3
    ) -> tuple[Question, bool]:
        """The question that was asked, and whether it was measured."""
        question = self.question(analyst, sql, epsilon)
        charge = question.charge(QueryRequest(analyst, sql, epsilon=epsilon))
        if self.kept.find(charge) is not None:
            return question, False
        at = question.start.rungs[0] if question.start else None
        tau = np.array([2.0 ** (rung if at is None else at)])
        name = question.measuring.releases[0].name
        noisy = replace(noisy_answer([value], mechanism=name), tau=tau, noise_scale=tau / epsilon)
        released = Released(ALONE, (noisy,) * len(question.measuring.releases))
        kept = self.ledger.kept_answer(charge.answer_key, analyst)
        if kept is not None:
            self.ledger.commit(self.ledger.reserve(replace(charge, repeats=kept.number)))
            return question, False
        self.ledger.commit(self.ledger.reserve(charge), encoded(released))
        return question, True

    def load(self) -> None:
        self.ledger.bump_data(CUSTODIAN)


def test_the_first_time_nothing_is_remembered() -> None:
    question, measured = Desk().ask()
    assert measured and question.start is None
    assert "+" not in question.answer_key


def test_the_next_load_starts_from_the_answer_before() -> None:
    desk = Desk()
    first, _ = desk.ask()
    desk.load()
    question, measured = desk.ask()
    assert measured and question.start == Start(1, (4,))
    assert base_of(question.answer_key) != first.answer_key
    assert question.plan_hash == first.plan_hash
    ((tau, half),) = question.measuring.releases[0].expected_noise(1)
    assert tau == 16.0
    assert half < dict(first.measuring.releases[0].expected_noise(1))[tau]
    assert question.event == first.event


def test_another_epsilon_starts_from_it_too() -> None:
    desk = Desk()
    desk.ask()
    assert desk.question(epsilon=0.5).start is not None


def test_another_question_does_not() -> None:
    desk = Desk()
    desk.ask()
    desk.load()
    assert desk.question(sql=f"{COUNT} WHERE o_totalprice > 10").start is None


def test_asked_again_it_is_free_whatever_was_asked_since() -> None:
    """The memory that an answer was measured with is in its name, not the memory that there is now."""
    desk = Desk()
    desk.ask()
    desk.load()
    question, _ = desk.ask()
    for epsilon in (0.25, 0.3, 0.35):
        desk.ask(epsilon=epsilon, value=9e5)
    for remembering in (desk.remembering, Remembering(desk.ledger)):
        desk.remembering = remembering  # with what is in memory, and after a restart
        again, measured = desk.ask()
        assert not measured
        assert (again.answer_key, again.start) == (question.answer_key, question.start)
    assert len(desk.ledger.charged) == 5


def test_the_first_answer_stays_free_after_others() -> None:
    desk = Desk()
    desk.ask()
    desk.ask(epsilon=0.5)
    again, measured = desk.ask()
    assert not measured and again.start is None


def test_nobody_is_sold_an_answer_that_another_ones_memory_decided() -> None:
    desk = Desk()
    desk.ask("ada")
    desk.load()
    adas, _ = desk.ask("ada")
    graces, measured = desk.ask("grace")
    assert measured and graces.start is None
    assert adas.answer_key != graces.answer_key
    assert desk.ledger.kept_answer(adas.answer_key, "grace") is not None, "it is there, under a name she cannot have"


def test_two_with_equal_memories_have_two_answers() -> None:
    desk = Desk()
    desk.ask("ada")
    desk.load()
    desk.ask("grace")
    desk.load()
    adas, _ = desk.ask("ada")
    graces, measured = desk.ask("grace")
    assert measured
    assert adas.start is not None and graces.start is not None
    assert adas.start.rungs == graces.start.rungs
    assert adas.answer_key != graces.answer_key


def test_whether_an_answer_can_be_sold_hangs_on_no_released_value() -> None:
    """Else who is sold one, or is not, learns something of what another analyst was told."""
    for value in [1e5, 1e9, 0.0]:
        desk = Desk()
        desk.ask(value=1e5)
        desk.load()
        desk.ask(value=value)
        desk.load()
        question = desk.question()
        assert "+" in question.answer_key, value


def test_what_everybody_may_buy_is_bought() -> None:
    desk = Desk()
    desk.ask("ada")
    desk.load()
    desk.ask("grace")
    question, measured = desk.ask("ada")
    assert not measured and question.start is None
    assert desk.ledger.charged[-1][0].repeats == 2


def test_who_buys_goes_on_buying() -> None:
    desk = Desk()
    desk.ask("ada")
    desk.ask("grace")
    desk.load()
    assert desk.question("grace").start is None
    assert desk.question("ada").start is not None


def test_the_policy_can_forbid_it() -> None:
    desk = Desk(policy=replace(demo_policy(), remember_thresholds=False))
    desk.ask()
    desk.load()
    assert desk.question().start is None


def test_what_remembers_nothing_is_the_same_whoever_asks() -> None:
    for sql in ["SELECT avg(l_quantity) FROM lineitem", f"{COUNT} TABLESAMPLE BERNOULLI (50)"]:
        desk = Desk()
        desk.ask(sql=sql)
        desk.load()
        question = desk.question(sql=sql)
        assert question.start is None and "+" not in question.answer_key, sql


def test_the_answer_says_where_it_started_from() -> None:
    desk = Desk()
    desk.ask()
    desk.load()
    question = desk.question()
    noisy = (noisy_answer([5.0]),)
    shown = response(question.plan, ALONE, noisy, desk.ledger.budget("ada"), "")
    assert any("charge 1" in note for note in shown.notes)


def test_what_an_answer_key_says_is_read_again() -> None:
    cases: list[Start] = [Start(12, (3,)), Start(7, (None, -4, 0)), Start(1, (None,))]
    for start in cases:
        assert Start.of("ab12" + start.suffix) == start, start
        assert base_of("ab12" + start.suffix) == "ab12", start
        assert Start.of("ab12") is None, start
