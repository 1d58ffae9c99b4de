"""Measurements of sampled units: simple, explored, and explored again and again."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privacy.accounting.event import ApproxDP, PureDP
from privacy.join_tuples import JoinTuples
from privacy.sampling.draws import MAX_COUNT
from privacy.units import ONE
from tests.support.papers.sample_and_explore import RepeatedExploration, SampleAndExplore
from tests.support.papers.simple_sampling import (
    InnerMechanism,
    NoisyPopulation,
    PublicPopulation,
    SimpleSampling,
    UnitCount,
)
from tests.support.papers.unit_samples import Exploration, advanced_composition, unit_sampled_loss
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import ScriptedDraws, SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls, refuses_each
from tests.unit.privacy.truncation.instances import join_tuples, owner


def test_a_public_number_needs_neither_data_nor_noise() -> None:
    recorded = RecordedEntropy(ConstantEntropy())
    assert PublicPopulation(9).count(4, recorded, 0.99) == UnitCount(9, 9, 9, 9)
    assert recorded.draws == []
    assert (PublicPopulation(9).epsilon, PublicPopulation(9).delta) == (0.0, 0.0)
    # a public lower bound does not depend on the noise
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


def test_the_noise_has_the_scale_that_one_unit_needs_and_estimates_are_never_below_one() -> None:
    recorded = RecordedEntropy(ConstantEntropy())
    NoisyPopulation(0.25, least=1).count(7, recorded, 0.9)
    assert [(kind, scale, len(draws)) for kind, scale, draws in recorded.draws] == [("laplace", 4.0, 1)]
    count = NoisyPopulation(1.0, delta=1e-6).count(3, ConstantEntropy(laplace=-50), 0.9)
    assert (count.estimate, count.least) == (1, 1)


LAPLACE = InnerMechanism("laplace_global", 64.0)


def triangle_and_loop() -> JoinTuples:
    """Units 1, 2, 3 in pairs of weights 1, 2 and 3, and unit 3 with itself, of weight 4."""
    columns = [owner("unit", [1, 2, 1, 3], np.int64), owner("unit", [2, 3, 3, 3], np.int64)]
    return join_tuples(columns, np.array([1, 2, 3, 4]) * ONE)


def test_only_tuples_of_drawn_units_count_and_the_rest_is_made_up_for() -> None:
    mechanism = SimpleSampling(1.0, 0.25, 2, LAPLACE)
    noiseless = ConstantEntropy()
    for kept, total in [([0, 1, 2], 1 + 2 + 3 + 1), ([0, 1], 1), ([2], 1), ([1, 2], 2 + 1), ([], 0)]:
        released = mechanism.release(triangle_and_loop(), ScriptedDraws(kept), noiseless)
        assert released.values.tolist() == [total * 16.0]
    assert (released.mechanism, released.covers, released.epsilon) == ("simple_sampling", "released_sample", 1.0)
    assert mechanism.event == PureDP(1.0)


def test_the_estimate_is_unbiased() -> None:
    """The mean of 1000 runs within 6 of its standard errors."""
    mechanism = SimpleSampling(8.0, 0.5, 2, LAPLACE)
    prepared, draws = mechanism.prepare(triangle_and_loop()), SeededDraws(7)
    values = [mechanism.sampled(prepared, draws).solve(0, 0) / ONE * mechanism.factor for _ in range(1000)]
    assert abs(np.mean(values) - 10) < 6 * np.std(values) / np.sqrt(1000)


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
    simple = SimpleSampling(1.0, 1.0, 2, InnerMechanism("r2t", 64.0))
    inducible = simple.prepare(triangle_and_loop())
    explore = SampleAndExplore(1.0, 3, 2, PublicPopulation(3), InnerMechanism("gem"))
    explorable = explore.prepare(pairs())
    assert inducible.whole is not None and explorable.whole is not None
    found = simple.release_prepared(inducible, SeededDraws(1), SimulatedEntropy(2)).values.tolist()
    assert found == simple.inner.at(1.0).release(inducible.whole, SimulatedEntropy(2)).values.tolist()
    found = explore.release_prepared(explorable, SeededDraws(1), SimulatedEntropy(2)).values.tolist()
    assert found == explore.inner.at(1.0).release(explorable.whole, SimulatedEntropy(2)).values.tolist()
    assert repr(inducible) == "InducibleTuples(<private>)"
    assert repr(explorable) == "ExploredTuples(<private>)"


def test_weights_are_made_up_for_in_exact_halves() -> None:
    heavy = join_tuples([owner("unit", [1], np.int64), owner("unit", [None], np.int64)], [(1 << 62) - 1])
    made = SimpleSampling(1.0, 0.25, 2, LAPLACE).prepare(heavy).tuples
    assert made.weights.tolist() == [[(1 << 60) - 1]]
    uneven = SimpleSampling(1.0, 0.3, 2, LAPLACE).prepare(heavy).tuples
    assert 0.3 * (1 << 62) * (1 - 2.0**-28) <= uneven.weights[0, 0] <= 0.3 * (1 << 62)
    # nobody at all is no failure
    for rate in [0.5, 1.0]:
        nothing = join_tuples([owner("unit", [], np.int64), owner("unit", [], np.int64)], [[]])
        released = SimpleSampling(1.0, rate, 2, LAPLACE).release(nothing, SeededDraws(1), ConstantEntropy())
        assert released.values.tolist() == [0.0], rate
    # nothing private is shown
    assert repr(SimpleSampling(1.0, 0.25, 2, LAPLACE).prepare(triangle_and_loop())) == "InducibleTuples(<private>)"


FIXED = InnerMechanism("fixed", 8.0)


def pairs() -> JoinTuples:
    """Unit 1 brings 1 + 3, unit 2 brings 2; unit 3 brings nothing."""
    columns = [owner("unit", [1, 2, 1], np.int64), owner("unit", [2, 3, 3], np.int64)]
    return join_tuples(columns, np.array([1, 2, 3]) * ONE)


def test_drawn_units_bring_their_tuples_times_n_over_k() -> None:
    mechanism = SampleAndExplore(2.0, 1, 2, PublicPopulation(10), FIXED)
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
    once = SampleAndExplore(2.0, 1, 2, NoisyPopulation(0.5, least=100), FIXED)
    repeated = RepeatedExploration(2.0, 5, 2, NoisyPopulation(0.4, least=100), 3.0)
    scales: list[list[tuple[float, int]]] = []
    for units in (100, 5000):
        recorded = RecordedEntropy(ConstantEntropy())
        once.release_prepared(once.prepare(pairs(), units), SeededDraws(1), recorded)
        repeated.release_prepared(repeated.prepare(pairs(), units), SeededDraws(1), recorded)
        scales.append([(scale, len(draws)) for _, scale, draws in recorded.draws])
    assert scales[0] == scales[1]
    assert once.event == PureDP(2.0)
    refuses_calls(once.release, (pairs(), SeededDraws(1), ConstantEntropy()))  # it must be given


def test_a_noisy_lower_bound_costs_delta() -> None:
    mechanism = SampleAndExplore(2.0, 1, 2, NoisyPopulation(0.5, 1e-6), FIXED)
    assert mechanism.event == ApproxDP(2.0, 1e-6)
    released = mechanism.release_prepared(mechanism.prepare(pairs(), 50), ScriptedDraws([0]), ConstantEntropy())
    assert released.values.tolist() == [4 * 50.0]
    assert released.confidence == pytest.approx(0.94)
    assert released.low[0] < 4 * 50 < released.high[0]


def test_the_estimate_of_sample_and_explore_is_unbiased() -> None:
    """The mean of 1000 runs within 6 of its standard errors; 8 cuts nobody."""
    mechanism = SampleAndExplore(1.0, 2, 2, PublicPopulation(5), FIXED)
    prepared, draws = mechanism.prepare(pairs()), SeededDraws(7)
    values = [mechanism.sampled(prepared, draws).solve(0, 0) / ONE * 2.5 for _ in range(1000)]
    assert abs(np.mean(values) - 6) < 6 * np.std(values) / np.sqrt(1000)


def test_truncated_sums_are_averaged_with_repetitions() -> None:
    mechanism = RepeatedExploration(2.0, 4, 2, PublicPopulation(10), 3.0)
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


def test_runs_are_unbiased_and_their_spread_is_as_expected() -> None:
    """4 is the largest load, so nothing is cut; the mean within 6 standard errors."""
    mechanism = RepeatedExploration(300.0, 20, 2, PublicPopulation(5), 4.0)
    values = mechanism.release_prepared(mechanism.prepare(pairs()), SeededDraws(1), SimulatedEntropy(2), 5000).values
    assert abs(values.mean() - 6) < 6 * values.std() / math.sqrt(5000)
    noise = math.sqrt(2 * 20) * mechanism.noise(5).noise_scale * 5 / 20
    assert values.std() < math.hypot(noise, math.sqrt(5 / 20 * 4.0 * 6.0)) * 1.05  # n / k C total of the sampling


def test_the_interval_covers_the_sample_at_least_as_often_as_it_says() -> None:
    """Chernoff's bound is wide: 95% becomes more; and the noise decides, the draws being all alike."""
    mechanism = RepeatedExploration(1.0, 20, 0, PublicPopulation(3), 4.0, confidence=0.9)
    script = ScriptedDraws([0] * 20 * 2000)
    released = mechanism.release_prepared(mechanism.prepare(pairs()), script, SimulatedEntropy(2), 2000)
    covered = ((released.low <= 12) & (released.high >= 12)).mean()
    assert 0.9 - 0.04 < covered < 1.0
    assert (released.high - released.low)[0] / 2 == pytest.approx(mechanism.expected_noise()[0][1])


def test_nobody_at_all_is_no_failure_and_saturated_loads_are_cut() -> None:
    """Whether there is anybody is private."""
    nothing = join_tuples([owner("unit", [], np.int64), owner("unit", [], np.int64)], [[]])
    draws, noiseless = SeededDraws(1), ConstantEntropy()
    for rate in (0.5, 1.0):
        assert SimpleSampling(1.0, rate, 2, LAPLACE).release(nothing, draws, noiseless).values.tolist() == [0.0]
    for inner, drawn in itertools.product(
        (FIXED, InnerMechanism("r2t", 8.0), InnerMechanism("gem", whole=True)), (1, 5)
    ):
        once = SampleAndExplore(2.0, drawn, 2, NoisyPopulation(0.5, 1e-6), inner)
        assert once.release_prepared(once.prepare(nothing, 0), draws, noiseless).values.tolist() == [0.0], inner
    repeated = RepeatedExploration(2.0, 3, 2, NoisyPopulation(0.4, 1e-6), 3.0)
    alone = join_tuples([owner("unit", [], np.int64)], [[]])
    assert repeated.release_prepared(repeated.prepare(alone, 0), draws, noiseless).values.tolist() == [0.0]
    assert repeated.prepare(pairs(), 10).contributions.tolist() == [4 * ONE, 2 * ONE]


def test_refuses_parameters_out_of_range() -> None:
    refuses(NoisyPopulation, {"epsilon": 1.0, "least": 1}, epsilon=[0.0, np.inf], delta=[0.1], least=[0])
    refuses(NoisyPopulation, {"epsilon": 1.0}, delta=[0.0, 0.6])
    refuses_each(PublicPopulation, [0, MAX_COUNT + 1])
    sampling = {"epsilon": 1.0, "rate": 0.5, "positions": 2, "inner": LAPLACE}
    refuses(SimpleSampling, sampling, epsilon=[0.0, 700.0], rate=[0.0, 1.5], positions=[0])
    refuses_calls(SimpleSampling(1.0, 0.25, 3, LAPLACE).prepare, (triangle_and_loop(),))
    refuses_calls(InnerMechanism, ("s4s", 1.0), ("r2t", None), ("fixed", 3.0), ("laplace_global", np.inf))
    exploring = {"epsilon": 2.0, "drawn": 1, "collaborators": 2, "population": NoisyPopulation(0.5, least=9)}
    refuses(SampleAndExplore, exploring | {"inner": FIXED}, epsilon=[0.0, 0.5, 700.0], drawn=[0], collaborators=[-1])
    repeating = exploring | {"population": PublicPopulation(9), "threshold": 1.0}
    refuses(RepeatedExploration, repeating, epsilon=[0.0], drawn=[0], collaborators=[-1], threshold=[0.0, math.nan])
    refuses(RepeatedExploration, repeating, delta_composition=[1.0], confidence=[0.0])
    refuses(RepeatedExploration, repeating | {"epsilon": 1e-9}, drawn=[1 << 31])
    mechanism = RepeatedExploration(2.0, 1, 2, PublicPopulation(10), 3.0)
    refuses_calls(mechanism.release_prepared, (mechanism.prepare(pairs()), SeededDraws(1), ConstantEntropy(), 0))
    assert np.isfinite(mechanism.expected_noise()[0][1])
