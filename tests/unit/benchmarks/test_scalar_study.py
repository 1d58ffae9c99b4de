"""The study of errors: repeated answers are the answer, samples are Bernoulli, floors are below what they floor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.graph_joins import counted
from tests.support.scalar_study.case import ScalarCase
from tests.support.scalar_study.contenders import ON_UNITS, UnitSampler, answers, on_tuples, released
from tests.support.scalar_study.floor import best_known, floor, release_scales
from tests.support.scalar_study.repeated_answer import RepeatedAnswer
from tests.support.scalar_study.sample import sampled
from tests.support.scalar_study.spread import spread, trimmed_mean
from tests.support.scalar_study.study import EPSILONS, RATES, Effort, study
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

_SMALL = Effort(whole_runs=200, samples=10, fewest=10, runs=200, timings=1)


def _ring(size: int) -> JoinTuples:
    """Everybody knows the next, and the first knows everybody."""
    here = np.arange(size)
    return counted((np.concatenate((here, here * 0)), np.concatenate(((here + 1) % size, here))))


@pytest.fixture
def case() -> ScalarCase:
    return ScalarCase("a ring with a hub", _ring(500), 512, 512, 500, True)


def test_a_repeated_answer_is_the_same_truncation(case: ScalarCase) -> None:
    plain = truncate(encode(case.tuples), 0, case.thresholds, 0.0)
    repeated = RepeatedAnswer(truncate(encode(case.tuples), 0, case.thresholds, 0.0), Thresholds(2, 6), 3)
    solved = [[repeated.solve(group, index) for index in range(5)] for group in range(3)]
    assert solved == [[plain.solve(0, index) for index in range(2, 7)]] * 3
    low, high = repeated.bounds()
    assert low.shape == (3, 5)
    assert np.array_equal(low, solved)
    assert np.array_equal(high, solved)


def test_bounds_that_noise_hides_count_as_their_middle() -> None:
    """The second threshold's noise is too small for that."""

    class Half(TabulatedAnswer):
        def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            return self.values, self.values + ONE

    answer = Half(np.array([[4 * ONE, 6 * ONE]]), Thresholds(0, 1))
    low, high = RepeatedAnswer(answer, Thresholds(0, 1), 2, [60.0, 40.0]).bounds()
    assert (low / ONE).tolist() == [[4.5, 6.0]] * 2
    assert (high / ONE).tolist() == [[4.5, 7.0]] * 2


def test_a_repeated_answer_counts_as_many_units_above_each_threshold() -> None:
    values = np.array([[8, 9]], np.int64)
    assert RepeatedAnswer(TabulatedAnswer(values, Thresholds(0, 1)), Thresholds(0, 1), 2).exceedances is None
    counted = TabulatedAnswer(values, Thresholds(0, 1), 0.0, np.array([[1, 0]], np.int64))
    found = RepeatedAnswer(counted, Thresholds(0, 1), 2).exceedances
    assert found is not None
    assert found.tolist() == [[1, 0], [1, 0]]


def test_runs_of_a_repeated_answer_have_a_noise_of_their_own_and_the_whole_budget() -> None:
    thresholds = Thresholds(0, 0)
    answer = TabulatedAnswer(np.array([[1000 * ONE]]), thresholds)
    mechanism = Gem(PureBudget(2.0), 1, thresholds=thresholds)
    values = released(mechanism, answer, 4000, 1.0, SimulatedEntropy(1))
    apart = np.abs(values - 1000)
    assert len(np.unique(values)) > 3900
    assert apart.mean() == pytest.approx(mechanism.release(answer, SimulatedEntropy(2)).noise_scale[0], rel=0.1)


def test_a_sample_keeps_each_tuple_equally_often() -> None:
    tuples, generator = _ring(1000), np.random.default_rng(3)
    numbered = replace(tuples, weights=np.arange(2000)[None])
    kept = np.zeros(2000)
    for _ in range(400):
        sample = sampled(numbered, 0.25, generator)
        rows = sample.weights[0]
        assert np.array_equal(sample.owners[1].keys, tuples.owners[1].keys[rows])
        kept[rows] += 1
    assert kept.mean() == pytest.approx(100, rel=0.01)
    assert np.abs(kept - 100).max() < 6 * np.sqrt(75)
    assert sampled(tuples, 1.0, generator) is tuples


def test_the_trimmed_mean_leaves_out_both_ends() -> None:
    assert trimmed_mean(np.array([1e9, 1.0, 2.0, 3.0, -1e9])) == 2.0


def test_a_spread_names_the_tails_and_its_own_error() -> None:
    values = 100 + np.random.default_rng(4).laplace(0, 5, (50, 40))
    found = spread(values, 100.0)
    assert found.runs == 2000
    assert found.p95 == pytest.approx(0.05 * np.log(20), rel=0.15)
    assert found.trimmed < found.p95 < found.p999
    assert 0 < found.error < 0.1 * found.trimmed


def test_the_floor_is_what_no_fixed_threshold_beats(case: ScalarCase) -> None:
    scales = release_scales(case, 1.0, 1.0)
    (answer,) = answers(case, 1.0, 1, np.random.default_rng(5))
    lowest, _ = floor(best_known(answer, scales, case.truth, 1.0)[None], scales, case.truth, 1.0)
    generator = np.random.default_rng(6)
    by_hand = []
    for index, scale in enumerate(scales):
        values = answer.solve(0, index) / ONE + generator.laplace(0, scale, 20_000)
        by_hand.append(trimmed_mean(np.abs(values - case.truth) / case.truth))
    assert lowest == pytest.approx(min(by_hand), rel=0.05)


def test_noise_for_a_sample_is_smaller_than_without_amplification(case: ScalarCase) -> None:
    """A unit of 512 tuples has 32 of them in the sample: large thresholds need the noise of some 32."""
    here, whole = release_scales(case, 1.0, 1 / 16), release_scales(case, 1.0, 1.0)
    assert np.all(here < 1.00001 * whole)
    assert np.all(here[-3:] < 0.51 * whole[-3:])
    mechanisms = [on_tuples("gem", case, 1.0, rate) for rate in (1 / 16, 1.0)]
    widths = [made.expected_noise()[-1][1] for made in mechanisms]
    assert widths[0] < 0.3 * widths[1]


@pytest.mark.parametrize("name", ON_UNITS)
def test_samples_of_units_estimate_the_whole(case: ScalarCase, name: str) -> None:
    sampler, entropy, draws = UnitSampler(case, 0.25, name), SimulatedEntropy(7), SeededDraws(8)
    sample = sampler.prepared()
    values = [sampler.released(400.0, sample(draws), 5, entropy).mean() for _ in range(300)]
    assert np.mean(values) == pytest.approx(case.truth, rel=0.15)


def test_every_mechanism_is_studied_everywhere(case: ScalarCase) -> None:
    found = list(study(case, _SMALL))
    assert [(one.rate, one.epsilon) for one in found] == [(rate, epsilon) for rate in RATES for epsilon in EPSILONS]
    for one in found:
        assert set(one.errors) == set(one.seconds) == {"gem", "r2t", "s4s", *ON_UNITS}
        assert all(error.runs >= 200 for error in one.errors.values())
        assert one.floor <= 1.1 * min(one.errors[name].trimmed for name in ("gem", "s4s"))


def test_fractional_weights_and_one_owner_are_studied_too() -> None:
    weights = np.full((1, 400), ONE // 3, np.int64)
    owners = (OwnerColumn("customer", np.arange(400) // 4, np.zeros(400, bool)),)
    case = ScalarCase("lines", JoinTuples(owners, np.zeros(400, np.int64), 1, weights), 8, 0, 100, False)
    assert case.truth == pytest.approx(400 / 3, rel=1e-6)
    assert all(np.isfinite(error.trimmed) for one in study(case, _SMALL) for error in one.errors.values())
