"""Runs of every mechanism on one case, at every epsilon and sampling rate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.truncation.truncated_answer import TruncatedAnswer
from tests.support.scalar_study.case import ScalarCase
from tests.support.scalar_study.contenders import (
    ON_TUPLES,
    ON_UNITS,
    UnitSampler,
    answers,
    least_seconds,
    on_tuples,
    released,
    seconds_on_tuples,
)
from tests.support.scalar_study.floor import best_known, floor, release_scales
from tests.support.scalar_study.spread import Spread, spread
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

EPSILONS = (0.1, 1.0, 4.0)
RATES = (1.0, 1 / 4, 1 / 16, 1 / 64)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Attributes:
      whole_runs: releases of all tuples, the same truncated answer under them.
      samples: samples at a rate below 1, at most; fewer, but `fewest`, of those of many tuples, which differ by
        far less than noise.
      runs: releases of all samples together, roughly.
      tuples: in all samples of a rate together, roughly.
      timings: of which the least time counts.
    """

    whole_runs: int = 4_000
    samples: int = 40
    fewest: int = 1
    runs: int = 1_000
    tuples: float = 3e6
    timings: int = 3

    def samples_of(self, case: ScalarCase, rate: float) -> int:
        """How many samples to draw; all tuples are one sample."""
        affordable = int(self.tuples / max(1.0, rate * len(case.tuples.group)))
        return 1 if rate == 1 else max(self.fewest, min(self.samples, affordable))

    def runs_on_each(self, case: ScalarCase, rate: float) -> int:
        """How many releases of one sample."""
        return self.whole_runs if rate == 1 else -(-self.runs // self.samples_of(case, rate))


@dataclass(frozen=True)
class Studied:
    """What was found at one epsilon and rate.

    Attributes:
      epsilon, rate, samples: of the runs.
      errors: by mechanism.
      seconds: by mechanism, of the processor, one release.
      floor: relative error of the best fixed threshold with one Laplace release.
    """

    epsilon: float
    rate: float
    samples: int
    errors: dict[str, Spread]
    seconds: dict[str, float]
    floor: float


def study(case: ScalarCase, effort: Effort) -> Iterator[Studied]:
    """Every epsilon at every rate.

    All epsilons and all mechanisms on tuples see the same samples; everybody sees the same truncated answer of the
    whole, which is solved once.
    """
    (whole,) = answers(case, 1.0, 1, np.random.default_rng(2))
    for rate in RATES:
        values, floors = _on_tuples(case, rate, effort, whole)
        seconds = _seconds(case, rate, effort)
        for name in ON_UNITS:
            found, seconds[name] = _on_units(UnitSampler(case, rate, name), effort, whole)
            values.update({(name, epsilon): found[epsilon] for epsilon in EPSILONS})
        for epsilon in EPSILONS:
            errors = {name: spread(values[name, epsilon], case.truth) for name in (*ON_TUPLES, *ON_UNITS)}
            yield Studied(epsilon, rate, effort.samples_of(case, rate), errors, seconds, floors[epsilon])


def _on_tuples(
    case: ScalarCase, rate: float, effort: Effort, whole: TruncatedAnswer
) -> tuple[dict[tuple[str, float], Values], dict[float, float]]:
    """Released values by mechanism and epsilon, and the floor by epsilon."""
    entropy: Entropy = SimulatedEntropy(1)
    kinds = list(product(ON_TUPLES, EPSILONS))
    mechanisms = {(name, epsilon): on_tuples(name, case, epsilon, rate) for name, epsilon in kinds}
    scales = {epsilon: release_scales(case, epsilon, rate) for epsilon in EPSILONS}
    values: dict[tuple[str, float], list[Values]] = {kind: [] for kind in kinds}
    known: dict[float, list[Values]] = {epsilon: [] for epsilon in EPSILONS}
    runs = effort.runs_on_each(case, rate)
    drawn = answers(case, rate, effort.samples_of(case, rate), np.random.default_rng(2))
    for answer in [whole] if rate == 1 else drawn:
        for kind in kinds:
            values[kind].append(released(mechanisms[kind], answer, runs, rate, entropy))
        for epsilon in EPSILONS:
            known[epsilon].append(best_known(answer, scales[epsilon], case.truth, rate))
    floors = {epsilon: floor(np.array(known[epsilon]), scales[epsilon], case.truth, rate)[0] for epsilon in EPSILONS}
    return {kind: np.array(found) for kind, found in values.items()}, floors


def _seconds(case: ScalarCase, rate: float, effort: Effort) -> dict[str, float]:
    """One release at epsilon 1, by mechanism on tuples."""
    entropy = SimulatedEntropy(3)
    return {
        name: seconds_on_tuples(on_tuples(name, case, 1.0, rate), case, rate, entropy, effort.timings)
        for name in ON_TUPLES
    }


def _on_units(sampler: UnitSampler, effort: Effort, whole: TruncatedAnswer) -> tuple[dict[float, Values], float]:
    """Released values by epsilon, and the time of one sample and its release at epsilon 1.

    Preparation, which is for many samples, is left out, but where all tuples are the only sample.
    """
    entropy, draws = SimulatedEntropy(1), SeededDraws(4)
    started = time.process_time()
    sample = sampler.prepared()
    preparation = time.process_time() - started if sampler.rate == 1 else 0.0
    case, rate = sampler.case, sampler.rate
    runs = effort.runs_on_each(case, rate)
    values: dict[float, list[Values]] = {epsilon: [] for epsilon in EPSILONS}
    timings = 1 if rate == 1 else effort.timings  # the first release of the one sample solves it
    seconds = preparation + least_seconds(lambda: sampler.released(1.0, sample(draws), 1, entropy), timings)
    drawn = (sample(draws) for _ in range(effort.samples_of(case, rate)))
    for answer in [whole] if rate == 1 else drawn:
        for epsilon in EPSILONS:
            values[epsilon].append(sampler.released(epsilon, answer, runs, entropy))
    return {epsilon: np.array(found) for epsilon, found in values.items()}, seconds
