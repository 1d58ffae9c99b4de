"""A capacity per kind of unit keeps the claim for either kind; the capacities of the wrong kind do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.kinds import capacities_of
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.truncation.encode import encode
from privacy.truncation.ladder.capacities import Capacities
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, in_goes
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 200_000
GROUPS = 4
PARTNERS = 4
"""Rows of the unit in each group, each shared with somebody of the other kind who has no other."""

KINDS = (("customer", 1), ("part", GROUPS))
ONE_RUNG = Ladder(0, 0)
PURE, CONCENTRATED = PureBudget(1.0), ConcentratedBudget(0.5, 0.01)


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
    scalar = SharedThreshold(budget, GROUPS, ladder=ONE_RUNG, selection=SelectionSettings(0.02))
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


def lost(measurement: GroupLp, relation: str) -> float:
    """A lower bound on epsilon at the mechanism's delta, from the groups that one unit reaches."""
    source, reached = SimulatedEntropy(20261125), dict(KINDS)[relation]

    def run(there: bool, size: int) -> Outputs:
        values = measurement.release(tuples(relation, there, size), 0, source).values.reshape(size, GROUPS)
        own = values[:, :reached]
        return Outputs(own.sum(axis=1) if measurement.delta else own.min(axis=1), np.zeros(size, np.int64))

    first, second = (in_goes(RUNS, lambda size, there=there: run(there, size)) for there in (False, True))  # type: ignore[misc]
    return epsilon_lower_bound(first, second, FAILURE_PROBABILITY, measurement.delta)


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
@pytest.mark.parametrize("relation", ["customer", "part"])
def test_a_unit_of_either_kind_at_its_capacity(budget: Budget, relation: str) -> None:
    assert 0.4 * budget.epsilon < lost(mechanism(budget), relation) <= budget.epsilon


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
def test_catches_the_capacities_of_the_wrong_kind(budget: Budget) -> None:
    assert lost(mechanism(budget, WrongKind), "part") > budget.epsilon


def test_catches_capacities_of_laplace_noise_under_gaussian_noise() -> None:
    assert lost(mechanism(CONCENTRATED, Unscaled), "customer") > CONCENTRATED.epsilon


def test_catches_noise_for_the_kind_that_reaches_fewest() -> None:
    made = mechanism(PURE)
    assert isinstance(made.scalar, SharedThreshold)
    few = replace(made, scalar=replace(made.scalar, groups_per_unit=1), kinds=())
    assert lost(few, "part") > PURE.epsilon
