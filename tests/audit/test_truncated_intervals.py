"""Intervals of `truncated_full` and `truth_lower` cover as often as they say, on what is hardest for them."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.entropy import Entropy
from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.racing.r2t import R2T
from privacy.mechanisms.racing.s4s import S4S
from privacy.noisy_answer import NoisyAnswer
from privacy.published.laplace_global import LaplaceGlobal
from privacy.published.s4s_rdp import S4SRenyi
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE
from tests.audit.covering import Coverage, Truth
from tests.audit.mutants import WeakerNoise
from tests.support.simulated_entropy import SimulatedEntropy

SHORT = Ladder(-3, 6)

NOBODY = np.zeros(0)
ALIKE = np.full(200, 5.0)
SKEWED = np.floor(300 / np.arange(1, 401) ** 0.8)
FRACTIONS = np.random.default_rng(3).random(300)
CROWDS = {"nobody": NOBODY, "alike": ALIKE, "skewed": SKEWED, "fractions": FRACTIONS}


def coverage(mechanism: Measurement, loads: Truth, lowest: bool = False, entropy: Entropy | None = None) -> Coverage:
    """Of the truncated answer at the published tau, or of the whole answer where the interval is one-sided.

    Args:
      lowest: the solver errs as much as it may: by gap tau, but not below zero.
    """
    source = SimulatedEntropy(seed=20260110) if entropy is None else entropy
    taus, gap = mechanism.ladder.taus, mechanism.gap
    whole = np.minimum(loads[:, None], taus).sum(axis=0)
    solved = np.maximum(whole - gap * taus, 0.0) if lowest else whole
    units = np.ceil(solved * ONE).astype(np.int64)

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        table = np.broadcast_to(units, (size, len(taus)))
        answer = mechanism.release(TabulatedAnswer(table, mechanism.ladder, gap), source)
        return answer, np.full(len(taus), loads.sum()) if answer.covers == "truth_lower" else whole

    return Coverage(release, mechanism.ladder)


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_gem(crowd: str, confidence: float) -> None:
    found = coverage(Gem(1.0, groups_per_unit=1, ladder=SHORT, confidence=confidence), CROWDS[crowd])
    assert found.confidence == confidence
    assert not found.refuted
    assert found.share < confidence + 0.02  # whole numbers of steps; more would be wider than it need be


@pytest.mark.parametrize("lowest", [True, False])
@pytest.mark.parametrize("gap", [0.01, 0.5])
def test_a_solver_gap_is_within_the_interval(gap: float, lowest: bool) -> None:
    assert not coverage(Gem(1.0, 1, gap, SHORT), SKEWED, lowest).refuted
    assert not coverage(Fixed(4.0, 1, gap, ladder=Ladder(3, 3)), SKEWED, lowest).refuted
    assert not coverage(LaplaceGlobal(4.0, 300.0, 1, gap), SKEWED, lowest).refuted


@pytest.mark.parametrize("crowd", CROWDS)
def test_one_threshold(crowd: str) -> None:
    for mechanism in (
        Fixed(1.0, groups_per_unit=1, ladder=Ladder(2, 2)),
        LaplaceGlobal(1.0, 24.0, groups_per_unit=1),
    ):
        found = coverage(mechanism, CROWDS[crowd])
        assert not found.refuted and found.share < 0.97


RACES: list[Measurement] = [
    R2T(1.0, 2.0, groups_per_unit=1, confidence=0.6),
    R2T(1.0, 512.0, groups_per_unit=1),
    S4S(1.0, 1, 1, beta=0.9),
    S4S(1.0, 512, 1),
    S4SRenyi(1.0, 1e-6, 1, beta=0.9),
    S4SRenyi(1.0, 1e-6, 512),
]


@pytest.mark.parametrize("mechanism", RACES, ids=lambda race: f"{race.name}-{len(race.ladder)}")
@pytest.mark.parametrize("crowd", ["nobody", "alike", "skewed"])
def test_a_race_is_below_the_truth(mechanism: Measurement, crowd: str) -> None:
    assert not coverage(mechanism, CROWDS[crowd]).refuted


@pytest.mark.parametrize("mechanism", RACES[::2], ids=lambda race: race.name)
def test_a_race_of_one_threshold_is_below_just_as_often_as_it_says(mechanism: Measurement) -> None:
    found = coverage(mechanism, np.ones(500))
    assert not found.refuted and found.share < found.confidence + 0.02


def test_catches_twice_the_noise() -> None:
    for mechanism in (Gem(1.0, 1, ladder=SHORT), Fixed(1.0, 1, ladder=Ladder(2, 2)), R2T(1.0, 2.0, 1)):
        twice = WeakerNoise(SimulatedEntropy(1), laplace=2.0)
        assert coverage(mechanism, np.ones(500), entropy=twice).refuted


def test_catches_a_gap_that_the_interval_forgets() -> None:
    """Above all where the noise is small: the interval is for exact values, which these are not."""

    class Forgets(Gem):
        def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
            exact = Gem(self.epsilon, 1, ladder=self.ladder)
            return exact.release(TabulatedAnswer(answer.bounds()[0], answer.ladder), entropy)

    assert coverage(Forgets(8.0, 1, 0.5, Ladder(3, 3)), SKEWED, lowest=True).refuted


def test_truncation_bias_is_outside_of_it() -> None:
    """The interval of a truncated answer does not cover the truth, and does not say so."""
    mechanism = Fixed(1.0, groups_per_unit=1, ladder=Ladder(0, 0))

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        table = np.full((size, 1), 200 * ONE)
        return mechanism.release(TabulatedAnswer(table, mechanism.ladder), SimulatedEntropy(2)), np.array([1000.0])

    found = Coverage(release, mechanism.ladder)
    assert found.refuted and found.hits == 0
