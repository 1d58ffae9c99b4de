from __future__ import annotations

import numpy as np
import pytest

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.registry import measurement
from privacy.truncation.compact import compact
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate


@pytest.mark.parametrize("owners", [1, 2, 3])
@pytest.mark.parametrize("mechanism", ["gem", "r2t", "fixed"])
def test_conditions_that_leave_no_group_leave_an_empty_answer(owners: int, mechanism: str) -> None:
    """Public conditions may rule out every group; tuples outside of the domain may still be there."""
    column = OwnerColumn("person", np.arange(3), np.zeros(3, bool))
    tuples = JoinTuples((column,) * owners, np.full(3, -1), 0, np.ones((1, 3), np.int64))
    assert compact(tuples).n_groups == 0
    made = measurement(mechanism, 1.0, gap=0.0 if owners <= 2 else 0.01, global_sensitivity=8.0)
    noisy = made.release(truncate(encode(tuples), 0, made.ladder, made.gap), OpendpEntropy())
    assert noisy.values.shape == noisy.low.shape == noisy.tau.shape == (0,)
