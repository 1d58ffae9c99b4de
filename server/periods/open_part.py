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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.binding.bound_query import BoundQuery
from planner.errors import PlannerError
from planner.group_domains.day_conditions import Run, joined_runs
from planner.periods.period_scope import MOST_RUNS, PeriodScope
from planner.plan import BackendQuery, Plan
from planner.planning.answer_times import least_epsilon, rounded_up
from planner.policy.policy import Policy
from privacy.registry import MECHANISMS
from server.backends.columns import Domain
from server.periods.kept_parts import Split, values_at
from server.query import QueryRequest
from server.question import Question
from server.workers.group_limits import is_in_range
from server.workers.measure import groups_of_kinds

_STEPS = 20  # of bisection
_ROUNDING = 1 + 1e-6
_NEAR = 1.001
"""As near as an epsilon is looked for."""


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


PlanBound = Callable[[BoundQuery, QueryRequest, BackendQuery | None], Question]
"""Plans a bound question for a request; with the query of another epsilon's it is only looked at, and not asked."""
PlanPart = Callable[[BoundQuery, QueryRequest, int, BackendQuery | None], Question]
"""The same at a version of the data."""
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
    fresh = set(split.fresh)
    wanted = {group for group in domain.groups if values_at(group, scope.places) in fresh}
    return question_of_days(
        question,
        bound,
        request,
        scope,
        runs,
        wanted,
        plan_bound,
        groups,
        lambda at, found: _epsilon(question, domain, at, found, policy),
    )


At = Callable[[float], Question]
"""A question at an epsilon. Raises: PlannerError for one that it cannot be asked at."""


def question_of_days(
    question: Question,
    bound: BoundQuery,
    request: QueryRequest,
    scope: PeriodScope,
    days: tuple[Run, ...],
    wanted: Collection[tuple[object, ...]],
    plan_bound: PlanBound,
    groups: Groups,
    epsilon_of: Callable[[At, Domain], float | None],
    name: str = "open",
) -> tuple[Question, QueryRequest] | None:
    """The same question of some days alone, and the request that asks it.

    Args:
      question, bound, request, scope: the whole one.
      days: in order.
      wanted: its groups on these days.
      plan_bound, groups: as of `open_part`.
      epsilon_of: the epsilon, by the question at one and its groups; None where none does.
      name: of the part, for who sends the request again under its key.
    Returns: None where it is not certain to be the same question of other days, or no epsilon does.
    """
    if len(days) > MOST_RUNS or any(run == (None, None) for run in days):
        return None
    narrowed = scope.narrowed(bound, days)
    key = f"{request.idempotency_key}#{name}" if request.idempotency_key else ""
    chosen = question.plan.mechanism
    mechanism = chosen if MECHANISMS[chosen].offered else request.mechanism  # the planner's own choice it makes again
    asked = replace(request, mechanism=mechanism, idempotency_key=key)

    def at(epsilon: float, query: BackendQuery | None = None) -> Question:
        return plan_bound(narrowed, replace(asked, epsilon=epsilon), query)

    try:
        most = at(question.plan.epsilon)
        found = groups(most.query) if most.plan.group_keys else Domain(())
        if not _same(question.plan, most.plan) or set(found.groups) != set(wanted):
            return None
        epsilon = epsilon_of(lambda tried: at(tried, most.query), found)
        if epsilon is None:
            return None
        part = most if epsilon == question.plan.epsilon else at(epsilon)
        return part, replace(asked, epsilon=epsilon)
    except PlannerError:
        return None


def _same(whole: Plan, part: Plan) -> bool:
    """Does the part release the same of its days as the whole of all?"""

    def told(plan: Plan) -> tuple[object, ...]:
        releases = tuple(replace(release, epsilon=1.0) for release in plan.releases)
        kinds = tuple((one.relation, one.determines) for one in plan.kinds)
        # rows without a date, or beyond the declared range, are in no group of either
        keys = tuple(replace(key, omitted=None, within=()) for key in plan.group_keys)
        return releases, plan.owners, keys, plan.mechanism, plan.selection is None, kinds

    return told(whole) == told(part) and part.sampling is None


def _epsilon(
    question: Question, domain: Domain, at: Callable[[float], Question], groups: Domain, policy: Policy
) -> float:
    """The least epsilon with which no release is noisier, at a threshold that does as much, than within the whole."""
    most = question.plan.epsilon
    if any(release.ranked is not None for release in question.plan.releases):
        return most  # what noise means for a rank depends on the data
    wanted, lower = expected_noise(question, domain), lower_thresholds(question.plan, domain, groups)

    def excess(asked: Question) -> float:
        return wider_than(expected_noise(asked, groups), wanted, lower)

    return least_that_does(question.plan, at, groups, policy, excess) or most


def lower_thresholds(plan: Plan, domain: Domain, groups: Domain) -> float:
    """How much lower a threshold for some groups is than for all, where it bounds the length of a vector."""
    if not MECHANISMS[plan.mechanism].bounds_vector:
        return 1.0
    more = max(1.0, len(domain) / max(1, len(groups)))
    return more if plan.mechanism == "l1_clip" else math.sqrt(more)


Noises = Sequence[Mapping[float, float]]
"""Per release, half the width of an interval at each threshold."""


def wider_than(part: Noises, whole: Noises, lower: float) -> float:
    """How many times wider a part's releases are, at any threshold, than the whole's at one so much larger."""
    if any(one.keys() != other.keys() for one, other in zip(part, whole, strict=True)):
        return math.inf
    pairs = [(one[tau], other[tau] * lower) for one, other in zip(part, whole, strict=True) for tau in one]
    noisy = [(own, most) for own, most in pairs if own > 0]  # a centre has no noise of its own
    return max((own / most if most > 0 else math.inf for own, most in noisy), default=math.inf)


def least_that_does(
    plan: Plan, at: At, groups: Domain, policy: Policy, excess: Callable[[Question], float]
) -> float | None:
    """The least epsilon, up to a plan's own, at which a question is accurate enough; by public numbers alone.

    Args:
      plan: of the whole question.
      at: the question at an epsilon.
      groups: its groups.
      policy: says the least epsilon.
      excess: how many times too wide it is; about in proportion to 1 / epsilon.
    Returns: rounded up; None where the plan's own does not do.
    Cost: some five plans; some twenty where noise is not in proportion.
    """
    most = plan.epsilon
    least = min(most, least_epsilon(plan.size, policy.side_channels, policy.max_epsilon))

    def too_wide(epsilon: float) -> float:
        try:
            asked = at(epsilon)
        except PlannerError:  # too small for the mechanism
            return math.inf
        return excess(asked) if is_in_range(asked.plan, asked.query, asked.measuring, len(groups)) else math.inf

    wide = too_wide(most)
    if wide > _ROUNDING:
        return None
    low, high, guess = least, most, max(least, most * wide)
    for _ in range(_STEPS):
        if high <= low * _NEAR:
            break
        wide = too_wide(guess)
        if wide <= _ROUNDING:
            high = guess
            if wide > 1 / _NEAR or guess <= least:
                break
        else:
            low = guess
        guess *= wide * (1 if wide <= _ROUNDING else _ROUNDING)
        if not low < guess < high:  # it is not in proportion, or ends somewhere
            guess = math.sqrt(low * high)
    nearly = float(f"{high:.3g}")  # 1 rather than 1.01, where 1.0000001 was found to be enough
    return min(most, nearly if nearly < high and too_wide(nearly) <= _ROUNDING else rounded_up(high))


def expected_noise(question: Question, domain: Domain) -> list[dict[float, float]]:
    """Per release, how wide half an interval is at each threshold: public."""
    measuring = question.measuring.of_kinds(groups_of_kinds(question.plan.kinds, domain))
    return [dict(one.expected_noise(len(domain))) for one in measuring.releases]
