"""Which epsilon a question by accuracy spends: what is known is used, and what is not is found out by two charges."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from planner.errors import InvalidSetting
from planner.policy.policy import parse_policy
from server.answers.proposals.accuracy import Accuracy
from server.answers.proposals.by_accuracy import (
    AIM,
    AtOnce,
    FirstPart,
    accuracy_of,
    answered_in_two,
    chosen,
    explained_target,
    most_charged,
    with_reached,
    without_accuracy,
)
from server.answers.proposals.propose import OF_BUDGET, OF_POLICY, OF_QUESTION, Most
from server.errors import (
    BudgetExhausted,
    CancelledByClient,
    CancelledEarly,
    ChargeUnsettled,
    LedgerUncertain,
    NoProposal,
    QueryFailed,
    ServerError,
    SettledBefore,
)
from server.query import Budget, QueryRequest, QueryResponse
from tests.support.memory_ledger import MemoryLedger
from tests.unit.server.answers.proposals.test_propose import BOUNDED, COUNT, Office, half_width

WITHIN_5 = QueryRequest("ada", COUNT, max_relative_error=0.05, idempotency_key="order-7")


def at_once(office: Any, request: QueryRequest) -> AtOnce:
    found = chosen(office, request)
    assert isinstance(found, AtOnce)
    return found


def test_what_an_answer_tells_is_aimed_at_with_room() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0)
    found = at_once(office, replace(WITHIN_5, max_relative_error=0.01))
    epsilon = found.request.epsilon
    assert epsilon == found.proposal.epsilon and not found.request.by_accuracy
    assert half_width(office, epsilon, 16.0) <= AIM * 150.0 < half_width(office, epsilon * 0.97, 16.0)
    assert "the least that is expected to be enough" in explained_target(
        found, Accuracy(max_relative_error=0.01), derived=False
    )


def test_an_answer_that_is_good_enough_is_free_also_if_a_worse_one_is_newer() -> None:
    office = Office()
    office.tell("ada", COUNT, 1.0, [15_000.0], 16.0, reach=100.0)
    office.tell("ada", COUNT, 0.01, [15_000.0], 16.0, reach=9_000.0)
    found = at_once(office, WITHIN_5)
    assert (found.request.epsilon, found.proposal.charge, found.proposal.basis) == (1.0, 0.0, "kept")
    assert "free" in explained_target(found, accuracy_of(WITHIN_5), derived=False)
    assert "free (it is derived from answers" in explained_target(found, accuracy_of(WITHIN_5), derived=True)


def test_noise_that_is_public_needs_no_first_part() -> None:
    office = Office(parse_policy(BOUNDED))
    found = at_once(office, QueryRequest("ada", COUNT, max_absolute_error=1000.0))
    epsilon = found.request.epsilon
    assert epsilon is not None and found.proposal.basis == "public"
    assert half_width(office, epsilon, 64.0) <= 1000.0 < 1.03 * half_width(office, epsilon * 0.98, 64.0)


def test_where_nothing_is_known_a_public_first_part_is_said_before() -> None:
    office = Office()
    found = chosen(office, WITHIN_5)
    assert isinstance(found, FirstPart)
    policy = office.policy
    assert (found.first_epsilon, found.most) == (0.1 * policy.epsilon, Most(policy.max_epsilon, OF_POLICY))
    assert most_charged(found, 1e-8) == (policy.max_epsilon, 2e-8)
    assert office.ledger.charged == []
    said = explained_target(found, accuracy_of(WITHIN_5), derived=False)
    assert "two releases" in said and f"epsilon {found.first_epsilon:g}" in said
    assert f"up to epsilon {policy.max_epsilon:g}, the most that the policy allows one question" in said
    smaller = chosen(office, replace(WITHIN_5, epsilon=0.5))
    assert isinstance(smaller, FirstPart)
    assert (smaller.first_epsilon, smaller.most) == (0.05, Most(0.5, OF_QUESTION))


def with_budget(epsilon: float) -> Any:
    return Office(ledger=MemoryLedger({"ada": epsilon}))


def test_a_budget_that_is_short_bounds_it_and_is_named() -> None:
    short = chosen(with_budget(0.3), WITHIN_5)
    assert isinstance(short, FirstPart)
    assert (short.first_epsilon, short.most) == (0.03, Most(0.3, OF_BUDGET))
    none = chosen(with_budget(1e-6), WITHIN_5)
    assert isinstance(none, FirstPart) and none.most.whose == OF_POLICY, "that nothing is left the ledger says"
    told = with_budget(0.4)
    told.tell("ada", COUNT, 0.1, [15_000.0], 16.0)
    with pytest.raises(NoProposal, match=r"epsilon 0\.3, the most that is left of your budget: about epsilon"):
        chosen(told, replace(WITHIN_5, max_relative_error=0.002))


def test_what_may_be_spent_bounds_it() -> None:
    office = Office()
    office.tell("ada", COUNT, 0.1, [15_000.0], 16.0)
    needed = at_once(office, replace(WITHIN_5, max_relative_error=0.01)).request.epsilon
    assert needed is not None
    half_of_it = replace(WITHIN_5, max_relative_error=0.01, epsilon=needed / 2)
    with pytest.raises(NoProposal, match="the most that you allow this question: about epsilon") as refused:
        chosen(office, half_of_it)
    assert re.match(r"the answer would be right within about 1\.\d%, not 1%, at epsilon", refused.value.message)
    assert refused.value.hint is not None and refused.value.hint.startswith("ask for 1.")
    assert (
        at_once(office, replace(WITHIN_5, max_relative_error=0.01, epsilon=needed * 1.01)).request.epsilon == needed
    )


def test_what_is_no_accuracy_is_refused() -> None:
    cases: list[dict[str, object]] = [
        {"max_absolute_error": 5.0},
        {"max_relative_error": -1.0},
        {"mechanism": "r2t"},
        {"sampling_rate": 0.5},
    ]
    for wrong in cases:
        with pytest.raises(InvalidSetting):
            chosen(Office(), replace(WITHIN_5, **wrong))  # type: ignore[arg-type]


@dataclass
class Answering:
    """Charges for answers whose half-width falls with epsilon."""

    office: Any
    value: float = 15_000.0
    fails: BaseException | None = None
    asked: list[QueryRequest] = field(default_factory=list)

    def __call__(self, request: QueryRequest) -> QueryResponse:
        if self.asked and self.fails is not None:
            raise self.fails
        self.asked.append(request)
        assert request.epsilon is not None and not request.by_accuracy
        self.office.tell("ada", COUNT, request.epsilon, [self.value], 16.0, reach=half(self.office, request.epsilon))
        return shown(self.office, request.epsilon, self.value)


def half(office: Any, epsilon: float) -> float:
    return half_width(office, epsilon, 16.0)


def shown(office: Any, epsilon: float, value: float) -> QueryResponse:
    from server.query import Interval, ResultColumn

    around = Interval(value - half(office, epsilon), value + half(office, epsilon))
    budget = Budget(10.0, 0.0, 5.0, 0.0)
    return QueryResponse(
        (ResultColumn("count", "int8"),), ((value,),), ((around,),), 0.95, "clipped value", "gem", epsilon, 0.0,
        budget, "r", (False,), (False,), ((None,),),
    )  # fmt: skip


def first_part(office: Any, request: QueryRequest) -> FirstPart:
    found = chosen(office, request)
    assert isinstance(found, FirstPart)
    return found


def test_two_releases_are_charged_and_the_answer_says_both() -> None:
    office = Office()
    answering = Answering(office)
    wish = replace(WITHIN_5, max_relative_error=0.003)
    answer = answered_in_two(first_part(office, wish), office, wish, answering)
    first, second = (one.epsilon for one in answering.asked)
    assert first is not None and second is not None
    assert answer.epsilon == first + second <= office.policy.max_epsilon
    assert half(office, second) <= 0.003 * answering.value
    assert answer.notes[0].startswith("Two releases were made and charged")
    assert [one.idempotency_key for one in answering.asked] == ["", "order-7"], "the last one has the request's name"


def test_what_follows_free_and_is_too_wide_is_no_first_release() -> None:
    office = Office()
    answering = Answering(office)
    wish = replace(WITHIN_5, max_relative_error=0.003)

    def answer(request: QueryRequest) -> QueryResponse:
        if request.reuse == "auto" and not answering.asked:
            return replace(shown(office, 0.02, answering.value), epsilon=0.0)
        return answering(request)

    both = answered_in_two(first_part(office, wish), office, wish, answer)
    assert [one.reuse for one in answering.asked] == ["never", "auto"]
    assert both.epsilon == sum(one.epsilon or 0.0 for one in answering.asked) > 0.0
    assert half(office, answering.asked[1].epsilon or 0.0) <= 0.003 * answering.value


def test_a_first_release_that_does_already_is_all() -> None:
    office = Office()
    answering = Answering(office, value=1e9)
    answer = answered_in_two(first_part(office, WITHIN_5), office, WITHIN_5, answering)
    assert len(answering.asked) == 1
    assert answer.epsilon == answering.asked[0].epsilon


def test_both_together_spend_no_more_than_may_be() -> None:
    office = Office()
    wish = replace(WITHIN_5, max_relative_error=0.0002)
    part = first_part(office, wish)
    answering = Answering(office)
    answer = answered_in_two(part, office, wish, answering)
    rest = part.most.epsilon - part.first_epsilon
    assert answer.epsilon == part.first_epsilon and answer.rows == shown(office, answer.epsilon, answering.value).rows
    assert answer.notes[0].startswith("This is the first of two releases, as the second was refused: ")
    assert f"epsilon {rest:g}, the most that is left for this question after its first" in answer.notes[0]
    assert len(answering.asked) == 1


def test_what_would_do_beside_the_first_release_does_when_it_is_asked_again() -> None:
    office = Office()
    most, value = office.policy.max_epsilon, 15_000.0
    wished = 1.04 * half(office, most) / value  # less than all that may be spent does, and what is left does not
    wish = replace(WITHIN_5, max_relative_error=wished)
    part = first_part(office, wish)
    told = answered_in_two(part, office, wish, Answering(office)).notes[0]
    assert "is left for this question after its first release" in told
    assert "ask the same again: it continues from that release" in told
    assert isinstance(chosen(office, wish), AtOnce), "as the hint says"
    poor = replace(part, most=Most(most, OF_BUDGET))
    told = answered_in_two(poor, Office(), wish, Answering(Office())).notes[0]
    assert "the same again" not in told, "what the first one took of the budget does not come back"


def test_if_the_second_is_refused_the_first_is_the_answer() -> None:
    wish = replace(WITHIN_5, max_relative_error=0.003)
    for error, said in (
        (BudgetExhausted("too little", hint="less"), "refused: too little; less."),
        (BudgetExhausted("too little"), "refused: too little."),
    ):
        office = Office()
        answer = answered_in_two(first_part(office, wish), office, wish, Answering(office, fails=error))
        assert answer.epsilon > 0 and answer.notes[0].endswith(said)


@pytest.mark.parametrize("error", [QueryFailed("x"), ChargeUnsettled("x"), SettledBefore("x"), LedgerUncertain("x")])
def test_no_answer_hides_a_second_charge(error: ServerError) -> None:
    office = Office()
    wish = replace(WITHIN_5, max_relative_error=0.003)
    with pytest.raises(type(error)):
        answered_in_two(first_part(office, wish), office, wish, Answering(office, fails=error))


def test_what_is_cancelled_or_fails_in_between_says_that_the_first_was_charged() -> None:
    wish = replace(WITHIN_5, max_relative_error=0.003)
    office = Office()
    with pytest.raises(CancelledByClient, match="first answer was charged"):
        answered_in_two(first_part(office, wish), office, wish, Answering(office, fails=CancelledEarly("left")))


def test_the_answer_says_what_it_reaches() -> None:
    office = Office()
    answer = shown(office, 1.0, 15_000.0)
    (note, *_) = with_reached(answer, WITHIN_5).notes
    assert note.startswith("You asked for a relative error of 5%; the worst interval that counts has")
    (note, *_) = with_reached(answer, replace(WITHIN_5, max_relative_error=1e-9)).notes
    assert "which is too much" in note and "charged again, and may miss again" in note
    assert with_reached(replace(answer, covers="exact"), WITHIN_5).notes == ()
    (note, *_) = with_reached(replace(answer, clipped=(True,)), WITHIN_5).notes
    assert (
        "no row shows whether it is reached: all rows are marked clipped" in note
        and "measured and charged again" in note
    )
    two = replace(
        answer,
        rows=[*answer.rows, *answer.rows],
        intervals=[*answer.intervals, *answer.intervals],
        clipped=(True, False),
        raw=(),
    )
    (note, *_) = with_reached(replace(two, raw_intervals=()), WITHIN_5).notes
    assert "1 of 2 rows are marked clipped and do not count" in note


def test_a_request_without_its_accuracy_is_an_ordinary_one() -> None:
    assert not without_accuracy(WITHIN_5).by_accuracy
    plain = without_accuracy(WITHIN_5)
    assert plain.as_accurate, "what is put together from parts may not be wider"
    assert replace(plain, max_relative_error=0.05, as_accurate=False) == WITHIN_5
