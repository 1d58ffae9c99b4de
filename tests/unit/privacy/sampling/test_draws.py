"""Uniform choices; what is binomial is tested in test_thin."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.sampling.draws import MAX_COUNT, SystemDraws


def test_uniform_draws_reach_everything_alike() -> None:
    """Each count within 6 standard deviations: a false alarm in 10^7 runs."""
    counts = np.bincount(SystemDraws().uniform(7, 70_000), minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 10_000).max() < 6 * np.sqrt(10_000)


def test_chosen_sets_are_alike() -> None:
    draws = SystemDraws()
    sets = [tuple(sorted(draws.choose(5, 2).tolist())) for _ in range(5_000)]
    counts = np.unique(sets, axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert np.abs(counts - 500).max() < 6 * np.sqrt(500)


def test_chosen_things_are_distinct_also_when_many() -> None:
    for size in (0, 10, 900, 1000):
        chosen = SystemDraws().choose(1000, size)
        assert len(np.unique(chosen)) == size
        assert chosen.size == 0 or (chosen.min() >= 0 and chosen.max() < 1000)


@pytest.mark.parametrize(("things", "size"), [(3, 4), (-1, 0), (3, -1), (MAX_COUNT + 1, 1)])
def test_refuses_what_cannot_be_chosen(things: int, size: int) -> None:
    with pytest.raises(InvalidParameter):
        SystemDraws().choose(things, size)


@pytest.mark.parametrize(("things", "size"), [(0, 1), (3, -1), (MAX_COUNT + 1, 1)])
def test_refuses_what_cannot_be_drawn_from(things: int, size: int) -> None:
    with pytest.raises(InvalidParameter):
        SystemDraws().uniform(things, size)
