from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from privacy.entropy import Entropy
from privacy.errors import EntropyFailed, InvalidParameter
from privacy.mechanisms.vector.sparse_vector import SparseVector
from privacy.truncation.vector.certificate.shares import WHOLE
from tests.support.replay_entropy import ReplayEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.mechanisms.vector.stopping import loss

GAP = 3 * WHOLE // 10
LEAVING, JOINING = (1.3, 0.3), (0.3, 1.3)
"""How far the early rungs fall and the last one rises, when a person with the most helpful gaps leaves or joins."""


def test_the_choice_spends_what_it_says_whatever_the_gap_does() -> None:
    """Exact probabilities of a stop after forty rungs."""
    made = SparseVector.monotone(1.0, 4.0, GAP)
    assert loss(made, *LEAVING) == pytest.approx(1.0, abs=1e-6)
    assert loss(made, *JOINING) <= 1.0


def test_scales_without_the_gap_lose_nearly_half_as_much_again() -> None:
    unadjusted = SparseVector.monotone(1.0, 4.0, 0)
    assert loss(unadjusted, *LEAVING) > 1.3


def test_noise_of_one_and_two_persons_is_for_values_that_move_by_one() -> None:
    assert loss(SparseVector.monotone(1.0, 4.0, 0), 1.0, 0.0) <= 1.0 + 1e-6


def test_stops_are_the_noisy_threshold_less_each_rungs_noise() -> None:
    made = SparseVector.monotone(1.0, 4.5, 0)
    noise = ReplayEntropy(
        [
            ("laplace", made.threshold_scale, np.array([7], np.int64)),
            ("laplace", made.rung_scale, np.array([1, -2, 3], np.int64)),
        ]
    )
    assert made.stops(3, noise).tolist() == [9 * WHOLE // 2 + 7 - z for z in (1, -2, 3)]


def test_a_threshold_that_was_taken_removes_no_more_than_stated() -> None:
    made = SparseVector.monotone(1.0, 4.0)
    most, entropy = made.most_removed(10, 0.02), SimulatedEntropy(1)
    beyond = sum(bool(np.any(made.stops(10, entropy) > most * WHOLE)) for _ in range(5000))
    assert beyond <= 0.02 * 5000
    assert made.most_removed(10, 0.01) > most


def test_more_epsilon_is_less_noise() -> None:
    scales = [SparseVector.monotone(epsilon, 1.0).rung_scale for epsilon in (0.1, 1.0, 10.0)]
    assert all(large > small for large, small in pairwise(scales))


class _Short:
    def laplace(self, scale: float, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.zeros(size - 1, np.int64)

    geometric = gaussian = laplace


def test_a_source_that_gives_too_little_is_an_error() -> None:
    source: Entropy = _Short()
    with pytest.raises(EntropyFailed):
        SparseVector.monotone(1.0, 1.0).stops(3, source)


@pytest.mark.parametrize(("epsilon", "threshold"), [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 2.0**31)])
def test_parameters_out_of_range_are_refused(epsilon: float, threshold: float) -> None:
    with pytest.raises(InvalidParameter):
        SparseVector(epsilon, threshold, 1e9, 1e9)
