"""What a sample costs in accuracy, and its answers for the whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import EachGroup, measurement
from privacy.sampling.design import SampleDesign
from privacy.sampling.scale_up import MISS, Advice, advice, covering_noise, scale_up
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy

RATES = (1 / 4, 1 / 64)


def made(epsilon: float, tuples_per_unit: int, rate: float) -> Measurement:
    sample = SampleDesign(rate, tuples_per_unit, epsilon) if rate < 1 else None
    return measurement("gem", EachGroup(epsilon, 1, whole=True, tuples_per_unit=tuples_per_unit, sample=sample))


def advised(epsilon: float, tuples_per_unit: int, rate: float) -> Advice:
    here, whole = made(epsilon, tuples_per_unit, rate), made(epsilon, tuples_per_unit, 1.0)
    return advice(here, whole, tuples_per_unit, rate)


def test_reading_everything_has_no_sampling_error() -> None:
    whole = advised(1.0, 64, 1.0)
    assert whole.unit_sampling == 0
    assert whole.noise == whole.noise_of_all == covering_noise(made(1.0, 64, 1.0), 64, 1.0)


def test_amplification_at_best_pays_for_the_division() -> None:
    """Jensen's inequality; a power of two, so that nothing is gained by closer thresholds."""
    for epsilon in [0.1, 4.0]:
        for tuples_per_unit in [1, 128]:
            for rate in RATES:
                one = advised(epsilon, tuples_per_unit, rate)
                assert one.noise >= (1 - 1e-4) * one.noise_of_all, (epsilon, tuples_per_unit)
                assert one.break_even <= 1e-4 * one.noise_of_all**2, (epsilon, tuples_per_unit)


def test_a_threshold_that_lies_closer_is_worth_a_sample_of_small_data() -> None:
    """At Delta = 65 all tuples need the threshold 128; a quarter of them 16, four deviations included 32."""
    assert 0 < advised(4.0, 65, 1 / 4).break_even < 1e5


def test_at_the_break_even_both_answers_are_as_good() -> None:
    for rate in RATES:
        one = Advice(10.0, 30.0, 1.96 * math.sqrt((1 - rate) / rate))
        assert math.hypot(one.noise, one.unit_sampling * math.sqrt(one.break_even)) == pytest.approx(30.0), rate
        assert Advice(30.0, 30.0, one.unit_sampling).break_even == 0
    assert Advice(10.0, 30.0, 0.0).break_even == math.inf


def test_a_simulation_is_off_by_what_was_predicted() -> None:
    """400 units of 50 tuples; the mechanism is given the covering threshold alone."""
    rate, tuples, runs = 1 / 4, 20_000, 20_000
    made_here, one = made(1.0, 50, rate), advised(1.0, 50, rate)
    generator = np.random.default_rng(1)
    drawn = generator.binomial(50, rate, (runs, 400))
    covering = next(tau for tau, width in made_here.expected_noise() if width / rate == one.noise)
    kept = np.minimum(drawn, covering).sum(axis=1)
    scale = one.noise * rate / math.log(20)  # 95% of a Laplace distribution
    values = (kept + generator.laplace(0, scale, runs)) / rate
    total = math.hypot(one.noise, one.unit_sampling * math.sqrt(tuples))
    assert np.quantile(np.abs(values - tuples), 0.95) == pytest.approx(total, rel=0.1)
    table = np.broadcast_to(np.minimum(50 * ONE, made_here.thresholds.units) * 400, (5, len(made_here.thresholds)))
    assert made_here.release(TabulatedAnswer(table, made_here.thresholds), SimulatedEntropy(2)).values.shape == (5,)


def released(values: NDArray[np.float64], reach: float, *, high: float | None = None) -> NoisyAnswer:
    ones = np.ones_like(values)
    upper = values + reach if high is None else high * ones
    return NoisyAnswer(values, 4 * ones, 2 * ones, values - reach, upper, 0.95, "truncated_full", "gem", 1.0, ones)


def test_numbers_are_divided_by_the_rate() -> None:
    answer = scale_up(released(np.array([100.0, -3.0]), 5.0), 0.25, 53)
    assert answer.values.tolist() == [400.0, -12.0]
    assert answer.tau.tolist() == [16.0, 16.0]
    assert answer.noise_scale.tolist() == [8.0, 8.0]
    assert answer.covers == "released_sample"
    assert answer.confidence == pytest.approx(0.95 - MISS)


def test_an_interval_holds_its_value_and_grows() -> None:
    values = np.array([-50.0, -1.0, 0.0, 0.5, 10.0, 1e4, 1e12])
    answer = scale_up(released(values, 3.0), 0.5, 53)
    assert np.all(answer.low <= answer.values) and np.all(answer.values <= answer.high)
    assert np.all(answer.low <= (values - 3) / 0.5) and np.all(answer.high >= (values + 3) / 0.5)
    assert answer.high[-1] / answer.values[-1] < 1 + 1e-4


def test_an_unbounded_end_stays_unbounded() -> None:
    answer = scale_up(released(np.array([100.0]), 0.0, high=np.inf), 0.5, 10)
    assert np.isinf(answer.high[0]) and answer.low[0] < 200


def test_the_interval_covers_the_mean_truncated_answer() -> None:
    """Owners with 200 tuples each, cut at tau = 3: simulated samples, no noise, and one tau to choose from."""
    for rate, owners in [(0.01, 400), (0.1, 40), (0.5, 4)]:
        runs = 4000
        generator = np.random.default_rng(7)
        contributions = np.minimum(generator.binomial(200, rate, (runs, owners)), 3)
        mean = np.minimum(np.random.default_rng(8).binomial(200, rate, 10**6), 3).mean() * owners / rate
        answer = scale_up(released(contributions.sum(axis=1).astype(np.float64), 0.0), rate, 1)
        missed = np.mean((mean < answer.low) | (mean > answer.high))
        assert missed <= MISS, (rate, owners)


def test_refuses_what_is_no_rate() -> None:
    with pytest.raises(InvalidParameter):
        scale_up(released(np.array([1.0]), 1.0), 0.0, 1)
