from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.entropy import Entropy
from privacy.errors import EntropyFailed, InvalidParameter
from privacy.mechanisms.vector.vector_grid import VectorGrid, check_least, rounding, step_bits
from privacy.truncation.vector.certificate.shares import SHARE_BITS
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy


@pytest.mark.parametrize("dimension", [1, 2, 3, 25, 100, 100_000])
def test_rounding_to_the_grid_is_paid_for(dimension: int) -> None:
    """Values just below a step against values just on it: sqrt(d) steps apart, at a distance of next to nothing."""
    grid = VectorGrid(ONE, dimension)
    assert math.sqrt(dimension) * grid.step_weight <= 2 * grid.tau * rounding(dimension) <= 2.0**-10 * 1.001


def test_a_step_is_whole_at_the_smallest_threshold_and_the_largest_dimension() -> None:
    grid = VectorGrid(1 << 10, 1 << 20)
    assert grid.step == 1 << 10 + SHARE_BITS - step_bits(1 << 20)


def test_sums_come_out_to_a_step_below_them() -> None:
    grid = VectorGrid(8 * ONE, 3)
    sums = [0, (5 * ONE << SHARE_BITS) + 12345, 7 * ONE << SHARE_BITS + 60]
    values = grid.released(sums, 1.0, ConstantEntropy())
    exact = [total / 2.0 ** (SHARE_BITS + 30) for total in sums]
    assert all(0 <= truth - value < grid.step_weight for truth, value in zip(exact[:2], values, strict=False))
    assert values[2] == exact[2]  # far beyond an int64 of steps


def test_noise_is_asked_for_in_steps() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(1))
    grid = VectorGrid(4 * ONE, 2)
    values = grid.released([0, 0], 3.0, recorded)
    (kind, scale, draws) = recorded.draws[0]
    assert (kind, scale * grid.step_weight) == ("gaussian", 3.0 * 2 * grid.tau)
    assert values.tolist() == [z * grid.step_weight for z in draws.tolist()]


def test_noise_that_the_grid_would_show_is_refused() -> None:
    check_least(0.05, 8.0, 10)
    with pytest.raises(InvalidParameter):
        check_least(1e-4, 8.0, 10)


class _Short:
    def gaussian(self, scale: float, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.zeros(size + 1, np.int64)

    laplace = geometric = gaussian


def test_a_source_that_gives_something_else_is_an_error() -> None:
    source: Entropy = _Short()
    with pytest.raises(EntropyFailed):
        VectorGrid(ONE, 2).released([0, 0], 1.0, source)
