"""Runs of every mechanism on one case, at every sampling rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privacy.join_tuples import JoinTuples
from privacy.truncation.encode import encode
from tests.support.scalar_study.sample import sampled
from tests.support.scalar_study.spread import trimmed_mean
from tests.support.simulated_entropy import SimulatedEntropy
from tests.support.vector_study.case import VectorCase
from tests.support.vector_study.contenders import Contender, contenders, seconds

EPSILON, DELTA = 4.0, 1e-7
RATES = (1.0, 1 / 4, 1 / 8, 1 / 16, 1 / 32)


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
      runs: releases of each mechanism at each rate, as many as in the papers.
      samples: over which they are spread at a rate below 1.
      timings: of which the least time counts.
      rates: q.
    """

    runs: int = 100
    samples: int = 10
    timings: int = 2
    rates: tuple[float, ...] = RATES


@dataclass(frozen=True)
class Studied:
    """What was found at one rate.

    Attributes:
      rate: q.
      errors: per mechanism, the mean of the middle 60% of the relative L2 errors, as in the papers.
      p95: per mechanism, the 95th percentile of all.
      seconds: per mechanism, one release of tuples in memory.
    """

    rate: float
    errors: dict[str, float]
    p95: dict[str, float]
    seconds: dict[str, float]


def study(case: VectorCase, effort: Effort) -> Iterator[Studied]:
    """Every rate, and every mechanism that may answer. All see the same samples."""
    compared = [one for one in contenders(EPSILON, DELTA) if one.applies(case)]
    for rate in effort.rates:
        samples = [_sample(case, rate, seed) for seed in range(1 if rate == 1 else effort.samples)]
        errors = {one.name: _errors(one, case, samples, rate, effort.runs // len(samples)) for one in compared}
        yield Studied(
            rate,
            {name: trimmed_mean(found) for name, found in errors.items()},
            {name: float(np.quantile(found, 0.95)) for name, found in errors.items()},
            {one.name: seconds(one, case, samples[0], SimulatedEntropy(3), effort.timings) for one in compared},
        )


def _sample(case: VectorCase, rate: float, seed: int) -> JoinTuples:
    return sampled(case.tuples, rate, np.random.default_rng([seed, round(1 / rate)]))


def _errors(
    contender: Contender, case: VectorCase, samples: list[JoinTuples], rate: float, runs: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Relative L2 errors of `runs` releases of each sample, scaled up."""
    entropy = SimulatedEntropy(1)
    size, found = float(np.linalg.norm(case.truth)), []
    for sample in samples:
        release = contender.prepare(case, encode(sample))
        found += [float(np.linalg.norm(release(entropy) / rate - case.truth)) / size for _ in range(runs)]
    return np.array(found)
