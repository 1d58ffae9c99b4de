from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from privacy.audit.auditor import delta_lower_bound, epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.errors import InvalidParameter

RUNS = 40_000


def randomised_response(epsilon: float, truth: int, generator: np.random.Generator) -> Outputs:
    lie = generator.random(RUNS) > math.exp(epsilon) / (1 + math.exp(epsilon))
    return Outputs(np.zeros(RUNS), np.where(lie, 1 - truth, truth))


def laplace(epsilon: float, centre: float, generator: np.random.Generator) -> Outputs:
    return Outputs(generator.laplace(centre, 1 / epsilon, RUNS), np.zeros(RUNS, np.int64))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("mechanism", [randomised_response, laplace])
def test_comes_close_and_does_not_exceed(mechanism, epsilon: float) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(5)
    first, second = mechanism(epsilon, 0, generator), mechanism(epsilon, 1, generator)
    assert epsilon - 0.25 < epsilon_lower_bound(first, second, 1e-6) <= epsilon
    assert epsilon - 0.25 < epsilon_lower_bound(second, first, 1e-6) <= epsilon


def test_equal_inputs_show_nothing() -> None:
    generator = np.random.default_rng(6)
    assert epsilon_lower_bound(laplace(1.0, 0, generator), laplace(1.0, 0, generator), 1e-6) < 0.05


def test_fails_no_oftener_than_stated() -> None:
    """At a failure probability of 0.2 a bound above the truth in more than 40% of 200 audits has chance < 1e-9."""
    generator = np.random.default_rng(7)
    exceeded = 0
    for _ in range(200):
        first, second = (Outputs(np.zeros(400), (generator.random(400) < p).astype(np.int64)) for p in (0.75, 0.25))
        exceeded += epsilon_lower_bound(first, second, 0.2) > math.log(3)
    assert exceeded < 80


def test_is_not_fooled_by_the_event_it_picked() -> None:
    """Among hundreds of events one always looks telling on the runs that it was picked on.

    At a failure probability of 0.1, more than 15 of 40 audits that err have chance < 1e-6.
    """
    generator = np.random.default_rng(9)
    fooled = 0
    for _ in range(40):
        first, second = (Outputs(generator.normal(size=300), generator.integers(0, 20, 300)) for _ in range(2))
        fooled += epsilon_lower_bound(first, second, 0.1) > 0
    assert fooled <= 15


def test_a_disjoint_pair_is_a_large_epsilon_but_not_an_infinite_one() -> None:
    first, second = (Outputs(np.full(RUNS, centre), np.zeros(RUNS, np.int64)) for centre in (0.0, 9.0))
    assert 6 < epsilon_lower_bound(first, second, 1e-6) < math.log(RUNS)


def test_an_infinite_score_is_a_score() -> None:
    generator = np.random.default_rng(8)
    first, second = (
        Outputs(np.where(generator.random(RUNS) < p, np.inf, -np.inf), np.zeros(RUNS, np.int64)) for p in (0.8, 0.2)
    )
    assert math.log(4) - 0.3 < epsilon_lower_bound(first, second, 1e-6) <= math.log(4)


@pytest.mark.parametrize("failure_probability", [0.0, 1.0, -1.0, math.nan])
def test_refuses_an_impossible_failure_probability(failure_probability: float) -> None:
    outputs = Outputs(np.zeros(4), np.zeros(4, np.int64))
    with pytest.raises(InvalidParameter):
        epsilon_lower_bound(outputs, outputs, failure_probability)


GAUSSIAN_DELTA = norm.cdf(0.5 - 1.0) - math.e * norm.cdf(-0.5 - 1.0)
"""At epsilon 1, of a unit shift under unit noise: Balle and Wang (ICML 2018), theorem 8."""


def gaussian(centre: float, generator: np.random.Generator) -> Outputs:
    return Outputs(generator.normal(centre, 1.0, 400_000), np.zeros(400_000, np.int64))


@pytest.mark.parametrize("upwards", [True, False])
def test_a_gaussian_loses_its_delta_and_no_more(upwards: bool) -> None:
    generator = np.random.default_rng(10)
    pair = [gaussian(centre, generator) for centre in (0.0, 1.0)]
    first, second = pair if upwards else reversed(pair)
    found = delta_lower_bound(first, second, 1e-6, 1.0)
    assert 0.85 * GAUSSIAN_DELTA < found <= GAUSSIAN_DELTA


def test_a_gaussian_loses_its_epsilon_at_that_delta_and_no_more() -> None:
    generator = np.random.default_rng(11)
    first, second = (gaussian(centre, generator) for centre in (0.0, 1.0))
    assert 0.93 < epsilon_lower_bound(first, second, 1e-6, GAUSSIAN_DELTA) <= 1.0
    assert epsilon_lower_bound(first, second, 1e-6) > 2.0


def test_what_is_never_seen_oftener_than_delta_shows_nothing() -> None:
    generator = np.random.default_rng(12)
    first, second = (
        Outputs((generator.random(RUNS) < p).astype(float), np.zeros(RUNS, np.int64)) for p in (0.1, 0.0)
    )
    assert epsilon_lower_bound(first, second, 1e-6, 0.09) < epsilon_lower_bound(first, second, 1e-6, 0.01)
    assert epsilon_lower_bound(first, second, 1e-6, 0.11) < 0.02
    assert delta_lower_bound(first, second, 1e-6, 50.0) == 0.0
    assert 0.08 < delta_lower_bound(first, second, 1e-6, 0.0) <= 0.1


def test_refuses_an_impossible_claim() -> None:
    outputs = Outputs(np.zeros(4), np.zeros(4, np.int64))
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(InvalidParameter):
            epsilon_lower_bound(outputs, outputs, 0.1, delta)
    for epsilon in (-0.1, math.inf, math.nan):
        with pytest.raises(InvalidParameter):
            delta_lower_bound(outputs, outputs, 0.1, epsilon)
