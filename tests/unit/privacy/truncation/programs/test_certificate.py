import numpy as np
import pytest

from privacy.truncation.programs.certificate import Certificate, certify
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import program

TRIANGLE = program([(frozenset({0, 1}), ONE), (frozenset({1, 2}), ONE), (frozenset({0, 2}), ONE)], [ONE] * 3)
"""Optimum 1.5: every tuple at one half, every dual at one half."""

HALF = np.full(3, 0.5)
NONSENSE = [np.full(3, 9.0), np.full(3, np.nan), np.array([np.inf, -np.inf, 0.3]), np.full(3, -1.0), np.zeros(3)]


def _gap(x: object, y: object) -> float:
    proof = certify(TRIANGLE, np.array(x), np.array(y))
    optimum = 3 * ONE // 2 << proof.bits
    assert proof.value <= optimum <= proof.upper
    return (proof.upper - proof.value) / (ONE << proof.bits)


def test_the_optimum_certifies_itself_exactly() -> None:
    assert _gap(HALF, HALF) == 0.0


@pytest.mark.parametrize("wrong", [np.full(3, 9.0), np.full(3, np.nan), np.full(3, -1.0), np.zeros(3)])
def test_a_wrong_dual_is_not_believed(wrong: object) -> None:
    assert _gap(HALF, wrong) >= 1.0


def test_a_wrong_primal_is_not_believed() -> None:
    assert _gap([1.0, 0.0, 0.0], HALF) == pytest.approx(0.5)


@pytest.mark.parametrize("x", NONSENSE)
@pytest.mark.parametrize("y", NONSENSE)
def test_nonsense_only_loosens_the_bounds(x: object, y: object) -> None:
    _gap(x, y)  # asserts that both bounds hold


def test_a_slightly_infeasible_point_is_repaired() -> None:
    assert _gap(HALF + 1e-6, HALF) < 1e-5


def test_thresholds_of_a_few_units_lose_nothing_to_rounding() -> None:
    tiny = program([(frozenset({0, 1}), 3), (frozenset({1, 2}), 3), (frozenset({0, 2}), 3)], [3] * 3)
    proof = certify(tiny, HALF, HALF)
    assert proof.within(0)
    assert (proof.floor(), proof.ceiling()) == (4, 5)


@pytest.mark.parametrize("weight", [3 << 20, 1 << 21, (1 << 21) + 1, 1 << 29, MAX_UNITS])
def test_weights_far_above_every_cap_count_for_no_more_than_the_cap(weight: int) -> None:
    cap = 1024
    pairs = [(frozenset({0, 1}), weight * cap if weight < MAX_UNITS else weight), (frozenset({1, 2}), cap)]
    proof = certify(program([*pairs, (frozenset({0, 2}), cap)], [cap] * 3), HALF, HALF)
    assert proof.within(0)
    assert proof.value == 3 * cap // 2 << proof.bits


def test_caps_near_the_end_of_int64_do_not_overflow() -> None:
    cap = MAX_UNITS // 2
    huge = program([(frozenset({0, 1, 2}), cap)] * 50 + [(frozenset({0}), cap)] * 50, [cap] * 3)
    proof = certify(huge, np.full(100, 1.0), np.array([1.0, 0.0, 0.0]))
    assert proof.value <= cap <= proof.upper
    assert proof.upper == cap


def test_proofs_combine_and_shift() -> None:
    good_value, good_upper = Certificate(8, 20, 1), Certificate(2, 9, 1)
    proof = good_value.joined(good_upper).plus(10)
    assert (proof.value, proof.upper) == (28, 29)
    assert (proof.within(0), proof.within(1)) == (False, True)
    assert (proof.floor(), proof.ceiling(), proof.floor(1), proof.ceiling(1)) == (14, 15, 7, 8)
