"""One threshold of a ladder with the public step, sensitivity and discrete Gaussian noise of a release at it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.sampling.square_loss import SquareLoss, gaussian_loss
from privacy.units import ONE


@dataclass(frozen=True)
class GaussianThresholdNoise:
    """A release of v at threshold tau: step * (v // step + Z), Z discrete Gaussian of scale `scale`.

    v // step, an integer, moves by at most k steps (see ThresholdNoise), and a discrete Gaussian of scale
    k / sqrt(2 rho) makes it rho-zCDP: its divergence of order alpha is at most alpha k^2 / (2 scale^2), as that of
    the continuous one (Canonne, Kamath, Steinke 2020, Proposition 5).

    Attributes:
      grid: the threshold's step and sensitivity.
      rho: what this one release may spend, were all tuples of a unit in the sample; > 0.
    """

    grid: ThresholdNoise
    rho: float

    def __post_init__(self) -> None:
        if not 0 < self.rho < math.inf:
            raise InvalidParameter("rho must be finite and positive")

    @property
    def tau(self) -> float:
        """The threshold in normalised weight."""
        return self.grid.tau

    @property
    def step(self) -> int:
        """Units per step, a power of two."""
        return self.grid.step

    @property
    def step_weight(self) -> float:
        """One step in normalised weight."""
        return self.grid.step_weight

    @cached_property
    def scale(self) -> float:
        """sigma of the discrete Gaussian, in steps, rounded up."""
        return self.grid.sensitivity / math.sqrt(2 * self.rho) * (1 + 2.0**-50)

    @property
    def noise_scale(self) -> float:
        """sigma in normalised weight."""
        return self.scale * self.step_weight

    @property
    def loss(self) -> SquareLoss:
        """What the release tells when a sample of tuples of weight at most 1 gains k tuples of one unit.

        See `ThresholdNoise.loss` for the rounding.
        """
        rounding = self.step_weight if self.grid.gap or self.step > ONE else 0.0
        return gaussian_loss(self.tau, self.noise_scale, self.grid.gap * self.tau + rounding)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """(size,) Z, in steps. Raises: EntropyFailed when the source returns something else than was asked for."""
        return checked(entropy.gaussian(self.scale, size), size)

    def upper_quantile(self, tail: float) -> int:
        """A k >= 0 with P(Z > k) <= tail: P(Z >= k + 1) <= P(N(0, scale^2) >= k) (`gaussian_tail`)."""
        return upper_quantile(tail, self.scale)

    def interval(self, confidence: float) -> tuple[float, float]:
        """How far the truncated answer lies below and above the released value, at most. As
        `ThresholdNoise.interval`."""
        steps = self.upper_quantile((1 - confidence) / 2)
        floored = 0 if self.grid.whole_steps is not None else 1
        return steps * self.step_weight, (steps + floored) * self.step_weight + self.grid.gap * self.tau


def upper_quantile(tail: float, scale: float) -> int:
    """A k >= 0 with P(Z > k) <= tail: P(Z >= k + 1) <= P(N(0, scale^2) >= k).

    Source: Canonne, Kamath, Steinke (2020), Proposition 25.
    """
    return max(0, math.ceil(-float(special.ndtri(tail)) * scale * (1 + 2.0**-40)))
