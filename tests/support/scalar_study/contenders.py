"""The mechanisms that are compared, with budgets and public bounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import EachGroup, measurement
from privacy.sampling.design import SampleDesign
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from tests.support.papers.choosing_draws import ChoosingDraws
from tests.support.papers.sample_and_explore import SampleAndExplore
from tests.support.papers.simple_sampling import InnerMechanism, PublicPopulation, SimpleSampling
from tests.support.scalar_study.case import ScalarCase
from tests.support.scalar_study.repeated_answer import RepeatedAnswer
from tests.support.scalar_study.sample import sampled

ON_TUPLES = ("gem", "r2t", "s4s")
"""Mechanisms on one Bernoulli sample of join tuples."""

ON_UNITS = ("sample_and_explore", "simple_sampling")
"""Mechanisms that sample privacy units."""

Values = NDArray[np.float64]

_TOGETHER = 500
"""Runs that are released at once."""


def on_tuples(name: str, case: ScalarCase, epsilon: float, rate: float) -> Measurement:
    """gem and s4s (shared) with amplification; r2t, which has none, spends epsilon on the sample as it is."""
    sample = SampleDesign(rate, case.tuples_per_unit, epsilon) if rate < 1 else None
    return measurement(
        name, EachGroup(epsilon, 1, case.gap, float(case.tuples_per_unit), case.whole, case.tuples_per_unit, sample)
    )


def released(mechanism: Measurement, answer: TruncatedAnswer, runs: int, rate: float, entropy: Entropy) -> Values:
    """(runs,) independent releases of one sample's answer, for the whole: the runs are groups of one release."""
    values: Values = np.concatenate([one.values for one in releases(mechanism, answer, runs, entropy)]) / rate
    return values


def releases(mechanism: Measurement, answer: TruncatedAnswer, runs: int, entropy: Entropy) -> Iterator[NoisyAnswer]:
    """The same of the sample, with their intervals, some hundred at a time."""
    for start in range(0, runs, _TOGETHER):
        together = min(_TOGETHER, runs - start)
        yield _as_if_alone(mechanism, together).release(repeated(answer, mechanism, together), entropy)


def _as_if_alone(mechanism: Measurement, together: int) -> Measurement:
    """gem's beta is for all groups of a release; each run is to be as if it were alone. Scores by exceedance are."""
    if not isinstance(mechanism, Gem) or mechanism.nested:
        return mechanism
    settings = mechanism.selection
    return replace(mechanism, selection=replace(settings, beta=settings.beta * together))


def repeated(answer: TruncatedAnswer, mechanism: Measurement, runs: int) -> RepeatedAnswer:
    """One answer as that many groups, known as well as the mechanism's noise shows it."""
    return RepeatedAnswer(answer, mechanism.thresholds, runs, [width for _, width in mechanism.expected_noise()])


def answers(case: ScalarCase, rate: float, samples: int, generator: np.random.Generator) -> Iterator[TruncatedAnswer]:
    """Truncated answers of samples of join tuples, on the case's whole ladder; at rate 1 there is one."""
    for _ in range(samples if rate < 1 else 1):
        yield truncate(encode(sampled(case.tuples, rate, generator)), 0, case.thresholds, case.gap)


def seconds_on_tuples(mechanism: Measurement, case: ScalarCase, rate: float, entropy: Entropy, times: int) -> float:
    """The least time from a sample's tuples, as a database returns them, to the noisy answer."""
    tuples = sampled(case.tuples, rate, np.random.default_rng(5))

    def once() -> None:
        mechanism.release(truncate(encode(tuples), 0, mechanism.thresholds, mechanism.gap), entropy)

    return least_seconds(once, times)


@dataclass(frozen=True)
class UnitSampler:
    """sample_and_explore or simple_sampling at one rate, prepared once, with R2T as the inner mechanism.

    R2T is what the DP-S4S paper puts there, and needs no threshold to be known. The share q of the
    units is explored; simple sampling keeps a unit with probability q^(1/owners), so that the share q of the
    tuples is seen.
    """

    case: ScalarCase
    rate: float
    name: str

    def at(self, epsilon: float) -> SampleAndExplore | SimpleSampling:
        """The mechanism with its budget."""
        case, inner = self.case, InnerMechanism("r2t", float(self.case.tuples_per_unit), self.case.gap)
        if self.name == "sample_and_explore":
            drawn = max(1, round(self.rate * case.units))
            return SampleAndExplore(epsilon, drawn, case.collaborators, PublicPopulation(case.units), inner)
        positions = len(case.tuples.owners)
        return SimpleSampling(epsilon, self.rate ** (1 / positions), positions, inner)

    def prepared(self) -> Callable[[ChoosingDraws], TruncatedAnswer]:
        """File or compact the tuples; the samples of the result serve every epsilon."""
        mechanism = self.at(1.0)
        if isinstance(mechanism, SampleAndExplore):
            filed = mechanism.prepare(self.case.tuples)
            return lambda draws: mechanism.sampled(filed, draws)
        compacted = mechanism.prepare(self.case.tuples)
        return lambda draws: mechanism.sampled(compacted, draws)

    def released(self, epsilon: float, answer: TruncatedAnswer, runs: int, entropy: Entropy) -> Values:
        """(runs,) independent releases of one sample's answer."""
        mechanism = self.at(epsilon)
        if isinstance(mechanism, SampleAndExplore):
            shown = repeated(answer, mechanism.measurement(self.case.units), runs)
            return mechanism.noised(shown, self.case.units, entropy).values
        return mechanism.noised(repeated(answer, mechanism.measurement, runs), entropy).values


def least_seconds(work: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in time of the processor: what else runs there does not count."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)
