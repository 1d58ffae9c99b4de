"""Which groups an answer may show: found among private rows, or large enough for the custodian's rule."""

from __future__ import annotations

from collections.abc import Sequence

from planner.errors import InvalidSetting, SensitivityUnbounded
from planner.plan import GroupDomain, GroupSelection
from planner.planning.mechanism_choice import GRANTED, NO_DELTA
from planner.policy.policy import Policy
from planner.rules.guard_weight import whole_weight


def is_selected(domains: Sequence[GroupDomain], policy: Policy) -> bool:
    """Does a release of its own decide which groups are shown?"""
    return policy.minimum_frequency is not None or any(domain.is_discovered for domain in domains)


def group_selection(
    domains: Sequence[GroupDomain], determined: int | None, policy: Policy, epsilon: float, delta: float, owners: int
) -> GroupSelection | None:
    """The release that decides which groups are shown; None where all are.

    Where keys are found and nothing bounds the groups of one unit, units vote. The policy's rule for groups per unit
    has no part in finding them, since it leaves rows out.

    Args:
      domains: of the group keys.
      determined: how many groups one unit reaches by functional dependency; None: any number.
      epsilon, delta: what it may spend; of delta it spends nothing where all keys are public.
      owners: owner positions of a join tuple.
    Raises: InvalidSetting for keys to be found without a delta; SensitivityUnbounded where several units share a row,
      and one may be in any number of groups that nobody else is in.
    """
    if not is_selected(domains, policy):
        return None
    discovers = any(domain.is_discovered for domain in domains)
    if discovers and delta == 0:
        hint = f"ask with a delta; {GRANTED}" if policy.delta else NO_DELTA
        hint += "; or name the groups, as in WHERE ward IN ('A1', 'B2'), which takes none"
        raise InvalidSetting("keys that are found among private rows cost a delta, and there is none", hint=hint)
    votes = discovers and determined is None
    if votes and owners != 1:
        message = (
            "several privacy units share each row, and one may reach any number of groups, so their keys cannot be "
            "found among private rows"
        )
        hint = (
            "group by what follows from the key of every one of them, or by what is public; list the values in "
            "WHERE; or join fewer private tables, so that each row is one unit's"
        )
        raise SensitivityUnbounded(message, hint=hint)
    return GroupSelection(whole_weight(), epsilon, delta if discovers else 0.0, policy.minimum_frequency, votes)
