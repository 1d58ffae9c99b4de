from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import ApproxDP, PureDP
from privacy.errors import InvalidParameter
from privacy.published.sampled.population import NoisyPopulation, PublicPopulation
from privacy.published.sampled.repeated_exploration import RepeatedExploration
from privacy.published.sampled.sampled_measurement import SampledMeasurement
from privacy.sampling.units.exploration import Exploration
from privacy.sampling.units.repetition import advanced_composition
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import ScriptedDraws, SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.published.sampled.test_sample_and_explore import pairs
from tests.unit.privacy.truncation.instances import join_tuples, owner


def test_truncated_sums_are_averaged_with_repetitions() -> None:
    mechanism: SampledMeasurement = RepeatedExploration(2.0, 4, 2, PublicPopulation(10), 3.0)
    released = mechanism.release(pairs(), ScriptedDraws([0, 0, 1, 9]), ConstantEntropy())
    assert released.values == pytest.approx((3 + 3 + 2 + 0) * 10 / 4, rel=1e-5)
    assert mechanism.event == PureDP(2.0)
    assert released.covers == "released_sample"


def test_the_budget_is_composed_and_amplified() -> None:
    mechanism = RepeatedExploration(2.0, 1000, 2, PublicPopulation(10**5), 3.0, 1e-8)
    each = Exploration(1, 2).loss(float(mechanism.noise(10**5).epsilon), 10**5)
    assert advanced_composition(each, 1000, 1e-8) == pytest.approx(2.0, rel=1e-6)
    assert mechanism.event == ApproxDP(2.0, 1e-8)
    pure = RepeatedExploration(2.0, 1000, 2, PublicPopulation(10**5), 3.0)
    assert Exploration(1, 2).loss(float(pure.noise(10**5).epsilon), 10**5) == pytest.approx(2e-3, rel=1e-6)


def test_the_noise_never_follows_the_private_number_of_units() -> None:
    mechanism = RepeatedExploration(2.0, 5, 2, NoisyPopulation(0.4, least=100), 3.0)
    scales = []
    for units in (100, 5000):
        recorded = RecordedEntropy(ConstantEntropy())
        mechanism.release_prepared(mechanism.prepare(pairs(), units), SeededDraws(1), recorded)
        scales.append([(scale, len(draws)) for _, scale, draws in recorded.draws])
    assert scales[0] == scales[1]


def test_deltas_add_up() -> None:
    assert RepeatedExploration(2.0, 5, 2, NoisyPopulation(0.4, 1e-8), 3.0, 2e-8).delta == pytest.approx(3e-8)


def test_runs_are_unbiased_and_their_spread_is_as_expected() -> None:
    """4 is the largest load, so nothing is cut; the mean within 6 standard errors."""
    mechanism = RepeatedExploration(300.0, 20, 2, PublicPopulation(5), 4.0)
    values = mechanism.release_prepared(mechanism.prepare(pairs()), SeededDraws(1), SimulatedEntropy(2), 5000).values
    assert abs(values.mean() - 6) < 6 * values.std() / math.sqrt(5000)
    noise = math.sqrt(2 * 20) * mechanism.noise(5).noise_scale * 5 / 20
    assert values.std() < math.hypot(noise, mechanism.sampling_deviation(6.0, 5)) * 1.05


def test_the_interval_covers_the_sample_at_least_as_often_as_it_says() -> None:
    """Chernoff's bound is wide: 95% becomes more; and the noise decides, the draws being all alike."""
    mechanism = RepeatedExploration(1.0, 20, 0, PublicPopulation(3), 4.0, confidence=0.9)
    script = ScriptedDraws([0] * 20 * 2000)
    released = mechanism.release_prepared(mechanism.prepare(pairs()), script, SimulatedEntropy(2), 2000)
    covered = ((released.low <= 12) & (released.high >= 12)).mean()
    assert 0.9 - 0.04 < covered < 1.0
    assert (released.high - released.low)[0] / 2 == pytest.approx(mechanism.expected_noise()[0][1])


def test_nobody_at_all_is_no_failure() -> None:
    """Whether there is anybody is private."""
    nothing = join_tuples([owner("unit", [], np.int64)], [[]])
    mechanism = RepeatedExploration(2.0, 3, 2, NoisyPopulation(0.4, 1e-6), 3.0)
    released = mechanism.release_prepared(mechanism.prepare(nothing, 0), SeededDraws(1), ConstantEntropy())
    assert released.values.tolist() == [0.0]


def test_saturated_loads_are_cut() -> None:
    prepared = RepeatedExploration(2.0, 1, 2, PublicPopulation(10), 3.0).prepare(pairs())
    assert prepared.loads.tolist() == [4 * ONE, 2 * ONE]


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0.0},
        {"drawn": 0},
        {"collaborators": -1},
        {"threshold": 0.0},
        {"threshold": math.nan},
        {"delta_composition": 1.0},
        {"confidence": 0.0},
        {"epsilon": 1e-9, "drawn": 1 << 31},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    whole = {"epsilon": 2.0, "drawn": 1, "collaborators": 2, "population": PublicPopulation(9), "threshold": 1.0}
    with pytest.raises(InvalidParameter):
        RepeatedExploration(**(whole | parameters))  # type: ignore[arg-type]


def test_refuses_no_runs() -> None:
    mechanism = RepeatedExploration(2.0, 1, 2, PublicPopulation(10), 3.0)
    with pytest.raises(InvalidParameter):
        mechanism.release_prepared(mechanism.prepare(pairs()), SeededDraws(1), ConstantEntropy(), 0)
    assert np.isfinite(mechanism.expected_noise()[0][1])
