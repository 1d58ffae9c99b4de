from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

import privacy.entropy
from privacy.entropy import MAX_DRAW, Entropy, OpendpEntropy, checked, checked_geometric, fold
from privacy.errors import EntropyFailed, InvalidParameter
from tests.support.simulated_entropy import SimulatedEntropy

FALSE_ALARM = 1e-7
"""Of each goodness-of-fit test; nine draw real noise, so all together stay within 1e-6."""

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
    """Chi-square over at most forty cells of integers, each with an expected count of at least ten."""
    width = max(1, round(scale / 4))
    edges = np.arange(-20 * width, 20 * width + 1, width).astype(np.float64)
    upper = survival(np.append(edges, np.inf), scale)
    upper[-1] = 0.0
    expected = np.concatenate([[1 - upper[0]], -np.diff(upper)]) * len(draws)
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(expected))
    rare = expected < 10
    pooled = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    if pooled[1][-1] < 10:
        pooled = tuple(np.append(part[1:-1], part[0] + part[-1]) for part in pooled)  # type: ignore[assignment]
    return bool(chisquare(*pooled).pvalue > FALSE_ALARM)


@pytest.mark.parametrize("entropy", [OpendpEntropy(), SimulatedEntropy(7)], ids=["opendp", "simulated"])
@pytest.mark.parametrize("scale", [0.7, 5.0, 3417.3])
class TestDistribution:
    def test_laplace_draws_fit_their_distribution(self, entropy: Entropy, scale: float) -> None:
        assert fits(entropy.laplace(scale, DRAWS), laplace_survival, scale)

    def test_geometric_draws_fit_their_distribution(self, entropy: Entropy, scale: float) -> None:
        draws = entropy.geometric(scale, DRAWS)
        assert draws.min() >= 0
        assert fits(draws, geometric_survival, scale)

    def test_gaussian_draws_fit_their_distribution(self, entropy: Entropy, scale: float) -> None:
        assert fits(entropy.gaussian(scale, DRAWS), gaussian_survival, scale)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_goodness_of_fit_test_sees_a_wrong_scale(factor: float) -> None:
    draws = SimulatedEntropy(3).laplace(20.0 * factor, DRAWS)
    assert not fits(draws, laplace_survival, 20.0)
    assert not fits(SimulatedEntropy(3).gaussian(20.0 * factor, DRAWS), gaussian_survival, 20.0)


def test_folding_is_one_for_one() -> None:
    assert fold(np.array([0, -1, 1, -2, 2])).tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**51, 2.0**-21])
@pytest.mark.parametrize("kind", ["laplace", "geometric", "gaussian"])
def test_refuses_a_scale_before_it_draws(kind: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy.entropy, "_measurement", lambda kind, scale: pytest.fail("drew"))
    with pytest.raises(InvalidParameter):
        getattr(OpendpEntropy(), kind)(scale, 3)


def test_refuses_a_negative_size() -> None:
    with pytest.raises(InvalidParameter):
        OpendpEntropy().laplace(1.0, -1)


@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_returns_as_many_as_asked(size: int) -> None:
    draws = OpendpEntropy().laplace(2.0**50, size)
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("answer", [[0], [0.5, 0.5], [None, 1], [MAX_DRAW, 0], [0, -MAX_DRAW], []])
def test_what_is_not_noise_is_refused(answer: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy.entropy, "_measurement", lambda kind, scale: lambda zeros: answer)
    with pytest.raises(EntropyFailed):
        OpendpEntropy().laplace(1.0, 2)
    with pytest.raises(EntropyFailed):
        OpendpEntropy().gaussian(1.0, 2)


def test_cannot_be_seeded_by_numpy_or_repeated() -> None:
    np.random.seed(0)
    first = OpendpEntropy().laplace(1e9, 8)
    np.random.seed(0)
    assert not np.array_equal(first, OpendpEntropy().laplace(1e9, 8))


def test_keeps_a_bounded_number_of_measurements() -> None:
    for scale in range(1, 100):
        OpendpEntropy().laplace(float(scale), 1)
    assert privacy.entropy._measurement.cache_info().currsize <= 64


@pytest.mark.parametrize(
    "draws", [np.zeros(2, np.int64), np.zeros((3, 1), np.int64), np.zeros(3), np.zeros(3, np.int32)]
)
def test_another_number_of_draws_or_another_type_is_no_noise(draws: NDArray[np.int64]) -> None:
    for check in (checked, checked_geometric):
        with pytest.raises(EntropyFailed):
            check(draws, 3)


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
