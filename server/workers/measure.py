"""The private part of a query: sample, select groups, truncate, release; and its public plan.

    Plan --plan_measurements--> Measuring
    BackendQuery --read--> JoinTuples --thin, keep--> JoinTuples --select--> public groups
      --encode--> CodedJoinTuples --truncate--> TruncatedAnswer --release--> NoisyAnswer
    or, of tuples with one owner, BackendQuery --read--> LoadHistogram --truncate--> TruncatedAnswer --release-->
    or BackendQuery --read--> LengthHistogram --scale, release-->

Runs in a worker process, but for `plan_measurements`, which sees nothing private.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from planner import plan as planned
from planner.errors import InvalidSetting
from planner.limits import most_groups
from planner.plan import BackendQuery, KindReach, Plan, Release
from planner.planning.mechanism_choice import MOST_BOUND
from planner.policy.policy import Policy
from privacy.entropy import Entropy, OpendpEntropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, DistinctTuples, JoinTuples, RankedTuples
from privacy.ladder import useful_ladder
from privacy.mechanisms.found_groups import GroupThreshold, VoteThreshold, keep_groups
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.joint_scale import finer
from privacy.mechanisms.measurement import KindMeasurement, ServedGroupMeasurement, ServedMeasurement
from privacy.mechanisms.rank import Rank
from privacy.mechanisms.rank_release import RankBatch, RankRelease
from privacy.mechanisms.rank_rows import Sharing
from privacy.mechanisms.shared_threshold import LaplaceOrGaussian
from privacy.mechanisms.sums import Around, Centre, Counted, Deviation, GroupsOfKinds, Products, Sum
from privacy.noisy_answer import NoisyAnswer
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
    measures_together,
    release_lengths,
    release_loads,
    release_together,
)
from privacy.sampling.design import SampleDesign
from privacy.sampling.draws import SystemDraws, thin
from privacy.sampling.scale_up import scale_up, scale_up_noise
from privacy.truncation.control import SolverName
from privacy.truncation.encode import encode
from privacy.truncation.histograms import LengthHistogram, LoadHistogram, LoadsOfSum
from privacy.truncation.programs.solver_routes import load_solver
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.units import ONE
from server.backends.backend import Backend, MirrorFirst
from server.backends.columns import Domain
from server.backends.query_tuples import QueryTuples


def groups_of_kinds(kinds: Sequence[KindReach], domain: Domain) -> GroupsOfKinds:
    """L0 of the units of each relation: the most groups that share values of the keys that follow from a unit.

    Positions of a relation that are different functions add up; there are never more than all groups. A function of
    the list of groups alone, which is public: declared, read from public tables, or shown by a release.

    Returns: one number, at least 1, for each relation of `kinds`.
    Cost: a sort of the groups for each position.
    """
    every = max(1, len(domain))
    return tuple(
        (one.relation, max(1, min(every, sum(_most_alike(domain, places) for places in one.determines))))
        for one in kinds
    )


def _most_alike(domain: Domain, places: Sequence[int]) -> int:
    """The most groups that have the same values of some keys."""
    group = np.zeros(len(domain), np.int64)
    for place in places:
        value = _codes(domain.keys[place])[domain.places(place)]
        _, group = np.unique(group * (int(value.max(initial=0)) + 1) + value, return_inverse=True)
    return int(np.bincount(group).max(initial=0))


def _codes(values: Sequence[object]) -> NDArray[np.int64]:
    """A number for each value, the same for equal ones and for all that equal nothing, as NaN does."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(value if value == value else None, len(known)) for value in values], np.int64)


AnyRelease = ServedMeasurement | ServedGroupMeasurement | RankRelease | KeyCounts
"""What may measure one release of a plan."""


@dataclass(frozen=True)
class Measuring:
    """How a query is measured. Public: it is made before anything is read.

    Attributes:
      releases: one per release of the plan; those of its sums are of one mechanism.
      threshold: decides which groups are shown; None shows all.
      group_rule: the most groups that one unit's tuples count in, for those mechanisms that rely on it; None: any.
      solver: the policy's, which truncates scalars.
      kinds: which group keys follow from units of each relation; empty: nothing is made of it.
    """

    releases: tuple[AnyRelease, ...]
    threshold: GroupThreshold | VoteThreshold | None = None
    group_rule: int | None = None
    solver: SolverName = "certified"
    kinds: tuple[KindReach, ...] = ()

    def of_groups(self, domain: Domain) -> Measuring:
        """The same, once the groups are known: with noise for as many as a unit reaches, and capacities by kind."""
        return self.of_kinds(groups_of_kinds(self.kinds, domain))

    def of_kinds(self, kinds: GroupsOfKinds) -> Measuring:
        """The same, told how many of the groups the units of each relation reach; nothing changes without any."""
        return replace(self, releases=tuple(_of_kinds(one, kinds) for one in self.releases)) if kinds else self

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for any number of groups up to this one, of those that are shown, too.

        Raises: InvalidParameter, whenever `measure` would for that reason.
        """
        for one in (*self.releases, *(() if self.threshold is None else (self.threshold,))):
            one.check_noise(n_groups)
        if self.kinds:  # fewer groups of a unit have less noise, and scores that count it for more
            alone = tuple((one.relation, 1) for one in self.kinds)
            for release in self.of_kinds(alone).releases:
                release.check_noise(n_groups)


def _of_kinds(one: AnyRelease, kinds: GroupsOfKinds) -> AnyRelease:
    return one.of_kinds(kinds) if MECHANISMS[one.name].by_kind and isinstance(one, KindMeasurement) else one


def plan_measurements(plan: Plan, policy: Policy) -> Measuring:
    """The measurement of each release, and of the selection of groups, from public quantities.

    A count of values of which one unit reaches one at most has nothing to select: its threshold is 1.
    """
    together = iter(_together(plan, policy.solver))
    joint = isinstance(MECHANISMS[plan.mechanism], JointMechanism)
    if plan.counts_units:
        return Measuring(_by_key(plan), _threshold(plan), plan.group_rule, policy.solver)
    ranks = _ranks(plan, policy.solver)
    releases = tuple(
        ranks.get(place) or (next(together) if joint and release.is_sum else _alone(release, plan, policy))
        for place, release in enumerate(plan.releases)
    )
    return Measuring(releases, _threshold(plan), plan.group_rule, policy.solver, plan.kinds)


def _by_key(plan: Plan) -> tuple[KeyCounts, ...]:
    """A measurement per release, of its share of epsilon. Raises: InvalidSetting for an epsilon beyond its own."""
    bounds = plan.groups_per_unit, plan.group_rule
    try:
        return tuple(key_counts(plan.mechanism, one.epsilon, *bounds) for one in plan.releases)
    except InvalidParameter as error:
        hint = "ask with another epsilon, or for another mechanism"
        raise InvalidSetting(f"this epsilon is out of the range of {plan.mechanism}", hint=hint) from error


def _together(plan: Plan, solver: SolverName) -> tuple[ServedGroupMeasurement, ...]:
    """The sums of a plan that measures all groups together, with one budget for them all.

    Raises: InvalidSetting for an epsilon and a delta that are too small for the mechanism.
    """
    rows = [place for place, release in enumerate(plan.releases) if release.is_sum]
    sums = [_sum(plan, plan.releases[place], rows) for place in rows]
    if not isinstance(MECHANISMS[plan.mechanism], JointMechanism) or not sums:
        return ()
    alone = len(plan.releases) == 1 and plan.selection is None
    design = _design(plan) if alone or not plan.release_delta else None  # shares of pure losses add up, others do not
    try:
        bounds = plan.release_delta, plan.groups_per_unit
        return group_measurements(plan.mechanism, AllGroups(sums, *bounds, design, solver))
    except InvalidParameter as error:
        hint = "ask for more of either, for fewer aggregates, or for another mechanism"
        raise InvalidSetting(f"this epsilon and delta are too small for {plan.mechanism}", hint=hint) from error


def _sum(plan: Plan, release: Release, rows: Sequence[int]) -> Sum:
    """A release of a sum; `rows`: the places of the releases whose weights the rows of the join tuples are."""
    ladder, gap = plan.ladder(release), plan.gap(release)
    signed = [place for place in rows if plan.releases[place].less is not None]
    less = None if release.less is None else len(rows) + [plan.releases[place] for place in signed].index(release)
    if plan.named_threshold(release) is not None:
        return Sum(release.epsilon, gap, ladder, less=less, counted=_counted(release))
    if isinstance(release.around, planned.Products):
        ladder = finer(ladder)
    most = plan.tuples_per_unit
    bound = None if most is None or most > MOST_BOUND or plan.group_keys or plan.sampling else most
    around = _around(plan, release, rows)
    return Sum(release.epsilon, gap, ladder, around, bound, less, nested=plan.nested(release))


def _counted(release: Release) -> Counted | None:
    """How those are counted who have more than the policy lets count; None where they are not."""
    bound = release.bound
    if bound is None or not bound.counted:
        return None
    return Counted(None if bound.at_most is None else planned.normalised(bound.at_most, release))


def _around(plan: Plan, release: Release, rows: Sequence[int]) -> Around | None:
    one = release.around
    if one is None:
        return None
    count = rows.index(one.count)
    if isinstance(one, planned.Centre):
        return Centre(count)
    if isinstance(one, planned.Deviation):
        return Deviation(rows.index(one.centre), count)
    x, y = ((rows.index(place), plan.releases[place].weight_bound) for place in (one.x, one.y))
    return Products(x, y, count, release.weight_bound, plan.tuples_per_unit == 1)


def _ranks(plan: Plan, solver: SolverName) -> dict[int, RankRelease]:
    """The ranks of a plan by their places, those over the same rows in one batch."""
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
    ladder = useful_ladder(True, plan.tuples_per_unit)
    return RankBatch(
        epsilon,
        ranks,
        ranked[0].grid.n_codes,
        ladder,
        one_group=_in_one_group(plan),
        sharing=None if len(plan.owners) == 1 else _sharing(plan, releases[0], solver),
    )


def _sharing(plan: Plan, release: Release, solver: SolverName) -> Sharing:
    reached = None if plan.group_rule is not None else plan.groups_per_unit  # the rule is for sums
    return Sharing(plan.gap(release), reached if plan.group_keys else 1, solver)


def _in_one_group(plan: Plan) -> bool:
    return not plan.group_keys or plan.groups_per_unit == 1


def _alone(release: Release, plan: Plan, policy: Policy) -> ServedMeasurement | ServedGroupMeasurement:
    """A release of each group's truncated answer, which spends its share of epsilon and no delta.

    Of values that add up over units in several groups, one of what a unit adds to all groups together.
    """
    if plan.adds_up(release):
        return group_measurements(
            "l1_clip", AllGroups([Sum(release.epsilon, 0.0, plan.ladder(release), nested=True)], 0.0)
        )[0]
    ruled = plan.group_rule is not None and release.distinct is not None  # the rule is for sums
    return measurement(
        "fixed" if release.determined else counts_values(plan.mechanism),
        EachGroup(
            epsilon=release.epsilon,
            groups_per_unit=None if ruled else plan.groups_per_unit,
            gap=plan.gap(release),
            global_sensitivity=policy.global_sensitivity,
            whole=release.whole,
            tuples_per_unit=plan.tuples_per_unit,
            sample=_design(plan),
            adds_at_most=plan.adds_at_most(release),
            nested=plan.nested(release),
        ),
    )


def _design(plan: Plan) -> SampleDesign | None:
    """The sample that all releases share, where its tuples are drawn one by one and Delta is public."""
    if plan.sampling is None or not plan.sampling.amplifies or plan.tuples_per_unit is None:
        return None
    return SampleDesign(plan.sampling.rate, plan.tuples_per_unit, plan.epsilon)


def _threshold(plan: Plan) -> GroupThreshold | VoteThreshold | None:
    """The release that decides which groups are shown. It claims no amplification: a sample has fewer units."""
    if plan.selection is None:
        return None
    one = plan.selection
    if one.votes:
        return VoteThreshold(one.epsilon, one.delta, one.minimum)
    return GroupThreshold(one.epsilon, one.delta, plan.groups_per_unit, plan.selection_gap, one.minimum)


def measure(
    backend: Backend | MirrorFirst, query: BackendQuery, measuring: Measuring
) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
    """Read, select, encode, truncate, release: the private part of the way, run in a worker process.

    Returns: the groups that may be shown, and each release's values in them.
    """
    entropy = OpendpEntropy()
    load_solver(measuring.solver)  # before anything is read: when it is imported tells nothing of the data
    domain, read = backend.read(query)
    tuples = _sampled(read, query)
    if measuring.threshold is not None:
        domain, tuples = _shown(domain, tuples, query, measuring, measuring.threshold, entropy)
    measuring = measuring.of_groups(domain)
    noisy = [_cut(one, len(domain)) for one in _released(tuples, measuring, entropy)]
    _check_one_noise(noisy, measuring)
    rate = query.sampling_rate
    if rate is not None:
        pairs = zip(noisy, measuring.releases, strict=True)
        noisy = [_scaled_up(one, made, rate, max(1, len(domain))) for one, made in pairs]
    return domain, tuple(noisy)


def _sampled(tuples: QueryTuples, query: BackendQuery) -> QueryTuples:
    """Draw the sample here, where the database has only counted."""
    if not query.counted:
        return tuples
    assert query.sampling_rate is not None and isinstance(tuples.join, JoinTuples), "a counted join is a sampled one"
    return replace(tuples, join=thin(tuples.join, query.sampling_rate, SystemDraws()))


def _shown(
    domain: Domain,
    tuples: QueryTuples,
    query: BackendQuery,
    measuring: Measuring,
    threshold: GroupThreshold | VoteThreshold,
    entropy: Entropy,
) -> tuple[Domain, QueryTuples]:
    """The groups that the selection shows, and the tuples of those alone. Only now are found groups public."""
    assert tuples.join is not None, "what is selected by is a weight of the join"
    found = bool(query.discovered)
    if isinstance(tuples.join, LoadHistogram):
        assert isinstance(threshold, GroupThreshold), "votes are of units"
        loads = LoadsOfSum(tuples.join, tuples.join.n_sums - 1)
        shown = threshold.release(loads.at(threshold.ladder), entropy)
    else:
        assert isinstance(tuples.join, JoinTuples), "lengths select no groups"
        shown = _selected(encode(tuples.join), None if found else len(domain), measuring, threshold, entropy)
    shown = shown[: most_groups(query.columns)]
    place = np.full(len(domain) + 1, -1, np.int64)  # its last entry is that of no group, -1
    place[shown] = np.arange(len(shown))
    kept = domain.only(shown, 0 if found else len(domain) - len(shown))
    return kept, tuples.regrouped(place, max(1, len(shown)))


def _selected(
    coded: CodedJoinTuples,
    n_groups: int | None,
    measuring: Measuring,
    threshold: GroupThreshold | VoteThreshold,
    entropy: Entropy,
) -> NDArray[np.intp]:
    """The places of the groups that are shown, from the tuples; `n_groups`: how many there are, if that is public."""
    row = len(coded.weights) - 1
    if isinstance(threshold, VoteThreshold):
        return threshold.release(coded, row, entropy)
    coded = _ruled(coded, measuring.group_rule, n_groups)
    answer = truncate(coded, row, threshold.ladder, threshold.gap, solver=measuring.solver)
    return threshold.release(answer, entropy)


def _ruled(tuples: CodedJoinTuples, rule: int | None, n_groups: int | None) -> CodedJoinTuples:
    """No unit in more groups than the custodian's rule allows.

    Nothing is left out where the rule allows all groups; `n_groups`, if it is public, says so.
    """
    needless = rule is None or (n_groups is not None and rule >= n_groups)
    return tuples if rule is None or needless else keep_groups(tuples, rule)


def _released(tuples: QueryTuples, measuring: Measuring, entropy: Entropy) -> Iterator[NoisyAnswer]:
    """Each release's values in turn; the sums are released at once."""
    pairs = list(zip(measuring.releases, tuples.distinct, strict=True))
    own = [measured for measured, distinct in pairs if distinct is None and not isinstance(measured, RankRelease)]
    sums = iter(_sums(tuples, own, measuring, entropy))
    ranks: dict[tuple[int, RankBatch], tuple[NoisyAnswer, ...]] = {}
    for measured, distinct in pairs:
        if distinct is None:
            yield next(sums)
            continue
        if isinstance(measured, RankRelease):
            assert isinstance(distinct, RankedTuples), "ranks are of values on a grid"
            batch = id(distinct), measured.batch  # once per batch, which is charged once
            if batch not in ranks:
                ranks[batch] = measured.batch.release(distinct, entropy)
            yield ranks[batch][measured.place]
            continue
        if isinstance(measured, KeyCounts):
            assert isinstance(distinct, DistinctTuples), "units are counted by their tuples"
            yield measured.of_values(distinct, SystemDraws(), entropy)
            continue
        if isinstance(distinct, LengthHistogram):
            yield release_lengths([measured], distinct, entropy)[0]
            continue
        if measures_together(measured):
            assert isinstance(distinct, DistinctTuples), "values are added up over units"
            yield measured.release(_values_of_units(distinct), 0, entropy)
            continue
        if isinstance(distinct, LoadHistogram):
            yield release_loads([measured], distinct, entropy)[0]
            continue
        assert isinstance(distinct, DistinctTuples), "values are counted"
        answer = truncate_distinct(distinct, measured.ladder, measured.gap, solver=measuring.solver)
        yield measured.release(answer, entropy)


def _values_of_units(distinct: DistinctTuples) -> CodedJoinTuples:
    """A tuple of weight one for each unit, group and value: what a unit adds is a function of its own rows alone."""
    (owner,) = distinct.owners
    order = np.lexsort((distinct.value, owner.keys, owner.missing, distinct.group))
    columns = [column[order] for column in (distinct.value, owner.keys, owner.missing, distinct.group)]
    first = np.ones(len(order), bool)
    first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    kept = order[first & (distinct.value[order] >= 0)]
    owners = (replace(owner, keys=owner.keys[kept], missing=owner.missing[kept]),)
    return encode(JoinTuples(owners, distinct.group[kept], distinct.n_groups, np.full((1, len(kept)), ONE)))


def _sums(
    tuples: QueryTuples, sums: Sequence[AnyRelease], measuring: Measuring, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """The values of every sum, which share one coding; by their mechanism at once, where it measures together."""
    if not sums:
        return ()
    assert tuples.join is not None, "sums have a join"
    if isinstance(tuples.join, LoadHistogram | LengthHistogram):
        made = [one for one in sums if not isinstance(one, RankRelease | KeyCounts)]
        if isinstance(tuples.join, LengthHistogram):
            return release_lengths(made, tuples.join, entropy)
        return release_loads(made, tuples.join, entropy)
    whole = encode(tuples.join)
    units = [one for one in sums if isinstance(one, KeyCounts)]
    if units:  # which enforce the rule themselves
        assert len(units) == len(sums), "the sums of a question are of one mechanism"
        return tuple(one.of_sums(whole, row, SystemDraws(), entropy) for row, one in enumerate(units))
    if any(MECHANISMS[measured.name].bounds_vector for measured in sums):
        coded = whole
    else:
        coded = _ruled(whole, measuring.group_rule, whole.n_groups)
    together = [measured for measured in sums if measures_together(measured)]
    alone = [measured for measured in sums if not measures_together(measured)]
    assert not (together and alone), "the sums of a question are of one mechanism"
    if together:
        return release_together(together, coded, entropy)
    return tuple(
        measured.release(truncate(coded, row, measured.ladder, measured.gap, solver=measuring.solver), entropy)
        for row, measured in enumerate(alone)
        if not isinstance(measured, RankRelease | KeyCounts)
    )


def _check_one_noise(noisy: Sequence[NoisyAnswer], measuring: Measuring) -> None:
    """Sums that share one budget have all Laplace noise, or all Gaussian noise: shares of epsilon and of rho do not
    add up to it. That is so by how `LaplaceOrGaussian` chooses; were it not, nothing leaves."""
    pairs = zip(noisy, measuring.releases, strict=True)
    kinds = {
        one.noise for one, made in pairs if isinstance(made, GroupLp) and isinstance(made.scalar, LaplaceOrGaussian)
    }
    if len(kinds) > 1:
        raise AssertionError("sums that share one budget were given noise of two kinds")  # also under python -O


def _scaled_up(noisy: NoisyAnswer, made: AnyRelease, rate: float, n_groups: int) -> NoisyAnswer:
    """From the sample to the whole, with the sampling error where the truncated answer is an optimum."""
    if MECHANISMS[made.name].bounds_vector:
        return scale_up_noise(noisy, rate)
    return scale_up(noisy, rate, len(made.expected_noise(n_groups)))


def _cut(noisy: NoisyAnswer, n_groups: int) -> NoisyAnswer:
    """The first groups: none where a mechanism was given one empty group because no group is shown."""
    return replace(
        noisy,
        values=noisy.values[:n_groups],
        tau=noisy.tau[:n_groups],
        noise_scale=noisy.noise_scale[:n_groups],
        low=noisy.low[:n_groups],
        high=noisy.high[:n_groups],
        signal=noisy.signal[:n_groups],
    )
