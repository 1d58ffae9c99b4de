"""The question about what is open alone: the same question of those days, at the epsilon that makes it as accurate.

In the whole question a person's rows are spread over all groups that the person may reach, and noise in each group is
for all of them. The open part has fewer groups. So the same noise takes less epsilon, and no more than that is asked:
whoever wants more accuracy asks the whole question with another epsilon, and nothing of it is kept. Mechanisms that
bound the length of a person's vector over all groups add the same noise at the same threshold, but a threshold for
fewer groups is lower: by the root of their share, if people are spread evenly. Those that bound what a person adds to
all groups together have one that is lower by their share. No privacy hangs on that, as on no
choice of an epsilon by what is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from planner.errors import PlannerError
from planner.plan import BackendQuery, Plan
from planner.planning.answer_times import least_epsilon, rounded_up
from planner.planning.contribution_bounds import CLIPPING
from planner.policy.policy import Policy
from planner.reuse.period_scope import MOST_RUNS, PeriodScope
from privacy.exact import groups_reached
from privacy.registry import MECHANISMS
from server.answers.periods.day_pieces import Days
from server.backends.columns import Domain
from server.planning import Planning
from server.query import QueryRequest
from server.question import Question
from server.workers.group_limits import is_in_range
from server.workers.measure import groups_of_kinds

_STEPS = 20  # of bisection
_ROUNDING = 1 + 1e-6
_NEAR = 1.001
"""As near as an epsilon is looked for."""


At = Callable[[float], Question]
"""A question at an epsilon. Raises: PlannerError for one that it cannot be asked at."""


def question_of_days(
    planning: Planning,
    question: Question,
    request: QueryRequest,
    scope: PeriodScope,
    days: Days,
    wanted: Collection[tuple[object, ...]],
    epsilon_of: Callable[[At, Domain], float | None],
    name: str,
) -> tuple[Question, QueryRequest] | None:
    """The same question of some days alone, and the request that asks it.

    Args:
      planning: plans it, and reads its public groups.
      question, request, scope: the whole one.
      days: in order.
      wanted: its groups on these days.
      epsilon_of: the epsilon, by the question at one and its groups; None where none does.
      name: of the part, for who sends the request again under its key.
    Returns: None where it is not certain to be the same question of other days, or no epsilon does.
    Cost: some twenty plans, and a read of public tables.
    """
    if len(days) > MOST_RUNS or any(run == (None, None) for run in days):
        return None
    assert question.bound is not None, "its scope was found by it"
    narrowed = scope.narrowed(question.bound, days)
    key = f"{request.idempotency_key}#{name}" if request.idempotency_key else ""
    chosen = question.plan.mechanism
    mechanism = chosen if MECHANISMS[chosen].offered else request.mechanism  # the planner's own choice it makes again
    asked = replace(request, mechanism=mechanism, idempotency_key=key)

    def at(epsilon: float, query: BackendQuery | None = None) -> Question:
        wished = replace(asked, epsilon=epsilon)
        return planning.of_bound(narrowed, wished, data_version=question.data_version, query=query)

    try:
        most = at(question.plan.epsilon)
        found = planning.groups_of(most, request.analyst)
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
        kinds = tuple((one.relation, one.determines) for one in plan.bounds.kinds)
        # rows without a date, or beyond the declared range, are in no group of either
        keys = tuple(replace(key, omitted=None, within=()) for key in plan.group_keys)
        return releases, plan.owners, keys, plan.mechanism, plan.selection is None, kinds

    return told(whole) == told(part) and part.sampling is None


def lower_thresholds(whole: Plan, domain: Domain, part: Plan, groups: Domain) -> float:
    """How much lower a threshold for some groups is than for all, where it bounds what a person adds to all of them.

    Args:
      whole, domain: the question of all groups, and these.
      part, groups: the same question of some.
    """
    mechanism = whole.mechanism
    if mechanism not in CLIPPING and not MECHANISMS[mechanism].bounds_vector:
        return 1.0
    reached = groups_reached(whole.bounds.groups, len(domain)) / groups_reached(part.bounds.groups, len(groups))
    return max(1.0, reached if mechanism in CLIPPING else math.sqrt(reached))


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
    measuring = question.measuring.of_kinds(groups_of_kinds(question.plan.bounds.kinds, domain))
    return [dict(one.expected_noise(len(domain))) for one in measuring.releases]
