"""Why each release has its mechanism and its noise, and why some groups are not shown: sentences for EXPLAIN."""

from __future__ import annotations

from planner.plan import Plan
from server.measuring import TOGETHER, Measuring
from server.query import ReleaseMechanism

_REASONS = {
    "fixed": "one unit reaches one value at most, so the threshold is 1 and nothing is selected",
    "r2t": "races thresholds up to the declared global sensitivity; the answer is a lower bound",
    "s4s": "races thresholds up to what one unit's tuples can reach; the answer is a lower bound",
    "gem": "selects one threshold, then releases once",
    "group_lp": "selects a threshold, then releases once in each group",
    "l2_clip": "selects one length for what a unit adds to all groups together, then releases once",
    "pmsja": "tests lengths for what a unit adds to all groups, bounds what neighbours differ by, then releases once",
    "s4s_vector": "tests lengths on the sample, then releases once with noise for its smooth sensitivity",
}


def release_mechanisms(plan: Plan, measuring: Measuring) -> tuple[ReleaseMechanism, ...]:
    """What releases each number, the selection of groups first."""
    first = []
    if plan.selection is not None and measuring.threshold is not None:
        reason = "decides which groups are shown" if plan.group_keys else "decides whether the answer is shown"
        spent = plan.selection.epsilon, reason, plan.selection.delta
        first.append(ReleaseMechanism("number of privacy units", measuring.threshold.name, *spent))
    return (
        *first,
        *(
            ReleaseMechanism(
                release.label,
                measured.name,
                release.epsilon,
                _REASONS[measured.name],
                plan.release_delta if isinstance(measured, TOGETHER) else 0.0,
            )
            for release, measured in zip(plan.releases, measuring.releases, strict=True)
        ),
    )


def groups_reason(plan: Plan, n_groups: int) -> str:
    """Why one unit reaches at most L0 groups, and what that does to the noise of each.

    Args:
      plan: whose releases they are.
      n_groups: how many public groups there are; L0 where they are found among private rows.
    """
    why = _reach_reason(plan, n_groups)
    reached = n_groups if plan.groups_per_unit is None else min(plan.groups_per_unit, n_groups)
    if not plan.group_keys or reached <= 1:
        return f"{why}; each group has all of its release's epsilon"
    if not plan.release_delta:
        return f"{why}; each group has 1/{reached} of its release's epsilon, so its noise is {reached} times as large"
    if plan.mechanism == "group_lp":
        return f"{why}; pure or zero-concentrated privacy, whichever leaves less noise for {reached} groups of a unit"
    return f"{why}; what it adds to all of them together is bounded as one vector"


def _reach_reason(plan: Plan, n_groups: int) -> str:
    if not plan.group_keys:
        return "there is one group"
    public = not any(domain.is_discovered for domain in plan.domains)
    if public and n_groups > 1 and plan.groups_per_unit is not None and n_groups <= plan.groups_per_unit:
        return "one unit may reach every group, of which there are no more"
    if plan.group_rule is not None:
        rule = plan.group_rule
        return (
            f"the policy counts a unit's rows in {rule} group{'s' if rule > 1 else ''} at most and leaves out those "
            f"in others; as many may leave as enter when some of its rows change, which makes {2 * rule}"
        )
    if plan.groups_per_unit is None:
        return "the group keys do not follow from a unit's key, so one unit may reach every group"
    if plan.groups_per_unit == 1:
        return "the group keys follow from the unit's key"
    return "the group keys follow from the unit's key, in one way for each place that it may stand in"


def selection_rule(plan: Plan, measuring: Measuring, n_groups: int) -> str | None:
    """Which groups are shown; None where they all are."""
    if measuring.threshold is None or plan.selection is None:
        return None
    least, noise = measuring.threshold.threshold(n_groups), measuring.threshold.noise_scale(n_groups)
    whose = "those whose" if plan.group_keys else "the answer, if its"
    shown = f"{whose} noisy number of privacy units is at least {least:,.6g} (noise of scale {noise:,.4g})"
    if len(plan.owners) > 1:
        shown += ", counted by rows in which nobody stands twice"
    reasons = []
    if plan.selection.delta:
        reasons.append(f"so that a key of one unit alone is shown with probability {plan.selection.delta:g} at most")
    if plan.selection.minimum is not None:
        reasons.append(f"as the policy withholds groups below {plan.selection.minimum:,}")
    return f"{shown}, {' and '.join(reasons)}"
