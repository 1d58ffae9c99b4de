"""The registry of mechanisms: what each is called, measures and needs, why it is chosen or refused, how it is built.

The planner chooses by these facts, a worker builds by them, EXPLAIN repeats their reasons, and HTTP, the wire and the
command line offer their names; so a new mechanism is one file of its own and one entry here. Mechanisms are imported
when they are built: whoever needs names alone, as the command line, loads neither kernels nor OpenDP.
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
    from privacy.mechanisms.sums import Sum
    from privacy.noisy_answer import NoisyAnswer
    from privacy.papers.key_counts import KeyCounts
    from privacy.sampling.design import SampleDesign
    from privacy.truncation.histograms import ContributionHistogram, NormHistogram
    from privacy.truncation.solver_name import SolverName


class Need(Enum):
    """What a question or a policy must bring for a mechanism to be allowed."""

    GLOBAL_SENSITIVITY = "a bound that the custodian declares on what one unit adds"
    TUPLES_PER_UNIT = "a public bound on the join tuples of one unit"
    DELTA = "a delta, which it always spends"
    ONE_OWNER = "join tuples of one owner each"
    GROUPS = "a GROUP BY"
    ALL_ROWS = "all rows, and no sample of them"
    UNIT_COUNTS = "counts of privacy units, each of which counts once in a group"


@dataclass(frozen=True)
class EachGroup:
    """The public parameters of a release of each group's truncated answer.

    Attributes:
      epsilon: for all groups of the release together, > 0.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta, the solver's constant relative gap.
      global_sensitivity: what one unit adds at most, in normalised weight; None where it is not declared.
      whole: every weight is 0 or 1, so that a threshold below 1 cannot help.
      tuples_per_unit: Delta, a public bound on the join tuples of one unit: a threshold above it cannot help `gem`,
        and `s4s` needs it. If it is false the answer is biased, not less private.
      sample: how the tuples are sampled, if amplification may be claimed; `gem` and `s4s` then add less noise.
      adds_at_most: what one unit adds at most, in normalised weight, as whoever asks says; then the one threshold.
        None leaves thresholds to choose from. If it is false the answer is biased, not less private.
      nested: does a unit add min(tau, load) at every threshold tau (`Sum.nested`)?
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
    """The public parameters of the sums of one query that are measured in all groups together.

    Attributes:
      sums: at least one, with equal shares of epsilon and equal gaps.
      delta: of all sums together, in [0, 1).
      groups_per_unit: L0, or None when only the number of groups bounds it.
      sample: how the tuples are sampled, if amplification may be claimed: by the pure `group_lp`, and by `s4s_vector`
        if nothing else is released from the sample.
      solver: which truncates scalars. Vectors have one solver, whose certificate the reference knows nothing of.
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
      name: as plans, answers, charges and interfaces spell it.
      reason: what it does, for EXPLAIN: the rest of a sentence that begins with its name.
      two_sided: have its intervals two ends, whose distance public numbers bound beforehand? Proposals need that.
      needs: in the order in which a missing one is reported.
      offered: may an analyst ask for it? Otherwise the planner alone chooses it.
      delta_where_it_pays: is it pure, but spends a delta where that leaves less noise?
      bounds_vector: is a unit bounded by the length of its vector over all groups, rather than in each group? No
        rule on the groups of a unit leaves rows out then, and the truncated answer is not a maximum.
      by_contributions: does it ask of each group's sum no more than truncated values, of which tuples of one owner
      need only
        how many units have how much (`ContributionHistogram`)?
      by_norms: does it ask of each sum no more than vectors that are scaled to a length, for which it is enough to
        know what the units of each length have (`NormHistogram`)?
      by_kind: does it make use of how many groups the units of each relation reach, as keys show it: may those that
        reach fewer contribute more to each, or is noise for fewer (`GroupLp.of_kinds`)?
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
    """One that measures each group's truncated answer by itself.

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
    """One that measures the tuples of all groups together; beside it `gem` counts distinct values.

    Attributes:
      build: one measurement per sum, together (epsilon, delta)-DP, epsilon the sum of the sums' own. Raises:
        InvalidParameter for parameters that are worth nothing to it.
      release: releases the sums of a question in one call, given what `build` made of them, the tuples, whose first
        rows of weights are the sums' in the same order, and the entropy; one answer per sum. As a rule each draws for
        itself; a mechanism that releases several sums by one draw says here how.
    """

    build: Callable[[AllGroups], tuple[ServedGroupMeasurement, ...]]
    release: Callable[[Sequence[ServedGroupMeasurement], CodedJoinTuples, Entropy], tuple[NoisyAnswer, ...]] = (
        _one_by_one
    )


@dataclass(frozen=True, kw_only=True)
class KeyMechanism(Mechanism):
    """One that counts privacy units at all keys at once, and may smooth the counts of different keys together."""


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
        raise InvalidParameter("r2t needs a global sensitivity")
    return R2T(of.epsilon, of.global_sensitivity, of.groups_per_unit, of.gap)


def _s4s(of: EachGroup) -> ServedMeasurement:
    from privacy.papers.dp_s4s import S4S

    if of.tuples_per_unit is None:
        raise InvalidParameter("s4s needs a bound on the tuples of a unit")
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
            raise InvalidParameter("bound_first needs a bound on what a unit adds")
        known = one.bound, of.groups_per_unit, one.gap, one.thresholds
        return BoundFirst(one.epsilon, *known, monotone=True, nested=one.nested, solver=of.solver)

    return tuple(map(made, of.sums))


def _l1_clip(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.mechanisms.budget import PureBudget
    from privacy.mechanisms.clip import Clip, CountedClip

    def made(one: Sum) -> Clip | CountedClip:
        if one.counted is not None:
            return CountedClip(one.epsilon, one.thresholds, one.counted.at_most, one.less)
        return Clip(PureBudget(one.epsilon), one.thresholds, less=one.less)

    return tuple(map(made, of.sums))


def _l2_clip(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    """Equal shares of rho, converted to (epsilon, delta) once, for all sums."""
    from privacy.mechanisms.clip import Clip
    from privacy.mechanisms.sums import equal_shares

    shares = equal_shares(of.sums, of.delta)
    return tuple(Clip(share, one.thresholds, less=one.less) for one, share in zip(of.sums, shares, strict=True))


def _joint_scale(of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    from privacy.mechanisms.bound_first import bound_test, bound_thresholds, left_by_test
    from privacy.mechanisms.budget import PureBudget
    from privacy.mechanisms.clip import Clip
    from privacy.mechanisms.joint_scale import ENOUGH_JOINTLY, FINER, JOINT_CHARGE, ScaledSum
    from privacy.mechanisms.sums import Centre, Deviation, Products

    def scaled(one: Sum) -> ScaledSum:
        small = isinstance(one.around, Centre | Deviation)  # beside its bound, as it should be
        tested = one.bound is not None and len(one.thresholds) > 1 and not small
        budget = PureBudget(left_by_test(one.epsilon) if tested else one.epsilon)
        chosen = Clip(budget, one.thresholds, charge=JOINT_CHARGE, less=one.less)
        if one.bound is None or not tested:
            return ScaledSum(chosen, one.around)
        at = one.bound << (FINER if isinstance(one.around, Products) else 0)
        direct = replace(chosen, thresholds=bound_thresholds(at))
        return ScaledSum(chosen, one.around, direct, bound_test(one.epsilon, at, enough=ENOUGH_JOINTLY), one.epsilon)

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
    """Parameters that are worth nothing are refused before anything is read."""
    for one in made:
        one.expected_noise(1)
    return made


def _delta_of_each(of: AllGroups) -> float:
    """Stages of different kinds do not share rho, so each sum gets its share of epsilon and an equal one of delta."""
    return of.delta / len(of.sums) * DOWN


def _by_key(name: str, reason: str) -> KeyMechanism:
    needs = (Need.GROUPS, Need.ONE_OWNER, Need.ALL_ROWS, Need.UNIT_COUNTS)
    return KeyMechanism(name, reason, two_sided=False, needs=needs)


_BIAS = (
    "; 1/8 of epsilon measures how far that moves any count, by which all intervals are wider than the noise that is "
    "named"
)

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
        "selects one total for what a unit adds to all groups together, then releases once in each",
        two_sided=True,
        needs=(Need.ONE_OWNER,),
        bounds_vector=True,
        by_norms=True,
        build=_l1_clip,
    ),
    JointMechanism(
        "l2_clip",
        "selects one length for what a unit adds to all groups together, then releases once",
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
        "tests lengths for what a unit adds to all groups, bounds what neighbours differ by, then releases once",
        two_sided=False,
        needs=(Need.DELTA,),
        bounds_vector=True,
        build=_pmsja,
    ),
    JointMechanism(
        "s4s_vector",
        "tests lengths on the sample, then releases once with noise for its smooth sensitivity",
        two_sided=False,
        needs=(Need.DELTA,),
        bounds_vector=True,
        build=_s4s_vector,
    ),
    _by_key("lpa", "counts people in each group, with noise for all the groups that one of them is in"),
    _by_key(
        "fpa", f"releases the first frequencies of the counts, groups in their order, and what they make up{_BIAS}"
    ),
    _by_key("gs_r", f"releases the mean counts of groups that are put together at random{_BIAS}"),
    _by_key("gs_s", f"releases the mean counts of groups that are alike in a noisy sample, half of epsilon{_BIAS}"),
    _by_key(
        "gs",
        "chooses by a noisy comparison, 1/32 of epsilon, whether to release counts, means of groups that are alike, "
        f"or frequencies{_BIAS}",
    ),
    ScalarMechanism(
        "fixed",
        "what one unit adds is bounded by keys or declared fan-outs: that is the threshold, and nothing is selected",
        two_sided=True,
        offered=False,
        by_contributions=True,
        build=_fixed,
    ),
    Mechanism("rank", "draws a value by how far its rank is from the one asked for", two_sided=False, offered=False),
)

MECHANISMS: Mapping[str, Mechanism] = {one.name: one for one in _ENTRIES}
"""Every mechanism that a server runs, by name."""

OFFERED: tuple[str, ...] = tuple(one.name for one in _ENTRIES if one.offered)
"""The names that an analyst may ask for, in the order in which interfaces list them."""

_LIBRARY = "it is there for comparison alone; use gem"
_SHARED = "budgets amplified one by one are no bound for one shared sample"
_ONE_SAMPLE = "a query draws one sample; s4s answers from it"

COMPARISON: Mapping[str, str] = {
    "s4s_as_published": f"{_SHARED}; s4s has the sound ones",
    "s4s_fresh": _ONE_SAMPLE,
    "s4s_rdp": "it needs a delta of its own; s4s needs none",
    "s4s_rdp_as_published": f"{_SHARED}; use s4s",
    "s4s_rdp_fresh": _ONE_SAMPLE,
    "s4s_zcdp": "no sample amplifies zero-concentrated privacy, and a race costs more than a choice; use gem",
    "pmsja_as_published": "its published constants do not account for the solver's gap; pmsja has the sound ones",
    "s4s_vector_as_published": "its published constants are not proved; s4s_vector has the sound ones",
    "laplace_global": _LIBRARY,
    "simple_sampling": _LIBRARY,
    "sample_and_explore": _LIBRARY,
    "repeated_sample_and_explore": _LIBRARY,
    "sampled_mean": "it takes the mean of N values, N public: where N people have a row each, SUM(x) / N is that, "
    "with an interval, and no sample helps a mean; where N is not public, AVG(x)",
    "sampled_median": "its noise is for the whole range, or for a smooth sensitivity whose work tells how dense the "
    "values are; leave the mechanism out, MEDIAN(x) is drawn by its rank",
}
"""Every mechanism of a paper that is known and not served, by name: why not, with what to do instead.

Benchmarks and audits have them from `tests/support/papers/`.
"""

if TYPE_CHECKING:
    MechanismName = str
else:
    MechanismName = Literal[OFFERED]
    """One of `OFFERED`: pydantic, OpenAPI and the command line read the choices off it."""


def measurement(name: str, of: EachGroup) -> ServedMeasurement:
    """Fix a mechanism's public parameters, for truncated sums, which only grow when a unit comes.

    Returns: a measurement; make the truncated answer on its `thresholds`.
    Raises: InvalidParameter for an unknown name, a missing bound or a parameter out of range.
    """
    entry = MECHANISMS.get(name)
    if not isinstance(entry, ScalarMechanism):
        raise InvalidParameter("there is no mechanism of this name for truncated answers")
    return entry.build(of)


def key_counts(name: str, epsilon: float, groups_per_unit: int | None = None, rule: int | None = None) -> KeyCounts:
    """Fix the public parameters of a mechanism that counts units by key; epsilon-DP. As of `KeyCounts`.

    Raises: InvalidParameter for an unknown name or a parameter out of range.
    """
    from privacy.papers.key_counts import KeyCounts

    if not isinstance(MECHANISMS.get(name), KeyMechanism):
        raise InvalidParameter("there is no mechanism of this name for counts by key")
    return KeyCounts(name, epsilon, groups_per_unit, rule)


def group_measurements(name: str, of: AllGroups) -> tuple[ServedGroupMeasurement, ...]:
    """One measurement per sum, all of them together (epsilon, delta)-DP, epsilon the sum of the sums' own.

    Raises: InvalidParameter for an unknown name, or parameters that are worth nothing to a mechanism.
    """
    entry = MECHANISMS.get(name)
    if not isinstance(entry, JointMechanism):
        raise InvalidParameter("there is no mechanism of this name for all groups together")
    return entry.build(of)


def release_together(
    made: Sequence[ServedGroupMeasurement], tuples: CodedJoinTuples, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Release all sums of a question as their mechanism does: each by itself, or several by one draw.

    Args:
      made: what `group_measurements` made of the sums, all of them and in order.
      tuples: the coded join tuples; row i of their weights is that of sum i, and what follows is not read.
    Returns: one answer per sum, in order.
    Raises: InvalidParameter for measurements of several mechanisms, or of one that measures each group by itself;
      what `GroupMeasurement.release` raises.
    """
    names = {one.name for one in made}
    entry = MECHANISMS[names.pop()] if len(names) == 1 else None
    if not isinstance(entry, JointMechanism):
        raise InvalidParameter("the sums of a question are measured together by one mechanism")
    return entry.release(made, tuples, entropy)


def release_contributions(
    made: Sequence[ServedMeasurement | ServedGroupMeasurement], histogram: ContributionHistogram, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Release all sums of a question from how many units have how much.

    Args:
      made: measurements of mechanisms that are `by_contributions`; sum i of the histogram is that of the i-th.
      histogram: the loads, at the thresholds of every ladder.
    Returns: one answer per sum, in order: those of the tuples themselves, to the bit.
    Raises: InvalidParameter for a measurement that needs the tuples; what its release raises.
    """
    from privacy.mechanisms.bound_first import BoundFirst
    from privacy.mechanisms.group_lp import GroupLp
    from privacy.truncation.histograms import ContributionsOfSum

    if not all(MECHANISMS[one.name].by_contributions for one in made):
        raise InvalidParameter("this mechanism needs the tuples themselves")

    def released(one: ServedMeasurement | ServedGroupMeasurement, contributions: ContributionsOfSum) -> NoisyAnswer:
        if isinstance(one, GroupLp | BoundFirst):
            return one.release_sum(contributions, entropy)
        assert not measures_together(one), "a mechanism by loads releases a sum"
        return one.release(contributions.at(one.thresholds), entropy)

    return tuple(released(one, ContributionsOfSum(histogram, row)) for row, one in enumerate(made))


def release_norms(
    made: Sequence[ServedMeasurement | ServedGroupMeasurement], histogram: NormHistogram, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Release all sums of a question from what the units of each length have.

    Args:
      made: measurements of mechanisms that are `by_norms`; sum i of the histogram is that of the i-th.
      histogram: the lengths in the norm of the mechanism, at the thresholds of every ladder.
    Returns: one answer per sum, in order.
    Raises: InvalidParameter for a measurement that needs the tuples; what its release raises.
    """
    from privacy.mechanisms.clip import Clip, CountedClip
    from privacy.truncation.histograms import VectorsOfSum

    clips = [one for one in made if isinstance(one, Clip | CountedClip)]
    if len(clips) < len(made):
        raise InvalidParameter("this mechanism needs the tuples themselves")
    return tuple(one.release_vectors(VectorsOfSum(histogram, row), entropy) for row, one in enumerate(clips))


def counts_values(name: MechanismName) -> MechanismName:
    """The mechanism that counts distinct values in a question whose sums are measured by this one."""
    return "gem" if isinstance(MECHANISMS[name], JointMechanism) else name


def why_not_served(name: str) -> str | None:
    """Why a server does not run a mechanism of this name, with what to do instead; None where it knows of none."""
    return COMPARISON.get(name)


def measures_together(
    made: ServedMeasurement | ServedGroupMeasurement | RankRelease | KeyCounts,
) -> TypeIs[ServedGroupMeasurement]:
    """Is it of a mechanism that measures the tuples of all groups together?"""
    return isinstance(MECHANISMS[made.name], JointMechanism)
