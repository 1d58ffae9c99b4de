from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.by_key.incidence import enforced
from tests.support.seeded_draws import SeededDraws

UNITS = np.array([3, 3, 3, 3, 1, 1, 0, 3])
KEYS = np.array([0, 1, 2, 1, 2, 2, 2, 4])


def test_a_pair_counts_once_and_a_unit_at_few_keys() -> None:
    whole = enforced(UNITS, KEYS, 6, 6, SeededDraws(1))
    assert whole.counts.tolist() == [1, 1, 3, 0, 1, 0]
    assert whole.moved == 6
    few = enforced(UNITS, KEYS, 6, 2, SeededDraws(1))
    assert np.bincount(few.units).tolist() == [1, 1, 0, 2]
    assert few.moved == 4
    assert (few.counts <= whole.counts).all()


def test_which_keys_stay_and_which_is_first_is_uniform() -> None:
    """20,000 units at five keys, two kept: every key 8,000 times and first 4,000, within 5.5 standard deviations."""
    units, keys = np.divmod(np.arange(100_000), 5)
    kept = enforced(units, keys, 5, 2, SeededDraws(2))
    assert np.abs(kept.counts - 8000).max() < 5.5 * np.sqrt(20_000 * 0.4 * 0.6)
    assert np.abs(np.bincount(kept.first, minlength=5) - 4000).max() < 5.5 * np.sqrt(20_000 * 0.2 * 0.8)
    assert len(kept.first) == 20_000


def test_nobody_is_there_and_nothing_is_shown() -> None:
    nobody = enforced(np.zeros(0, np.int64), np.zeros(0, np.int64), 3, 2, SeededDraws(3))
    assert nobody.counts.tolist() == [0, 0, 0]
    assert len(nobody.first) == 0
    assert repr(nobody) == "Incidence(<private>)"


def test_a_key_that_is_not_public_is_dropped_and_nobody_is_told() -> None:
    found = enforced(np.array([0, 0, 1, 2]), np.array([-1, 1, 7, 0]), 2, 2, SeededDraws(4))
    assert found.counts.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("units", "keys", "n_keys", "most"),
    [
        ([0], [0], 0, 1),
        ([0], [0], 1, 0),
        ([-1], [0], 1, 1),
        ([0, 1], [0], 1, 1),
        ([1 << 31], [0], 1, 1),
    ],
)
def test_refuses_what_is_no_table(units: list[int], keys: list[int], n_keys: int, most: int) -> None:
    with pytest.raises(InvalidParameter):
        enforced(np.array(units), np.array(keys), n_keys, most, SeededDraws(1))
