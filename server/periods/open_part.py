"""The question about what is open alone: the same question of those days, at the epsilon that makes it as accurate.

In the whole question a person's rows are spread over all groups that the person may reach, and noise in each group is
for all of them. The open part has fewer groups. So the same noise takes less epsilon, and no more than that is asked:
whoever wants more accuracy asks the whole question with another epsilon, and nothing of it is kept. Mechanisms that
bound the length of a person's vector over all groups add the same noise at the same threshold, but a threshold for
fewer groups is lower: by the root of their share, if people are spread evenly. No privacy hangs on that, as on no
choice of an epsilon by what is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.binding.bound_query import BoundQuery
from planner.errors import PlannerError
from planner.periods.period_scope import MOST_RUNS, PeriodScope, Run, joined_runs
from planner.plan import BackendQuery, Plan
from planner.planning.answer_times import least_epsilon, rounded_up
from planner.policy.policy import Policy
from privacy.registry import MECHANISMS
from server.backends.columns import Domain
from server.periods.kept_parts import Split, values_at
from server.query import QueryRequest
from server.question import Question
from server.workers.group_limits import is_in_range
from server.workers.groups_of_kinds import groups_of_kinds

_STEPS = 20  # of bisection
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True)
class OpenPart:
    """The question about what is open.

    Attributes:
      question, request: what is asked, and how.
      split: what is kept beside it.
    """

    question: Question
    request: QueryRequest
    split: Split


PlanBound = Callable[[BoundQuery, QueryRequest], Question]
Groups = Callable[[BackendQuery], Domain]


def open_part(
    question: Question,
    bound: BoundQuery,
    request: QueryRequest,
    scope: PeriodScope,
    split: Split,
    domain: Domain,
    policy: Policy,
    plan_bound: PlanBound,
    groups: Groups,
) -> OpenPart | None:
    """The question of the days that are to be measured, and the request that asks it.

    Args:
      question, bound, request: the whole one.
      scope, split: of it; some values of the time keys are fresh.
      domain: its public groups.
      policy: says the least epsilon.
      plan_bound: plans a bound question for a request.
      groups: the public groups of a question.
    Returns: None where it is not certain to be the same question of other days.
    Cost: some twenty plans, and a read of public tables.
    """
    asked = _open_days(question, bound, request, scope, split, domain, policy, plan_bound, groups)
    if asked is not None:
        return OpenPart(*asked, split)
    wider = _without_gaps(split)
    if wider is None:
        return None
    asked = _open_days(question, bound, request, scope, wider, domain, policy, plan_bound, groups)
    return None if asked is None else OpenPart(*asked, wider)


def _without_gaps(split: Split) -> Split | None:
    """All from the first day that is to be measured to the last one, where the groups of gaps cannot be left out.

    Which groups a question has by conditions with OR on a moment is not known by these conditions.
    """
    runs = joined_runs([run for values in split.fresh for run in split.runs[values]])
    first, last = runs[0][0], runs[-1][1]
    fresh = set(split.fresh)
    for part in split.parts:
        for values in part.values:
            if all(_between(run, (first, last)) for run in split.runs[values]):
                fresh.add(values)
    parts = tuple(replace(part, values=part.values - fresh) for part in split.parts)
    kept = tuple(part for part in parts if part.values)
    return Split(kept, tuple(fresh), split.runs) if kept and len(fresh) > len(split.fresh) else None


def _between(run: Run, hull: Run) -> bool:
    begins = hull[0] is None or (run[0] is not None and run[0] >= hull[0])
    ends = hull[1] is None or (run[1] is not None and run[1] <= hull[1])
    return begins and ends


def _open_days(
    question: Question,
    bound: BoundQuery,
    request: QueryRequest,
    scope: PeriodScope,
    split: Split,
    domain: Domain,
    policy: Policy,
    plan_bound: PlanBound,
    groups: Groups,
) -> tuple[Question, QueryRequest] | None:
    """As `open_part`, of just the days that a split leaves."""
    runs = joined_runs([run for values in split.fresh for run in split.runs[values]])
    if len(runs) > MOST_RUNS or any(run == (None, None) for run in runs):
        return None
    narrowed = scope.narrowed(bound, runs)
    key = f"{request.idempotency_key}#open" if request.idempotency_key else ""
    name = question.plan.mechanism
    mechanism = name if MECHANISMS[name].offered else request.mechanism  # the planner's own choice it makes again
    asked = replace(request, mechanism=mechanism, idempotency_key=key)

    def at(epsilon: float) -> Question:
        return plan_bound(narrowed, replace(asked, epsilon=epsilon))

    fresh = set(split.fresh)
    wanted = {group for group in domain.groups if values_at(group, scope.places) in fresh}
    try:
        most = at(question.plan.epsilon)
        found = groups(most.query) if most.plan.group_keys else Domain(())
        if not _same(question.plan, most.plan) or set(found.groups) != wanted:
            return None
        epsilon = _epsilon(question, domain, at, found, policy)
        return at(epsilon), replace(asked, epsilon=epsilon)
    except PlannerError:
        return None


def _same(whole: Plan, part: Plan) -> bool:
    """Does the part release the same of its days as the whole of all?"""

    def told(plan: Plan) -> tuple[object, ...]:
        releases = tuple(replace(release, epsilon=1.0) for release in plan.releases)
        kinds = tuple((one.relation, one.determines) for one in plan.kinds)
        keys = tuple(replace(key, omitted=None) for key in plan.group_keys)  # rows without a date are on no day
        return releases, plan.owners, keys, plan.mechanism, plan.selection is None, plan.exchanges, kinds

    return told(whole) == told(part) and part.sampling is None


def _epsilon(
    question: Question, domain: Domain, at: Callable[[float], Question], groups: Domain, policy: Policy
) -> float:
    """The least epsilon with which no release is noisier, at a threshold that does as much, than within the whole."""
    most = question.plan.epsilon
    if any(release.ranked is not None for release in question.plan.releases):
        return most  # what noise means for a rank depends on the data
    wanted = _noise(question, domain)
    vectors = MECHANISMS[question.plan.mechanism].bounds_vector
    lower = math.sqrt(max(1.0, len(domain) / max(1, len(groups)))) if vectors else 1.0

    def enough(epsilon: float) -> bool:
        try:
            asked = at(epsilon)
        except PlannerError:  # too small for the mechanism
            return False
        if not is_in_range(asked.plan, asked.query, asked.measuring, len(groups)):
            return False
        found = _noise(asked, groups)
        return all(
            one.keys() == other.keys() and all(one[tau] <= other[tau] * lower * _ROUNDING for tau in one)
            for one, other in zip(found, wanted, strict=True)
        )

    least = least_epsilon(question.plan.size, policy.side_channels, policy.max_epsilon)
    if least >= most or not enough(most):
        return most
    if enough(least):
        return least
    low, high = math.log(least), math.log(most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    nearly = float(f"{math.exp(high):.3g}")  # 1 rather than 1.01, where 1.0000001 was found to be enough
    return min(most, nearly if enough(nearly) else rounded_up(math.exp(high)))


def _noise(question: Question, domain: Domain) -> list[dict[float, float]]:
    """Per release, how wide half an interval is at each threshold: public."""
    measuring = question.measuring.of_kinds(groups_of_kinds(question.plan.kinds, domain))
    return [dict(one.expected_noise(len(domain))) for one in measuring.releases]
