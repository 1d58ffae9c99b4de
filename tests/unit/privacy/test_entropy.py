from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import privacy.entropy
from privacy.entropy import MAX_DRAW, Entropy, OpendpEntropy, checked, checked_geometric, fold
from privacy.errors import EntropyFailed
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses_calls

FALSE_ALARM = 1e-10
"""Of each distribution at each scale; nine are of real noise, so all of those together stay within 1e-9."""

DRAWS = 20_000
Survival = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def laplace_survival(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(X >= x) for an integer x."""
    a = math.exp(-1 / scale)
    return np.where(x > 0, a ** np.maximum(x, 0) / (1 + a), 1 - a ** (1 - np.minimum(x, 0)) / (1 + a))


def geometric_survival(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    return np.exp(-np.maximum(x, 0) / scale)


def gaussian_survival(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    reach = int(14 * scale) + 2
    mass = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
    above = np.append(np.cumsum(mass[::-1])[::-1], 0.0) / mass.sum()
    survival: NDArray[np.float64] = above[np.clip(x + reach, 0, 2 * reach + 1).astype(np.int64)]
    return survival


def fits(draws: NDArray[np.int64], survival: Survival, scale: float) -> bool:
    """How many draws reach an edge is binomial, exactly: two tails at each of 41 edges share the false alarm."""
    width = max(1, round(scale / 4))
    edges = np.arange(-20 * width, 21 * width, width).astype(np.float64)
    reached = (draws[:, None] >= edges).sum(axis=0)
    chance = np.clip(survival(edges, scale), 0.0, 1.0)
    rare = np.minimum(binom.cdf(reached, len(draws), chance), binom.sf(reached - 1, len(draws), chance))
    return bool(rare.min() > FALSE_ALARM / (2 * len(edges)))


def check_distributions(entropy: Entropy) -> None:
    for scale in (0.7, 5.0, 3417.3):
        assert fits(entropy.laplace(scale, DRAWS), laplace_survival, scale)
        draws = entropy.geometric(scale, DRAWS)
        assert draws.min() >= 0
        assert fits(draws, geometric_survival, scale)
        assert fits(entropy.gaussian(scale, DRAWS), gaussian_survival, scale)


@pytest.mark.statistical(1e-9)
def test_real_draws_fit_their_distributions() -> None:
    """Nine tests, each with FALSE_ALARM."""
    check_distributions(OpendpEntropy())


def test_simulated_draws_fit_their_distributions_and_a_wrong_scale_shows() -> None:
    check_distributions(SimulatedEntropy(7))
    for factor in (0.9, 1.1):
        assert not fits(SimulatedEntropy(3).laplace(20.0 * factor, DRAWS), laplace_survival, 20.0)
        assert not fits(SimulatedEntropy(3).gaussian(20.0 * factor, DRAWS), gaussian_survival, 20.0)


def test_folding_is_one_for_one() -> None:
    assert fold(np.array([0, -1, 1, -2, 2])).tolist() == [0, 0, 1, 1, 2]


def test_refuses_a_scale_and_a_negative_size_before_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy.entropy, "_measurement", lambda kind, scale: pytest.fail("drew"))
    for kind in ("laplace", "geometric", "gaussian"):
        wrong = (0.0, -1.0, math.nan, math.inf, 2.0**51, 2.0**-21)
        refuses_calls(getattr(OpendpEntropy(), kind), *((scale, 3) for scale in wrong), (1.0, -1))


def test_returns_as_many_as_asked() -> None:
    for size in [0, 1, 70_000]:
        draws = OpendpEntropy().laplace(2.0**50, size)
        assert draws.shape == (size,)
        assert draws.dtype == np.int64, size


def test_what_is_not_noise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[list[Any]] = [[0], [0.5, 0.5], [None, 1], [MAX_DRAW, 0], [0, -MAX_DRAW], []]
    for answer in wrong:
        monkeypatch.setattr(privacy.entropy, "_measurement", lambda kind, scale, told=answer: lambda zeros: told)
        for draw in (OpendpEntropy().laplace, OpendpEntropy().gaussian):
            with pytest.raises(EntropyFailed):
                draw(1.0, 2)
    others: list[Any] = [np.zeros(2, np.int64), np.zeros((3, 1), np.int64), np.zeros(3), np.zeros(3, np.int32)]
    for draws in others:
        for check in (checked, checked_geometric):
            with pytest.raises(EntropyFailed):
                check(draws, 3)


@pytest.mark.statistical(1e-12)
def test_cannot_be_seeded_by_numpy_or_repeated() -> None:
    """Eight draws are equal to eight others with less than (1 / scale)^8."""
    np.random.seed(0)
    first = OpendpEntropy().laplace(1e9, 8)
    np.random.seed(0)
    assert not np.array_equal(first, OpendpEntropy().laplace(1e9, 8))


def test_keeps_a_bounded_number_of_measurements() -> None:
    for scale in range(1, 100):
        OpendpEntropy().laplace(float(scale), 1)
    assert privacy.entropy._measurement.cache_info().currsize <= 64


def test_noise_of_one_side_is_not_negative() -> None:
    draws = np.array([0, -1, 2])
    assert checked(draws, 3) is draws
    with pytest.raises(EntropyFailed):
        checked_geometric(draws, 3)
    assert checked_geometric(abs(draws), 3).tolist() == [0, 1, 2]


def test_the_source_loads_nothing_of_the_library_that_it_does_not_draw_with() -> None:
    """Whatever data frames are installed: every command and every worker begins with it."""
    code = "import sys, privacy.entropy as _; print(*{'polars', 'scipy', 'sklearn', 'pandas'} & sys.modules.keys())"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.split() == []
