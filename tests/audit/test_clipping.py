"""l1_clip and l2_clip keep their claims where rows of one unit go; plain clipping and noise for one total do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.audit.outputs import Outputs
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.clipping import l1_clip, l2_clip
from privacy.mechanisms.clipping.clipped_vectors import STEPS
from privacy.mechanisms.clipping.l1_clip import L1Clip
from privacy.mechanisms.clipping.l2_clip import L2Clip
from privacy.mechanisms.clipping.levelled_vectors import Level
from privacy.mechanisms.selection.settings import SelectionSettings
from tests.audit.auditing import loss_bound, plain, slow
from tests.audit.clipped import BIG, PlainVectors, ScaledVectors, Vector, side_by_side, vector_audit
from tests.support.simulated_entropy import SimulatedEntropy

EPSILON = 1.0
CLIP = L1Clip(PureBudget(EPSILON), Ladder(0, 0), selection=SelectionSettings(0.02))
"""One threshold, so that the release is what is audited."""

CHOOSING = L1Clip(PureBudget(EPSILON), Ladder(-2, 3), selection=SelectionSettings(0.5, by_doublings=True))

PAIRS: list[tuple[tuple[Vector, Vector], Vector]] = [
    (((1, 0), (0, 0)), (1, 0)),
    (((BIG, 0), (BIG, BIG)), (1, -1)),
    (((BIG, 0, 0, 0), (BIG, BIG, BIG, BIG)), (1, -1, -1, -1)),
    (((BIG, *[0] * 11), (BIG, *[BIG] * 11)), (1, *[-1] * 11)),
    (((1, 1, 0, 0), (1, 1, 1, 1)), (1, 1, -1, -1)),
]
"""A unit before and after some of its rows came, and the direction in which its levelled vector moves."""


def beside(
    clip: L1Clip, pair: tuple[Vector, Vector], direction: Vector, runs: int = 400_000, around: Vector = (0,)
) -> float:
    """A lower bound on epsilon, of very many units side by side: the largest move is seen where all groups moved.

    Args:
      around: what the first vector is without noise, from where it moves.
    """
    source, signs = SimulatedEntropy(seed=20261127), np.sign(np.array(direction))

    def run(vector: Vector, size: int) -> Outputs:
        released = clip.release(side_by_side(vector, size), 0, source).values.reshape(size, -1)
        return plain(((released - np.array(around)) * signs).min(axis=1))

    return loss_bound(run, pair, runs)


def alone(clip: L1Clip, pair: tuple[Vector, Vector], direction: Vector, runs: int = 6_000) -> float:
    """A lower bound on epsilon, of releases of one unit: with noise for its own number of groups, and the choice."""
    source = SimulatedEntropy(seed=20261126)

    def run(vector: Vector, size: int) -> Outputs:
        tuples = side_by_side(vector, 1)
        answers = [clip.release(tuples, 0, source) for _ in range(size)]
        seen = np.array([one.values @ np.array(direction) for one in answers])
        return Outputs(seen, np.array([round(float(np.log2(one.tau[0]))) for one in answers]))

    return loss_bound(run, pair, runs)


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "direction"), PAIRS, ids=lambda value: str(len(value)))
def test_rows_of_one_unit_go(pair: tuple[Vector, Vector], direction: Vector) -> None:
    """Side by side there are very many groups, and noise for 2 tau; alone for as many as the unit has."""
    assert beside(CLIP, pair, direction) <= EPSILON
    assert alone(CLIP, pair, direction) <= EPSILON
    assert alone(CHOOSING, pair, direction) <= EPSILON


def test_the_release_spends_what_it_may_and_noise_for_one_total_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four groups move by 1.5 tau, beside so many others that noise is for 2 tau: 0.75 of epsilon.

    A unit that comes moves the sums by tau; rows of one that stays may move them by nearly twice that.
    """
    four = (1, 0, 0, 0)
    assert 0.5 * EPSILON < beside(CLIP, *PAIRS[2], 200_000, four) <= 0.75 * EPSILON
    monkeypatch.setattr(Level, "sensitivity", property(lambda level: level.steps))
    assert beside(CLIP, *PAIRS[2], 200_000, four) > EPSILON


@pytest.mark.slow
def test_noise_for_one_total_is_right_where_whole_units_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Level, "sensitivity", property(lambda level: level.steps))
    assert beside(CLIP, *PAIRS[0]) <= EPSILON


@pytest.mark.slow
def test_catches_scaling_to_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaled, (big, 0) and (big, huge) lie 2 tau apart: in two groups noise is for tau."""
    pair = ((BIG, 0), (BIG, BIG**2))
    assert alone(CLIP, pair, (1, -1), runs=25_000) <= EPSILON
    monkeypatch.setattr(l1_clip, "LevelledVectors", ScaledVectors)
    assert alone(CLIP, pair, (1, -1), runs=25_000) > EPSILON


BUDGET = ConcentratedBudget(0.5, 0.01)
"""A delta that is seen in some hundred thousand runs."""

L2 = L2Clip(BUDGET, Ladder(0, 0), selection=SelectionSettings(0.02))
"""One threshold and next to nothing for its choice, so that the release is what is audited."""

HALF = math.sqrt(0.5)

LENGTHS: list[tuple[tuple[Vector, Vector], Vector]] = [
    (((1, 0), (0, 0)), (1, 0)),
    (((BIG, 0), (BIG, BIG)), (1 - HALF, -HALF)),
    (((BIG, 0), (BIG, BIG**2)), (1, -1)),
    (((BIG, 0), (BIG, 1)), (1 - HALF, -HALF)),
    (((1, 0, 0, 0, 0), (1, 9, 9, 9, 9)), (1, -0.4, -0.4, -0.4, -0.4)),
    (((1, 1, 1, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1, 1, 1)), (1, 1, 1, -1, -1, -1, -1, -1)),
]
"""A unit before and after some of its rows came, and the direction in which its clipped vector moves."""


@pytest.mark.parametrize(("pair", "direction"), [LENGTHS[2], *(slow(*LENGTHS[case]) for case in (0, 1, 3, 4, 5))])
def test_rows_of_one_unit_go_from_its_length(pair: tuple[Vector, Vector], direction: Vector) -> None:
    assert vector_audit(L2, pair, direction, BUDGET.delta) <= BUDGET.epsilon


def test_the_release_of_clipped_lengths_spends_what_it_may() -> None:
    assert 0.65 * BUDGET.epsilon < vector_audit(L2, *LENGTHS[0], BUDGET.delta) <= BUDGET.epsilon


def test_catches_plain_clipping_at_tau(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l2_clip, "ClippedVectors", PlainVectors)
    pair = ((BIG, 0), (BIG, BIG**2))
    assert vector_audit(L2, pair, (1, -1), BUDGET.delta) > BUDGET.epsilon
    # What plain clipping is right for: a whole unit comes or goes.
    assert vector_audit(L2, LENGTHS[0][0], (1, 0), BUDGET.delta) <= BUDGET.epsilon


def test_catches_noise_for_half_of_tau(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l2_clip, "sum_sensitivity", lambda n_groups: STEPS // 2)
    assert vector_audit(L2, *LENGTHS[0], BUDGET.delta) > BUDGET.epsilon
