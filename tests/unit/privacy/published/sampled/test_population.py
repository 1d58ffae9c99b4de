from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.published.sampled.population import NoisyPopulation, PublicPopulation, UnitCount
from privacy.sampling.draws import MAX_COUNT
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy


def test_a_public_number_needs_neither_data_nor_noise() -> None:
    recorded = RecordedEntropy(ConstantEntropy())
    assert PublicPopulation(9).count(4, recorded, 0.99) == UnitCount(9, 9, 9, 9)
    assert recorded.draws == []
    assert (PublicPopulation(9).epsilon, PublicPopulation(9).delta) == (0.0, 0.0)


def test_a_public_lower_bound_does_not_depend_on_the_noise() -> None:
    population = NoisyPopulation(0.5, least=100)
    for draw in (-(10**6), 0, 10**6):
        count = population.count(250, ConstantEntropy(laplace=draw), 0.9)
        assert count.least == 100
        assert count.estimate == max(100, 250 + draw)
        assert 100 <= count.low <= count.high


def test_a_noisy_lower_bound_fails_as_rarely_as_delta_says() -> None:
    """Expected 200 in 20,000 at most; 290 have chance below 1e-8. And it is tight: 100 at least."""
    population, source = NoisyPopulation(0.1, delta=0.01), SimulatedEntropy(4)
    counts = [population.count(1000, source, 0.9) for _ in range(20_000)]
    assert 100 < sum(count.least > 1000 for count in counts) < 290
    outside = sum(not count.low <= 1000 <= count.high for count in counts)
    assert 1700 < outside < 2230


def test_the_noise_has_the_scale_that_one_unit_needs() -> None:
    recorded = RecordedEntropy(ConstantEntropy())
    NoisyPopulation(0.25, least=1).count(7, recorded, 0.9)
    assert [(kind, scale, len(draws)) for kind, scale, draws in recorded.draws] == [("laplace", 4.0, 1)]


def test_estimates_are_never_below_one() -> None:
    count = NoisyPopulation(1.0, delta=1e-6).count(3, ConstantEntropy(laplace=-50), 0.9)
    assert (count.estimate, count.least) == (1, 1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0.0, "least": 1},
        {"epsilon": 1.0},
        {"epsilon": 1.0, "delta": 0.6},
        {"epsilon": 1.0, "delta": 0.1, "least": 1},
        {"epsilon": 1.0, "least": 0},
        {"epsilon": np.inf, "least": 1},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        NoisyPopulation(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, MAX_COUNT + 1])
def test_refuses_a_public_number_out_of_range(size: int) -> None:
    with pytest.raises(InvalidParameter):
        PublicPopulation(size)
