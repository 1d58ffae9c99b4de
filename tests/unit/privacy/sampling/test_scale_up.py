from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.scale_up import MISS, scale_up


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


@pytest.mark.parametrize(("rate", "owners"), [(0.01, 400), (0.1, 40), (0.5, 4)])
def test_the_interval_covers_the_mean_truncated_answer(rate: float, owners: int) -> None:
    """Owners with 200 tuples each, cut at tau = 3: simulated samples, no noise, and one tau to choose from."""
    runs = 4000
    generator = np.random.default_rng(7)
    contributions = np.minimum(generator.binomial(200, rate, (runs, owners)), 3)
    mean = np.minimum(np.random.default_rng(8).binomial(200, rate, 10**6), 3).mean() * owners / rate
    answer = scale_up(released(contributions.sum(axis=1).astype(np.float64), 0.0), rate, 1)
    missed = np.mean((mean < answer.low) | (mean > answer.high))
    assert missed <= MISS


def test_refuses_what_is_no_rate() -> None:
    with pytest.raises(InvalidParameter):
        scale_up(released(np.array([1.0]), 1.0), 0.0, 1)
