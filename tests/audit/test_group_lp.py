"""group_lp keeps its claim over the groups that one unit reaches, and for either kind of unit; its mutants do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.partition_selection import keep_groups
from privacy.mechanisms.selection import SelectionSettings
from privacy.mechanisms.shared_threshold import SharedThreshold
from privacy.mechanisms.sums import capacities_of
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.programs_by_threshold import Capacities
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, loss_bound, plain, slow
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.audit.clipped import BIG, Vector, side_by_side
from tests.audit.pairs import Table, empty_and_full_unit, repeated
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 400_000
"""The bound from zCDP to (epsilon, delta) leaves some room, which a mistake has to exceed visibly."""

SINGLE_THRESHOLD = Thresholds(0, 0)
SHORT = Thresholds(-3, 4)
LONG = Thresholds(-12, 9)
RELEASE_HEAVY = SelectionSettings(0.02)
PURE = PureBudget(1.0)
CONCENTRATED = ConcentratedBudget(0.5, 0.01)
"""A delta that is seen in some hundred thousand runs."""


def concentrated(
    groups: int, thresholds: Thresholds = SINGLE_THRESHOLD, selection: SelectionSettings = RELEASE_HEAVY
) -> Gem:
    return Gem(CONCENTRATED, groups, thresholds=thresholds, selection=selection, c=1.0, monotone=True)


def lost(mechanism: Gem, pair: tuple[Table, Table], together: int = 1) -> float:
    """A lower bound on epsilon at the budget's delta, when one unit is in `together` groups."""
    source = SimulatedEntropy(20261122)

    def run(table: Table, size: int) -> Outputs:
        answer = repeated(table, mechanism.thresholds, size * together, mechanism.gap)
        return summed(mechanism.release(answer, source), together)

    return loss_bound(run, pair, examples(250_000, RUNS), mechanism.delta)


def summed(answer: NoisyAnswer, together: int) -> Outputs:
    """The sum over the groups that a unit reaches, and their smallest threshold."""
    label = np.log2(answer.tau).astype(np.int64).reshape(-1, together).min(axis=1)
    return Outputs(answer.values.reshape(-1, together).sum(axis=1), label)


@pytest.mark.slow
@pytest.mark.parametrize("selection", [RELEASE_HEAVY, SelectionSettings(0.5)])
def test_concentrated_empty_against_a_unit_at_every_bound(selection: SelectionSettings) -> None:
    mechanism = concentrated(1, SHORT, selection)
    assert lost(mechanism, empty_and_full_unit(SHORT)) <= mechanism.epsilon


@pytest.mark.parametrize("groups", [slow(1), 2])
def test_concentrated_release_spends_what_it_may(groups: int) -> None:
    mechanism, pair = concentrated(groups), empty_and_full_unit(SINGLE_THRESHOLD)
    assert 0.65 * mechanism.epsilon < lost(mechanism, pair, groups) <= mechanism.epsilon
    assert groups == 1 or lost(concentrated(1), pair, groups) > mechanism.epsilon


@pytest.mark.slow
def test_catches_concentrated_noise_that_forgets_the_gap() -> None:
    mechanism = Gem(
        CONCENTRATED, 1, gap=0.9, thresholds=SINGLE_THRESHOLD, selection=RELEASE_HEAVY, c=1.0, monotone=True
    )
    pair = empty_and_full_unit(SINGLE_THRESHOLD, gap=0.9)
    assert lost(mechanism, pair) <= mechanism.epsilon
    assert lost(concentrated(1), pair) > mechanism.epsilon


@pytest.mark.slow
@pytest.mark.statistical(FAILURE_PROBABILITY)
def test_with_the_noise_of_production() -> None:
    mechanism = concentrated(1)
    answer = [repeated(table, SINGLE_THRESHOLD, 10_000) for table in empty_and_full_unit(SINGLE_THRESHOLD)]
    first, second = (summed(mechanism.release(one, OpendpEntropy()), 1) for one in answer)
    assert epsilon_lower_bound(first, second, FAILURE_PROBABILITY, mechanism.delta) <= mechanism.epsilon


ONE_THRESHOLD = ((0, 0), (1, 1)), None
A_RULE = ((BIG, 0), (BIG, 2 * BIG)), 1
"""A rule for one group moves two: with rows of the first alone it counts there; with all rows, in the second."""


@pytest.mark.parametrize("budget", [PURE, slow(CONCENTRATED)])
@pytest.mark.parametrize(("pair", "most"), [slow(*ONE_THRESHOLD), A_RULE])
def test_two_groups_of_one_unit(budget: Budget, pair: tuple[Vector, Vector], most: int | None) -> None:
    right, wrong = (
        GroupLp(SharedThreshold(budget, groups, thresholds=SINGLE_THRESHOLD, selection=RELEASE_HEAVY))
        for groups in (2, 1)
    )
    assert vectors_lost(right, pair, most) <= budget.epsilon
    assert vectors_lost(wrong, pair, most) > budget.epsilon


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
        return plain(signed.sum(axis=1) if mechanism.delta else signed.min(axis=1))

    return loss_bound(run, pair, examples(100_000, RUNS), mechanism.delta)


RUNS_OF_KINDS = examples(40_000, 200_000)
GROUPS = 4
PARTNERS = 4
"""Rows of the unit in each group, each shared with somebody of the other kind who has no other."""

KINDS = (("customer", 1), ("part", GROUPS))


class WrongKind(GroupLp):
    """Customers have the capacity of parts, and parts that of customers."""

    def capacities(self, n_groups: int) -> Capacities:
        one, other = super().capacities(n_groups).factors
        return Capacities(((one[0], other[1]), (other[0], one[1])))


class Unscaled(GroupLp):
    """Gaussian noise, and the capacities that Laplace noise hides."""

    def capacities(self, n_groups: int) -> Capacities:
        return capacities_of(self.kinds, GROUPS, n_groups, gaussian=False)


def mechanism(budget: Budget, kind: type[GroupLp] = GroupLp) -> GroupLp:
    scalar = SharedThreshold(budget, GROUPS, thresholds=SINGLE_THRESHOLD, selection=SelectionSettings(0.02))
    made = GroupLp(scalar).of_kinds(KINDS)
    return kind(made.scalar, made.solver, made.kinds)


def tuples(relation: str, there: bool, runs: int) -> CodedJoinTuples:
    """In each of so many blocks of groups one unit, or none, in as many groups as those of its relation reach."""
    reached = dict(KINDS)[relation]
    run, group, partner = (
        part.ravel() for part in np.meshgrid(np.arange(runs), np.arange(reached), np.arange(PARTNERS), indexing="ij")
    )
    of_others = (run * GROUPS + group) * PARTNERS + partner
    keys = {relation: run, ("part" if relation == "customer" else "customer"): of_others}
    here = np.full(len(run), there)
    owners = tuple(OwnerColumn(name, keys[name][here], np.zeros(int(here.sum()), bool)) for name, _ in KINDS)
    weights = np.full((1, int(here.sum())), ONE, np.int64)
    return encode(JoinTuples(owners, (run * GROUPS + group)[here], runs * GROUPS, weights))


def lost_of_kinds(measurement: GroupLp, relation: str) -> float:
    """A lower bound on epsilon at the mechanism's delta, from the groups that one unit reaches."""
    source, reached = SimulatedEntropy(20261125), dict(KINDS)[relation]

    def run(there: bool, size: int) -> Outputs:
        values = measurement.release(tuples(relation, there, size), 0, source).values.reshape(size, GROUPS)
        own = values[:, :reached]
        return plain(own.sum(axis=1) if measurement.delta else own.min(axis=1))

    return loss_bound(run, (False, True), RUNS_OF_KINDS, measurement.delta)


@pytest.mark.parametrize(
    ("budget", "relation"),
    [slow(PURE, "customer"), (CONCENTRATED, "customer"), (PURE, "part"), slow(CONCENTRATED, "part")],
)
def test_a_unit_of_either_kind_at_its_capacity(budget: Budget, relation: str) -> None:
    assert 0.4 * budget.epsilon < lost_of_kinds(mechanism(budget), relation) <= budget.epsilon


@pytest.mark.parametrize("budget", [PURE, slow(CONCENTRATED)])
def test_catches_the_capacities_of_the_wrong_kind(budget: Budget) -> None:
    assert lost_of_kinds(mechanism(budget, WrongKind), "part") > budget.epsilon


def test_catches_capacities_of_laplace_noise_under_gaussian_noise() -> None:
    assert lost_of_kinds(mechanism(CONCENTRATED, Unscaled), "customer") > CONCENTRATED.epsilon


@pytest.mark.slow
def test_catches_noise_for_the_kind_that_reaches_fewest() -> None:
    made = mechanism(PURE)
    assert isinstance(made.scalar, SharedThreshold)
    few = replace(made, scalar=replace(made.scalar, groups_per_unit=1), kinds=())
    assert lost_of_kinds(few, "part") > PURE.epsilon
