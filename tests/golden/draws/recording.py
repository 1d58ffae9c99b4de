"""Every mechanism on the same small tuples with seeded noise: each released array as the bytes of its floats.

`python -m tests.golden.draws.recording` writes the record again. It is written again only where a mechanism is meant
to release something else; moving and renaming code changes no byte of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples, DistinctTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.measurement import Measurement, ServedGroupMeasurement
from privacy.mechanisms.partition_selection import GroupThreshold, VoteThreshold
from privacy.mechanisms.sums import Sum
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.grouping_smoothing import FPA, GSR, GSS, LPA, enforced
from privacy.papers.key_counts import KeyCounts
from privacy.papers.smoothing_choice import GS
from privacy.registry import (
    AllGroups,
    EachGroup,
    group_measurements,
    key_counts,
    measurement,
    release_norms,
)
from privacy.sampling.design import SampleDesign
from privacy.sampling.draws import thin
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.units import ONE
from tests.support.lengths import lengths_of
from tests.support.papers.grouping_variants import CutGS, GSSOfRows, PublishedGS
from tests.support.papers.laplace_global import LaplaceGlobal
from tests.support.papers.s4s_variants import FreshS4S, PublishedS4S, S4SConcentrated, S4SRenyi
from tests.support.papers.sample_and_explore import RepeatedExploration, SampleAndExplore
from tests.support.papers.sampled_mean import SampledMean, SampledMedian, SimpleRandomSample
from tests.support.papers.simple_sampling import InnerMechanism, PublicPopulation, SimpleSampling
from tests.support.papers.vectors_as_published import PmsjaAsPublished, S4SVectorAsPublished
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

RECORD = Path(__file__).parent / "recorded.json"
SEEDS = range(5)
EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-6
GROUPS = 4
MOST = 512
"""Delta: more than any unit of these tuples has."""

Release = Callable[[int], list[NDArray[np.generic]]]
Sampled = SimpleSampling | SampleAndExplore | RepeatedExploration | FreshS4S


def recorded() -> dict[str, str]:
    """A digest of all that each mechanism releases, over every seed."""
    return {name: digest(release) for name, release in releases()}


def releases() -> Iterator[tuple[str, Release]]:
    """Every mechanism on every kind of tuples that it takes, by name; its argument is the seed."""
    for owners in (1, 2, 3):
        for epsilon in EPSILONS:
            yield from _scalar(owners, epsilon)
            yield from _grouped(owners, epsilon)
            yield from _sampled(owners, epsilon)
    for epsilon in EPSILONS:
        yield from _by_keys(epsilon)
        yield from _centres(epsilon)


def digest(release: Release) -> str:
    hashed = hashlib.sha256()
    for seed in SEEDS:
        for array in release(seed):
            hashed.update(str(array.dtype).encode() + array.tobytes())
    return hashed.hexdigest()


def _scalar(owners: int, epsilon: float) -> Iterator[tuple[str, Release]]:
    gap = _gap(owners)
    budget = ConcentratedBudget.of(epsilon, DELTA)
    made: dict[str, Measurement] = {
        name: measurement(name, EachGroup(epsilon, 2, gap, 64.0, False, MOST))
        for name in ("gem", "r2t", "s4s", "fixed")
    }
    made["concentrated_gem"] = Gem(budget, 2, gap, c=1.0, monotone=True)
    made["laplace_global"] = LaplaceGlobal(epsilon, 64.0, 2, gap)
    made["s4s_rdp"] = S4SRenyi(epsilon, MOST, 2, gap, delta=DELTA)
    made["s4s_zcdp"] = S4SConcentrated(epsilon, MOST, 2, gap, delta=DELTA)
    if gap == 0:
        sample = SampleDesign(0.25, MOST, epsilon)
        made["gem, amplified"] = measurement("gem", EachGroup(epsilon, 2, gap, None, False, MOST, sample))
        made["s4s, amplified"] = measurement("s4s", EachGroup(epsilon, 2, gap, None, False, MOST, sample))
        made["s4s as published"] = PublishedS4S(epsilon, MOST, 1, gap, sample)
        made["s4s_rdp as published"] = S4SRenyi(epsilon, MOST, gap=gap, delta=DELTA, rate=0.25, published=True)
    for name, mechanism in made.items():
        groups = 1 if "as published" in name else GROUPS
        yield f"{name}, {owners} owners, epsilon {epsilon}", _truncated(mechanism, tuples(owners, groups))
    yield f"gem of distinct values, {owners} owners, epsilon {epsilon}", _distinct(owners, epsilon)
    shown = GroupThreshold(epsilon, DELTA, 2, gap, minimum=3)
    yield f"group_threshold, {owners} owners, epsilon {epsilon}", _shown(shown, tuples(owners, GROUPS))
    if owners == 1:
        yield f"vote_threshold, epsilon {epsilon}", _voted(VoteThreshold(epsilon, DELTA), tuples(owners, GROUPS))


def _by_keys(epsilon: float) -> Iterator[tuple[str, Release]]:
    """Counts of 300 units at up to six of 40 keys, of which four are kept."""
    rng = np.random.default_rng(20260131)
    units, keys = np.repeat(np.arange(300), 6), rng.geometric(0.1, 1800) % 40
    Mechanism = LPA | FPA | GSR | GSS | GS | PublishedGS  # noqa: N806
    made: dict[str, Mechanism] = {
        "lpa": LPA(epsilon), "fpa": FPA(epsilon, 4), "gs_r": GSR(epsilon), "gs_s": GSS(epsilon),
        "gs_s, rows": GSSOfRows(epsilon), "gs": CutGS(epsilon), "gs as published": PublishedGS(epsilon),
    }  # fmt: skip
    for name, mechanism in made.items():

        def release(seed: int, mechanism: Mechanism = mechanism) -> list[NDArray[np.generic]]:
            draws = SeededDraws(seed)
            table = enforced(units, keys, 40, 4, draws)
            released = mechanism.release(table, draws, SimulatedEntropy(seed))
            return [released.values, released.noise_scale, released.group]

        yield f"{name}, epsilon {epsilon}", release
    for name in ("lpa", "fpa", "gs_r", "gs_s", "gs"):
        served = key_counts(name, epsilon, 8, 4)

        def answer(seed: int, served: KeyCounts = served) -> list[NDArray[np.generic]]:
            return _arrays(served.release(units, keys, 40, SeededDraws(seed), SimulatedEntropy(seed)))

        yield f"{name} as it is served, epsilon {epsilon}", answer


def _centres(epsilon: float) -> Iterator[tuple[str, Release]]:
    values, sample = np.random.default_rng(20260132).normal(40.0, 20.0, 101), SimpleRandomSample(101, 25)
    made: dict[str, SampledMean | SampledMedian] = {
        "sampled_mean": SampledMean(epsilon, 0.0, 100.0, sample),
        "sampled_median": SampledMedian(epsilon, 0.0, 0.0, 100.0, sample),
        "sampled_median, smooth": SampledMedian(epsilon, DELTA, 0.0, 100.0, sample),
    }
    for name, mechanism in made.items():

        def release(seed: int, mechanism: SampledMean | SampledMedian = mechanism) -> list[NDArray[np.generic]]:
            return [np.array([mechanism.release(values, SeededDraws(seed), SimulatedEntropy(seed))])]

        yield f"{name}, epsilon {epsilon}", release


def _truncated(mechanism: Measurement, drawn: JoinTuples) -> Release:
    answer = cache(lambda: truncate(encode(drawn), 0, mechanism.thresholds, mechanism.gap))
    return lambda seed: _arrays(mechanism.release(answer(), SimulatedEntropy(seed)))


def _shown(threshold: GroupThreshold, drawn: JoinTuples) -> Release:
    counted = JoinTuples(drawn.owners, drawn.group, drawn.n_groups, np.full_like(drawn.weights, ONE))
    answer = cache(lambda: truncate(encode(counted), 0, threshold.thresholds, threshold.gap))
    return lambda seed: [threshold.release(answer(), SimulatedEntropy(seed))]


def _voted(threshold: VoteThreshold, drawn: JoinTuples) -> Release:
    coded = encode(drawn)
    return lambda seed: [threshold.release(coded, 0, SimulatedEntropy(seed))]


def _distinct(owners: int, epsilon: float) -> Release:
    gap = 0.0 if owners == 1 else 0.01  # counts of distinct values are certified from two owners on
    mechanism, drawn = measurement("gem", EachGroup(epsilon, 2, gap, whole=True)), tuples(owners, GROUPS)
    values = DistinctTuples(drawn.owners, drawn.group, drawn.n_groups, drawn.weights[0] % 37)
    answer = cache(lambda: truncate_distinct(values, mechanism.thresholds, mechanism.gap))
    return lambda seed: _arrays(mechanism.release(answer(), SimulatedEntropy(seed)))


def _lengths(name: str, one: Sum, delta: float) -> Release:
    """Of what a database adds up of vectors."""
    made = group_measurements(name, AllGroups([one], delta, 2))
    vectors = (np.random.default_rng(20261129).zipf(1.6, (300, GROUPS)).clip(0, MOST) * ONE).tolist()
    found = lengths_of([vectors], GROUPS, one.thresholds.units.tolist(), euclidean=name == "l2_clip")
    return lambda seed: _arrays(release_norms(made, found, SimulatedEntropy(seed))[0])


def _grouped(owners: int, epsilon: float) -> Iterator[tuple[str, Release]]:
    coded, thresholds = encode(tuples(owners, GROUPS)), Thresholds(0, 10)
    one = Sum(epsilon, _gap(owners), thresholds)

    def of(name: str, delta: float, sample: SampleDesign | None = None, bound: int | None = None) -> Release:
        (made,) = group_measurements(name, AllGroups([replace(one, bound=bound)], delta, 2, sample))
        return lambda seed: _arrays(made.release(coded, 0, SimulatedEntropy(seed)))

    yield f"bound_first, {owners} owners, epsilon {epsilon}", of("bound_first", 0.0, bound=MOST)
    yield f"group_lp, pure, {owners} owners, epsilon {epsilon}", of("group_lp", 0.0)
    yield f"group_lp, {owners} owners, epsilon {epsilon}", of("group_lp", DELTA)
    for delta in (0.0, DELTA) if owners > 1 else ():
        (made,) = group_measurements("group_lp", AllGroups([one], delta, None))
        assert isinstance(made, GroupLp)
        told = made.of_kinds((("person", 1), ("other", GROUPS)))
        kinds = encode(_two_kinds(tuples(owners, GROUPS)))

        def by_kind(
            seed: int, told: ServedGroupMeasurement = told, kinds: CodedJoinTuples = kinds
        ) -> list[NDArray[np.generic]]:
            return _arrays(told.release(kinds, 0, SimulatedEntropy(seed)))

        yield f"group_lp by kind{'' if delta else ', pure'}, {owners} owners, epsilon {epsilon}", by_kind
    if owners < 3:
        amplified = of("group_lp", 0.0, SampleDesign(0.25, MOST, epsilon))
        yield f"group_lp, amplified, {owners} owners, epsilon {epsilon}", amplified
    if owners == 1:
        yield f"l1_clip, epsilon {epsilon}", of("l1_clip", 0.0)
        yield f"l2_clip, epsilon {epsilon}", of("l2_clip", DELTA)
        yield f"l1_clip of lengths, epsilon {epsilon}", _lengths("l1_clip", one, 0.0)
        yield f"l2_clip of lengths, epsilon {epsilon}", _lengths("l2_clip", one, DELTA)
    for name in ("pmsja", "s4s_vector"):
        yield f"{name}, {owners} owners, epsilon {epsilon}", of(name, DELTA)
    published = (PmsjaAsPublished, S4SVectorAsPublished)
    for kind in published:
        vector = kind(epsilon, DELTA, GROUPS, thresholds=thresholds)

        def release(seed: int, vector: PmsjaAsPublished | S4SVectorAsPublished = vector) -> list[NDArray[np.generic]]:
            return _arrays(vector.release(coded, 0, SimulatedEntropy(seed)))

        yield f"{vector.name}, {owners} owners, epsilon {epsilon}", release


def _sampled(owners: int, epsilon: float) -> Iterator[tuple[str, Release]]:
    """Mechanisms that draw samples, and `gem` on a thinned one."""
    drawn, inner = tuples(owners, 1), InnerMechanism("r2t", 512.0, _gap(owners))
    gem = measurement("gem", EachGroup(epsilon, 1, _gap(owners)))

    def thinned(seed: int) -> list[NDArray[np.generic]]:
        weights = np.concatenate([drawn.weights, np.full_like(drawn.weights, 3)])
        sample = thin(JoinTuples(drawn.owners, drawn.group, 1, weights), 0.25, SeededDraws(seed))
        return _arrays(gem.release(truncate(encode(sample), 0, gem.thresholds, gem.gap), SimulatedEntropy(seed)))

    yield f"gem of a thinned sample, {owners} owners, epsilon {epsilon}", thinned
    made: list[Sampled] = [
        SampleAndExplore(epsilon, 20, 16, PublicPopulation(60), inner),
        SimpleSampling(epsilon, 0.5, owners, inner),
        RepeatedExploration(epsilon, 8, 16, PublicPopulation(60), 16.0),
    ]
    if owners < 3:
        made.append(FreshS4S(PublishedS4S(epsilon, MOST, 1, sample=SampleDesign(0.25, MOST, epsilon))))
    for mechanism in made:

        def release(seed: int, mechanism: Sampled = mechanism) -> list[NDArray[np.generic]]:
            return _arrays(mechanism.release(drawn, SeededDraws(seed), _entropy(seed)))

        yield f"{mechanism.name}, {owners} owners, epsilon {epsilon}", release


def _entropy(seed: int) -> Entropy:
    return SimulatedEntropy(seed)


def _gap(owners: int) -> float:
    return 0.0 if owners <= 2 else 0.01


def _arrays(answer: NoisyAnswer) -> list[NDArray[np.generic]]:
    return [answer.values, answer.tau, answer.noise_scale, answer.low, answer.high]


@cache
def tuples(owners: int, groups: int) -> JoinTuples:
    """600 tuples of sixty units, a few of which have many; written down by arithmetic, not drawn."""
    place = np.arange(600, dtype=np.int64)
    columns = []
    for position in range(owners):
        key = (place * (7 + 4 * position) + position * 13) % 60
        key = np.where(place % 5 == position, place % 3, key)  # three units have a fifth of all tuples
        columns.append(OwnerColumn("person", key, place % 41 == 40 + position))
    weights = (place * 2654435761 % 1009 * ONE // 1008)[None, :]
    return JoinTuples(tuple(columns), place * place % 11 % groups, groups, weights)


def _two_kinds(drawn: JoinTuples) -> JoinTuples:
    """The same tuples, of which all positions but the first are of another relation."""
    first, *others = drawn.owners
    renamed = (OwnerColumn("other", one.keys, one.missing) for one in others)
    return JoinTuples((first, *renamed), drawn.group, drawn.n_groups, drawn.weights)


if __name__ == "__main__":
    RECORD.write_text(json.dumps(recorded(), indent=1) + "\n")
