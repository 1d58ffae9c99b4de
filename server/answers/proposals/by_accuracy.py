"""Answer a question with an accuracy target, and show its price before it is spent.

Where a cached answer or public noise tells enough, the least epsilon that is expected to be enough is spent. Where a
cached answer is precise enough, nothing is spent. Else two releases are made: the first with a public share of the
default epsilon, the second with what is still needed. Each is reserved before it is measured, and charged in full.
Both together stay within what the question may spend. If that is not enough for the second, the first is the answer.

This is as private as each release. The second epsilon depends on the first answer, which the analyst has paid for,
and on no other data. Accounts are privacy filters, which allow charges that depend on earlier answers (Rogers, Roth,
Ullman, Vadhan, NIPS 2016; Feldman and Zrnic for zCDP and Renyi).
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
from server.errors import (
    CancelledByClient,
    CancelledEarly,
    LedgerInvalid,
    LedgerUnavailable,
    QueryFailed,
    ServerError,
)
from server.planning import Planning
from server.query import QueryRequest, QueryResponse

FIRST_SHARE = 0.1
"""The first release's share of the policy's default epsilon, or of a smaller limit of the question."""

_AGAIN = (
    "This answer stays free. The same question with this accuracy is measured and charged again, and may miss again."
)

AIM = 0.9
"""The share of the wished error that is aimed at with an earlier answer, because the next value differs."""


@dataclass(frozen=True)
class AtOnce:
    """A question with one release or none.

    Attributes:
      request: with its epsilon.
      proposal: what is expected of it.
    """

    request: QueryRequest
    proposal: Proposal


@dataclass(frozen=True)
class FirstPart:
    """A question whose first release may be followed by another.

    Attributes:
      request: with the epsilon of the first release.
      most: what both may spend.
    """

    request: QueryRequest
    most: Most

    @property
    def first_epsilon(self) -> float:
        """What the first release spends."""
        assert self.request.epsilon is not None, "it was chosen"
        return self.request.epsilon


def accuracy_of(request: QueryRequest) -> Accuracy:
    """Return the accuracy target. Raises: InvalidSetting for two targets, or none that is positive."""
    return Accuracy(None, request.max_relative_error, request.max_absolute_error)


def without_accuracy(request: QueryRequest) -> QueryRequest:
    """Return the request without its accuracy target, to be planned at an epsilon."""
    return replace(request, max_relative_error=None, max_absolute_error=None, as_accurate=True)


def chosen(planning: Planning, request: QueryRequest) -> AtOnce | FirstPart:
    """Choose the epsilon of a question. Reads no private row, charges nothing.

    Args:
      request: one question over private tables. Its epsilon is the most that may be spent, by default the policy's.
    Raises: NoProposal where the most is not enough, or an earlier answer tells nothing; InvalidSetting; PlannerError.
    """
    accuracy, plain = accuracy_of(request), without_accuracy(request)
    _check(request)
    most = _most(planning, request)
    found = least(planning, plain, accuracy, most, AIM)
    if isinstance(found, Proposal):
        return AtOnce(replace(plain, epsilon=found.epsilon), found)
    if found.answered:
        raise found.refusal
    return _first(planning, plain, found, most)


def most_charged(choice: AtOnce | FirstPart, delta: float) -> tuple[float, float] | tuple[None, None]:
    """Return the most epsilon and delta of both releases together; None for both where one release is all."""
    return (choice.most.epsilon, 2 * delta) if isinstance(choice, FirstPart) else (None, None)


def _check(request: QueryRequest) -> None:
    if request.mechanism is not None or request.sampling_rate is not None:
        raise InvalidSetting(
            "an accuracy target needs the default mechanism over all rows",
            hint="leave mechanism and sampling_rate out",
        )


def _most(planning: Planning, request: QueryRequest) -> Most:
    """Return what question, policy and budget allow. Where no question fits the budget, the ledger refuses it."""
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
    """Return a first release that leaves more than itself for the second."""
    policy = planning.policy
    smallest = least_epsilon(unknown.question.plan.size, policy.side_channels, policy.max_epsilon)
    wished = FIRST_SHARE * min(policy.epsilon, most.epsilon)
    first = max(smallest, rounded_up(wished))  # the ledger counts nano-epsilons
    if first + smallest >= most.epsilon:
        raise unknown.refusal
    return FirstPart(replace(plain, epsilon=first), most)


def answered_in_two(
    part: FirstPart,
    planning: Planning,
    request: QueryRequest,
    answer: Callable[[QueryRequest], QueryResponse],
) -> QueryResponse:
    """Make the first release and, unless it is precise enough, the second one.

    Args:
      answer: charges, measures and caches the answer to a request. Only the last release uses the idempotency key.
    Returns: the last answer, with the price of both; the first one, with a note, if the second is refused.
    Raises: what `answer` raises for the first release; for the second QueryFailed, CancelledByClient and errors of
      the ledger, after which it may be charged.
    """
    first = answer(replace(part.request, idempotency_key=""))
    accuracy = accuracy_of(request)
    parts = first if first.cached_periods else None
    if accuracy.reached(first) > accuracy.wanted and part.request.reuse == "auto" and (parts or first.epsilon == 0.0):
        # It was derived, in whole or in part, and is not precise enough. Nothing is cached under its own name that
        # the second release could aim by.
        first = answer(replace(part.request, idempotency_key="", reuse="never"))
        if parts is not None:
            first = replace(first, epsilon=first.epsilon + parts.epsilon, delta=first.delta + parts.delta)
    if accuracy.reached(first) <= accuracy.wanted:
        return first
    try:
        spent = max(part.first_epsilon, first.epsilon)
        returns = 0.0 if part.most.whose == OF_BUDGET else spent
        rest = Most(part.most.epsilon - spent, OF_REST, returns)
        found = least(planning, part.request, accuracy, rest, AIM)
        if isinstance(found, Unknown):
            raise found.refusal
        second = answer(replace(part.request, epsilon=found.epsilon))
    except (QueryFailed, CancelledByClient, LedgerInvalid, LedgerUnavailable):
        raise  # the second was charged, or may have been, which the first answer would hide
    except CancelledEarly as error:
        raise CancelledByClient(
            "the question was cancelled after its first answer was charged",
            hint="that answer is cached: the same question continues from it",
        ) from error
    except (ServerError, PlannerError) as error:
        way = "" if error.hint is None else f"; {error.hint}"
        told = f"This is the first of two releases, as the second was refused: {error.message}{way}."
        return replace(first, notes=(told, *first.notes))
    note = (
        f"Two releases were made and charged: epsilon {first.epsilon:g} to learn what the accuracy needs, and epsilon"
        f" {second.epsilon:g} for this answer."
    )
    both = second.epsilon + first.epsilon, second.delta + first.delta
    return replace(second, epsilon=both[0], delta=both[1], notes=(note, *second.notes))


def with_reached(answer: QueryResponse, request: QueryRequest) -> QueryResponse:
    """Add a note that says whether the answer reaches its accuracy target."""
    accuracy = accuracy_of(request)
    if answer.covers == "exact":
        return answer
    reached = worst_relative_error(answer) if accuracy.is_relative else worst_error(answer)
    n_clipped, n_rows = sum(answer.clipped), len(answer.rows)
    if math.isinf(reached):
        why = "all rows are marked clipped" if 0 < n_clipped == n_rows else "an interval is open, or a value is 0"
        told = f"You asked for {accuracy}; no row shows whether it is reached: {why}."
        return replace(answer, notes=(f"{told} {_AGAIN}", *answer.notes))
    said = f"{100 * reached:.3g}%" if accuracy.is_relative else f"{reached:,.4g}"
    short = "" if reached <= accuracy.wanted else f", which is too much. {_AGAIN.removesuffix('.')}"
    note = f"You asked for {accuracy}; the worst interval that counts has {said}{short}."
    if n_clipped and accuracy.is_relative:
        note += f" {n_clipped:,} of {n_rows:,} rows are marked clipped and do not count."
    return replace(answer, notes=(note, *answer.notes))


def explained_target(found: AtOnce | FirstPart, accuracy: Accuracy, *, derived: bool) -> str:
    """Return EXPLAIN's sentence about what will be spent for the accuracy, and why.

    Args:
      derived: is the answer derived from paid ones, so that nothing is measured?
    """
    if derived and isinstance(found, AtOnce):
        return f"For {accuracy}: free (it is derived from answers that you have paid for; {found.proposal.reason})."
    if isinstance(found, AtOnce):
        proposal = found.proposal
        cost = (
            "free" if not proposal.charge else f"epsilon {proposal.charge:g}, the least that is expected to be enough"
        )
        return f"For {accuracy}: {cost} ({proposal.reason})."
    return (
        f"For {accuracy}: up to epsilon {found.most.epsilon:g}, the most that {found.most.whose}. Nothing known tells"
        f" what it needs, so two releases are made and charged: first epsilon {found.first_epsilon:g}, which is"
        " explained here, then what its answer shows to be needed."
    )
