"""The private part of a query: sample, select groups, truncate, release.

    Plan --plan_measurements--> Measuring
    BackendQuery --read--> JoinTuples --thin, keep--> JoinTuples --select--> public groups
      --encode--> CodedJoinTuples --truncate--> TruncatedAnswer --release--> NoisyAnswer

If every tuple has one owner, the database may count units by contribution or by norm, and the release starts there.

Runs in a worker process, except for `plan_measurements`, which sees only public data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.limits import most_groups
from planner.plan import BackendQuery, KindReach, Plan
from planner.planning.measurements import AnyRelease, measurements, threshold_of
from planner.policy.policy import Policy
from privacy.entropy import Entropy, OpendpEntropy
from privacy.join_tuples import CodedJoinTuples, DistinctTuples, JoinTuples, RankedTuples
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.partition_selection import GroupThreshold, VoteThreshold, keep_groups
from privacy.mechanisms.rank_release import RankBatch, RankRelease
from privacy.mechanisms.shared_threshold import LaplaceOrGaussian
from privacy.mechanisms.sums import GroupsOfKinds
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.key_counts import KeyCounts
from privacy.registry import (
    MECHANISMS,
    measures_together,
    release_contributions,
    release_norms,
    release_together,
)
from privacy.sampling.draws import SystemDraws, thin
from privacy.sampling.scale_up import scale_up, scale_up_noise
from privacy.truncation.encode import encode
from privacy.truncation.histograms import ContributionHistogram, ContributionsOfSum, NormHistogram
from privacy.truncation.programs.solver_routes import load_solver
from privacy.truncation.solver_name import SolverName
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.units import ONE
from server.backends.backend import Source
from server.backends.columns import Domain
from server.backends.query_tuples import QueryTuples


def groups_of_kinds(kinds: Sequence[KindReach], domain: Domain) -> GroupsOfKinds:
    """The most groups that a unit of each relation can reach (L0): groups with equal values of the keys that the unit
    determines.

    Different owner positions of a relation add up, at most to all groups. The result depends only on the list of
    groups, which is public: declared, read from public tables, or shown by a release.

    Returns: one number, at least 1, for each relation of `kinds`.
    Cost: one sort of the groups per position.
    """
    every = max(1, len(domain))
    return tuple(
        (one.relation, max(1, min(every, sum(_most_alike(domain, places) for places in one.determines))))
        for one in kinds
    )


def _most_alike(domain: Domain, places: Sequence[int]) -> int:
    group = np.zeros(len(domain), np.int64)
    for place in places:
        value = _codes(domain.keys[place])[domain.places(place)]
        _, group = np.unique(group * (int(value.max(initial=0)) + 1) + value, return_inverse=True)
    return int(np.bincount(group).max(initial=0))


def _codes(values: Sequence[object]) -> NDArray[np.int64]:
    """A number per value: equal for equal values, and for all NaN."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(value if value == value else None, len(known)) for value in values], np.int64)


@dataclass(frozen=True)
class Measuring:
    """The mechanisms of a query, with their parameters. Public, because they are fixed before any read.

    Attributes:
      releases: one per release of the plan; its sums use one mechanism.
      threshold: selects the groups to show; None shows all.
      group_rule: the most groups in which a unit's tuples count, for mechanisms that use it; None: any number.
      solver: the policy's solver, for scalar truncation.
      kinds: the group keys that units of each relation determine; empty: not used.
    """

    releases: tuple[AnyRelease, ...]
    threshold: GroupThreshold | VoteThreshold | None = None
    group_rule: int | None = None
    solver: SolverName = "certified"
    kinds: tuple[KindReach, ...] = ()

    def of_groups(self, domain: Domain) -> Measuring:
        """The same for known groups: noise for as many as a unit reaches, and capacities by kind."""
        return self.of_kinds(groups_of_kinds(self.kinds, domain))

    def of_kinds(self, kinds: GroupsOfKinds) -> Measuring:
        """The same for a known number of groups per kind of unit; unchanged without kinds."""
        return replace(self, releases=tuple(_of_kinds(one, kinds) for one in self.releases)) if kinds else self

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for any number of groups up to this one.

        Raises: InvalidParameter, whenever `measure` would for that reason.
        """
        for one in (*self.releases, *(() if self.threshold is None else (self.threshold,))):
            one.check_noise(n_groups)
        if self.kinds:  # fewer groups per unit have less noise, which weighs more in the scores
            alone = tuple((one.relation, 1) for one in self.kinds)
            for release in self.of_kinds(alone).releases:
                release.check_noise(n_groups)


def _of_kinds(one: AnyRelease, kinds: GroupsOfKinds) -> AnyRelease:
    return one.of_kinds(kinds) if MECHANISMS[one.name].by_kind and isinstance(one, GroupLp) else one


def plan_measurements(plan: Plan, policy: Policy) -> Measuring:
    """The measurements of a plan's releases and of its group selection, from public quantities."""
    kinds = () if plan.counts_units else plan.bounds.kinds
    return Measuring(measurements(plan, policy), threshold_of(plan), plan.bounds.rule, policy.solver, kinds)


def measure(backend: Source, query: BackendQuery, measuring: Measuring) -> tuple[Domain, tuple[NoisyAnswer, ...]]:
    """Read, select groups, encode, truncate and release; runs in a worker process.

    Returns: the groups that may be shown, and each release's values in them.
    """
    entropy = OpendpEntropy()
    load_solver(measuring.solver)  # before any read: the time of its import must not depend on data
    domain, read = backend.read(query)
    tuples = _sampled(read, query)
    if measuring.threshold is not None:
        domain, tuples = _shown(domain, tuples, query, measuring, measuring.threshold, entropy)
    measuring = measuring.of_groups(domain)
    noisy = [_first_groups(one, len(domain)) for one in _released(tuples, measuring, entropy)]
    _check_one_noise(noisy, measuring)
    rate = query.sampling_rate
    if rate is not None:
        pairs = zip(noisy, measuring.releases, strict=True)
        noisy = [_scaled_up(one, made, rate, max(1, len(domain))) for one, made in pairs]
    return domain, tuple(noisy)


def _sampled(tuples: QueryTuples, query: BackendQuery) -> QueryTuples:
    """Draw the sample here if the database has only counted."""
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
    """Select the groups to show, and keep their tuples. From here on, selected groups are public."""
    assert tuples.join is not None, "what is selected by is a weight of the join"
    found = bool(query.discovered)
    if isinstance(tuples.join, ContributionHistogram):
        assert isinstance(threshold, GroupThreshold), "votes are of units"
        contributions = ContributionsOfSum(tuples.join, tuples.join.n_sums - 1)
        shown = threshold.release(contributions.at(threshold.thresholds), entropy)
    else:
        assert isinstance(tuples.join, JoinTuples), "lengths select no groups"
        shown = _selected(encode(tuples.join), None if found else len(domain), measuring, threshold, entropy)
    shown = shown[: most_groups(query.columns)]
    place = np.full(len(domain) + 1, -1, np.int64)  # the last entry is for tuples without a group
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
    """The indices of the selected groups. `n_groups` is their number if it is public."""
    row = len(coded.weights) - 1
    if isinstance(threshold, VoteThreshold):
        return threshold.release(coded, row, entropy)
    coded = _ruled(coded, measuring.group_rule, n_groups)
    answer = truncate(coded, row, threshold.thresholds, threshold.gap, solver=measuring.solver)
    return threshold.release(answer, entropy)


def _ruled(tuples: CodedJoinTuples, rule: int | None, n_groups: int | None) -> CodedJoinTuples:
    """Keep each unit in at most as many groups as the policy's rule allows.

    Nothing is dropped if the rule allows all groups of a public number.
    """
    if rule is None or (n_groups is not None and rule >= n_groups):
        return tuples
    return keep_groups(tuples, rule)


def _released(tuples: QueryTuples, measuring: Measuring, entropy: Entropy) -> Iterator[NoisyAnswer]:
    pairs = list(zip(measuring.releases, tuples.distinct, strict=True))
    sums = iter(_sums(tuples, [one for one, distinct in pairs if distinct is None], measuring, entropy))
    ranks: dict[tuple[int, RankBatch], tuple[NoisyAnswer, ...]] = {}
    for measured, distinct in pairs:
        if distinct is None:
            yield next(sums)
            continue
        if isinstance(measured, RankRelease):
            assert isinstance(distinct, RankedTuples), "ranks are of values on a grid"
            batch = id(distinct), measured.batch  # one release per batch, which is charged once
            if batch not in ranks:
                ranks[batch] = measured.batch.release(distinct, entropy)
            yield ranks[batch][measured.place]
            continue
        if isinstance(measured, KeyCounts):
            assert isinstance(distinct, DistinctTuples), "units are counted by their tuples"
            yield measured.of_values(distinct, SystemDraws(), entropy)
            continue
        if isinstance(distinct, NormHistogram):
            yield release_norms([measured], distinct, entropy)[0]
            continue
        if measures_together(measured):
            assert isinstance(distinct, DistinctTuples), "values are added up over units"
            yield measured.release(_values_of_units(distinct), 0, entropy)
            continue
        if isinstance(distinct, ContributionHistogram):
            yield release_contributions([measured], distinct, entropy)[0]
            continue
        assert isinstance(distinct, DistinctTuples), "values are counted"
        answer = truncate_distinct(distinct, measured.thresholds, measured.gap, solver=measuring.solver)
        yield measured.release(answer, entropy)


def _values_of_units(distinct: DistinctTuples) -> CodedJoinTuples:
    """One tuple of weight one per unit, group and value; a unit's contribution depends on its own rows only."""
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
    """The values of every sum, from one encoding; released together if their mechanism does so."""
    if not sums:
        return ()
    assert tuples.join is not None, "sums have a join"
    units = [one for one in sums if isinstance(one, KeyCounts)]
    made = [one for one in sums if not isinstance(one, RankRelease | KeyCounts)]
    together = [one for one in made if measures_together(one)]
    alone = [one for one in made if not measures_together(one)]
    assert len(sums) in (len(units), len(together), len(alone)), "the sums of a question are of one mechanism"
    if isinstance(tuples.join, NormHistogram):
        return release_norms(made, tuples.join, entropy)
    if isinstance(tuples.join, ContributionHistogram):
        return release_contributions(made, tuples.join, entropy)
    coded = encode(tuples.join)
    if units:  # they apply the rule themselves
        return tuple(one.of_sums(coded, row, SystemDraws(), entropy) for row, one in enumerate(units))
    if not any(MECHANISMS[one.name].bounds_vector for one in made):
        coded = _ruled(coded, measuring.group_rule, coded.n_groups)
    if together:
        return release_together(together, coded, entropy)
    return tuple(
        one.release(truncate(coded, row, one.thresholds, one.gap, solver=measuring.solver), entropy)
        for row, one in enumerate(alone)
    )


def _check_one_noise(noisy: Sequence[NoisyAnswer], measuring: Measuring) -> None:
    """Refuse sums of one budget with both Laplace and Gaussian noise, because their shares would not add up.

    `LaplaceOrGaussian` excludes it; this check ensures that nothing leaves otherwise.
    """
    pairs = zip(noisy, measuring.releases, strict=True)
    kinds = {
        one.noise for one, made in pairs if isinstance(made, GroupLp) and isinstance(made.scalar, LaplaceOrGaussian)
    }
    if len(kinds) > 1:
        raise AssertionError("sums that share one budget were given noise of two kinds")  # also under python -O


def _scaled_up(noisy: NoisyAnswer, made: AnyRelease, rate: float, n_groups: int) -> NoisyAnswer:
    """Scale from the sample to the whole; add the sampling error if the truncated answer is an optimum."""
    if MECHANISMS[made.name].bounds_vector:
        return scale_up_noise(noisy, rate)
    return scale_up(noisy, rate, len(made.expected_noise(n_groups)))


def _first_groups(noisy: NoisyAnswer, n_groups: int) -> NoisyAnswer:
    """The first groups; none if a mechanism got one empty group because no group is shown."""
    return replace(
        noisy,
        values=noisy.values[:n_groups],
        tau=noisy.tau[:n_groups],
        noise_scale=noisy.noise_scale[:n_groups],
        low=noisy.low[:n_groups],
        high=noisy.high[:n_groups],
        signal=noisy.signal[:n_groups],
    )
