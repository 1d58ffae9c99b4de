from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import ZCDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy

BUDGET = ConcentratedBudget.of(4.0, 1e-7)
LOADS = np.random.default_rng(0).poisson(15, 10_000)


def answer(ladder: Ladder, groups: int = 1) -> TabulatedAnswer:
    table = np.minimum(LOADS[:, None] * ONE, ladder.units).sum(axis=0)
    return TabulatedAnswer(np.broadcast_to(table, (groups, len(ladder))), ladder)


@pytest.mark.parametrize(("groups_per_unit", "share"), [(1, 1), (3, 3), (None, 8), (50, 8)])
def test_selection_and_release_of_the_groups_of_a_unit_spend_rho(groups_per_unit: int | None, share: int) -> None:
    gem = ConcentratedGem(BUDGET, groups_per_unit, ladder=Ladder(3, 3), selection=SelectionSettings(0.25))
    released = gem.release(answer(gem.ladder, 8), SimulatedEntropy(1))
    spent = gem.selecting(8) ** 2 / 8 + (8 / released.noise_scale[0]) ** 2 / 2
    assert share * spent == pytest.approx(BUDGET.rho, rel=1e-5)
    assert share * spent <= BUDGET.rho
    assert gem.event == ZCDP(BUDGET.rho)
    assert (released.noise, released.delta, released.epsilon) == ("gaussian", 1e-7, BUDGET.epsilon)


def test_the_choice_is_made_with_its_share() -> None:
    gem = ConcentratedGem(BUDGET, 1, ladder=Ladder(0, 9))
    recorded = RecordedEntropy(SimulatedEntropy(2))
    gem.release(answer(gem.ladder), recorded)
    kind, scale, _ = recorded.draws[0]
    assert kind == "geometric"
    assert scale == pytest.approx(10 * 2 * 1025 / math.sqrt(8 * BUDGET.rho / 2), rel=1e-9)


def test_the_interval_covers_the_truncated_answer_as_often_as_it_says() -> None:
    """20,000 runs: 5.4 standard deviations either way."""
    gem = ConcentratedGem(BUDGET, 1, ladder=Ladder(3, 3), confidence=0.9)
    data = answer(gem.ladder, 20_000)
    released = gem.release(data, SimulatedEntropy(3))
    truth = data.values[:, 0] / ONE
    covered = ((released.low <= truth) & (truth <= released.high)).mean()
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 20_000)
    assert gem.expected_noise()[0][1] == pytest.approx((released.high - released.low)[0] / 2)


def test_a_count_of_many_people_is_close() -> None:
    gem = ConcentratedGem(BUDGET, 1)
    released = gem.release(answer(gem.ladder, 50), SimulatedEntropy(4))
    assert np.median(np.abs(released.values / LOADS.sum() - 1)) < 0.002
    assert not released.may_be_cut.any()
    empty = TabulatedAnswer(np.zeros((50, len(gem.ladder)), np.int64), gem.ladder)
    assert gem.release(empty, SimulatedEntropy(5)).may_be_cut.mean() > 0.9


@pytest.mark.parametrize(
    "parameters",
    [{"groups_per_unit": 0}, {"gap": 2.0}, {"confidence": 1.0}],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        ConcentratedGem(BUDGET, **parameters)  # type: ignore[arg-type]
