"""Which mechanism releases, and which groups it may show. The choice is free: it uses public quantities only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from planner.binding.bound_query import BoundAggregate, BoundQuery
from planner.errors import InvalidSetting, SensitivityUnbounded
from planner.group_domains.key_sources import way_to_a_delta
from planner.limits import MIN_DELTA
from planner.plan import GroupDomain, GroupSelection, Release, UnitBounds
from planner.policy.policy import Policy
from planner.rewriting.guard_weight import whole_weight
from privacy.accounting.zcdp import largest_rho
from privacy.exact import DOWN
from privacy.mechanisms.budget import MEAN_GAUSSIAN
from privacy.mechanisms.shared_threshold import SHARED_SELECTION
from privacy.registry import MECHANISMS, OFFERED, Mechanism, MechanismName, Need, why_not_served

MOST_BOUND = 1 << 16
"""The largest bound on a unit's rows that a sum is tested against; larger ones are far from any data."""

CENTRED = "joint_scale"
"""The mechanism that measures averages and sums of products around means."""

SIGNED = (CENTRED, "l1_clip", "l2_clip")
"""The mechanisms that clip what a unit adds, whatever its sign."""

_AT_A_BOUND = ("gem", "group_lp")
"""The mechanisms that release at one threshold when the request sets `at_most`."""

_COUNT_UNITS = "ask for COUNT(DISTINCT key) with the key of the privacy unit alone, or use group_lp"


@dataclass(frozen=True)
class Circumstances:
    """The public facts that the choice depends on.

    Attributes:
      owners: owner positions of a join tuple.
      bounds: the most that one unit contributes.
      delta: the part of the query's delta that the releases may spend.
      jointly: is some quotient computed from the releases?
      contributions: does the policy bound a contribution to some release (`Release.bound`)?
      capped: are all of these bounds the largest of the thresholds to choose from?
      n_groups: of the answer; None if the database or the data have it.
    """

    question: BoundQuery
    releases: tuple[Release, ...]
    owners: int
    bounds: UnitBounds
    sampled: bool
    delta: float
    jointly: bool = False
    contributions: bool = False
    capped: bool = False
    n_groups: int | None = None

    @property
    def grouped(self) -> bool:
        """Is there a GROUP BY?"""
        return bool(self.question.keys)

    @cached_property
    def sums(self) -> tuple[Release, ...]:
        """The releases that are sums or counts of tuples."""
        return tuple(release for release in self.releases if release.is_sum)

    def counts_units(self, release: Release) -> bool:
        """Does a release count each unit once per group?

        It may count rows, with one per unit; or distinct values, with one per unit, each of them one unit's.
        """
        if release.is_sum:
            return release.whole and self.bounds.tuples == 1
        return release.distinct is not None and release.determined and release.owned

    @property
    def one_group(self) -> bool:
        """Does one unit reach at most one group?"""
        return not self.grouped or self.bounds.groups == 1

    @cached_property
    def gaussian_pays(self) -> bool:
        """Is Gaussian noise smaller than Laplace noise, or may it be for as many groups?

        For `group_lp`, each of k sums, and L0 groups per unit. With s the share of the budget that releases, Laplace
        noise has the mean k L0 / (s epsilon), and Gaussian noise MEAN_GAUSSIAN sqrt(k L0 / (2 s rho)). No unit is in
        more groups than there are. If neither number is known, the mechanism decides once that of the groups is.
        """
        if self.delta == 0 or self.one_group or not self.sums:
            return False
        epsilon = math.fsum(release.epsilon for release in self.sums)
        rho = largest_rho(epsilon * DOWN, self.delta)  # as `group_measurements` will ask for it
        groups = min((one for one in (self.bounds.groups, self.n_groups) if one is not None), default=None)
        if groups is None or not rho:
            return rho > 0
        worth = MEAN_GAUSSIAN**2 * (1 - SHARED_SELECTION.split) * epsilon**2 / (2 * rho)
        return len(self.sums) * groups > worth


@dataclass(frozen=True)
class MechanismChoice:
    """A mechanism, whether it spends the query's delta, and a clause for EXPLAIN on why it was chosen."""

    mechanism: MechanismName
    approximate: bool
    why: str


def choose_mechanism(asked: str | None, policy: Policy, known: Circumstances) -> MechanismChoice:
    """The requested mechanism, or the one with the least noise by public numbers (docs/mathematics.md, section 1.6).

    Raises: InvalidSetting for a name that is not offered, and for a mechanism that this query does not allow.
    """
    one = None if asked is None else _offered(asked)
    if one is None or _only_ranks(known):  # of which there is one mechanism: asking for another is the same question
        return _default(known)
    if known.bounds.assumed is not None and one.name not in _AT_A_BOUND:
        message = f"{one.name} chooses its clipping threshold itself, so it takes no at_most"
        raise InvalidSetting(message, hint="leave out at_most or the mechanism")
    for need in one.needs:
        _check(one, need, policy, known)
    spends = one.approximate or (one.delta_where_it_pays and known.gaussian_pays)
    return MechanismChoice(one.name, spends and bool(known.sums), "as asked")


def _at_the_bound(known: Circumstances) -> MechanismChoice:
    why = "at the requested at_most: no threshold is selected, and nothing is clipped if at_most is true"
    if not known.grouped or not known.sums:
        return MechanismChoice("gem", False, why)
    return MechanismChoice("group_lp", known.gaussian_pays, why)


def _default(known: Circumstances) -> MechanismChoice:
    if known.bounds.assumed is not None:
        return _at_the_bound(known)
    alone = known.owners == 1 and not known.sampled
    if known.jointly and alone and len(known.sums) > 1:
        why = "the default for quotients of one owner's rows: it clips all of a unit's sums by one factor"
        return MechanismChoice(CENTRED, False, why)
    euclidean = known.capped and known.grouped and known.gaussian_pays
    if known.contributions and alone and not euclidean and not (known.jointly and len(known.sums) > 1):
        why = "at the policy's bound on one person's contribution to all groups: no threshold is selected"
        if known.capped:
            why = "up to the policy's bound: the question is about some of the rows, or by groups"
        return MechanismChoice("l1_clip", False, why)
    if alone and not known.grouped and any(map(_has_both_signs, known.question.aggregates)):
        why = (
            "the default for sums over both signs of one owner's rows: it clips a unit's contribution of either sign"
        )
        return MechanismChoice("l1_clip", False, why)
    if _only_ranks(known):
        return MechanismChoice(
            "rank",
            False,
            "the default for ranks: it selects a value by the distance of its rank from the one asked for",
        )
    if _first_the_bound(known):
        why = "the default if a unit's rows are bounded: it tests whether noise for that bound is small enough"
        return MechanismChoice("bound_first", False, why)
    owned = any(release.owned for release in known.releases)
    if not known.grouped or not (known.sums or (owned and alone and not known.one_group)):
        return MechanismChoice("gem", False, "the default: it selects one threshold and releases once")
    if known.gaussian_pays and alone:
        why = "the default for one owner and a delta: it clips a unit's contributions to all groups by their L2 norm"
        return MechanismChoice("l2_clip", True, why)
    if alone and not known.one_group:
        why = "the default for one owner and groups: it clips a unit's contributions to all groups by their L1 norm"
        return MechanismChoice("l1_clip", False, why)
    why = "the default for groups: it selects a threshold and releases once in each group"
    return MechanismChoice("group_lp", known.gaussian_pays, why)


def _has_both_signs(aggregate: BoundAggregate) -> bool:
    bounds = aggregate.bounds
    return aggregate.function == "sum" and bounds is not None and bounds.lo < 0 < bounds.hi


def _only_ranks(known: Circumstances) -> bool:
    return bool(known.releases) and all(release.ranked is not None for release in known.releases)


def _first_the_bound(known: Circumstances) -> bool:
    """Are all rows summed without groups, with a bound on a unit's rows that leaves something to decide?"""
    most = known.bounds.tuples
    asked = known.sums and not known.grouped and not known.sampled
    if not asked or most is None or most > MOST_BOUND:
        return False
    return most > 1 or not all(release.whole for release in known.sums)


def _offered(asked: str) -> Mechanism:
    if asked in OFFERED:
        return MECHANISMS[asked]
    raise InvalidSetting(f"the mechanism must be one of {', '.join(OFFERED)}", hint=why_not_served(asked))


def _check(one: Mechanism, need: Need, policy: Policy, known: Circumstances) -> None:
    """Refuse a mechanism whose need this query does not meet. Raises: InvalidSetting."""
    match need:
        case Need.GLOBAL_SENSITIVITY:
            if policy.global_sensitivity is None:
                message = f"{one.name} needs a global_sensitivity, which the policy does not declare"
                raise InvalidSetting(message, hint="use gem, which needs none")
        case Need.TUPLES_PER_UNIT:
            if known.bounds.tuples is None:
                message = f"{one.name} needs a bound on the joined rows of one unit, and the policy declares none"
                raise InvalidSetting(
                    message, hint="use gem, which needs none; or the administrator declares fan-outs in the policy"
                )
        case Need.DELTA:
            if known.delta == 0:
                hint = f"{way_to_a_delta(policy.delta)}; or use group_lp, which needs none"
                raise InvalidSetting(f"{one.name} needs a delta", hint=hint)
        case Need.ONE_OWNER:
            if known.owners != 1:
                message = f"{one.name} needs one owner per row; rows of this query have several"
                raise InvalidSetting(message, hint="use group_lp")
        case Need.GROUPS:
            if not known.grouped:
                hint = "leave out the mechanism: a single number gets all of epsilon anyway"
                raise InvalidSetting(f"{one.name} needs a GROUP BY, and this question has no GROUP BY", hint=hint)
        case Need.ALL_ROWS:
            if known.sampled:
                message = f"{one.name} counts people, and a sample of rows does not show their number"
                raise InvalidSetting(message, hint="ask without sampling")
        case Need.UNIT_COUNTS:
            if not all(known.counts_units(release) for release in known.releases):
                message = f"{one.name} only counts privacy units, each once per group"
                raise InvalidSetting(message, hint=_COUNT_UNITS)
        case _:
            assert_never(need)


def granted_delta(asked: float | None, policy: Policy) -> float:
    """The part of the policy's delta that a query may spend. Raises: InvalidSetting."""
    value = policy.delta if asked is None else asked
    if value > 0 and policy.delta == 0:
        raise InvalidSetting("this policy grants no delta", hint=f"leave out delta; {way_to_a_delta(0.0)}")
    if not math.isfinite(value) or not 0 <= value <= policy.delta:
        raise InvalidSetting(
            f"delta must be at least 0 and at most {policy.delta:g}", hint="the policy's `delta` is the limit"
        )
    if 0 < value < MIN_DELTA:
        raise InvalidSetting(f"delta must be 0, or at least {MIN_DELTA:g}")
    return float(value)


def is_selected(domains: Sequence[GroupDomain], policy: Policy) -> bool:
    """Does a release of its own decide which groups are shown?"""
    return policy.minimum_frequency is not None or any(domain.selects_partitions for domain in domains)


def group_selection(
    domains: Sequence[GroupDomain],
    determined: int | None,
    policy: Policy,
    epsilon: float,
    delta: float,
    *,
    shared: bool,
) -> GroupSelection | None:
    """The release that decides which groups are shown; None if all are.

    Units vote if partition selection finds the keys and nothing bounds a unit's groups (`determined` is None). The
    policy's `groups_per_unit` does not count as a bound here, since it leaves rows out. Public keys need no delta.
    `shared`: may a row have several owners?

    Raises: SensitivityUnbounded if several units share a row and one may be in any number of groups.
    """
    if not is_selected(domains, policy):
        return None
    selects_partitions = any(domain.selects_partitions for domain in domains)
    votes = selects_partitions and determined is None
    if votes and shared:
        message = (
            "partition selection is not supported here: several privacy units share each row, and one unit may reach "
            "any number of groups"
        )
        hint = (
            "list the values in WHERE, group by public values, or join fewer private tables so that each row has one "
            "owner"
        )
        raise SensitivityUnbounded(message, hint=hint)
    return GroupSelection(
        whole_weight(), epsilon, delta if selects_partitions else 0.0, policy.minimum_frequency, votes
    )
