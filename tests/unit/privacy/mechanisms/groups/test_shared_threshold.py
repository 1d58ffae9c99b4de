from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import ZCDP, PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.groups.summed_answer import SummedAnswer
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import RecordedEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.simulated_entropy import SimulatedEntropy

PURE, CONCENTRATED = PureBudget(4.0), ConcentratedBudget.of(4.0, 1e-7)
LOADS = np.random.default_rng(0).poisson(15, (25, 400))


def answer(ladder: Ladder) -> TabulatedAnswer:
    """25 groups of 400 people."""
    return TabulatedAnswer(np.minimum(LOADS[:, :, None] * ONE, ladder.units).sum(axis=1), ladder)


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED])
def test_all_groups_have_one_threshold_and_noise_for_those_that_a_unit_reaches(budget: Budget) -> None:
    released = SharedThreshold(budget, 5).release(answer(Ladder()), SimulatedEntropy(1))
    assert len(set(released.tau.tolist())) == len(set(released.noise_scale.tolist())) == 1
    pure = budget == PURE
    per_tau = 5 / (4.0 * 0.8) if pure else math.sqrt(5 / (2 * 0.8 * CONCENTRATED.rho))
    assert released.noise_scale[0] == pytest.approx(per_tau * released.tau[0], rel=1e-5)
    assert (released.noise, released.delta) == (("laplace", 0.0) if pure else ("gaussian", 1e-7))


def test_events_and_shares() -> None:
    assert SharedThreshold(PURE).event == PureDP(4.0)
    assert SharedThreshold(CONCENTRATED).event == ZCDP(CONCENTRATED.rho)
    recorded = RecordedEntropy(SimulatedEntropy(2))
    SharedThreshold(PURE, 5, ladder=Ladder(0, 9)).release(answer(Ladder(0, 9)), recorded)
    (choosing, scale, draws), (releasing, _, noise) = recorded.draws
    assert (choosing, len(draws), releasing, len(noise)) == ("geometric", 10, "laplace", 25)
    assert scale == pytest.approx(2 * 1025 / 0.8)


def test_groups_alike_err_no_more_than_with_thresholds_of_their_own_and_are_not_weak() -> None:
    truth = LOADS.sum(axis=1)

    def runs(measurement: SharedThreshold | Gem) -> list[NoisyAnswer]:
        return [measurement.release(answer(Ladder()), SimulatedEntropy(seed)) for seed in range(20)]

    def error(found: list[NoisyAnswer]) -> float:
        return float(np.mean([np.linalg.norm(run.values - truth) for run in found]))

    shared, own = runs(SharedThreshold(PURE)), runs(Gem(4.0, monotone=True))
    assert error(shared) < 1.1 * error(own)
    assert np.mean([run.may_be_cut.mean() for run in shared]) < 0.3 < np.mean([run.may_be_cut.mean() for run in own])


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED])
def test_the_interval_covers_as_often_as_it_says(budget: Budget) -> None:
    """20,000 groups: 5.4 standard deviations either way."""
    ladder = Ladder(3, 3)
    shared = SharedThreshold(budget, 1, ladder=ladder, confidence=0.9)
    released = shared.release(TabulatedAnswer(np.full((20_000, 1), 70 * ONE), ladder), SimulatedEntropy(3))
    covered = ((released.low <= 70) & (released.high >= 70)).mean()
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 20_000)
    assert shared.expected_noise(20_000)[0][1] == pytest.approx((released.high - released.low)[0] / 2)


def test_a_weak_answer_is_called_weak() -> None:
    empty = TabulatedAnswer(np.zeros((25, 53), np.int64), Ladder())
    weak = [SharedThreshold(PURE).release(empty, SimulatedEntropy(seed)).may_be_cut.all() for seed in range(50)]
    assert np.mean(weak) > 0.9
    assert not SharedThreshold(PURE, 1).release(answer(Ladder()), SimulatedEntropy(1)).may_be_cut.any()


def test_the_sum_saturates_and_is_divided_and_its_widest_groups_are_sharpened_first() -> None:
    ladder = Ladder(0, 1)
    table = np.array([[5, 9], [1, 4], [MAX_UNITS, MAX_UNITS]])
    assert SummedAnswer(TabulatedAnswer(table, ladder), 3).bounds()[0].tolist() == [[MAX_UNITS // 3] * 2]
    assert SummedAnswer(TabulatedAnswer(table[:2], ladder), 2).bounds()[0].tolist() == [[3, 6]]
    hidden = RevealingAnswer(table[:2], ladder, np.zeros((2, 2), np.int64), np.array([[100, 100], [7, 7]]))
    summed = SummedAnswer(hidden, 2)
    summed.sharpen(0, 1)
    assert hidden.solved == [(0, 1)]
    assert summed.solve(0, 1) == 6
    assert repr(summed) == "SummedAnswer(<private>)"


@pytest.mark.parametrize(
    "parameters",
    [{"groups_per_unit": 0}, {"gap": 2.0}, {"confidence": 1.0}],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        SharedThreshold(PURE, **parameters)  # type: ignore[arg-type]
