from __future__ import annotations

import numpy as np
import pytest

from privacy.accounting.event import ApproxDP, PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.published.sampled.inner_mechanism import InnerMechanism
from privacy.published.sampled.population import NoisyPopulation, PublicPopulation
from privacy.published.sampled.sample_and_explore import SampleAndExplore
from privacy.published.sampled.sampled_measurement import SampledMeasurement
from privacy.sampling.units.exploration import Exploration
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import ScriptedDraws, SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.instances import join_tuples, owner

FIXED = InnerMechanism("fixed", 8.0)


def pairs() -> JoinTuples:
    """Unit 1 brings 1 + 3, unit 2 brings 2; unit 3 brings nothing."""
    columns = [owner("unit", [1, 2, 1], np.int64), owner("unit", [2, 3, 3], np.int64)]
    return join_tuples(columns, np.array([1, 2, 3]) * ONE)


def test_drawn_units_bring_their_tuples_times_n_over_k() -> None:
    mechanism: SampledMeasurement = SampleAndExplore(2.0, 1, 2, PublicPopulation(10), FIXED)
    for drawn, total in [(0, 4), (1, 2), (2, 0), (9, 0)]:
        released = mechanism.release(pairs(), ScriptedDraws([drawn]), ConstantEntropy())
        assert released.values.tolist() == [total * 10.0]
    assert mechanism.event == PureDP(2.0)
    both = SampleAndExplore(2.0, 2, 2, PublicPopulation(10), InnerMechanism("fixed", 4.0))
    cut = both.release(pairs(), ScriptedDraws([0, 1]), ConstantEntropy())
    assert cut.values.tolist() == [5 * 5.0]  # unit 3 has 2 + 3, of which 4 stay


def test_the_noise_is_that_of_the_amplified_budget() -> None:
    mechanism = SampleAndExplore(2.0, 1, 2, PublicPopulation(1000), FIXED)
    inner = mechanism.measurement(1000).epsilon
    assert Exploration(1, 2).loss(inner, 1000) == pytest.approx(2.0, rel=1e-6)
    released = mechanism.release(pairs(), SeededDraws(1), SimulatedEntropy(1))
    assert released.noise_scale[0] == pytest.approx(8 / inner * 1000, rel=1e-4)
    assert (released.high - released.low)[0] / 2 == pytest.approx(mechanism.expected_noise()[0][1])


def test_the_noise_never_follows_the_private_number_of_units() -> None:
    mechanism = SampleAndExplore(2.0, 1, 2, NoisyPopulation(0.5, least=100), FIXED)
    scales = []
    for units in (100, 5000):
        recorded = RecordedEntropy(ConstantEntropy())
        mechanism.release_prepared(mechanism.prepare(pairs(), units), SeededDraws(1), recorded)
        scales.append([scale for _, scale, _ in recorded.draws])
    assert scales[0] == scales[1]
    assert mechanism.event == PureDP(2.0)


def test_a_noisy_lower_bound_costs_delta() -> None:
    mechanism = SampleAndExplore(2.0, 1, 2, NoisyPopulation(0.5, 1e-6), FIXED)
    assert mechanism.event == ApproxDP(2.0, 1e-6)
    released = mechanism.release_prepared(mechanism.prepare(pairs(), 50), ScriptedDraws([0]), ConstantEntropy())
    assert released.values.tolist() == [4 * 50.0]
    assert released.confidence == pytest.approx(0.94)
    assert released.low[0] < 4 * 50 < released.high[0]


def test_everybody_drawn_is_the_inner_mechanism() -> None:
    mechanism = SampleAndExplore(1.0, 3, 2, PublicPopulation(3), InnerMechanism("gem"))
    prepared = mechanism.prepare(pairs())
    assert prepared.whole is not None
    released = mechanism.release_prepared(prepared, SeededDraws(1), SimulatedEntropy(2))
    assert released.values == mechanism.inner.at(1.0).release(prepared.whole, SimulatedEntropy(2)).values
    assert mechanism.sampling_deviation(6.0, 3, 4.0) == 0.0


def test_the_estimate_is_unbiased_and_its_spread_within_the_bound() -> None:
    """The mean of 4000 runs within 6 of its standard errors; 8 cuts nobody."""
    mechanism = SampleAndExplore(1.0, 2, 2, PublicPopulation(5), FIXED)
    prepared, draws = mechanism.prepare(pairs()), SeededDraws(7)
    values = [mechanism.sampled(prepared, draws).solve(0, 0) / ONE * 2.5 for _ in range(4000)]
    assert abs(np.mean(values) - 6) < 6 * np.std(values) / np.sqrt(4000)
    assert np.std(values) < mechanism.sampling_deviation(6.0, 5, 4.0)


@pytest.mark.parametrize("inner", [FIXED, InnerMechanism("r2t", 8.0), InnerMechanism("gem", whole=True)])
def test_nobody_at_all_is_no_failure(inner: InnerMechanism) -> None:
    """Whether there is anybody is private."""
    nothing = join_tuples([owner("unit", [], np.int64), owner("unit", [], np.int64)], [[]])
    for drawn in (1, 5):
        mechanism = SampleAndExplore(2.0, drawn, 2, NoisyPopulation(0.5, 1e-6), inner)
        released = mechanism.release_prepared(mechanism.prepare(nothing, 0), SeededDraws(1), ConstantEntropy())
        assert released.values.tolist() == [0.0]


def test_a_private_number_of_units_must_be_given() -> None:
    mechanism = SampleAndExplore(2.0, 1, 2, NoisyPopulation(0.5, least=100), FIXED)
    with pytest.raises(InvalidParameter):
        mechanism.release(pairs(), SeededDraws(1), ConstantEntropy())


def test_nothing_private_is_shown() -> None:
    prepared = SampleAndExplore(2.0, 1, 2, PublicPopulation(10), FIXED).prepare(pairs())
    assert repr(prepared) == "ExploredTuples(<private>)"


@pytest.mark.parametrize(
    "parameters", [{"epsilon": 0.0}, {"epsilon": 0.5}, {"epsilon": 700.0}, {"drawn": 0}, {"collaborators": -1}]
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    whole = {"epsilon": 2.0, "drawn": 1, "collaborators": 2, "population": NoisyPopulation(0.5, least=9)}
    with pytest.raises(InvalidParameter):
        SampleAndExplore(**(whole | {"inner": FIXED} | parameters))  # type: ignore[arg-type]
