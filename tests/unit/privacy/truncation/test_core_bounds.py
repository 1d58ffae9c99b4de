import numpy as np
import pytest

from privacy.truncation.core_bounds import core_bounds
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import optimum, program


@pytest.mark.parametrize("owners", [2, 3, 4])
def test_they_contain_the_optimum_and_are_close_to_it(owners: int) -> None:
    random = np.random.default_rng(owners)
    sets = [frozenset(row) for row in random.integers(0, 60, (400, owners)).tolist()]
    instance = program(
        [(units, int(w)) for units, w in zip(sets, random.integers(1, 3 * ONE, 400), strict=True)],
        random.integers(ONE, 20 * ONE, 60).tolist(),
    )
    proof, exact = core_bounds(instance), optimum(instance)
    assert 0.75 * exact <= proof.value <= exact + 1
    assert exact - 1 <= proof.upper <= 1.4 * exact


def test_they_meet_on_a_ring() -> None:
    ring = program([(frozenset({i, (i + 1) % 8}), 4 * ONE) for i in range(8)], [4 * ONE] * 8)
    assert core_bounds(ring).value == core_bounds(ring).upper == 16 * ONE


def test_they_saturate_instead_of_wrapping() -> None:
    full = program([(frozenset({2 * i, 2 * i + 1}), MAX_UNITS) for i in range(5)], [MAX_UNITS - 1] * 10)
    proof = core_bounds(full)
    assert (proof.value, proof.upper) == (MAX_UNITS, MAX_UNITS)
