"""l2_clip keeps its claim where rows of one unit go, and plain clipping does not."""

from __future__ import annotations

import math

import pytest

from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.clipping import l2_clip
from privacy.mechanisms.clipping.clipped_vectors import STEPS
from privacy.mechanisms.clipping.l2_clip import L2Clip
from privacy.mechanisms.selection.settings import SelectionSettings
from tests.audit.clipped import BIG, PlainVectors, Vector, vector_audit

BUDGET = ConcentratedBudget(0.5, 0.01)
"""A delta that is seen in some hundred thousand runs."""

CLIP = L2Clip(BUDGET, Ladder(0, 0), selection=SelectionSettings(0.02))
"""One threshold and next to nothing for its choice, so that the release is what is audited."""

HALF = math.sqrt(0.5)

PAIRS: list[tuple[tuple[Vector, Vector], Vector]] = [
    (((1, 0), (0, 0)), (1, 0)),
    (((BIG, 0), (BIG, BIG)), (1 - HALF, -HALF)),
    (((BIG, 0), (BIG, BIG**2)), (1, -1)),
    (((BIG, 0), (BIG, 1)), (1 - HALF, -HALF)),
    (((1, 0, 0, 0, 0), (1, 9, 9, 9, 9)), (1, -0.4, -0.4, -0.4, -0.4)),
    (((1, 1, 1, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1, 1, 1)), (1, 1, 1, -1, -1, -1, -1, -1)),
]
"""A unit before and after some of its rows came, and the direction in which its clipped vector moves."""


@pytest.mark.parametrize(("pair", "direction"), PAIRS, ids=lambda value: str(len(value)))
def test_rows_of_one_unit_go(pair: tuple[Vector, Vector], direction: Vector) -> None:
    assert vector_audit(CLIP, pair, direction, BUDGET.delta) <= BUDGET.epsilon


def test_the_release_spends_what_it_may() -> None:
    assert 0.65 * BUDGET.epsilon < vector_audit(CLIP, *PAIRS[0], BUDGET.delta)


def test_catches_plain_clipping_at_tau(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l2_clip, "ClippedVectors", PlainVectors)
    pair = ((BIG, 0), (BIG, BIG**2))
    assert vector_audit(CLIP, pair, (1, -1), BUDGET.delta) > BUDGET.epsilon
    # What plain clipping is right for: a whole unit comes or goes.
    assert vector_audit(CLIP, PAIRS[0][0], (1, 0), BUDGET.delta) <= BUDGET.epsilon


def test_catches_noise_for_half_of_tau(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l2_clip, "sum_sensitivity", lambda n_groups: STEPS // 2)
    assert vector_audit(CLIP, *PAIRS[0], BUDGET.delta) > BUDGET.epsilon
