"""l1_clip and l2_clip keep their claims where a unit comes or goes; less noise and sums that nobody cut do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.gem import CAPPED_SELECTION
from privacy.mechanisms.scores import ExceedanceScores
from privacy.mechanisms.selection import SelectionSettings, noisy_choice
from privacy.mechanisms.unit_vectors import UnitVectors, step_of
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from tests.audit.auditing import FAILURE_PROBABILITY, loss_bound, plain, slow
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.audit.clipped import BIG, Vector, side_by_side, vector_audit
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

PURE = PureBudget(1.0)
CONCENTRATED = ConcentratedBudget(0.5, 0.01)
"""A delta that is seen in some hundred thousand runs."""

L1, L2 = (Clip(budget, Thresholds(0, 0)) for budget in (PURE, CONCENTRATED))
"""One threshold, so that the release is what is audited."""

CHOOSING = Clip(PURE, Thresholds(-2, 3), selection=SelectionSettings(0.5))

NOBODY = (0.0, 0.0, 0.0, 0.0)
UNITS: list[Vector] = [(1, 0, 0, 0), (BIG, BIG, 0, 0), (BIG, BIG, BIG, BIG), (BIG, 1, 0, 0)]


def _towards(unit: Vector) -> NDArray[np.float64]:
    """The direction in which the sums move when the unit comes."""
    return np.asarray(np.array(unit) / np.linalg.norm(unit))


@pytest.mark.parametrize("clip", [L1, L2], ids=["l1", "l2"])
@pytest.mark.parametrize("unit", [UNITS[0], *(slow(unit) for unit in UNITS[1:])])
def test_a_unit_comes(clip: Clip, unit: Vector) -> None:
    assert vector_audit(clip, (unit, NOBODY), _towards(unit).tolist(), clip.delta) <= clip.epsilon


def test_the_release_spends_what_it_may() -> None:
    """Of a unit in one group, all of it; of one in four groups Laplace noise hides a quarter in each."""
    for clip in (L1, L2):
        found = vector_audit(clip, (UNITS[0], NOBODY), UNITS[0], clip.delta)
        assert 0.65 * clip.epsilon < found <= clip.epsilon


@pytest.mark.parametrize("clip", [L1, L2], ids=["l1", "l2"])
def test_catches_sums_that_are_not_scaled(clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group cut at tau by itself, as if a unit were in one."""

    def each_cut(vectors: UnitVectors, tau: int) -> NDArray[np.int64]:
        cut = np.minimum(vectors._contributions, tau) // step_of(tau)
        return np.bincount(vectors._group, cut, vectors.n_groups).astype(np.int64)

    unit = UNITS[2]
    monkeypatch.setattr(UnitVectors, "sums", each_cut)
    assert vector_audit(clip, (unit, NOBODY), [1.0] * 4, clip.delta) > clip.epsilon


@pytest.mark.parametrize("clip", [L1, L2], ids=["l1", "l2"])
def test_catches_noise_for_half_of_tau(clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = UnitVectors.sums
    monkeypatch.setattr(UnitVectors, "sums", lambda vectors, tau: 2 * whole(vectors, tau))
    assert vector_audit(clip, (UNITS[0], NOBODY), UNITS[0], clip.delta) > clip.epsilon


def alone(clip: Clip, pair: tuple[Vector, Vector], runs: int) -> float:
    """A lower bound on epsilon, of releases of one unit, and of nobody: the choice and the release."""
    source = SimulatedEntropy(seed=20261126)

    def run(vector: Vector, size: int) -> Outputs:
        tuples = side_by_side(vector, 1)
        answers = [clip.release(tuples, 0, source) for _ in range(size)]
        seen = np.array([float(one.values.sum()) for one in answers])
        return Outputs(seen, np.array([round(float(np.log2(one.tau[0]))) for one in answers]))

    return loss_bound(run, pair, runs)


@pytest.mark.slow
def test_the_choice_and_the_release_together() -> None:
    for unit in UNITS:
        assert alone(CHOOSING, (unit, NOBODY), 6_000) <= 1.0


SCORES = SelectionSettings(0.5, rarity=8.0).exceedance_scores(Thresholds(0, 1), 0.0, 1.0)
"""Of two thresholds, where the step up from the first has to be worth five units."""

CROWD = np.array([2, 0])
"""Both thresholds are about as good: one unit more that exceeds the first tells the most."""

CAPPED = CAPPED_SELECTION.exceedance_scores(Thresholds(0, 1), 3.0, 1.0)
"""The scores up to a policy's clip, if noise is worth three units: beside four that exceed the first, a draw."""

CHOICES = examples(200_000, 400_000)


def chosen(
    unit: int, entropy: Entropy | None = None, scores: ExceedanceScores = SCORES, crowd: NDArray[np.int64] = CROWD
) -> float:
    """A lower bound on epsilon of the choice alone, in which a unit counts so many times; each group is a run."""
    source = SimulatedEntropy(seed=20261128) if entropy is None else entropy

    def of(counts: NDArray[np.int64]) -> Outputs:
        table = np.broadcast_to(counts, (CHOICES, 2))
        answer = TabulatedAnswer(np.zeros((CHOICES, 2), np.int64), scores.thresholds, exceedances=table)
        return plain(noisy_choice(answer, scores, Fraction(1), source).index)

    return epsilon_lower_bound(of(np.add(crowd, [unit, 0])), of(crowd), FAILURE_PROBABILITY)


def test_the_choice_spends_what_it_may() -> None:
    assert 0.6 < chosen(1) <= 1.0
    assert 0.6 < chosen(1, scores=CAPPED, crowd=2 * CROWD) <= 1.0


def test_catches_a_choice_with_less_noise_and_a_unit_that_counts_twice() -> None:
    assert chosen(1, WeakerNoise(SimulatedEntropy(9), geometric=0.5)) > 1.0
    assert chosen(2) > 1.0
    assert chosen(2, scores=CAPPED, crowd=2 * CROWD) > 1.0
