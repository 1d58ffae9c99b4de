"""Sentences for EXPLAIN: the reasons for mechanisms, noise, groups and samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner.plan import Plan, Release
from planner.planning.contribution_bounds import amount_of
from planner.planning.measurements import AnyRelease
from privacy.mechanisms.partition_selection import VoteThreshold
from privacy.mechanisms.rank_release import RankRelease
from privacy.mechanisms.sums import GroupsOfKinds
from privacy.registry import MECHANISMS, measures_together
from privacy.sampling.scale_up import Advice, Noisy, advice
from server.query import ReleaseMechanism
from server.workers.measure import Measuring


def release_mechanisms(plan: Plan, measuring: Measuring, n_groups: int) -> tuple[ReleaseMechanism, ...]:
    """The mechanism of each release, partition selection first; for ranks with their error for `n_groups` public
    groups.
    """
    first = []
    if plan.selection is not None and measuring.threshold is not None:
        reason = "selects the groups that are shown" if plan.group_keys else "determines whether the answer is shown"
        spent = plan.selection.epsilon, reason, plan.selection.delta
        counted = "votes of privacy units" if plan.selection.votes else "number of privacy units"
        first.append(ReleaseMechanism(counted, measuring.threshold.name, *spent))
    return (
        *first,
        *(
            ReleaseMechanism(
                release.label,
                measured.name,
                release.epsilon,
                _clipped(release) or MECHANISMS[measured.name].reason + _rows_off(measured, n_groups),
                plan.release_delta if measures_together(measured) else 0.0,
            )
            for release, measured in zip(plan.releases, measuring.releases, strict=True)
        ),
    )


def _clipped(release: Release) -> str | None:
    """The clipping of a release whose threshold the policy declares; None for others."""
    bound = release.bound
    if bound is None or bound.chosen:
        return None
    declared = (
        ""
        if bound.at_most is None
        else f"; the policy declares that nobody has more than {amount_of(bound.at_most, release)}"
    )
    if bound.clip is None:
        return f"clips nothing, and adds noise for the policy's bound{declared}"
    counted = ", and a tenth of its epsilon counts the people who have more" if bound.counted else ""
    return f"counts {amount_of(bound.clip, release)} of each person, in all groups together{counted}{declared}"


def _rows_off(measured: AnyRelease, n_groups: int) -> str:
    """The error of a rank in rows, which is its noise."""
    if not isinstance(measured, RankRelease):
        return ""
    off = measured.batch.rows_off(1.0, n_groups)
    if measured.batch.is_extreme:
        return f", with an error of at most {off:,.3g} privacy units (95%)"
    if len(measured.batch.thresholds) == 1:
        return f", with an error of at most {off:,.3g} rows (95%)"
    return f", with an error of at most {off:,.3g} times the clipping threshold in rows (95%)"


def groups_reason(plan: Plan, n_groups: int, kinds: GroupsOfKinds = ()) -> str:
    """Why one unit reaches at most L0 groups, and the consequence for the noise.

    Args:
      n_groups: the number of public groups; L0 with partition selection, 1 without groups.
      kinds: how many of them the units of each relation reach, if that differs.
    """
    why = _reach_by_kind(plan, n_groups, kinds) if kinds and n_groups > 1 else _reach_reason(plan, n_groups)
    if plan.finds_any_number:
        return f"{why}; {_SHARED_BY_SELECTED if shared_by_selected(plan) else _VECTOR}"
    reached = n_groups if plan.bounds.groups is None else min(plan.bounds.groups, n_groups)
    reached = min(reached, max((own for _, own in kinds), default=reached))
    if plan.counts_units:
        return f"{why}; the noise hides all groups of one unit, up to {reached:,}"
    if not plan.group_keys or reached <= 1:
        return f"{why}; each group has all of its release's epsilon"
    if MECHANISMS[plan.mechanism].bounds_vector:
        return f"{why}; {_VECTOR}"
    if not plan.release_delta:
        return f"{why}; each group has 1/{reached} of its release's epsilon, so its noise is {reached} times as large"
    return f"{why}; the noise is Laplace or Gaussian, whichever is less for {reached} groups of a unit"


_VECTOR = "what it adds to all of them together is clipped as one vector"

_SHARED_BY_SELECTED = (
    "the shown groups share each release's epsilon. The noise is given for a single group: "
    "with n groups it is up to n times as large"
)


def shared_by_selected(plan: Plan) -> bool:
    """Whether the noise depends on the number of selected groups, which is unknown beforehand."""
    counts_values = any(release.distinct is not None for release in plan.releases)
    return plan.finds_any_number and (counts_values or not MECHANISMS[plan.mechanism].bounds_vector)


def _reach_reason(plan: Plan, n_groups: int) -> str:
    if not plan.group_keys:
        return "there is one group"
    public = not any(domain.selects_partitions for domain in plan.domains)
    if public and n_groups > 1 and plan.bounds.groups is not None and n_groups <= plan.bounds.groups:
        return "one unit may reach every group"
    if plan.bounds.rule is not None:
        rule = plan.bounds.rule
        return (
            f"the policy counts a unit's rows in at most {rule} group{'s' if rule > 1 else ''} and leaves out those "
            f"in others{_cut_by_rule(plan, rule, n_groups if public else None)}"
        )
    if plan.bounds.groups is None:
        return "a unit's key does not determine the group keys, so one unit may reach every group"
    if plan.bounds.groups == 1:
        return "a unit's key determines the group keys"
    return "a unit's key determines the group keys, once for each owner position"


def _reach_by_kind(plan: Plan, n_groups: int, kinds: GroupsOfKinds) -> str:
    """How many groups a unit of each relation reaches, and how much more units with fewer groups may add to each."""
    most = max(own for _, own in kinds)
    if len({own for _, own in kinds}) == 1:
        if most == 1 or most >= n_groups:
            return _reach_reason(plan, n_groups)
        return f"a unit's key determines some group keys, which leaves at most {most:,} of {n_groups:,} groups"
    each = " and ".join(f"{own:,} for one of {relation}" for relation, own in kinds)
    more = " and ".join(
        f"one of {relation} {_times(plan, most, own)} the contribution bound" for relation, own in kinds if own < most
    )
    return (
        f"by the group keys that its key determines, a unit reaches at most {each}; "
        f"as they reach fewer, {more} may count in each"
    )


def _times(plan: Plan, most: int, own: int) -> str:
    """By how much a kind's capacity exceeds tau (`privacy.mechanisms.sums`)."""
    pure = f"{most / own:.4g} times"
    return f"{pure} ({math.sqrt(most / own):.4g} times if noise is Gaussian)" if plan.release_delta else pure


def _cut_by_rule(plan: Plan, rule: int, n_groups: int | None) -> str:
    """How much the policy's group limit can clip a value, from public numbers; empty if it clips none."""
    if MECHANISMS[plan.mechanism].bounds_vector or not any(map(plan.is_ruled, plan.releases)):
        return ""
    if n_groups is None:
        return ". Any part of the true value may be left"
    return f". If units are in all {n_groups:,} groups, only {rule / n_groups:.2g} of the true value is left"


def selection_rule(plan: Plan, measuring: Measuring, n_groups: int) -> str | None:
    """Which groups are shown; None: all."""
    if measuring.threshold is None or plan.selection is None:
        return None
    least, noise = measuring.threshold.threshold(n_groups), measuring.threshold.noise_scale(n_groups)
    whose = "those whose" if plan.group_keys else "the answer, if its"
    counted = "votes" if plan.selection.votes else "privacy units"
    shown = f"{whose} noisy number of {counted} is at least {least:,.6g} (noise of scale {noise:,.4g})"
    if isinstance(measuring.threshold, VoteThreshold):
        shown += _votes(measuring.threshold)
    elif len(plan.owners) > 1:
        shown += ", counted over rows in which no unit occurs twice"
    reasons = []
    if plan.selection.delta:
        reasons.append(f"so a key of a single unit is shown with probability at most {plan.selection.delta:g}")
    if plan.selection.minimum is not None:
        reasons.append(f"because the policy withholds groups below {plan.selection.minimum:,}")
    return f"{shown}, {' and '.join(reasons)}"


def _votes(threshold: VoteThreshold) -> str:
    """What a vote is, and that no row is left out for it."""
    each = "1 / sqrt(k)" if threshold.is_gaussian else "1 / k"
    return (
        f"; a unit in k groups has {each} of a vote in each and votes in at most {threshold.most_voted:,} groups "
        "(L0); values count the rows of everybody in the shown groups"
    )


def sampling_advice(
    plan: Plan, sampled: Sequence[Noisy], whole: Sequence[Noisy], n_groups: int
) -> Iterator[tuple[str, str]]:
    """Each release's label and advice, from the declared fan-outs alone; nothing without an amplified sample.

    Args:
      sampled, whole: a measurement per release, of the sample and of all join tuples; `whole` may be empty.
      n_groups: the number of public groups; the advice is for one of them.
    """
    drawn, bound = plan.sampling, plan.bounds.tuples
    if drawn is None or bound is None or not drawn.amplifies or not whole:
        return
    for release, here, there in zip(plan.releases, sampled, whole, strict=True):
        yield release.label, _sentence(advice(here, there, bound, drawn.rate, n_groups), release.weight_bound)


def _sentence(found: Advice, unit: float) -> str:
    """The advice in the answer's unit."""
    error = (
        f"the sampling error is at most {unit * found.unit_sampling:,.4g} times the root of the number of rows (95%)"
    )
    if found.break_even == 0:
        return f"{error}; the sample only saves time, as its noise is no smaller than that of all rows"
    if math.isinf(found.break_even):
        return error
    return f"{error}; the sample is more accurate below {found.break_even:,.4g} rows, and only saves time above"
