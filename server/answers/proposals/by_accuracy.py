"""A question that says how well its answer is to be known: which epsilon it spends, said before it is spent.

Where something is known (a kept answer of this analyst, or noise that is public beforehand), the least epsilon that
is expected to do is spent, and none where a kept answer does already. Where nothing is, two releases are made: a
first one at a public share of the default, and, from what it told, a second one at what is still needed. Each is
reserved before it is measured, and charged in full; both together spend no more than the question may.

Why that is as private as each: the second epsilon is computed from the first answer, which the analyst has paid for
and is told, and from nothing else of the data. Accounts are filters, which hold where a charge depends on the answers
before (Rogers, Roth, Ullman, Vadhan, NIPS 2016; Feldman and Zrnic for zCDP and Renyi).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.errors import InvalidSetting, PlannerError
from planner.planning.answer_times import least_epsilon, rounded_up
from server.answers.proposals.accuracy import Accuracy, Proposal, worst_error, worst_relative_error
from server.answers.proposals.propose import (
    OF_BUDGET,
    OF_POLICY,
    OF_QUESTION,
    OF_REST,
    Most,
    Unknown,
    least,
)
from server.errors import CancelledByClient, CancelledEarly, QueryFailed, ServerError
from server.planning import Planning
from server.query import QueryRequest, QueryResponse

FIRST_SHARE = 0.1
"""Of the policy's default epsilon, or of what the question may spend where that is less: spent to find out."""

_AGAIN = "This answer stays free; the same question with this accuracy is measured anew, charged, and may miss again."

AIM = 0.9
"""Of the wished error: what is aimed at where an answer tells what to expect. The next one has another value."""


@dataclass(frozen=True)
class AtOnce:
    """One release, or none.

    Attributes:
      request: with its epsilon, as it is planned.
      proposal: what is expected of it.
    """

    request: QueryRequest
    proposal: Proposal


@dataclass(frozen=True)
class FirstPart:
    """A first release, and then another one if it is needed.

    Attributes:
      request: with the epsilon of the first one, as it is planned.
      most: what both may spend together.
    """

    request: QueryRequest
    most: Most

    @property
    def first_epsilon(self) -> float:
        """What the first one spends."""
        assert self.request.epsilon is not None, "it was chosen"
        return self.request.epsilon


def accuracy_of(request: QueryRequest) -> Accuracy:
    """What is wished. Raises: InvalidSetting for two wishes, or none that is positive."""
    return Accuracy(None, request.max_relative_error, request.max_absolute_error)


def without_accuracy(request: QueryRequest) -> QueryRequest:
    """The request as it is planned once its epsilon is known."""
    return replace(request, max_relative_error=None, max_absolute_error=None, as_accurate=True)


def chosen(planning: Planning, request: QueryRequest) -> AtOnce | FirstPart:
    """Which epsilon a question spends. Reads no private row, charges nothing.

    Args:
      planning: plans, and looks up what the analyst has paid for.
      request: one question over private tables; its epsilon is the most that may be spent, by default the policy's.
    Raises: NoProposal where the most is not enough, or nothing tells and there is an answer already; InvalidSetting;
      PlannerError.
    """
    accuracy, plain = accuracy_of(request), without_accuracy(request)
    _check(request)
    most = _most(planning, request)
    found = least(planning, plain, accuracy, most, AIM)
    if isinstance(found, Proposal):
        return AtOnce(replace(plain, epsilon=found.epsilon), found)
    if found.told:
        raise found.refusal
    return _first(planning, plain, found, most)


def most_charged(choice: AtOnce | FirstPart, delta: float) -> tuple[float, float] | tuple[None, None]:
    """The most epsilon and delta that are charged in the end, each of two releases having the delta of the first.

    Returns: None for both where what is planned is all.
    """
    return (choice.most.epsilon, 2 * delta) if isinstance(choice, FirstPart) else (None, None)


def _check(request: QueryRequest) -> None:
    if request.mechanism is not None or request.sampling_rate is not None:
        raise InvalidSetting(
            "an accuracy chooses the epsilon of the default mechanism over all rows",
            hint="leave mechanism and sampling_rate out",
        )


def _most(planning: Planning, request: QueryRequest) -> Most:
    """What the question, the policy and the budget let it spend; that no question fits it the ledger says."""
    policy = planning.policy
    most = Most(policy.max_epsilon, OF_POLICY)
    if request.epsilon is not None and request.epsilon < most.epsilon:
        most = Most(request.epsilon, OF_QUESTION)
    left = planning.ledger.budget(request.analyst).epsilon_left
    if left >= most.epsilon:
        return most
    size = planning.question(replace(without_accuracy(request), epsilon=most.epsilon)).plan.size
    least_of_all = least_epsilon(size, policy.side_channels, policy.max_epsilon)
    return Most(left, OF_BUDGET) if left >= least_of_all else most


def _first(planning: Planning, plain: QueryRequest, unknown: Unknown, most: Most) -> FirstPart:
    """A first part that leaves more than itself for the second."""
    policy = planning.policy
    smallest = least_epsilon(unknown.question.plan.size, policy.side_channels, policy.max_epsilon)
    wished = FIRST_SHARE * min(policy.epsilon, most.epsilon)
    first = max(smallest, rounded_up(wished))  # the ledger names it by nano-epsilons
    if first + smallest >= most.epsilon:
        raise unknown.refusal
    return FirstPart(replace(plain, epsilon=first), most)


def answered_in_two(
    part: FirstPart,
    planning: Planning,
    request: QueryRequest,
    answer: Callable[[QueryRequest], QueryResponse],
) -> QueryResponse:
    """Make the first release and, unless it does already, the second one.

    Args:
      part: by `chosen`.
      planning, request: as of `chosen`.
      answer: charges, measures and keeps the answer to a request with an epsilon; the request is the whole one's,
        under its idempotency key for the last release alone.
    Returns: the last answer, which says what both cost.
    Raises: what `answer` raises; NoProposal where what is left is not enough, with what was charged in its hint.
    """
    first = answer(replace(part.request, idempotency_key=""))
    accuracy = accuracy_of(request)
    parts = first if first.cached_periods else None
    if accuracy.reached(first) > accuracy.wanted and part.request.reuse == "auto" and (parts or first.epsilon == 0.0):
        # It followed from other answers, in whole or in part, and tells too little: nothing is kept under its own
        # name to aim the rest by.
        first = answer(replace(part.request, idempotency_key="", reuse="never"))
        if parts is not None:
            first = replace(first, epsilon=first.epsilon + parts.epsilon, delta=first.delta + parts.delta)
    if accuracy.reached(first) <= accuracy.wanted:
        return first
    kept = f"the first answer was charged, epsilon {first.epsilon:g}, and is kept: the same question goes on from it"
    try:
        spent = max(part.first_epsilon, first.epsilon)
        returns = 0.0 if part.most.whose == OF_BUDGET else spent
        rest = Most(part.most.epsilon - spent, OF_REST, returns)
        found = least(planning, part.request, accuracy, rest, AIM)
        if isinstance(found, Unknown):
            raise found.refusal
        second = answer(replace(part.request, epsilon=found.epsilon))
    except (QueryFailed, CancelledByClient):
        raise
    except CancelledEarly as error:
        raise CancelledByClient("the question was cancelled; its first answer was charged", hint=kept) from error
    except (ServerError, PlannerError) as error:
        error.hint = kept if error.hint is None else f"{error.hint}; {kept}"
        raise
    note = (
        f"Two releases were made and charged: epsilon {first.epsilon:g} to learn what the accuracy needs, and epsilon"
        f" {second.epsilon:g} for this answer."
    )
    both = second.epsilon + first.epsilon, second.delta + first.delta
    return replace(second, epsilon=both[0], delta=both[1], notes=(note, *second.notes))


def with_reached(answer: QueryResponse, request: QueryRequest) -> QueryResponse:
    """The answer with a note of what it reaches of what was wished."""
    accuracy = accuracy_of(request)
    if answer.covers == "exact":
        return answer
    reached = worst_relative_error(answer) if accuracy.is_relative else worst_error(answer)
    n_clipped, n_rows = sum(answer.clipped), len(answer.rows)
    if math.isinf(reached):
        why = "all are marked cut" if 0 < n_clipped == n_rows else "an interval is open, or a value is nothing"
        told = f"Asked for {accuracy}; no row tells whether it is reached: {why}."
        return replace(answer, notes=(f"{told} {_AGAIN}", *answer.notes))
    said = f"{100 * reached:.3g}%" if accuracy.is_relative else f"{reached:,.4g}"
    short = "" if reached <= accuracy.wanted else f": it was expected to be, and is not. {_AGAIN.removesuffix('.')}"
    note = f"Asked for {accuracy}; the worst interval that counts reaches {said}{short}."
    if n_clipped and accuracy.is_relative:
        note += f" {n_clipped:,} of {n_rows:,} rows are marked cut, and do not count: what was cut is in no interval."
    return replace(answer, notes=(note, *answer.notes))


def said_before(found: AtOnce | FirstPart, accuracy: Accuracy, *, follows: bool) -> str:
    """For EXPLAIN: what will be spent for the accuracy, and why.

    Args:
      found: what is chosen.
      accuracy: that is wished.
      follows: the answer follows from paid ones, so that nothing is measured.
    """
    if follows and isinstance(found, AtOnce):
        return f"For {accuracy}: free (it follows from answers that you have paid for; {found.proposal.reason})."
    if isinstance(found, AtOnce):
        proposal = found.proposal
        cost = "free" if not proposal.charge else f"epsilon {proposal.charge:g}, the least that is expected to do"
        return f"For {accuracy}: {cost} ({proposal.reason})."
    return (
        f"For {accuracy}: up to epsilon {found.most.epsilon:g}, the most that {found.most.whose}. Nothing known tells"
        f" what it needs, so that two releases are made, and both are charged: first epsilon {found.first_epsilon:g},"
        " which is explained here, and then what its answer shows to be needed."
    )
