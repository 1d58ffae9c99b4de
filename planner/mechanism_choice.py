"""Which mechanism releases, from public quantities only: so choosing costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from planner.errors import InvalidSetting
from planner.plan import MechanismName
from planner.policy import Policy
from privacy.accounting.largest_rho import largest_rho
from privacy.mechanisms.budget import MEAN_GAUSSIAN
from privacy.mechanisms.groups.shared_threshold import SHARED_SELECTION

_LIBRARY = "it is there for comparison, as a library function; use gem"
_SHARED = "budgets amplified one by one are no bound for one shared sample"
_NOT_SERVED = {
    "s4s_as_published": f"{_SHARED}; s4s has the sound ones",
    "s4s_fresh": "a query draws one sample; s4s answers from it",
    "s4s_rdp": "it needs a delta of its own; s4s needs none",
    "s4s_rdp_as_published": f"{_SHARED}; use s4s",
    "s4s_rdp_fresh": "a query draws one sample; s4s answers from it",
    "pmsja_as_published": "its published constants do not account for the solver's gap; pmsja has the sound ones",
    "s4s_vector_as_published": "its published constants are not proved; s4s_vector has the sound ones",
    "laplace_global": _LIBRARY,
    "simple_sampling": _LIBRARY,
    "sample_and_explore": _LIBRARY,
    "repeated_sample_and_explore": _LIBRARY,
}
"""Mechanisms that a server knows and does not run, with what to do instead."""

NO_DELTA = "the custodian can allow one, `delta` of [privacy] in the policy"
"""Who can help where the policy allows no delta."""

GRANTED = "a custodian grants one, on the administration page or by noisegate admin top-up"
"""Who can help where the policy allows one, and the account may have none."""

MIN_DELTA = 1e-15
"""The least that is worth asking for: budgets count deltas in multiples of 1e-18, and several releases share it."""

APPROXIMATE = frozenset({"l2_clip", "pmsja", "s4s_vector"})
"""Those that always spend a delta."""


@dataclass(frozen=True)
class Circumstances:
    """What the choice is made from. Public.

    Attributes:
      grouped: is there a GROUP BY?
      sums: how many releases are sums or counts, not of distinct values.
      epsilon: of those together.
      owners: owner positions of a join tuple.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      tuples_per_unit: Delta, or None.
      sampled: is the answer that of a sample?
      delta: what may be spent.
    """

    grouped: bool
    sums: int
    epsilon: float
    owners: int
    groups_per_unit: int | None
    tuples_per_unit: int | None
    sampled: bool
    delta: float

    @property
    def one_group(self) -> bool:
        """Does one unit reach one group at most?"""
        return not self.grouped or self.groups_per_unit == 1

    @cached_property
    def gaussian_pays(self) -> bool:
        """Is the noise of approximate privacy less than that of pure privacy, or may it be for as many groups?

        Of `group_lp`'s release, in each of k sums and L0 groups of a unit: with s the share of the budget that
        releases, Laplace noise has the mean k L0 / (s epsilon), Gaussian noise MEAN_GAUSSIAN sqrt(k L0 / (2 s rho)).
        Where L0 is None the mechanism decides, once the number of groups is known.
        """
        if self.delta == 0 or self.one_group or not self.sums:
            return False
        if self.groups_per_unit is None:
            return True
        rho = largest_rho(self.epsilon, self.delta)
        worth = MEAN_GAUSSIAN**2 * (1 - SHARED_SELECTION.split) * self.epsilon**2 / (2 * rho)
        return self.sums * self.groups_per_unit > worth


@dataclass(frozen=True)
class MechanismChoice:
    """A mechanism, whether it spends the query's delta, and why it: a clause for EXPLAIN."""

    mechanism: MechanismName
    approximate: bool
    why: str


def choose_mechanism(asked: str | None, policy: Policy, known: Circumstances) -> MechanismChoice:
    """The mechanism that was asked for, or the one with the least noise by public quantities (privacy.md section 5).

    Raises: InvalidSetting for a name that is not served, and for one that this query does not allow.
    """
    if asked is None:
        return _default(known)
    name = _served(asked)
    _check(name, policy, known)
    spends = name in APPROXIMATE or (name == "group_lp" and known.gaussian_pays)
    return MechanismChoice(name, spends and known.sums > 0, "as asked")


def _default(known: Circumstances) -> MechanismChoice:
    if not known.grouped or not known.sums:
        return MechanismChoice("gem", False, "the default: it selects one threshold and releases once")
    if known.gaussian_pays and known.owners == 1 and not known.sampled:
        why = "the default for one owner and a delta: what a unit adds to all groups together is cut to one length"
        return MechanismChoice("l2_clip", True, why)
    why = "the default for groups: it selects a threshold and releases once in each group"
    return MechanismChoice("group_lp", known.gaussian_pays, why)


def _served(asked: str) -> MechanismName:
    for name in get_args(MechanismName):
        if name == asked:
            served: MechanismName = name
            return served
    named = ", ".join(get_args(MechanismName))
    raise InvalidSetting(f"the mechanism must be one of {named}", hint=_NOT_SERVED.get(asked))


def _check(name: MechanismName, policy: Policy, known: Circumstances) -> None:
    """Refuse a mechanism that this query does not allow. Raises: InvalidSetting."""
    if name == "r2t" and policy.global_sensitivity is None:
        hint = "use gem, which needs none"
        raise InvalidSetting("r2t needs a global_sensitivity, which the policy does not declare", hint=hint)
    if name == "s4s" and known.tuples_per_unit is None:
        hint = "declare the fan-outs in the policy, or use gem, which needs none"
        raise InvalidSetting("s4s needs a bound on the join tuples of one unit, which does not follow", hint=hint)
    if name in APPROXIMATE and known.delta == 0:
        ask = f"ask with a delta; {GRANTED}" if policy.delta else NO_DELTA
        hint = f"{ask}; or use group_lp, which needs none"
        raise InvalidSetting(f"{name} needs a delta", hint=hint)
    if name == "l2_clip" and known.owners != 1:
        hint = "use group_lp"
        raise InvalidSetting("l2_clip needs one owner per row; rows of this query have several", hint=hint)


def granted_delta(asked: float | None, policy: Policy) -> float:
    """What of the policy's delta a query may spend. Raises: InvalidSetting."""
    value = policy.delta if asked is None else asked
    if value > 0 and policy.delta == 0:
        raise InvalidSetting("this policy grants no delta", hint=f"leave delta out; {NO_DELTA}")
    if not math.isfinite(value) or not 0 <= value <= policy.delta:
        raise InvalidSetting(
            f"delta must be at least 0 and at most {policy.delta:g}", hint="the policy's `delta` is the most"
        )
    if 0 < value < MIN_DELTA:
        raise InvalidSetting(f"delta must be 0, or at least {MIN_DELTA:g}")
    return float(value)
