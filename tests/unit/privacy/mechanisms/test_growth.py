"""A hundred thousand groups of ten tuples: time and memory are linear in the data and the groups."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.group_lp import GroupLp
from privacy.mechanisms.measurement import GroupMeasurement
from privacy.mechanisms.shared_threshold import SharedThreshold
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.peak_memory import measured

GROUPS, TUPLES, PEOPLE = 100_000, 1_000_000, 150_000
MOST_SECONDS, MOST_BYTES = 45.0, 4 << 30
BUDGET = ConcentratedBudget.of(1.0, 1e-7)


def joined(owners: int, groups: int = GROUPS, tuples: int = TUPLES) -> JoinTuples:
    """Each group has five people, who share its tuples."""
    pick = np.random.default_rng(1)
    group = pick.integers(0, groups, tuples)
    columns = ((group * 7 + pick.integers(0, 5, tuples)) % PEOPLE for _ in range(owners))
    nobody = np.zeros(tuples, bool)
    keys = tuple(OwnerColumn("person", column, nobody) for column in columns)
    return JoinTuples(keys, group, groups, pick.integers(1, ONE, (1, tuples)))


def release(measurement: GroupMeasurement, tuples: JoinTuples) -> None:
    released = measurement.release(encode(tuples), 0, OpendpEntropy())
    assert np.isfinite(released.values).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owners", "measurement"),
    [(1, Clip(BUDGET)), (2, GroupLp(SharedThreshold(PureBudget(1.0)))), (2, GroupLp(SharedThreshold(BUDGET)))],
    ids=["l2_clip", "pure", "concentrated"],
)
def test_a_hundred_thousand_groups(owners: int, measurement: GroupMeasurement) -> None:
    work = measured(
        partial(joined, owners), partial(release, measurement, joined(owners, 7, 500)), partial(release, measurement)
    )
    assert work.seconds < MOST_SECONDS
    assert work.peak_bytes < MOST_BYTES
