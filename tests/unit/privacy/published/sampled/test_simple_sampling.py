from __future__ import annotations

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples
from privacy.published.sampled.inner_mechanism import InnerMechanism
from privacy.published.sampled.sampled_measurement import SampledMeasurement
from privacy.published.sampled.simple_sampling import SimpleSampling
from privacy.sampling.units.unit_sampling import unit_sampled_loss
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.seeded_draws import ScriptedDraws, SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.instances import join_tuples, owner

LAPLACE = InnerMechanism("laplace_global", 64.0)


def triangle_and_loop() -> JoinTuples:
    """Units 1, 2, 3 in pairs of weights 1, 2 and 3, and unit 3 with itself, of weight 4."""
    columns = [owner("unit", [1, 2, 1, 3], np.int64), owner("unit", [2, 3, 3, 3], np.int64)]
    return join_tuples(columns, np.array([1, 2, 3, 4]) * ONE)


def test_only_tuples_of_drawn_units_count_and_the_rest_is_made_up_for() -> None:
    mechanism: SampledMeasurement = SimpleSampling(1.0, 0.25, 2, LAPLACE)
    noiseless = ConstantEntropy()
    for kept, total in [([0, 1, 2], 1 + 2 + 3 + 1), ([0, 1], 1), ([2], 1), ([1, 2], 2 + 1), ([], 0)]:
        released = mechanism.release(triangle_and_loop(), ScriptedDraws(kept), noiseless)
        assert released.values.tolist() == [total * 16.0]
    assert (released.mechanism, released.covers, released.epsilon) == ("simple_sampling", "released_sample", 1.0)
    assert mechanism.event == PureDP(1.0)


def test_the_estimate_is_unbiased_and_its_spread_within_the_bound() -> None:
    """The mean of 4000 runs within 6 of its standard errors."""
    mechanism = SimpleSampling(8.0, 0.5, 2, LAPLACE)
    prepared, draws = mechanism.prepare(triangle_and_loop()), SeededDraws(7)
    values = [mechanism.sampled(prepared, draws).solve(0, 0) / ONE * mechanism.factor for _ in range(4000)]
    assert abs(np.mean(values) - 10) < 6 * np.std(values) / np.sqrt(4000)
    assert np.std(values) < mechanism.sampling_deviation(10.0, 9.0)


def test_the_sample_buys_less_noise() -> None:
    mechanism = SimpleSampling(1.0, 0.25, 2, LAPLACE)
    assert mechanism.measurement.epsilon > 1.0
    assert unit_sampled_loss(mechanism.measurement.epsilon, 0.25) <= 1.0
    released = mechanism.release(triangle_and_loop(), SeededDraws(1), SimulatedEntropy(1))
    assert released.noise_scale[0] == pytest.approx(16 * 64 / mechanism.measurement.epsilon, rel=1e-4)
    ((tau, half_width),) = mechanism.expected_noise()
    assert tau == released.tau[0] == 16 * 64
    assert (released.high - released.low)[0] / 2 == pytest.approx(half_width)


def test_everybody_drawn_is_the_inner_mechanism() -> None:
    mechanism = SimpleSampling(1.0, 1.0, 2, InnerMechanism("r2t", 64.0))
    prepared = mechanism.prepare(triangle_and_loop())
    assert prepared.whole is not None
    released = mechanism.release_prepared(prepared, SeededDraws(1), SimulatedEntropy(2))
    alone = mechanism.inner.at(1.0).release(prepared.whole, SimulatedEntropy(2))
    assert released.values.tolist() == alone.values.tolist()


def test_weights_are_made_up_for_in_exact_halves() -> None:
    heavy = join_tuples([owner("unit", [1], np.int64), owner("unit", [None], np.int64)], [(1 << 62) - 1])
    made = SimpleSampling(1.0, 0.25, 2, LAPLACE).prepare(heavy).tuples
    assert made.weights.tolist() == [[(1 << 60) - 1]]
    uneven = SimpleSampling(1.0, 0.3, 2, LAPLACE).prepare(heavy).tuples
    assert 0.3 * (1 << 62) * (1 - 2.0**-28) <= uneven.weights[0, 0] <= 0.3 * (1 << 62)


@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_nobody_at_all_is_no_failure(rate: float) -> None:
    nothing = join_tuples([owner("unit", [], np.int64), owner("unit", [], np.int64)], [[]])
    released = SimpleSampling(1.0, rate, 2, LAPLACE).release(nothing, SeededDraws(1), ConstantEntropy())
    assert released.values.tolist() == [0.0]


def test_nothing_private_is_shown() -> None:
    assert repr(SimpleSampling(1.0, 0.25, 2, LAPLACE).prepare(triangle_and_loop())) == "InducibleTuples(<private>)"


def test_refuses_another_number_of_positions() -> None:
    with pytest.raises(InvalidParameter):
        SimpleSampling(1.0, 0.25, 3, LAPLACE).prepare(triangle_and_loop())


@pytest.mark.parametrize(
    "parameters", [{"epsilon": 0.0}, {"epsilon": 700.0}, {"rate": 0.0}, {"rate": 1.5}, {"positions": 0}]
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        SimpleSampling(**({"epsilon": 1.0, "rate": 0.5, "positions": 2, "inner": LAPLACE} | parameters))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "bound"), [("s4s", 1.0), ("r2t", None), ("fixed", 3.0), ("laplace_global", np.inf)])
def test_refuses_inner_mechanisms_without_a_proof(name: str, bound: float | None) -> None:
    with pytest.raises(InvalidParameter):
        InnerMechanism(name, bound)
