"""Answers that start from remembered thresholds are no farther from the truth than those that choose their own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.mechanisms import start_from as memory
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.start_from import Earlier, at_rung, expected_from, marked, start_from
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.tabulated_answer import TabulatedAnswer
from tests.support.simulated_entropy import SimulatedEntropy

pytestmark = pytest.mark.slow  # an audit of how useful answers are

LADDER = Ladder(0, 14)
KINDS = ("heavy", "alike", "two kinds")
PEOPLE, TRIALS, DAYS = 20_000, 40, 8
PILOT, EPSILON = 0.05, 1.0


def loads(kind: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """What each person adds: of few who add most, of many alike, of two kinds."""
    if kind == "heavy":
        return np.ceil(rng.pareto(2.0, PEOPLE) + 1).astype(np.int64).clip(max=10_000)
    if kind == "alike":
        return rng.poisson(12.0, PEOPLE)
    return np.where(rng.random(PEOPLE) < 0.02, 40, 3)


def gem(epsilon: float) -> Gem:
    return Gem(epsilon, 1, ladder=LADDER, monotone=True, nested=True)


def released(one: Measurement, values: NDArray[np.int64], entropy: SimulatedEntropy) -> NoisyAnswer:
    units = np.array(one.ladder.units)
    cut = np.minimum(values[:, None] * LADDER.units[0], units[None]).sum(axis=0)
    return one.release(TabulatedAnswer(cut[None], one.ladder), entropy)


def astray(kind: str, *, remembers: bool) -> tuple[float, float]:
    """How far answers without a mark are from the truth, in half-widths, the median; and the part that has none."""
    rng, entropy = np.random.default_rng(7), SimulatedEntropy(11)
    apart: list[float] = []
    for _ in range(TRIALS):
        values = loads(kind, rng)
        told: list[Earlier] = []
        for epsilon in (PILOT, *(EPSILON,) * DAYS):
            one = gem(epsilon)
            rung = start_from(one, told, 1) if remembers else None
            now = released(one if rung is None else at_rung(one, rung), values, entropy)
            told_now = Earlier.of(now, rung is None)
            if rung is not None:
                (now,) = marked([rung], [expected_from(one, told, rung, 1)], [now])
            told += [] if told_now is None else [told_now]
            if epsilon == EPSILON and not now.may_be_cut[0]:
                apart.append(abs(float(now.values[0]) - float(values.sum())) / float(now.high[0] - now.values[0]))
    return float(np.median(apart or [0.0])), len(apart) / (TRIALS * DAYS)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_no_farther_from_the_truth_than_answers_that_choose(kind: str) -> None:
    plain, bare = astray(kind, remembers=False)
    found, left = astray(kind, remembers=True)
    assert found <= 1.3 * plain
    assert left >= bare - 0.1


def test_catches_thresholds_that_are_taken_from_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant remembers whatever was chosen, with however little."""
    monkeypatch.setattr(memory, "AS_MUCH", 1e9)
    assert astray("heavy", remembers=True)[0] > 1.5 * astray("heavy", remembers=False)[0]
