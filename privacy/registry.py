"""The registry of mechanisms: the name, the needs, the reason and the constructor of each.

The planner chooses by these facts, a worker builds by them, and EXPLAIN shows the reasons. HTTP, the wire protocol
and the command line offer the names. So a new mechanism is one file and one entry here. Mechanisms are imported when
they are built, so that the command line loads neither kernels nor OpenDP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from privacy.errors import InvalidParameter
from privacy.exact import DOWN

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from privacy.entropy import Entropy
    from privacy.join_tuples import CodedJoinTuples
    from privacy.mechanisms.measurement import ServedGroupMeasurement, ServedMeasurement
    from privacy.mechanisms.rank_release import RankRelease
    from privacy.mechanisms.selection import SelectionSettings
    from privacy.mechanisms.sums import Sum
    from privacy.noisy_answer import NoisyAnswer
    from privacy.papers.key_counts import KeyCounts
    from privacy.sampling.design import SampleDesign
    from privacy.truncation.histograms import ContributionHistogram, NormHistogram
    from privacy.truncation.solver_name import SolverName


class Need(Enum):
    """What a question or a policy must provide for a mechanism."""

    GLOBAL_SENSITIVITY = "a declared bound on what one unit adds"
    TUPLES_PER_UNIT = "a public bound on the join tuples of one unit"
    DELTA = "a delta"
    ONE_OWNER = "join tuples of one owner each"
    GROUPS = "a GROUP BY"
    ALL_ROWS = "all rows, without a sample"
    UNIT_COUNTS = "counts of privacy units, each once in a group"


@dataclass(frozen=True)
class EachGroup:
    """The public parameters of a release of each group's truncated answer.

    Attributes:
      epsilon: for all groups of the release together, > 0.
      groups_per_unit: L0; None if only the number of groups bounds it.
      gap: eta, the solver's constant relative gap.
      global_sensitivity: the most that one unit adds, in normalised weight; None if not declared.
      whole: every weight is 0 or 1, so that a threshold below 1 cannot help.
      tuples_per_unit: Delta, a public bound on the join tuples of one unit. `gem` needs no threshold above it, and
        `s4s` requires it. A false bound biases the answer and costs no privacy.
      sample: how the tuples are sampled, if amplification may be claimed. `gem` and `s4s` then add less noise.
      adds_at_most: the request's bound on what one unit adds, in normalised weight, or None. It is then the only
        candidate threshold. A false bound biases the answer and costs no privacy.
      nested: at every threshold tau a unit adds exactly min(tau, its contribution). This holds if every tuple has one
        owner and no rule chooses among a unit's groups.
    """

    epsilon: float
    groups_per_unit: int | None = None
    gap: float = 0.0
    global_sensitivity: float | None = None
    whole: bool = False
    tuples_per_unit: int | None = None
    sample: SampleDesign | None = None
    adds_at_most: Fraction | None = None
    nested: bool = False


@dataclass(frozen=True)
class AllGroups:
    """The public parameters of the sums of one question that are measured in all groups together.

    Attributes:
      sums: at least one, with equal gaps.
      delta: of all sums together, in [0, 1).
      groups_per_unit: L0; None if only the number of groups bounds it.
      sample: how the tuples are sampled, if amplification may be claimed. The pure `group_lp` uses it, and
        `s4s_vector` if nothing else is released from the sample.
      solver: the solver that truncates each group's answer; mechanisms of vectors have one solver.
    """

    sums: Sequence[Sum]
    delta: float
    groups_per_unit: int | None = None
    sample: SampleDesign | None = None
    solver: SolverName = "certified"


@dataclass(frozen=True)
class Mechanism:
    """A mechanism that a server runs.

    Attributes:
      name: in plans, answers, charges and interfaces.
      reason: for EXPLAIN, the rest of a sentence that begins with the name.
      two_sided: its intervals have two ends, and public numbers bound their distance before the release. Proposals
        of an epsilon need that.
      needs: in the order in which a missing one is reported.
      offered: an analyst may ask for it; otherwise the planner alone chooses it.
      delta_where_it_pays: the mechanism is pure, but spends a delta if that means less noise.
      bounds_vector: it bounds the norm of a unit's vector over all groups, not each group. No rule on the groups of a
        unit leaves rows out then, and the truncated answer is not a maximum.
      by_contributions: of each group's sum it needs truncated values only. For tuples with one owner, the number of
        units by contribution is enough (`ContributionHistogram`).
      by_norms: of each sum it needs vectors scaled to a norm only. The sums of the units of each norm are enough
        (`NormHistogram`).
      by_kind: it uses how many groups the units of each relation reach (`GroupLp.of_kinds`).
    """

    name: str
    reason: str
    two_sided: bool
    needs: tuple[Need, ...] = ()
    offered: bool = True
    delta_where_it_pays: bool = False
    bounds_vector: bool = False
    by_contributions: bool = False
    by_norms: bool = False
    by_kind: bool = False

    @property
    def approximate(self) -> bool:
        """Does it always spend a delta?"""
        return Need.DELTA in self.needs


@dataclass(frozen=True, kw_only=True)
class ScalarMechanism(Mechanism):
    """A mechanism that measures each group's truncated answer by itself.

    Attributes:
      build: fixes the public parameters. Raises: InvalidParameter for a missing bound or one out of range.
    """

    build: Callable[[EachGroup], ServedMeasurement]


def _one_by_one(
    made: Sequence[ServedGroupMeasurement], tuples: CodedJoinTuples, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    return tuple(one.release(tuples, row, entropy) for row, one in enumerate(made))


@dataclass(frozen=True, kw_only=True)
class JointMechanism(Mechanism):
    """A mechanism that measures the tuples of all groups together; `gem` counts distinct values beside it.

    Attributes:
      build: one measurement per sum, together (epsilon, delta)-DP, epsilon the sum of the sums' own. Raises:
        InvalidParameter for parameters that are worth nothing to it.
      release: releases the sums of a question in one call, from the measurements, the tuples and the entropy; one
        answer per sum. The first rows of the tuples' weights are the sums', in order. By default each sum draws for
        itself.
    """

    build: Callable[[AllGroups], tuple[ServedGroupMeasurement, ...]]
    release: Callable[[Sequence[ServedGroupMeasurement], CodedJoinTuples, Entropy], tuple[NoisyAnswer, ...]] = (
        _one_by_one
    )


@dataclass(frozen=True, kw_only=True)
class KeyMechanism(Mechanism):
    """A mechanism that counts the privacy units of all groups at once, and may smooth several groups together."""


def _gem(of: EachGroup) -> ServedMeasurement:
    from privacy.mechanisms.budget import PureBudget
    from privacy.mechanisms.gem import NESTED_SELECTION, SELECTION, Gem
    from privacy.mechanisms.shared_threshold import fixed_threshold
    from privacy.thresholds import one_threshold, useful_thresholds

    if of.adds_at_most is not None:
        return fixed_threshold(of.epsilon, of.groups_per_unit, of.gap, one_threshold(of.adds_at_most))
    thresholds = useful_thresholds(of.whole, of.tuples_per_unit, fine=of.nested)
    if (
        len(thresholds) == 1 and of.sample is None
    ):  # a selection would take half of epsilon to choose the one threshold
        return fixed_threshold(of.epsilon, of.groups_per_unit, of.gap, thresholds, counts=of.whole and of.nested)
    return Gem(
        PureBudget(of.epsilon),
        of.groups_per_unit,
        of.gap,
        thresholds,
        NESTED_SELECTION if of.nested else SELECTION,
        sample=of.sample,
        monotone=True,
        nested=of.nested,
    )


def _r2t(of: EachGroup) -> ServedMeasurement:
    from privacy.papers.r2t import R2T

    if of.global_sensitivity is None:
        raise InvalidParameter("the mechanism r2t needs a global sensitivity")
    return R2T(of.epsilon, of.global_sensitivity, of.groups_per_unit, of.gap)


def _s4s(of: EachGroup) -> ServedMeasurement:
    from privacy.papers.dp_s4s import S4S

    if of.tuples_per_unit is None:
        raise InvalidParameter("the mechanism s4s needs a bound on the tuples of one unit")
    return S4S(of.epsilon, of.tuples_per_unit, of.groups_per_unit, of.gap, of.sample)


def _fixed(of: EachGroup) -> ServedMeasurement:
    from privacy.mechanisms.shared_threshold import fixed_threshold

    return fixed_threshold(of.epsilon, of.groups_per_unit, of.gap, counts=of.whole and of.nested)


def _group_lp(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.mechanisms.group_lp import group_lps

    made = group_lps(of.sums, of.delta, of.groups_per_unit, of.sample)
    return tuple(replace(one, solver=of.solver) for one in made)


def _bound_first(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.mechanisms.bound_first import BoundFirst

    def made(one: Sum) -> BoundFirst:
        if one.bound is None:
            raise InvalidParameter("the mechanism bound_first needs a bound on one unit's contribution")
        known = one.bound, of.groups_per_unit, one.gap, one.thresholds
        return BoundFirst(one.epsilon, *known, monotone=True, nested=one.nested, solver=of.solver)

    return tuple(map(made, of.sums))


def _selection(one: Sum) -> SelectionSettings:
    from privacy.mechanisms.gem import CAPPED_SELECTION, NESTED_SELECTION

    return CAPPED_SELECTION if one.capped else NESTED_SELECTION


def _l1_clip(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.mechanisms.budget import PureBudget
    from privacy.mechanisms.clip import Clip, CountedClip

    def made(one: Sum) -> Clip | CountedClip:
        if one.counted is not None:
            return CountedClip(one.epsilon, one.thresholds, one.counted.at_most, one.less)
        return Clip(PureBudget(one.epsilon), one.thresholds, _selection(one), less=one.less)

    return tuple(map(made, of.sums))


def _l2_clip(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    """Equal shares of rho, converted to (epsilon, delta) once, for all sums."""
    from privacy.mechanisms.clip import Clip
    from privacy.mechanisms.sums import equal_shares

    shares = equal_shares(of.sums, of.delta)
    return tuple(
        Clip(share, one.thresholds, _selection(one), less=one.less)
        for one, share in zip(of.sums, shares, strict=True)
    )


def _joint_scale(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.mechanisms.bound_first import ENOUGH, bound_test, bound_thresholds, left_by_test
    from privacy.mechanisms.budget import PureBudget
    from privacy.mechanisms.clip import Clip
    from privacy.mechanisms.joint_scale import ENOUGH_JOINTLY, FINER, JOINT_CHARGE, ScaledSum
    from privacy.mechanisms.sums import Centre, Deviation, Products

    def scaled(one: Sum) -> ScaledSum:
        small = isinstance(one.around, Centre | Deviation)  # beside its bound, as it should be
        tested = one.bound is not None and len(one.thresholds) > 1 and not small
        budget = PureBudget(left_by_test(one.epsilon) if tested else one.epsilon)
        charge, enough = (1.0, ENOUGH) if one.alone else (JOINT_CHARGE, ENOUGH_JOINTLY)
        chosen = Clip(budget, one.thresholds, _selection(one), charge=charge, less=one.less)
        if one.bound is None or not tested:
            return ScaledSum(chosen, one.around, alone=one.alone)
        at = one.bound << (FINER if isinstance(one.around, Products) else 0)
        direct = replace(chosen, thresholds=bound_thresholds(at))
        test = bound_test(one.epsilon, at, enough=enough)
        return ScaledSum(chosen, one.around, direct, test, one.epsilon, one.alone)

    return tuple(map(scaled, of.sums))


def _released_at_one_scale(
    made: Sequence[ServedGroupMeasurement], tuples: CodedJoinTuples, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    from privacy.mechanisms.joint_scale import ScaledSum, release_at_one_scale

    return release_at_one_scale([one for one in made if isinstance(one, ScaledSum)], tuples, entropy)


def _pmsja(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.papers.pmsja import Pmsja

    each = _delta_of_each(of)
    return _affordable(tuple(Pmsja(one.epsilon, each, 1, one.thresholds) for one in of.sums))


def _s4s_vector(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.papers.s4s_vector import S4SVector

    each = _delta_of_each(of)
    alone = of.sample if len(of.sums) == 1 else None  # amplified losses of one shared sample do not add up
    return _affordable(tuple(S4SVector(one.epsilon, each, 1, one.thresholds, sample=alone) for one in of.sums))


def _affordable(made: tuple[ServedGroupMeasurement, ...]) -> tuple[ServedGroupMeasurement, ...]:
    """Refuse parameters that are worth nothing before any data is read. Raises: InvalidParameter."""
    for one in made:
        one.expected_noise(1)
    return made


def _delta_of_each(of: AllGroups) -> float:
    """An equal share of delta for each sum, as stages of different kinds do not share rho."""
    return of.delta / len(of.sums) * DOWN


def _by_key(name: str, reason: str) -> KeyMechanism:
    needs = (Need.GROUPS, Need.ONE_OWNER, Need.ALL_ROWS, Need.UNIT_COUNTS)
    return KeyMechanism(name, reason, two_sided=False, needs=needs)


_BIAS = "; 1/8 of epsilon measures the largest change of a count by smoothing, which widens all intervals"

_ENTRIES: tuple[Mechanism, ...] = (
    ScalarMechanism(
        "gem", "selects one threshold, then releases once", two_sided=True, by_contributions=True, build=_gem
    ),
    ScalarMechanism(
        "r2t",
        "races thresholds up to the declared global sensitivity; the answer is a lower bound",
        two_sided=False,
        needs=(Need.GLOBAL_SENSITIVITY,),
        build=_r2t,
    ),
    ScalarMechanism(
        "s4s",
        "races thresholds up to what one unit's tuples can reach; the answer is a lower bound",
        two_sided=False,
        needs=(Need.TUPLES_PER_UNIT,),
        build=_s4s,
    ),
    JointMechanism(
        "group_lp",
        "selects a threshold, then releases once in each group",
        two_sided=True,
        delta_where_it_pays=True,
        by_contributions=True,
        by_kind=True,
        build=_group_lp,
    ),
    JointMechanism(
        "bound_first",
        "tests whether the public bound on what a unit adds is small beside the sum; else it selects a threshold",
        two_sided=True,
        needs=(Need.TUPLES_PER_UNIT,),
        offered=False,
        by_contributions=True,
        build=_bound_first,
    ),
    JointMechanism(
        "l1_clip",
        "selects one L1 norm for what a unit adds to all groups together, then releases once in each",
        two_sided=True,
        needs=(Need.ONE_OWNER,),
        bounds_vector=True,
        by_norms=True,
        build=_l1_clip,
    ),
    JointMechanism(
        "l2_clip",
        "selects one L2 norm for what a unit adds to all groups together, then releases once",
        two_sided=True,
        needs=(Need.DELTA, Need.ONE_OWNER),
        bounds_vector=True,
        by_norms=True,
        build=_l2_clip,
    ),
    JointMechanism(
        "joint_scale",
        "selects a threshold for each sum, scales everything that a unit adds by one factor, then releases once",
        two_sided=True,
        needs=(Need.ONE_OWNER,),
        offered=False,
        build=_joint_scale,
        release=_released_at_one_scale,
    ),
    JointMechanism(
        "pmsja",
        "tests norms of what a unit adds to all groups, bounds the change by one unit, then releases once",
        two_sided=False,
        needs=(Need.DELTA,),
        bounds_vector=True,
        build=_pmsja,
    ),
    JointMechanism(
        "s4s_vector",
        "tests norms on the sample, then releases once with noise for its smooth sensitivity",
        two_sided=False,
        needs=(Need.DELTA,),
        bounds_vector=True,
        build=_s4s_vector,
    ),
    _by_key("lpa", "counts people in each group, with noise for all groups of one person"),
    _by_key("fpa", f"releases the lowest frequencies of the counts, in the order of the groups{_BIAS}"),
    _by_key("gs_r", f"releases mean counts of random sets of groups{_BIAS}"),
    _by_key(
        "gs_s",
        f"releases mean counts of groups that are similar in a noisy sample, for half of epsilon{_BIAS}",
    ),
    _by_key(
        "gs",
        "chooses between counts, means of similar groups and frequencies, by a noisy comparison that costs 1/32 of "
        f"epsilon{_BIAS}",
    ),
    ScalarMechanism(
        "fixed",
        "keys or declared fan-outs bound what one unit adds, and that bound is the clipping threshold",
        two_sided=True,
        offered=False,
        by_contributions=True,
        build=_fixed,
    ),
    Mechanism("rank", "draws a value at random, the likelier the closer its rank is", two_sided=False, offered=False),
)

MECHANISMS: Mapping[str, Mechanism] = {one.name: one for one in _ENTRIES}
"""Every mechanism that a server runs, by name."""

OFFERED: tuple[str, ...] = tuple(one.name for one in _ENTRIES if one.offered)
"""The names that an analyst may ask for, in the order in which interfaces list them."""

_LIBRARY = "no server runs it, as it only serves comparisons; use gem"
_SHARED = "its budgets are not sound for one shared sample"
_ONE_SAMPLE = "it needs several samples, and a query draws one; use s4s"

COMPARISON: Mapping[str, str] = {
    "s4s_as_published": f"{_SHARED}; use s4s",
    "s4s_fresh": _ONE_SAMPLE,
    "s4s_rdp": "it needs a delta; use s4s, which needs none",
    "s4s_rdp_as_published": f"{_SHARED}; use s4s",
    "s4s_rdp_fresh": _ONE_SAMPLE,
    "s4s_zcdp": "no sample amplifies zCDP, and comparing noisy answers costs more than choosing a threshold; use gem",
    "pmsja_as_published": "its published constants ignore the solver's gap; use pmsja",
    "s4s_vector_as_published": "its published constants are not proved; use s4s_vector",
    "laplace_global": _LIBRARY,
    "simple_sampling": _LIBRARY,
    "sample_and_explore": _LIBRARY,
    "repeated_sample_and_explore": _LIBRARY,
    "sampled_mean": "it needs a public number N of people with one row each; write SUM(x) / N for that, else AVG(x)",
    "sampled_median": "its running time would reveal how dense the values are; write MEDIAN(x) without a mechanism",
}
"""Mechanisms of papers that no server runs, by name: the reason, and what to use instead.

They are in `tests/support/papers/`, for benchmarks and audits."""

if TYPE_CHECKING:
    MechanismName = str
else:
    MechanismName = Literal[OFFERED]
    """One of `OFFERED`: pydantic, OpenAPI and the command line read the choices off it."""


def measurement(name: str, of: EachGroup) -> ServedMeasurement:
    """Fix a mechanism's public parameters, for truncated sums, which only grow when a unit comes.

    Returns: a measurement; make the truncated answer at its `thresholds`.
    Raises: InvalidParameter for an unknown name, a missing bound or a parameter out of range.
    """
    entry = MECHANISMS.get(name)
    if not isinstance(entry, ScalarMechanism):
        raise InvalidParameter(f"the mechanism {name} cannot release one number per group")
    return entry.build(of)


def key_counts(name: str, epsilon: float, groups_per_unit: int | None = None, rule: int | None = None) -> KeyCounts:
    """Fix the public parameters of a mechanism that counts units by key; epsilon-DP. Args: as of `KeyCounts`.

    Raises: InvalidParameter for an unknown name or a parameter out of range.
    """
    from privacy.papers.key_counts import KeyCounts

    if not isinstance(MECHANISMS.get(name), KeyMechanism):
        raise InvalidParameter(f"{name} is not a mechanism for counts of units by key")
    return KeyCounts(name, epsilon, groups_per_unit, rule)


def group_measurements(name: str, of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    """One measurement per sum, all of them together (epsilon, delta)-DP, epsilon the sum of the sums' own.

    Raises: InvalidParameter for an unknown name, or parameters that are worth nothing to a mechanism.
    """
    entry = MECHANISMS.get(name)
    if not isinstance(entry, JointMechanism):
        raise InvalidParameter(f"{name} is not a mechanism for all groups together")
    return entry.build(of)


def release_together(
    made: Sequence[ServedGroupMeasurement], tuples: CodedJoinTuples, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Release all sums of a question as their mechanism does: each by itself, or several by one draw.

    Args:
      made: all measurements from `group_measurements`, in order.
      tuples: the coded join tuples; row i of their weights is that of sum i, and later rows are not read.
    Returns: one answer per sum, in order.
    Raises: InvalidParameter for measurements of several mechanisms, or of a scalar one; as
      `GroupMeasurement.release`.
    """
    names = {one.name for one in made}
    entry = MECHANISMS[names.pop()] if len(names) == 1 else None
    if not isinstance(entry, JointMechanism):
        raise InvalidParameter("the sums of a question are measured together by one mechanism")
    return entry.release(made, tuples, entropy)


def release_contributions(
    made: Sequence[ServedMeasurement | ServedGroupMeasurement], histogram: ContributionHistogram, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Release all sums of a question from the number of units by contribution.

    Args:
      made: measurements of mechanisms that are `by_contributions`; sum i of the histogram belongs to the i-th.
      histogram: the contributions, at the thresholds of every measurement.
    Returns: one answer per sum, in order; equal to the answers from the tuples.
    Raises: InvalidParameter for a measurement that needs the tuples; as its release.
    """
    from privacy.mechanisms.bound_first import BoundFirst
    from privacy.mechanisms.group_lp import GroupLp
    from privacy.truncation.histograms import ContributionsOfSum

    if not all(MECHANISMS[one.name].by_contributions for one in made):
        raise InvalidParameter("a mechanism of this question needs the join tuples, not totals per unit")

    def released(one: ServedMeasurement | ServedGroupMeasurement, contributions: ContributionsOfSum) -> NoisyAnswer:
        if isinstance(one, GroupLp | BoundFirst):
            return one.release_sum(contributions, entropy)
        assert not measures_together(one), "a mechanism by contributions releases a sum"
        return one.release(contributions.at(one.thresholds), entropy)

    return tuple(released(one, ContributionsOfSum(histogram, row)) for row, one in enumerate(made))


def release_norms(
    made: Sequence[ServedMeasurement | ServedGroupMeasurement], histogram: NormHistogram, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Release all sums of a question from the sums of the units of each norm.

    Args:
      made: measurements of mechanisms that are `by_norms`; sum i of the histogram belongs to the i-th.
      histogram: in the norm of the mechanism, at the thresholds of every measurement.
    Returns: one answer per sum, in order.
    Raises: InvalidParameter for a measurement that needs the tuples; as its release.
    """
    from privacy.mechanisms.clip import Clip, CountedClip
    from privacy.truncation.histograms import VectorsOfSum

    clips = [one for one in made if isinstance(one, Clip | CountedClip)]
    if len(clips) < len(made):
        raise InvalidParameter("a mechanism of this question needs the join tuples, not totals per unit")
    return tuple(one.release_vectors(VectorsOfSum(histogram, row), entropy) for row, one in enumerate(clips))


def counts_values(name: MechanismName) -> MechanismName:
    """The mechanism that counts distinct values in a question whose sums this one measures."""
    return "gem" if isinstance(MECHANISMS[name], JointMechanism) else name


def why_not_served(name: str) -> str | None:
    """The reason why no server runs a mechanism of this name, and what to use instead; None if it is unknown."""
    return COMPARISON.get(name)


def measures_together(
    made: ServedMeasurement | ServedGroupMeasurement | RankRelease | KeyCounts,
) -> TypeIs[ServedGroupMeasurement]:
    """Does its mechanism measure the tuples of all groups together?"""
    return isinstance(MECHANISMS[made.name], JointMechanism)
