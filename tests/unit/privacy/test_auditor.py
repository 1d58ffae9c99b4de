"""Bounds that an audit states, of epsilon, delta and coverage, and the events that it tries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from privacy.errors import InvalidParameter
from tests.audit.auditor import EventFamily, Outputs, coverage_upper_bound, delta_lower_bound, epsilon_lower_bound
from tests.support.seeds import examples
from tests.unit.privacy.refusals import refuses_calls


def test_refuses_what_cannot_be_audited_and_halves_share_no_run() -> None:
    for score, label in [([1.0, 2.0], [0]), ([1.0], [0]), ([1.0, np.nan], [0, 0])]:
        with pytest.raises(InvalidParameter):
            Outputs(np.array(score), np.array(label))
    first, second = Outputs(np.arange(5.0), np.arange(5)).halves()
    assert (first.score.tolist(), second.label.tolist()) == ([0, 1], [2, 3, 4])


def test_the_quick_count_is_the_count() -> None:
    generator = np.random.default_rng(2)
    first, second = (Outputs(generator.normal(size=300).round(1), generator.integers(-2, 4, 300)) for _ in range(2))
    family = EventFamily.of(first, second)
    assert family.counts(first).tolist() == [event.count(first) for event in family.events()]


def test_tries_both_tails_of_scores_and_of_labels() -> None:
    outputs = Outputs(np.arange(10.0), np.arange(10))
    events = EventFamily.of(outputs, outputs).events()
    assert {event.score_above for event in events} == {True, False}
    assert {(event.label_low, event.label_high) for event in events} >= {(0, 9), (0, 3), (3, 9), (3, 3)}
    # is where so few hits are as unlikely as stated
    for hits, runs in [(0, 10), (7, 10), (9, 10), (18_900, 20_000)]:
        bound = coverage_upper_bound(hits, runs, 1e-3)
        assert binom.cdf(hits, runs, bound) == pytest.approx(1e-3)
    # nothing but hits refutes nothing
    assert coverage_upper_bound(10, 10, 1e-7) == 1.0


def test_fails_no_oftener_than_stated_and_refuses_what_is_no_count_and_no_probability() -> None:
    hits = np.random.default_rng(3).binomial(200, 0.9, 2_000)
    too_low = sum(coverage_upper_bound(int(hit), 200, 0.05) < 0.9 for hit in hits)
    assert too_low <= 100 + 5.4 * math.sqrt(95)
    refuses_calls(
        coverage_upper_bound, (3, 2, 0.1), (-1, 2, 0.1), (0, 0, 0.1), (1, 2, 0.0), (1, 2, 1.0), (1, 2, math.nan)
    )


RUNS = 40_000


def randomised_response(epsilon: float, truth: int, generator: np.random.Generator) -> Outputs:
    lie = generator.random(RUNS) > math.exp(epsilon) / (1 + math.exp(epsilon))
    return Outputs(np.zeros(RUNS), np.where(lie, 1 - truth, truth))


def laplace(epsilon: float, centre: float, generator: np.random.Generator) -> Outputs:
    return Outputs(generator.laplace(centre, 1 / epsilon, RUNS), np.zeros(RUNS, np.int64))


def test_comes_close_and_does_not_exceed() -> None:
    for epsilon in [0.5, 1.0, 2.0]:
        for mechanism in [randomised_response, laplace]:
            generator = np.random.default_rng(5)
            first, second = mechanism(epsilon, 0, generator), mechanism(epsilon, 1, generator)
            assert epsilon - 0.25 < epsilon_lower_bound(first, second, 1e-6) <= epsilon, (epsilon, mechanism)
            assert epsilon - 0.25 < epsilon_lower_bound(second, first, 1e-6) <= epsilon, (epsilon, mechanism)


def test_equal_inputs_show_nothing() -> None:
    generator = np.random.default_rng(6)
    assert epsilon_lower_bound(laplace(1.0, 0, generator), laplace(1.0, 0, generator), 1e-6) < 0.05


def test_fails_no_oftener_than_stated_of_auditor() -> None:
    """At a failure probability of 0.2 a bound above the truth in more than 40% of 200 audits has chance < 1e-9."""
    generator = np.random.default_rng(7)
    exceeded = 0
    for _ in range(200):
        first, second = (Outputs(np.zeros(400), (generator.random(400) < p).astype(np.int64)) for p in (0.75, 0.25))
        exceeded += epsilon_lower_bound(first, second, 0.2) > math.log(3)
    assert exceeded < 80


@pytest.mark.slow
def test_is_not_fooled_by_the_event_it_picked() -> None:
    """Among hundreds of events one always looks telling on the runs that it was picked on.

    With seeds. At a failure probability of 0.1, more than 15 of 40 audits that err have chance < 1e-6.
    """
    generator, audits = np.random.default_rng(9), examples(16, 40)
    fooled = 0
    for _ in range(audits):
        first, second = (Outputs(generator.normal(size=300), generator.integers(0, 20, 300)) for _ in range(2))
        fooled += epsilon_lower_bound(first, second, 0.1) > 0
    assert fooled <= 15 * audits // 40


def test_a_disjoint_pair_is_a_large_epsilon_but_not_an_infinite_one() -> None:
    first, second = (Outputs(np.full(RUNS, centre), np.zeros(RUNS, np.int64)) for centre in (0.0, 9.0))
    assert 6 < epsilon_lower_bound(first, second, 1e-6) < math.log(RUNS)


def test_an_infinite_score_is_a_score() -> None:
    generator = np.random.default_rng(8)
    first, second = (
        Outputs(np.where(generator.random(RUNS) < p, np.inf, -np.inf), np.zeros(RUNS, np.int64)) for p in (0.8, 0.2)
    )
    assert math.log(4) - 0.3 < epsilon_lower_bound(first, second, 1e-6) <= math.log(4)


GAUSSIAN_DELTA = norm.cdf(0.5 - 1.0) - math.e * norm.cdf(-0.5 - 1.0)
"""At epsilon 1, of a unit shift under unit noise: Balle and Wang (ICML 2018), theorem 8."""


def gaussian(centre: float, generator: np.random.Generator) -> Outputs:
    return Outputs(generator.normal(centre, 1.0, 400_000), np.zeros(400_000, np.int64))


def test_a_gaussian_loses_its_delta_and_its_epsilon_and_no_more() -> None:
    generator = np.random.default_rng(10)
    first, second = (gaussian(centre, generator) for centre in (0.0, 1.0))
    for pair in ((first, second), (second, first)):
        assert 0.85 * GAUSSIAN_DELTA < delta_lower_bound(*pair, 1e-6, 1.0) <= GAUSSIAN_DELTA
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
    refuses_calls(epsilon_lower_bound, *((outputs, outputs, failure) for failure in (0.0, 1.0, -1.0, math.nan)))
    refuses_calls(epsilon_lower_bound, *((outputs, outputs, 0.1, delta) for delta in (-0.1, 1.0, math.nan)))
    refuses_calls(delta_lower_bound, *((outputs, outputs, 0.1, epsilon) for epsilon in (-0.1, math.inf, math.nan)))
