"""group_lp keeps its claim over the groups that one unit reaches, pure and concentrated; its mutants do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import OpendpEntropy
from privacy.ladder import Ladder
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.keep_groups import keep_groups
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.selection.exponential_choice import exponential_choice
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from tests.audit.auditing import FAILURE_PROBABILITY, in_goes
from tests.audit.clipped import BIG, Vector, side_by_side
from tests.audit.mutants import WeakerNoise
from tests.audit.pairs import Table, empty_and_full_unit, repeated, selection_swing
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 400_000
"""The bound from zCDP to (epsilon, delta) leaves some room, which a mistake has to exceed visibly."""

ONE_RUNG = Ladder(0, 0)
SHORT = Ladder(-3, 4)
LONG = Ladder(-12, 9)
RELEASE_HEAVY = SelectionSettings(0.02)
PURE = PureBudget(1.0)
CONCENTRATED = ConcentratedBudget(0.5, 0.01)
"""A delta that is seen in some hundred thousand runs."""


def concentrated(
    groups: int, ladder: Ladder = ONE_RUNG, selection: SelectionSettings = RELEASE_HEAVY
) -> ConcentratedGem:
    return ConcentratedGem(CONCENTRATED, groups, ladder=ladder, selection=selection)


def lost(mechanism: ConcentratedGem, pair: tuple[Table, Table], together: int = 1) -> float:
    """A lower bound on epsilon at the budget's delta, when one unit is in `together` groups."""
    source = SimulatedEntropy(20261122)

    def run(table: Table, size: int) -> Outputs:
        answer = repeated(table, mechanism.ladder, size * together, mechanism.gap)
        return summed(mechanism.release(answer, source), together)

    first, second = (in_goes(RUNS, lambda size, table=table: run(table, size)) for table in pair)  # type: ignore[misc]
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY, mechanism.delta)


def summed(answer: NoisyAnswer, together: int) -> Outputs:
    """The sum over the groups that a unit reaches, and their smallest threshold."""
    label = np.log2(answer.tau).astype(np.int64).reshape(-1, together).min(axis=1)
    return Outputs(answer.values.reshape(-1, together).sum(axis=1), label)


def chosen(epsilon: float, pair: tuple[Table, Table], noise: float = 1.0) -> float:
    """A lower bound on what the choice of a threshold alone loses, its noise scaled by some factor."""
    source = WeakerNoise(SimulatedEntropy(20261123), geometric=noise)
    scores = SelectionSettings(0.5, beta=0.001, rarity=None).scores(LONG, 0.0, (1.0,) * len(LONG), epsilon)

    def run(table: Table, size: int) -> Outputs:
        choice = exponential_choice(repeated(table, LONG, size), scores, Fraction(epsilon), source)
        return Outputs(np.zeros(size), choice.index.astype(np.int64))

    first, second = (in_goes(RUNS, lambda size, table=table: run(table, size)) for table in pair)  # type: ignore[misc]
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY)


def swing(epsilon: float) -> tuple[Table, Table]:
    """The pair of `selection_swing` for the scores of `chosen`, whose price is that of this Gem."""
    selection = SelectionSettings(0.5, beta=0.001, rarity=None)
    return selection_swing(Gem(2 * epsilon, 1, ladder=LONG, selection=selection, c=epsilon))


def test_the_choice_loses_what_it_may_and_half_its_noise_is_caught() -> None:
    assert 0.6 < chosen(1.0, swing(1.0)) <= 1.0
    assert chosen(1.0, swing(1.0), noise=0.5) > 1.0


@pytest.mark.parametrize("selection", [RELEASE_HEAVY, SelectionSettings(0.5)])
def test_concentrated_empty_against_a_unit_at_every_bound(selection: SelectionSettings) -> None:
    mechanism = concentrated(1, SHORT, selection)
    assert lost(mechanism, empty_and_full_unit(SHORT)) <= mechanism.epsilon


def test_concentrated_release_spends_what_it_may() -> None:
    mechanism = concentrated(1)
    assert 0.65 * mechanism.epsilon < lost(mechanism, empty_and_full_unit(ONE_RUNG)) <= mechanism.epsilon


def test_concentrated_unit_in_two_groups() -> None:
    mechanism = concentrated(2)
    assert 0.65 * mechanism.epsilon < lost(mechanism, empty_and_full_unit(ONE_RUNG), together=2) <= mechanism.epsilon


def test_catches_concentrated_noise_for_one_group_where_there_are_two() -> None:
    mechanism = concentrated(1)
    assert lost(mechanism, empty_and_full_unit(ONE_RUNG), together=2) > mechanism.epsilon


def test_catches_concentrated_noise_that_forgets_the_gap() -> None:
    mechanism = ConcentratedGem(CONCENTRATED, 1, gap=0.9, ladder=ONE_RUNG, selection=RELEASE_HEAVY)
    pair = empty_and_full_unit(ONE_RUNG, gap=0.9)
    assert lost(mechanism, pair) <= mechanism.epsilon
    assert lost(concentrated(1), pair) > mechanism.epsilon


def test_with_the_noise_of_production() -> None:
    mechanism = concentrated(1)
    answer = [repeated(table, ONE_RUNG, 10_000) for table in empty_and_full_unit(ONE_RUNG)]
    first, second = (summed(mechanism.release(one, OpendpEntropy()), 1) for one in answer)
    assert epsilon_lower_bound(first, second, FAILURE_PROBABILITY, mechanism.delta) <= mechanism.epsilon


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize(("groups", "kept"), [(2, True), (1, False)])
def test_one_threshold_for_two_groups_of_one_unit(budget: Budget, groups: int, kept: bool) -> None:
    mechanism = GroupLp(SharedThreshold(budget, groups, ladder=ONE_RUNG, selection=RELEASE_HEAVY))
    found = vectors_lost(mechanism, ((0, 0), (1, 1)))
    assert (found <= budget.epsilon) is kept


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize(("groups", "kept"), [(2, True), (1, False)])
def test_a_rule_for_one_group_moves_two(budget: Budget, groups: int, kept: bool) -> None:
    """With rows of the first group alone it counts there; with all rows, in the second."""
    mechanism = GroupLp(SharedThreshold(budget, groups, ladder=ONE_RUNG, selection=RELEASE_HEAVY))
    found = vectors_lost(mechanism, ((BIG, 0), (BIG, 2 * BIG)), most=1)
    assert (found <= budget.epsilon) is kept


def vectors_lost(mechanism: GroupLp, pair: tuple[Vector, Vector], most: int | None = None) -> float:
    """A lower bound on epsilon at the mechanism's delta, from the two groups of a unit and a rule for them.

    Pure privacy is lost most where both noises agree, concentrated privacy along the move.
    """
    source = SimulatedEntropy(20261124)
    sign = np.array([1.0, -1.0 if most else 1.0])

    def run(vector: Vector, size: int) -> Outputs:
        coded = side_by_side(vector, size)
        values = mechanism.release(coded if most is None else keep_groups(coded, most), 0, source).values
        signed = values.reshape(size, 2) * sign
        return Outputs(signed.sum(axis=1) if mechanism.delta else signed.min(axis=1), np.zeros(size, np.int64))

    first, second = (in_goes(RUNS, lambda size, vector=vector: run(vector, size)) for vector in pair)  # type: ignore[misc]
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY, mechanism.delta)
