"""Mean and median of a sample keep their claims where one value changes, and their mutants do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.audit.auditing import loss_bound, plain, slow
from tests.audit.auditor import Outputs
from tests.support.papers.sampled_mean import (
    STEPS,
    SampledMean,
    SampledMedian,
    SimpleRandomSample,
    median_sensitivity,
)
from tests.support.seeded_draws import SeededDraws
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

Mechanism = SampledMean | SampledMedian
WHOLE, DELTA = SimpleRandomSample(5, 5), 1e-3
SPREAD = [0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 1.0]
"""The median of the first stays where it is, whatever one value becomes; that of the second does not."""


def bound(mechanism: Mechanism, pair: tuple[list[float], list[float]], runs: int = examples(2_000, 6_000)) -> float:
    draws, entropy = SeededDraws(1), SimulatedEntropy(2)

    def run(values: list[float], size: int) -> Outputs:
        population = np.array(values)
        return plain(np.array([mechanism.release(population, draws, entropy) for _ in range(size)]))

    return loss_bound(run, pair, runs, getattr(mechanism, "delta", 0.0))


@pytest.mark.parametrize("size", [1, slow(3)])
@pytest.mark.parametrize("kind", ["mean", slow("median"), slow("smooth median")])
def test_one_changed_value_costs_no_more_than_epsilon(kind: str, size: int) -> None:
    sample = SimpleRandomSample(3, size)
    made: dict[str, Mechanism] = {
        "mean": SampledMean(1.0, 0, 1, sample),
        "median": SampledMedian(1.0, 0.0, 0, 1, sample),
        "smooth median": SampledMedian(1.0, DELTA, 0, 1, sample),
    }
    for pair in (([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]), ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])):
        assert bound(made[kind], pair, examples(1_000, 6_000)) <= 1.0


@pytest.mark.slow
def test_a_mean_and_a_median_cost_nearly_all() -> None:
    assert bound(SampledMean(1.0, 0, 1, WHOLE), SPREAD, 20_000) > 0.8
    halves = [0.0, 0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0]
    assert bound(SampledMedian(1.0, 0.0, 0, 1, WHOLE), halves, 20_000) > 0.8


class TooMuch(SimpleRandomSample):
    """epsilon N / n, the rule of thumb, which holds for small epsilon only."""

    def inner(self, epsilon: float) -> Fraction:
        return Fraction(epsilon) * self.population / self.size


@pytest.mark.slow
def test_catches_linear_amplification_of_a_mean() -> None:
    """One of nine values is drawn; where it is that one, noise of scale 1 / 13.5 shows it."""
    pair = [0.0] * 9, [0.0] * 8 + [1.0]
    assert bound(SampledMean(1.5, 0, 1, TooMuch(9, 1)), pair, 20_000) > 1.5
    assert bound(SampledMean(1.5, 0, 1, SimpleRandomSample(9, 1)), pair, 20_000) <= 1.5


class SummedAsMean(SampledMean):
    """Noise for the mean where the sum is released: too little by the number of values."""

    def release(self, values: NDArray[np.float64], draws: SeededDraws, entropy: SimulatedEntropy) -> float:  # type: ignore[override]
        steps = np.rint(self.sample.drawn(np.rint(values * STEPS).astype(np.int64), draws))
        scale = STEPS / len(steps) / float(self.sample.inner(self.epsilon))
        return float(steps.sum() + entropy.laplace(scale, 1)[0])


class HalfRange(SampledMedian):
    """Half of the range as global sensitivity, which is right for values around the middle only."""

    def scale(self, steps: NDArray[np.int64]) -> float:
        return super().scale(steps) / 2


def test_catches_half_of_the_global_sensitivity_and_noise_for_a_mean_in_a_sum() -> None:
    assert bound(SummedAsMean(1.0, 0, 1, WHOLE), SPREAD) > 1.0
    halves = [0.0, 0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0]
    assert bound(HalfRange(1.0, 0.0, 0, 1, WHOLE), halves) > 1.0


class LocalMedian(SampledMedian):
    """Noise for the local sensitivity of these very values, which tells where they lie."""

    def scale(self, steps: NDArray[np.int64]) -> float:
        return 2 * (median_sensitivity(np.sort(steps), 0, STEPS, 50.0) + 1) / self.epsilon


def test_catches_noise_for_the_local_sensitivity() -> None:
    assert bound(LocalMedian(1.0, DELTA, 0, 1, WHOLE), SPREAD) > 1.0
    assert bound(SampledMedian(1.0, DELTA, 0, 1, WHOLE), SPREAD) <= 1.0
