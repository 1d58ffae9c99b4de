"""Auditing mechanisms that draw privacy units: real draws and releases, with each sample truncated once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TabulatedAnswer, TruncatedAnswer
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, goes, outputs
from tests.audit.auditor import epsilon_lower_bound
from tests.support.papers.sample_and_explore import SampleAndExplore
from tests.support.papers.simple_sampling import SimpleSampling
from tests.support.seeded_draws import ScriptedDraws, SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

Pairs = list[tuple[int, int, float]]
"""(first owner, second owner or -1, weight) per join tuple."""

SAMPLED_RUNS = 60_000


def tuples_of(rows: Pairs) -> JoinTuples:
    """Join tuples of two owner positions."""
    owners = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2)
    weights = np.array([[round(row[2] * ONE) for row in rows]], np.int64)
    columns = tuple(OwnerColumn("unit", owners[:, i].copy(), owners[:, i] < 0) for i in range(2))
    return JoinTuples(columns, np.zeros(len(rows), np.int64), 1, weights)


def lower_bound(first: NoisyAnswer, second: NoisyAnswer) -> float:
    """Of epsilon, from one run per group."""
    return epsilon_lower_bound(outputs(first, 1), outputs(second, 1), FAILURE_PROBABILITY)


def explored_runs(
    mechanism: SampleAndExplore, rows: Pairs, n_units: int, runs: int = SAMPLED_RUNS, entropy: Entropy | None = None
) -> NoisyAnswer:
    """Independent releases: sets of drawn units, each set explored and truncated once, noise for each release."""
    source = SimulatedEntropy(seed=20260102) if entropy is None else entropy
    prepared, draws = mechanism.prepare(tuples_of(rows), n_units), SeededDraws(seed=20260103)
    size = min(mechanism.drawn, n_units)
    sets = list(itertools.combinations(range(n_units), size))
    table = [_values(mechanism.sampled(prepared, ScriptedDraws(list(chosen)))) for chosen in sets]
    thresholds = mechanism.measurement(1).thresholds

    def release(some: int) -> NoisyAnswer:
        drawn = draws.uniform(len(sets), some)  # each set is as likely as any other
        return mechanism.noised(TabulatedAnswer(np.array(table)[drawn], thresholds), n_units, source)

    return joined([release(some) for some in goes(runs)])


def sampled_runs(
    mechanism: SimpleSampling, rows: Pairs, runs: int = SAMPLED_RUNS, entropy: Entropy | None = None
) -> NoisyAnswer:
    """Independent releases: sets of drawn units, each set induced and truncated once, noise for each release."""
    source = SimulatedEntropy(seed=20260104) if entropy is None else entropy
    prepared, draws = mechanism.prepare(tuples_of(rows)), SeededDraws(seed=20260105)
    n_units = int(prepared.tuples.member_start[-1])
    sets = [
        np.flatnonzero(kept).tolist() for kept in itertools.product([False, True], repeat=n_units)
    ]  # the i-th set, read as binary digits, is i
    table = [_values(mechanism.sampled(prepared, ScriptedDraws(kept))) for kept in sets]

    def release(some: int) -> NoisyAnswer:
        kept = draws.binomial(np.ones(some * n_units, np.int64), mechanism.rate).reshape(some, n_units)
        drawn = kept @ (1 << np.arange(n_units)[::-1])
        return mechanism.noised(TabulatedAnswer(np.array(table)[drawn], mechanism.measurement.thresholds), source)

    return joined([release(some) for some in goes(runs)])


def joined(parts: Sequence[NoisyAnswer]) -> NoisyAnswer:
    """Runs that were made in several goes, at least one."""

    def column(name: str) -> NDArray[np.float64]:
        return np.concatenate([getattr(part, name) for part in parts])

    return replace(
        parts[0],
        values=column("values"),
        tau=column("tau"),
        noise_scale=column("noise_scale"),
        low=column("low"),
        high=column("high"),
        signal=column("signal"),
    )


def _values(answer: TruncatedAnswer) -> NDArray[np.int64]:
    """Every threshold of one group."""
    return np.array([answer.solve(0, i) for i in range(len(answer.thresholds))], np.int64)
