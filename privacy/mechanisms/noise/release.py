"""The exact release step: integers and integer noise on a public grid, floats only afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, check_scale


class Stepped(Protocol):
    """A threshold whose values are released on a grid. Public."""

    @property
    def tau(self) -> float:
        """The threshold in normalised weight."""
        ...

    @property
    def step(self) -> int:
        """Units per step, a power of two."""
        ...

    @property
    def step_weight(self) -> float:
        """One step in normalised weight."""
        ...

    @property
    def scale(self) -> float:
        """The noise scale in steps. Thresholds of one scale have noise of one distribution."""
        ...

    @property
    def noise_scale(self) -> float:
        """The noise scale in normalised weight."""
        ...

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """(size,) noise, in steps."""
        ...

    def upper_quantile(self, tail: float) -> int:
        """A k >= 0 with P(Z > k) <= tail, in steps."""
        ...

    def interval(self, confidence: float) -> tuple[float, float]:
        """How far the truncated answer lies below and above the released value, at most, in normalised weight."""
        ...


def check_rungs(rungs: Sequence[Stepped]) -> None:
    """Refuse thresholds whose noise no source can draw. Public. Raises: InvalidParameter."""
    for scale in {rung.scale for rung in rungs}:
        check_scale(scale)


def release_noise(index: NDArray[np.intp], rungs: Sequence[Stepped], entropy: Entropy) -> NDArray[np.int64]:
    """Draw Z, in steps, for each release.

    Args:
      index: (...) the rung of each release.
      rungs: the L rungs.
      entropy: where the noise comes from.
    Returns: (...) int64, each as rungs[index] draws it.
    Raises: EntropyFailed when the source returns something else than was asked for.
    Cost: one call per distinct scale; from 2^-10 up all rungs share one, as their steps grow with tau.
    """
    scale = np.array([rung.scale for rung in rungs])[index]
    alike = {rung.scale: rung for rung in rungs}
    noise = np.zeros(index.shape, np.int64)
    for distinct in np.unique(scale):
        here = scale == distinct
        noise[here] = alike[float(distinct)].draw(int(here.sum()), entropy)
    return noise


def released(
    values: NDArray[np.int64], noise: NDArray[np.int64], index: NDArray[np.intp], rungs: Sequence[Stepped]
) -> NDArray[np.float64]:
    """step * (v // step + Z), as normalised weight.

    Args:
      values: (...) int64 units of 2^-30, in [0, 2^62].
      noise: (...) int64 steps, below 2^61 in magnitude, so that the int64 sum is exact.
      index: (...) the rung of each release.
      rungs: the L rungs.
    Returns: (...) float64. The sum of integers is what is private; turning it into a float, which
      rounds beyond 2^53 steps, is post-processing.
    Sensitivity: see ThresholdNoise.
    """
    shift = np.array([rung.step.bit_length() - 1 for rung in rungs], np.int64)
    step_weight = np.array([rung.step_weight for rung in rungs])
    noisy: NDArray[np.float64] = ((values >> shift[index]) + noise) * step_weight[index]
    return noisy
