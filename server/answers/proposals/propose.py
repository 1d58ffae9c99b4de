"""Propose the smallest epsilon that reaches an accuracy target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.planning.answer_times import least_epsilon, rounded_up
from privacy.registry import MECHANISMS
from server.answers.proposals.accuracy import Accuracy, Basis, Proposal, widest, worst_relative_error
from server.answers.proposals.expectation import NOBODY, Known, expected_answer, known_answers, worst_answer
from server.backends.columns import Domain, has_no_group
from server.errors import NoProposal
from server.planning import Planning
from server.query import QueryRequest, QueryResponse
from server.question import Question
from server.results.response import response
from server.workers.group_limits import is_in_range

_STEPS = 24  # of bisection, over four to five orders of magnitude
_ASK_FIRST = (
    "ask once with a small epsilon, and a proposal can use that answer; a question with `max_relative_error` or"
    " `max_absolute_error` does both (`noisegate query`: add --yes)"
)


def propose(planning: Planning, request: QueryRequest, accuracy: Accuracy) -> Proposal:
    """Find the smallest epsilon from public facts and the analyst's own answers.

    Raises: NoProposal where nothing known bounds the noise, or no permitted epsilon is enough; PlannerError.
    Cost: some 25 plans; reads no private row.
    """
    found = least(planning, request, accuracy, Most(planning.policy.max_epsilon, OF_POLICY))
    if isinstance(found, Unknown):
        raise found.refusal
    return found


OF_POLICY = "the policy allows one question"
OF_QUESTION = "you allow this question"
OF_BUDGET = "is left of your budget"
OF_REST = "is left for this question after its first release"
_MORE = {
    OF_QUESTION: ", or allow it more epsilon",
    OF_BUDGET: ", or ask an administrator for more budget",
    OF_REST: ", or allow it more epsilon",
}


@dataclass(frozen=True)
class Most:
    """The most that a question may spend.

    Attributes:
      epsilon: > 0, at most the policy's.
      whose: why not more, after "the most that".
      spent: by a first release, which is cached. The next request continues from it, and has that much more to spend.
    """

    epsilon: float
    whose: str
    spent: float = 0.0


@dataclass(frozen=True)
class Unknown:
    """A question whose interval widths are neither public nor known from an answer.

    Attributes:
      question: at the most that may be spent.
      answered: has the analyst an earlier answer?
      refusal: why, and what to do.
    """

    question: Question
    answered: bool
    refusal: NoProposal


def least(
    planning: Planning, request: QueryRequest, accuracy: Accuracy, limit: Most, aim: float = 1.0
) -> Proposal | Unknown:
    """Find the smallest epsilon up to a limit, as `propose`.

    Args:
      limit: the most, and its name in a refusal.
      aim: the share of the target that is aimed at with an earlier answer, in (0, 1]; 1 where that share cannot be
        reached.
    Raises: as `propose`, except for what is Unknown.
    """
    policy = planning.policy

    def question_at(epsilon: float) -> Question:
        return planning.question(replace(request, epsilon=epsilon))

    most = question_at(limit.epsilon)
    if most.only_names_groups:
        raise NoProposal("listing groups is exact and free", hint="ask the question without a proposal")
    if any(release.ranked is not None for release in most.plan.releases):
        hint = "the width of a quantile or extreme depends on the data; EXPLAIN shows how many rows it may miss by"
        raise NoProposal("an epsilon cannot be proposed for quantiles and extremes", hint=hint)
    if not MECHANISMS[most.plan.mechanism].two_sided or most.plan.sampling is not None:
        hint = "leave mechanism and sampling_rate out"
        raise NoProposal(
            "an epsilon can be proposed only for two-sided intervals and all rows, without sampling", hint=hint
        )
    all_known = known_answers(planning.ledger, request.analyst, most.plan_hash)
    known = all_known[0] if all_known else None
    left = planning.ledger.budget(request.analyst).epsilon_left
    if known is None and accuracy.is_relative:
        why = "a relative error depends on a value that has not been released to you"
        return Unknown(most, False, NoProposal(why, hint=_ASK_FIRST))
    for one in all_known:
        own = question_at(one.epsilon) if one.epsilon <= policy.max_epsilon else most
        if own.answer_key == one.answer_key and accuracy.reached(_told(own, one)) <= accuracy.wanted:
            return _proposal(own, _told(own, one), one, left)
    domain = planning.groups(most.query, request.analyst) if most.plan.group_keys else Domain(())
    if has_no_group(most.query, domain):
        raise NoProposal(
            "the question has no groups, so its answer is free", hint="ask the question without a proposal"
        )
    n_groups = len(domain)
    expect = _expectation(known, domain)
    best = accuracy.reached(expect(most))
    if math.isinf(best):
        return Unknown(most, known is not None, _unknown(known))
    if best > accuracy.wanted:
        raise _too_little(accuracy, limit, best, policy.max_epsilon)
    wanted = accuracy.wanted * aim if known is not None and best <= accuracy.wanted * aim else accuracy.wanted

    def enough(epsilon: float) -> bool:
        asked = question_at(epsilon)
        if not is_in_range(asked.plan, asked.query, asked.measuring, n_groups):
            return False  # it would be refused
        return accuracy.reached(expect(asked)) <= wanted

    smallest = least_epsilon(most.plan.size, policy.side_channels, policy.max_epsilon)
    question = question_at(_smallest(enough, min(smallest, limit.epsilon), limit.epsilon))
    return _proposal(question, expect(question), known, left)


def _too_little(accuracy: Accuracy, limit: Most, best: float, max_epsilon: float) -> NoProposal:
    """Return a refusal with what the limit reaches and the epsilon needed, noise being as 1 / epsilon."""
    needed, reached = rounded_up(limit.epsilon * best / accuracy.wanted, 2), rounded_up(best, 2)
    more = f"about epsilon {needed:g} would be needed"
    if needed > max_epsilon:
        more = f"{more}, more than the {max_epsilon:g} that the policy allows one question"
    wished = accuracy.shown(accuracy.wanted)
    less = f"ask for {accuracy.shown(reached)}, or about fewer or larger groups"
    if needed <= min(limit.epsilon + limit.spent, max_epsilon):
        hint = f"ask the same again: it continues from that release and may spend epsilon {needed:g}; or {less}"
    else:
        hint = less + (_MORE.get(limit.whose, "") if needed <= max_epsilon else "")
    return NoProposal(
        f"the answer would be right within about {accuracy.shown(reached)}, not {wished}, at epsilon"
        f" {limit.epsilon:g}, the most that {limit.whose}: {more}",
        hint=hint,
    )


def _unknown(known: Known | None) -> NoProposal:
    """Return a refusal where known answers tell nothing."""
    if known is None:
        return NoProposal(
            "the width of intervals depends on values that have not been released to you", hint=_ASK_FIRST
        )
    hint = f"ask once with a larger epsilon than {known.epsilon:g}, the epsilon of that answer"
    return NoProposal(f"your answer of charge {known.number} is too imprecise, or its intervals are open", hint=hint)


def _told(question: Question, known: Known) -> QueryResponse:
    return response(question.plan, known.released.domain, known.released.noisy, NOBODY, "")


def _expectation(known: Known | None, domain: Domain) -> Callable[[Question], QueryResponse]:
    if known is None:
        return lambda question: worst_answer(question, domain)
    return lambda question: expected_answer(question, known.released)


def _smallest(enough: Callable[[float], bool], least: float, most: float) -> float:
    """Return the smallest epsilon that is enough, up to three digits. `most` is enough, and more is never worse."""
    low, high = math.log(least), math.log(most)
    if enough(least):
        return least
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return min(most, rounded_up(math.exp(high)))


def _proposal(question: Question, answer: QueryResponse, known: Known | None, epsilon_left: float) -> Proposal:
    cached = known is not None and known.answer_key == question.answer_key
    relative = math.inf if known is None else worst_relative_error(answer)
    basis: Basis = "public" if known is None else "kept" if cached else "released"
    return Proposal(
        epsilon=question.plan.epsilon,
        delta=question.plan.delta,
        charge=0.0 if cached else question.plan.epsilon,
        epsilon_left=epsilon_left,
        interval_width=widest(answer),
        relative_error=relative if math.isfinite(relative) else None,
        basis=basis,
        reason=_reason(question, known, basis),
    )


def _reason(question: Question, known: Known | None, basis: Basis) -> str:
    if known is None:
        bound = question.plan.bounds.tuples
        why = "one person changes one value" if bound is None else f"one person has at most {bound} rows of the join"
        return f"holds for all data: {why}"
    if basis == "kept":
        return f"you have this answer already (charge {known.number}): asking for it again is free"
    return (
        f"expected from your answer of charge {known.number}, if the same clipping threshold is chosen; "
        "a larger epsilon may choose a larger one, with more noise"
    )
