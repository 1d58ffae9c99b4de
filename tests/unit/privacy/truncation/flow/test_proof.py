from dataclasses import replace

import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.flow.proof import FlowAndCut, proved
from tests.unit.privacy.truncation.flow.graphs import pairs

TRIANGLE = pairs([(0, 1, 1), (1, 2, 1), (2, 0, 1)], [1, 1, 1])
ROUND = FlowAndCut(np.ones(3, np.int64), np.zeros(3, np.int64), np.ones(3, np.bool_), np.zeros(3, np.bool_))
"""Once around: every left copy sends 1 to the next right copy."""


def test_a_triangle_is_worth_one_and_a_half() -> None:
    proof = proved(TRIANGLE, ROUND)
    assert (proof.value, proof.upper, proof.bits) == (3, 3, 1)
    assert (proof.floor(), proof.ceiling()) == (1, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forward": np.array([1, 1, 0])}, "smaller than its cut"),
        ({"forward": np.array([2, 1, 0])}, "exceeds a weight"),
        ({"forward": np.array([-1, 1, 1])}, "exceeds a weight"),
        ({"backward": np.array([0, 1, 0])}, "exceeds a cap"),
        ({"left_cut": np.array([True, True, False])}, None),
        ({"right_cut": np.ones(3, np.bool_)}, "smaller than its cut"),
        ({"left_cut": np.zeros(3, np.bool_)}, "smaller than its cut"),
    ],
)
def test_claims_that_prove_nothing_are_refused(change: dict[str, np.ndarray], message: str | None) -> None:
    claim = replace(ROUND, **change)
    with pytest.raises(SolverFailed, match=message):
        proved(TRIANGLE, claim)


def test_sums_beyond_an_int64_are_refused_like_others() -> None:
    huge = (1 << 62) - 1
    given = pairs([(0, 1, huge)] * 3, [huge, huge])
    claim = FlowAndCut(np.full(3, huge), np.full(3, huge), np.ones(2, np.bool_), np.zeros(2, np.bool_))
    with pytest.raises(SolverFailed, match="exceeds a cap"):
        proved(given, claim)
    one = np.array([huge, 0, 0])
    assert proved(given, replace(claim, forward=one, backward=one)).floor() == huge
