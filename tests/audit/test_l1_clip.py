"""l1_clip keeps its claim where rows of one unit go; noise for one total does not, nor does scaling to it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.ladder import Ladder
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clipping import l1_clip
from privacy.mechanisms.clipping.l1_clip import L1Clip
from privacy.mechanisms.clipping.levelled_vectors import Level, LevelledVectors
from privacy.mechanisms.selection.settings import SelectionSettings
from tests.audit.auditing import FAILURE_PROBABILITY, in_goes
from tests.audit.clipped import BIG, ScaledVectors, Vector, side_by_side
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


def beside(clip: L1Clip, pair: tuple[Vector, Vector], direction: Vector, runs: int = 400_000) -> float:
    """A lower bound on epsilon, of very many units side by side: the largest move is seen where all groups moved."""
    source, signs = SimulatedEntropy(seed=20261127), np.sign(np.array(direction))

    def run(vector: Vector, size: int) -> Outputs:
        released = clip.release(side_by_side(vector, size), 0, source).values.reshape(size, -1)
        return Outputs((released * signs).min(axis=1), np.zeros(size, np.int64))

    first, second = (in_goes(runs, partial(run, vector)) for vector in pair)
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY)


def alone(clip: L1Clip, pair: tuple[Vector, Vector], direction: Vector, runs: int = 6_000) -> float:
    """A lower bound on epsilon, of releases of one unit: with noise for its own number of groups, and the choice."""
    source = SimulatedEntropy(seed=20261126)

    def run(vector: Vector, size: int) -> Outputs:
        tuples = side_by_side(vector, 1)
        answers = [clip.release(tuples, 0, source) for _ in range(size)]
        seen = np.array([one.values @ np.array(direction) for one in answers])
        return Outputs(seen, np.array([round(float(np.log2(one.tau[0]))) for one in answers]))

    first, second = (in_goes(runs, partial(run, vector)) for vector in pair)
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY)


@pytest.mark.parametrize(("pair", "direction"), PAIRS, ids=lambda value: str(len(value)))
def test_rows_of_one_unit_go(pair: tuple[Vector, Vector], direction: Vector) -> None:
    """Side by side there are very many groups, and noise for 2 tau; alone for as many as the unit has."""
    assert beside(CLIP, pair, direction) <= EPSILON
    assert alone(CLIP, pair, direction) <= EPSILON


@pytest.mark.parametrize(("pair", "direction"), PAIRS, ids=lambda value: str(len(value)))
def test_rows_of_one_unit_go_where_tau_is_chosen(pair: tuple[Vector, Vector], direction: Vector) -> None:
    assert alone(CHOOSING, pair, direction) <= EPSILON


def test_the_release_spends_what_it_may() -> None:
    """Four groups move by 1.5 tau, beside so many others that noise is for 2 tau: 0.75 of epsilon."""
    assert 0.5 * EPSILON < beside(CLIP, *PAIRS[2]) <= 0.75 * EPSILON


def test_catches_noise_for_one_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that comes moves the sums by tau; rows of one that stays may move them by nearly twice that."""
    monkeypatch.setattr(Level, "sensitivity", property(lambda level: level.steps))
    assert beside(CLIP, *PAIRS[2]) > EPSILON
    assert beside(CLIP, *PAIRS[0]) <= EPSILON


def test_catches_scaling_to_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaled, (big, 0) and (big, huge) lie 2 tau apart: in two groups noise is for tau."""
    monkeypatch.setattr(l1_clip, "LevelledVectors", ScaledVectors)
    pair = ((BIG, 0), (BIG, BIG**2))
    assert alone(CLIP, pair, (1, -1), runs=25_000) > EPSILON
    monkeypatch.setattr(l1_clip, "LevelledVectors", LevelledVectors)
    assert alone(CLIP, pair, (1, -1), runs=25_000) <= EPSILON
