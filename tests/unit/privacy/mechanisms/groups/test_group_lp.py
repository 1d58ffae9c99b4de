from __future__ import annotations

import numpy as np
import pytest

from privacy.accounting.event import ZCDP, PureDP
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_measurement import GroupMeasurement
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.truncation.encode import encode
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
