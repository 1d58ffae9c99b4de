from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import ZCDP, PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder, one_threshold
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_measurement import GroupMeasurement
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.sampling.design import SampleDesign
from privacy.truncation.encode import encode
from privacy.truncation.ladder.capacities import ALIKE
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.instances import join_tuples, owner

BUDGET = ConcentratedBudget.of(4.0, 1e-7)
SCALARS: list[Gem | ConcentratedGem | SharedThreshold | LaplaceOrGaussian] = [
    Gem(4.0, 2),
    ConcentratedGem(BUDGET, 2),
    SharedThreshold(PureBudget(4.0), 2),
    SharedThreshold(BUDGET, 2),
    LaplaceOrGaussian(SharedThreshold(PureBudget(4.0), 2), SharedThreshold(BUDGET, 2)),
]
PICK = np.random.default_rng(1)
EDGES = encode(
    join_tuples(
        [owner("u", PICK.integers(0, 900, 4000).tolist()), owner("u", PICK.integers(0, 900, 4000).tolist())],
        [[ONE] * 4000, [ONE // 2] * 4000],
        PICK.integers(0, 8, 4000).tolist(),
        8,
    )
)


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: type(scalar).__name__)
def test_is_its_scalar_mechanism_on_every_group_truncated(scalar: Gem) -> None:
    measurement: GroupMeasurement = GroupLp(scalar)
    released = measurement.release(EDGES, 1, SimulatedEntropy(3))
    expected = scalar.release(truncate(EDGES, 1, scalar.ladder, 0.0), SimulatedEntropy(3))
    assert np.array_equal(released.values, expected.values)
    assert (released.mechanism, measurement.name) == ("group_lp", "group_lp")
    assert measurement.event == scalar.event
    assert measurement.expected_noise(8) == scalar.expected_noise(8)
    assert measurement.epsilon == measurement.epsilon_if_bound_fails(8) == scalar.epsilon
    assert released.delta in (0.0, measurement.delta)


def test_group_lp_has_the_event_and_delta_of_its_budget() -> None:
    assert GroupLp(SCALARS[0]).event == PureDP(4.0)
    assert GroupLp(SCALARS[1]).event == ZCDP(BUDGET.rho)
    assert GroupLp(SCALARS[0]).delta == 0.0
    assert GroupLp(SCALARS[1]).delta == 1e-7
    assert GroupLp(SCALARS[0]).ladder == Ladder()


PAIRS = encode(
    join_tuples(
        [owner("a", PICK.integers(0, 300, 4000).tolist()), owner("b", PICK.integers(0, 2000, 4000).tolist())],
        [[ONE] * 4000],
        PICK.integers(0, 8, 4000).tolist(),
        8,
    )
)
KINDS = (("a", 1), ("b", 8))


@pytest.mark.parametrize("scalar", SCALARS[1:4], ids=lambda scalar: type(scalar).__name__)
def test_kinds_have_capacities_of_their_own(scalar: SharedThreshold) -> None:
    scalar = replace(scalar, groups_per_unit=None)
    told = GroupLp(scalar).of_kinds(KINDS)
    assert told.kinds == KINDS
    capacities = told.capacities(8)
    assert dict(capacities.factors)["b"] == 1024
    assert dict(capacities.factors)["a"] == (8 << 10 if isinstance(scalar.budget, PureBudget) else 2896)
    expected = told.scalar.release(
        truncate(PAIRS, 0, scalar.ladder, 0.0, capacities=capacities),
        SimulatedEntropy(3),
    )
    assert np.array_equal(told.release(PAIRS, 0, SimulatedEntropy(3)).values, expected.values)
    assert told.expected_noise(8) == GroupLp(scalar).expected_noise(8)
    assert (told.event, told.epsilon) == (scalar.event, scalar.epsilon)


def test_laplace_and_gaussian_noise_have_their_own_capacities() -> None:
    both = LaplaceOrGaussian(SharedThreshold(PureBudget(4.0)), SharedThreshold(BUDGET))
    told = GroupLp(both).of_kinds((("a", 1), ("b", 100)))
    assert dict(told.capacities(4).factors)["a"] == 4 << 10  # of four groups noise is Laplace
    assert dict(told.capacities(100).factors)["a"] == 10 << 10


def test_noise_is_for_the_kind_that_reaches_most() -> None:
    one = SharedThreshold(PureBudget(4.0))
    fewer = GroupLp(one).of_kinds((("a", 2), ("b", 3)))
    assert fewer.expected_noise(8) == SharedThreshold(PureBudget(4.0), 3).expected_noise(8)
    assert GroupLp(replace(one, groups_per_unit=2)).of_kinds(KINDS[:1]).scalar.groups_per_unit == 1  # type: ignore[union-attr]
    known = GroupLp(replace(one, groups_per_unit=2)).of_kinds((("a", 2), ("b", 2)))
    assert known.scalar == replace(one, groups_per_unit=2)
    assert known.capacities(8) == ALIKE


def test_where_kinds_are_alike_nothing_changes() -> None:
    plain = GroupLp(SharedThreshold(PureBudget(4.0)))
    told = plain.of_kinds((("a", 8), ("b", 8)))
    first, second = (one.release(PAIRS, 0, SimulatedEntropy(3)) for one in (plain, told))
    assert np.array_equal(first.values, second.values)
    assert np.array_equal(first.tau, second.tau)


def test_a_sample_that_pays_for_noise_and_a_named_threshold_know_no_kinds() -> None:
    sampled = GroupLp(Gem(4.0, sample=SampleDesign(0.5, 4, 4.0)))
    assert sampled.of_kinds(KINDS) is sampled
    named = GroupLp(SharedThreshold(PureBudget(4.0), ladder=one_threshold(Fraction(3)))).of_kinds(
        ((("a", 1)), ("b", 2))
    )
    assert named.capacities(8) == ALIKE
    assert named.scalar.groups_per_unit == 2  # type: ignore[union-attr]
    for scalar in (sampled.scalar, named.scalar):
        with pytest.raises(InvalidParameter):
            GroupLp(scalar, kinds=KINDS)
    with pytest.raises(InvalidParameter):
        GroupLp(SharedThreshold(PureBudget(4.0))).of_kinds(())


def test_kinds_that_reach_more_than_noise_is_for_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        GroupLp(SharedThreshold(PureBudget(4.0), 2), kinds=KINDS).release(PAIRS, 0, SimulatedEntropy(1))
