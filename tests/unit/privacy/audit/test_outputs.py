from __future__ import annotations

import numpy as np
import pytest

from privacy.audit.outputs import Outputs
from privacy.errors import InvalidParameter


@pytest.mark.parametrize(
    ("score", "label"),
    [([1.0, 2.0], [0]), ([1.0], [0]), ([1.0, np.nan], [0, 0])],
    ids=["lengths differ", "one run", "not a number"],
)
def test_refuses_what_cannot_be_audited(score: list[float], label: list[int]) -> None:
    with pytest.raises(InvalidParameter):
        Outputs(np.array(score), np.array(label))


def test_halves_share_no_run() -> None:
    first, second = Outputs(np.arange(5.0), np.arange(5)).halves()
    assert (first.score.tolist(), second.label.tolist()) == ([0, 1], [2, 3, 4])
