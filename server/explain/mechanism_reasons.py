"""Sentences for EXPLAIN: why a release has its mechanism and noise, why groups are not shown, what a sample does."""

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
    """What releases each number, the selection of groups first; how far ranks are off for so many public groups."""
    first = []
    if plan.selection is not None and measuring.threshold is not None:
        reason = "decides which groups are shown" if plan.group_keys else "decides whether the answer is shown"
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
    """What becomes of a release whose threshold the policy names; None of any other."""
    bound = release.bound
    if bound is None:
        return None
    promised = (
        ""
        if bound.at_most is None
        else f"; the policy says that nobody has more than {amount_of(bound.at_most, release)}"
    )
    if bound.clip is None:
        return f"counts everything of everybody, in all groups together, with noise for that{promised}"
    counted = ", and a tenth of its epsilon counts who has more" if bound.counted else ""
    return f"counts {amount_of(bound.clip, release)} of each person, in all groups together{counted}{promised}"


def _rows_off(measured: AnyRelease, n_groups: int) -> str:
    """By how much a rank is off, which is what its noise is."""
    if not isinstance(measured, RankRelease):
        return ""
    off = measured.batch.rows_off(1.0, n_groups)
    if measured.batch.is_extreme:
        return f", which it misses by {off:,.3g} privacy units at most (95%)"
    if len(measured.batch.thresholds) == 1:
        return f", which it misses by {off:,.3g} rows at most (95%)"
    return f", which it misses by {off:,.3g} times the contribution bound in rows at most (95%)"


def groups_reason(plan: Plan, n_groups: int, kinds: GroupsOfKinds = ()) -> str:
    """Why one unit reaches at most L0 groups, and what that does to the noise of each.

    Args:
      plan: whose releases they are.
      n_groups: how many public groups there are; L0 where they are found among private rows, 1 where there is none.
      kinds: how many of them the units of each relation reach, where that is told apart.
    """
    why = _reach_by_kind(plan, n_groups, kinds) if kinds and n_groups > 1 else _reach_reason(plan, n_groups)
    if plan.finds_any_number:
        return f"{why}; {_SHARED_BY_FOUND if shared_by_found(plan) else _VECTOR}"
    reached = n_groups if plan.bounds.groups is None else min(plan.bounds.groups, n_groups)
    reached = min(reached, max((own for _, own in kinds), default=reached))
    if plan.counts_units:
        return f"{why}; what is released hides all the groups that one unit counts in, {reached:,} of them"
    if not plan.group_keys or reached <= 1:
        return f"{why}; each group has all of its release's epsilon"
    if MECHANISMS[plan.mechanism].bounds_vector:
        return f"{why}; {_VECTOR}"
    if not plan.release_delta:
        return f"{why}; each group has 1/{reached} of its release's epsilon, so its noise is {reached} times as large"
    return f"{why}; pure or zero-concentrated privacy, whichever leaves less noise for {reached} groups of a unit"


_VECTOR = "what it adds to all of them together is bounded as one vector"

_SHARED_BY_FOUND = (
    "the groups that are shown share each release's epsilon, and the noise that is named is that of a single one: "
    "with n of them it is up to n times as large"
)


def shared_by_found(plan: Plan) -> bool:
    """Does the noise depend on how many groups are found, which nobody knows beforehand?"""
    counts_values = any(release.distinct is not None for release in plan.releases)
    return plan.finds_any_number and (counts_values or not MECHANISMS[plan.mechanism].bounds_vector)


def _reach_reason(plan: Plan, n_groups: int) -> str:
    if not plan.group_keys:
        return "there is one group"
    public = not any(domain.selects_partitions for domain in plan.domains)
    if public and n_groups > 1 and plan.bounds.groups is not None and n_groups <= plan.bounds.groups:
        return "one unit may reach every group, of which there are no more"
    if plan.bounds.rule is not None:
        rule = plan.bounds.rule
        return (
            f"the policy counts a unit's rows in {rule} group{'s' if rule > 1 else ''} at most and leaves out those "
            f"in others{_cut_by_rule(plan, rule, n_groups if public else None)}"
        )
    if plan.bounds.groups is None:
        return "the group keys do not follow from a unit's key, so one unit may reach every group"
    if plan.bounds.groups == 1:
        return "the group keys follow from the unit's key"
    return "the group keys follow from the unit's key, in one way for each place that it may stand in"


def _reach_by_kind(plan: Plan, n_groups: int, kinds: GroupsOfKinds) -> str:
    """How many groups a unit of each relation reaches, and what those that reach fewer may add to each for it."""
    most = max(own for _, own in kinds)
    if len({own for _, own in kinds}) == 1:
        if most == 1 or most >= n_groups:
            return _reach_reason(plan, n_groups)
        return f"the group keys that follow from a unit's key leave it {most:,} of {n_groups:,} groups at most"
    each = " and ".join(f"{own:,} for one of {relation}" for relation, own in kinds)
    more = " and ".join(
        f"one of {relation} {_times(plan, most, own)} the contribution bound" for relation, own in kinds if own < most
    )
    return (
        f"how many groups a unit reaches follows from the group keys that follow from its key: {each} at most; "
        f"for reaching fewer, {more} may count in each"
    )


def _times(plan: Plan, most: int, own: int) -> str:
    """By how much a kind's capacity exceeds tau (`privacy.mechanisms.sums`)."""
    pure = f"{most / own:.4g} times"
    return f"{pure} ({math.sqrt(most / own):.4g} times if noise is Gaussian)" if plan.release_delta else pure


def _cut_by_rule(plan: Plan, rule: int, n_groups: int | None) -> str:
    """By how much the rule can cut a value, from public numbers; empty where it cuts none."""
    if MECHANISMS[plan.mechanism].bounds_vector or not any(map(plan.is_ruled, plan.releases)):
        return ""
    if n_groups is None:
        return ". It can cut a value to any part of the true one"
    return (
        f". It can cut a value to {rule / n_groups:.2g} of the true one, where units are in all {n_groups:,} groups"
    )


def selection_rule(plan: Plan, measuring: Measuring, n_groups: int) -> str | None:
    """Which groups are shown; None where they all are."""
    if measuring.threshold is None or plan.selection is None:
        return None
    least, noise = measuring.threshold.threshold(n_groups), measuring.threshold.noise_scale(n_groups)
    whose = "those whose" if plan.group_keys else "the answer, if its"
    counted = "votes" if plan.selection.votes else "privacy units"
    shown = f"{whose} noisy number of {counted} is at least {least:,.6g} (noise of scale {noise:,.4g})"
    if isinstance(measuring.threshold, VoteThreshold):
        shown += _votes(measuring.threshold)
    elif len(plan.owners) > 1:
        shown += ", counted by rows in which nobody stands twice"
    reasons = []
    if plan.selection.delta:
        reasons.append(f"so that a key of one unit alone is shown with probability {plan.selection.delta:g} at most")
    if plan.selection.minimum is not None:
        reasons.append(f"as the policy withholds groups below {plan.selection.minimum:,}")
    return f"{shown}, {' and '.join(reasons)}"


def _votes(threshold: VoteThreshold) -> str:
    """What a vote is, and that no row is left out for it."""
    each = "1 / sqrt(k)" if threshold.is_gaussian else "1 / k"
    return (
        f"; a unit in k groups has {each} of a vote in each of them, and votes in {threshold.most_voted:,} (L0) at "
        "most; values count the rows of everybody in the groups that are shown"
    )


def sampling_advice(
    plan: Plan, sampled: Sequence[Noisy], whole: Sequence[Noisy], n_groups: int
) -> Iterator[tuple[str, str]]:
    """Each release's label and advice, from the declared fan-outs alone; nothing where no sample is amplified.

    Args:
      sampled, whole: a measurement per release, of the sample and of all join tuples; `whole` may be empty.
      n_groups: how many public groups there are; the advice is for one of them.
    Cost: nothing but what the measurements cost to make.
    """
    drawn, bound = plan.sampling, plan.bounds.tuples
    if drawn is None or bound is None or not drawn.amplifies or not whole:
        return
    for release, here, there in zip(plan.releases, sampled, whole, strict=True):
        yield release.label, _sentence(advice(here, there, bound, drawn.rate, n_groups), release.weight_bound)


def _sentence(found: Advice, unit: float) -> str:
    """The advice in the answer's own unit."""
    error = (
        f"the sample is off by {unit * found.unit_sampling:,.4g} times the root of the number of rows at most (95%)"
    )
    if found.break_even == 0:
        return f"{error}; it saves time only, as its noise is no smaller than that of all rows"
    if math.isinf(found.break_even):
        return error
    return f"{error}; it is more accurate below {found.break_even:,.4g} rows, and saves time only above"
