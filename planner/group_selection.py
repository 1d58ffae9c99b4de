"""Which groups an answer may show: found among private rows, or large enough for the custodian's rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.errors import InvalidSetting, SensitivityUnbounded
from planner.mechanism_choice import GRANTED, NO_DELTA
from planner.plan import GroupDomain, GroupSelection
from planner.policy import Policy
from planner.provenance import OwnerPosition
from planner.rules.guard_weight import whole_weight


@dataclass(frozen=True)
class GroupReach:
    """How many groups one unit reaches.

    Attributes:
      groups_per_unit: L0, or None when only the number of groups bounds it.
      rule: the most groups that its tuples are counted in, where that is what bounds it; otherwise None.
    """

    groups_per_unit: int | None
    rule: int | None = None


def group_reach(
    determined: int | None, owners: Sequence[OwnerPosition], domains: Sequence[GroupDomain], policy: Policy
) -> GroupReach:
    """L0 by functional dependency, or by the policy's rule where that is less.

    The rule leaves out a unit's tuples in all but so many groups, which is possible where each tuple has one owner:
    with two, what is left of one unit would depend on the others. Under partial removal it counts twice
    (privacy.md section 5), so where there are at most twice as many groups it would leave rows out for nothing. Of a
    domain that a statement enumerates, the number is known, and judged, only when it is read.

    Args:
      determined: L0 by functional dependency.
      owners: the distinct owner positions.
      domains: of the group keys.
    """
    declared = {policy.groups_per_unit.get(owner.relation) for owner in owners}
    if len(owners) != 1 or None in declared:
        return GroupReach(determined)
    (rule,) = declared
    assert rule is not None, "None was excluded"
    least = min((one for one in (determined, _number(domains)) if one is not None), default=None)
    return GroupReach(least) if least is not None and least <= 2 * rule else GroupReach(2 * rule, rule)


def _number(domains: Sequence[GroupDomain]) -> int | None:
    """How many groups there are, where every value is declared; None where only the database can say."""
    sizes = [len(domain.values) for domain in domains if domain.values is not None]
    return max(1, math.prod(sizes)) if len(sizes) == len(domains) else None


def is_selected(domains: Sequence[GroupDomain], policy: Policy) -> bool:
    """Does a release of its own decide which groups are shown?"""
    return policy.minimum_frequency is not None or any(domain.is_discovered for domain in domains)


def group_selection(
    domains: Sequence[GroupDomain], reach: GroupReach, policy: Policy, epsilon: float, delta: float, owners: int
) -> GroupSelection | None:
    """The release that decides which groups are shown; None where all are.

    Args:
      domains: of the group keys.
      reach: of one unit.
      epsilon, delta: what it may spend; of delta it spends nothing where all keys are public.
      owners: owner positions of a join tuple, for the hint.
    Raises: InvalidSetting for keys to be found without a delta; SensitivityUnbounded where one unit may be in any
      number of groups that nobody else is in.
    """
    if not is_selected(domains, policy):
        return None
    discovers = any(domain.is_discovered for domain in domains)
    if discovers and delta == 0:
        hint = f"ask with a delta; {GRANTED}" if policy.delta else NO_DELTA
        raise InvalidSetting("keys that are found among private rows cost a delta, and there is none", hint=hint)
    if discovers and reach.groups_per_unit is None:
        hint = "group by what follows from the privacy unit's key"
        if owners == 1:
            hint += "; or ask the custodian to declare [groups_per_unit]"
        message = "one privacy unit may reach any number of groups, so their keys cannot be found among private rows"
        raise SensitivityUnbounded(message, hint=hint)
    return GroupSelection(whole_weight(), epsilon, delta if discovers else 0.0, policy.minimum_frequency)
