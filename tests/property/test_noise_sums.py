"""Intervals of sums of releases cover as often as they say, over simulated noise of every kind and scale."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.mechanisms.noise import ThresholdNoise
from privacy.mechanisms.noise_sums import sum_interval
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy

NOISES = 20_000
CONFIDENCE = 0.95
SLACK = 5.5 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / NOISES)
"""Beyond it lies one in 50 million of what covers exactly as often as it says."""

Part = tuple[int, Fraction, bool, int, float]

parts = st.lists(
    st.tuples(
        st.integers(-24, 20),  # tau = 2^k
        st.sampled_from([Fraction(1, 100), Fraction(1, 7), Fraction(1), Fraction(30)]),
        st.booleans(),
        st.integers(1, 12),  # how many of them
        st.sampled_from([1.0, 1.0, 1.0, -1.0, 0.37]),
    ),
    min_size=1,
    max_size=5,
)


@given(parts, st.integers(0, 1 << 30))
def test_an_interval_covers_the_sum_of_truncated_answers(given_parts: list[Part], seed: int) -> None:
    entropy = SimulatedEntropy(seed)
    generator = np.random.default_rng(seed)
    fields: list[list[float]] = [[] for _ in range(7)]
    truth, total = 0.0, np.zeros(NOISES)
    for power, budget, gaussian, count, weight in given_parts:
        grid = ThresholdNoise(max(1, int(2.0**power * ONE)), 0.01 if count % 2 else 0.0, budget)
        level = replace(grid, rho=float(budget)) if gaussian else grid
        for _ in range(count):
            exact = int(generator.integers(0, 1 << 40))
            hidden = generator.random() * grid.gap * grid.tau  # what a solver leaves of the truncated answer
            truth += weight * (exact / ONE + hidden)
            drawn = (exact // level.step + level.draw(NOISES, entropy)) * level.step_weight
            total += weight * drawn
            below, above = level.interval(CONFIDENCE)
            value = float(drawn[0])
            row = (value - below, value + above, value, level.tau, level.noise_scale, float(gaussian), weight)
            for place, number in enumerate(row):
                fields[place].append(number)
    low, high, values, tau, scale, kinds, weights = (np.array(one) for one in fields)
    below, above = sum_interval(low, high, values, tau, scale, kinds.astype(np.bool_), weights, CONFIDENCE)
    covered = float(np.mean((total - below <= truth) & (truth <= total + above)))
    assert covered >= CONFIDENCE - SLACK
    # What is hidden by rounding, by gaps and by whole steps is small beside the noise but where noise is small.
    widest = max(scale[place] * abs(weights[place]) for place in range(len(scale)))
    if widest > 50 * float(np.sum(np.abs(weights) * (high + low - 2 * values + tau * 2.0**-20))):
        assert covered <= CONFIDENCE + SLACK + 0.005
