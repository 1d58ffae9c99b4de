"""How the mechanism of a plan measures each of its releases, COUNT(DISTINCT x) and ranks included.

In: a Plan, which names the mechanism (`mechanism_choice.py`), and the policy. Out: measurements of `privacy`, made
before anything is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from planner.errors import InvalidSetting
from planner.plan import Centre, Deviation, Plan, Products, Release, normalised
from planner.planning.mechanism_choice import MOST_BOUND
from planner.policy.policy import Policy
from privacy.errors import InvalidParameter
from privacy.mechanisms import sums
from privacy.mechanisms.joint_scale import finer
from privacy.mechanisms.measurement import ServedGroupMeasurement, ServedMeasurement
from privacy.mechanisms.partition_selection import GroupThreshold, VoteThreshold
from privacy.mechanisms.rank import Rank
from privacy.mechanisms.rank_release import RankBatch, RankRelease
from privacy.mechanisms.rank_rows import Sharing
from privacy.papers.key_counts import KeyCounts
from privacy.registry import (
    MECHANISMS,
    AllGroups,
    EachGroup,
    JointMechanism,
    counts_values,
    group_measurements,
    key_counts,
    measurement,
)
from privacy.sampling.design import SampleDesign
from privacy.thresholds import useful_thresholds
from privacy.truncation.solver_name import SolverName

AnyRelease = ServedMeasurement | ServedGroupMeasurement | RankRelease | KeyCounts
"""What may measure one release of a plan."""


def measurements(plan: Plan, policy: Policy) -> tuple[AnyRelease, ...]:
    """The measurement of each release, from public quantities.

    A count of values needs no selection if each unit has at most one value. Its threshold is then 1.

    Raises: InvalidSetting for an epsilon and a delta that the mechanism cannot use.
    """
    together = iter(_together(plan, policy.solver))
    joint = isinstance(MECHANISMS[plan.mechanism], JointMechanism)
    if plan.counts_units:
        return _by_key(plan)
    ranks = _ranks(plan, policy.solver)
    return tuple(
        ranks.get(place) or (next(together) if joint and release.is_sum else _alone(release, plan, policy))
        for place, release in enumerate(plan.releases)
    )


def _by_key(plan: Plan) -> tuple[KeyCounts, ...]:
    """Raises: InvalidSetting for an epsilon out of range."""
    bounds = plan.bounds.groups, plan.bounds.rule
    try:
        return tuple(key_counts(plan.mechanism, one.epsilon, *bounds) for one in plan.releases)
    except InvalidParameter as error:
        hint = "use another epsilon or another mechanism"
        raise InvalidSetting(f"{plan.mechanism} does not work with this epsilon", hint=hint) from error


def _together(plan: Plan, solver: SolverName) -> tuple[ServedGroupMeasurement, ...]:
    """The sums of a plan that measures all groups together, with one budget for all of them.

    Raises: InvalidSetting for an epsilon and a delta that are too small for the mechanism.
    """
    rows = [place for place, release in enumerate(plan.releases) if release.is_sum]
    summed = [_sum(plan, plan.releases[place], rows) for place in rows]
    if not isinstance(MECHANISMS[plan.mechanism], JointMechanism) or not summed:
        return ()
    alone = len(plan.releases) == 1 and plan.selection is None
    design = _design(plan) if alone or not plan.release_delta else None  # shares of pure losses add up, others do not
    try:
        bounds = plan.release_delta, plan.bounds.groups
        return group_measurements(plan.mechanism, AllGroups(summed, *bounds, design, solver))
    except InvalidParameter as error:
        hint = "use more epsilon or delta, fewer aggregates, or another mechanism"
        raise InvalidSetting(f"this epsilon and delta are too small for {plan.mechanism}", hint=hint) from error


def _sum(plan: Plan, release: Release, rows: Sequence[int]) -> sums.Sum:
    """A release of a sum; `rows` are the places of the releases whose weights the join tuples carry."""
    thresholds, gap = plan.thresholds(release), plan.gap(release)
    signed = [place for place in rows if plan.releases[place].less is not None]
    less = None if release.less is None else len(rows) + [plan.releases[place] for place in signed].index(release)
    if plan.named_threshold(release) is not None:
        return sums.Sum(release.epsilon, gap, thresholds, less=less, counted=_counted(release))
    if isinstance(release.around, Products):
        thresholds = finer(thresholds)
    most = plan.largest_contribution(release)
    bound = None if most is None or most > MOST_BOUND or plan.group_keys or plan.sampling else most
    around = _around(plan, release, rows)
    return sums.Sum(
        release.epsilon,
        gap,
        thresholds,
        around,
        bound,
        less,
        plan.nested(release),
        capped=plan.is_capped(release),
        alone=release.alone,
    )


def _counted(release: Release) -> sums.Counted | None:
    """How the people above the policy's `clip` are counted; None if they are not."""
    bound = release.bound
    if bound is None or not bound.counted:
        return None
    return sums.Counted(None if bound.at_most is None else normalised(bound.at_most, release))


def _around(plan: Plan, release: Release, rows: Sequence[int]) -> sums.Around | None:
    one = release.around
    if one is None:
        return None
    count = rows.index(one.count)
    if isinstance(one, Centre):
        return sums.Centre(count)
    if isinstance(one, Deviation):
        return sums.Deviation(rows.index(one.centre), count)
    x, y = ((rows.index(place), plan.releases[place].weight_bound) for place in (one.x, one.y))
    return sums.Products(x, y, count, release.weight_bound, plan.bounds.tuples == 1)


def _ranks(plan: Plan, solver: SolverName) -> dict[int, RankRelease]:
    """The ranks of a plan by place; ranks of the same rows share a batch."""
    batches: dict[object, list[int]] = {}
    for place, release in enumerate(plan.releases):
        if release.ranked is not None:
            side = release.ranked.rank.highest if release.ranked.rank.quantile is None else None
            key = release.ranked.place, release.weight, release.ranked.grid, side
            batches.setdefault(key, []).append(place)
    made = {}
    for places in batches.values():
        batch = _batch(plan, [plan.releases[place] for place in places], solver)
        made.update({place: RankRelease(batch, turn) for turn, place in enumerate(places)})
    return made


def _batch(plan: Plan, releases: Sequence[Release], solver: SolverName) -> RankBatch:
    ranked = [release.ranked for release in releases if release.ranked is not None]
    ranks = tuple(Rank(one.rank.quantile, one.rank.beyond or 0, one.rank.highest) for one in ranked)
    epsilon = releases[0].epsilon * len(releases)
    while Fraction(repr(epsilon)) > sum(Fraction(repr(release.epsilon)) for release in releases):
        epsilon = math.nextafter(epsilon, 0.0)
    thresholds = useful_thresholds(True, plan.bounds.tuples)
    return RankBatch(
        epsilon,
        ranks,
        ranked[0].grid.n_codes,
        thresholds,
        one_group=_in_one_group(plan),
        sharing=None if len(plan.owners) == 1 else _sharing(plan, releases[0], solver),
    )


def _sharing(plan: Plan, release: Release, solver: SolverName) -> Sharing:
    reached = None if plan.bounds.rule is not None else plan.bounds.groups  # the rule is for sums
    return Sharing(plan.gap(release), reached if plan.group_keys else 1, solver)


def _in_one_group(plan: Plan) -> bool:
    """Is it proved that a unit is in one group? The administrator's rule proves nothing here: it applies to sums."""
    return not plan.group_keys or (plan.bounds.groups == 1 and plan.bounds.rule is None)


def _alone(release: Release, plan: Plan, policy: Policy) -> ServedMeasurement | ServedGroupMeasurement:
    """A release of each group's truncated answer, with its share of epsilon and no delta.

    Values that add up over units in several groups are released as what a unit adds to all groups together.
    """
    if plan.adds_up(release):
        summed = sums.Sum(release.epsilon, 0.0, plan.thresholds(release), nested=True)
        return group_measurements("l1_clip", AllGroups([summed], 0.0))[0]
    ruled = plan.bounds.rule is not None and release.distinct is not None  # the rule is for sums
    return measurement(
        "fixed" if release.determined else counts_values(plan.mechanism),
        EachGroup(
            epsilon=release.epsilon,
            groups_per_unit=None if ruled else plan.bounds.groups,
            gap=plan.gap(release),
            global_sensitivity=policy.global_sensitivity,
            whole=release.whole,
            tuples_per_unit=plan.bounds.tuples,
            sample=_design(plan),
            adds_at_most=plan.adds_at_most(release),
            nested=plan.nested(release),
        ),
    )


def _design(plan: Plan) -> SampleDesign | None:
    """The sample that all releases share, if tuples are drawn independently and Delta is public."""
    if plan.sampling is None or not plan.sampling.amplifies or plan.bounds.tuples is None:
        return None
    return SampleDesign(plan.sampling.rate, plan.bounds.tuples, plan.epsilon)


def threshold_of(plan: Plan) -> GroupThreshold | VoteThreshold | None:
    """The release that decides which groups are shown. It claims no amplification: a sample has fewer units."""
    if plan.selection is None:
        return None
    one = plan.selection
    if one.votes:
        return VoteThreshold(one.epsilon, one.delta, one.minimum)
    return GroupThreshold(one.epsilon, one.delta, plan.bounds.groups, plan.selection_gap, one.minimum)
