"""simple_sampling keeps its claim on a unit that is drawn or not, and its mutants do not."""

from __future__ import annotations

from functools import cached_property

import pytest

from privacy.mechanisms.measurement import Measurement
from privacy.published.sampled.inner_mechanism import InnerMechanism
from privacy.published.sampled.simple_sampling import SimpleSampling
from tests.audit.mutants import WeakerNoise
from tests.audit.sampled_auditing import Pairs, lower_bound, sampled_runs
from tests.support.simulated_entropy import SimulatedEntropy

FIXED = InnerMechanism("fixed", 1.0)
ALONE: tuple[Pairs, Pairs] = ([], [(1, -1, 4.0)])
"""Nobody, against one unit that reaches the threshold whenever it is drawn, whatever is made up for."""

CROWD: tuple[Pairs, Pairs] = (
    [(1, 2, 0.5), (2, 3, 0.5)],
    [(1, 2, 0.5), (2, 3, 0.5), (0, 1, 1.0), (0, 2, 1.0), (3, 0, 1.0), (0, 0, 1.0)],
)


@pytest.mark.parametrize(("epsilon", "rate"), [(0.5, 0.25), (1.0, 0.25), (2.0, 0.5), (1.0, 1.0)])
def test_a_unit_that_is_drawn_or_not_costs_all_and_no_more(epsilon: float, rate: float) -> None:
    mechanism = SimpleSampling(epsilon, rate, 2, FIXED)
    bound = lower_bound(*(sampled_runs(mechanism, rows, 200_000) for rows in ALONE))
    assert epsilon - 0.25 < bound <= epsilon


@pytest.mark.parametrize("name", ["fixed", "laplace_global", "r2t", "gem"])
def test_a_unit_in_a_crowd(name: str) -> None:
    mechanism = SimpleSampling(1.0, 0.5, 2, InnerMechanism(name, None if name == "gem" else 4.0))
    assert lower_bound(*(sampled_runs(mechanism, rows) for rows in CROWD)) <= 1.0


class LinearAmplification(SimpleSampling):
    """Noise for epsilon / rate, the rule of thumb, which holds for small epsilon only."""

    @cached_property
    def measurement(self) -> Measurement:
        return self.inner.at(self.epsilon / self.rate)


class SampledBound(SimpleSampling):
    """Noise for the bound that a sample probably has, as the published experiments do, with nobody truncated."""

    @cached_property
    def measurement(self) -> Measurement:
        proper = SimpleSampling(self.epsilon, self.rate, self.positions, self.inner).measurement
        return self.inner.at(proper.epsilon / (2 * self.rate))


def test_catches_linear_amplification() -> None:
    mechanism = LinearAmplification(1.0, 0.25, 2, FIXED)
    assert lower_bound(*(sampled_runs(mechanism, rows) for rows in ALONE)) > 1.0


def test_catches_the_bound_that_a_sample_probably_has() -> None:
    mechanism = SampledBound(1.0, 0.125, 2, FIXED)
    assert lower_bound(*(sampled_runs(mechanism, rows) for rows in ALONE)) > 1.0


def test_catches_half_the_noise() -> None:
    mechanism, source = SimpleSampling(1.0, 0.25, 2, FIXED), WeakerNoise(SimulatedEntropy(1), laplace=0.5)
    assert lower_bound(*(sampled_runs(mechanism, rows, entropy=source) for rows in ALONE)) > 1.0
