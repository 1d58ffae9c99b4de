"""The public grid on which sums of several groups get Gaussian noise at one threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.truncation.vector.certificate.shares import SHARE_BITS
from privacy.units import ONE

_STEP_BITS = 10
"""Rounding d sums to the grid moves them by at most 2^-10 tau in all."""

_LEAST_SCALE = 16.0
"""In steps and multiples of sqrt(alpha): from there a discrete Gaussian is as good as a continuous one."""


def step_bits(dimension: int) -> int:
    """k for steps of 2^-k tau, so that sqrt(d) steps are at most 2^-10 tau."""
    return _STEP_BITS + math.ceil(math.log2(dimension) / 2)


def rounding(dimension: int) -> float:
    """What the grid adds to the distance of two neighbours' sums, in multiples of 2 tau: at most 2^-11.

    |floor(a) - floor(b)| < |a - b| + 1 in each coordinate, so at most sqrt(d) steps more in all.
    """
    return math.sqrt(dimension) * 2.0 ** -(step_bits(dimension) + 1) * (1 + 2.0**-40)


def check_least(sigma: float, alpha: float, dimension: int) -> None:
    """Refuse noise so small, in multiples of 2 tau, that the grid would show. Raises: InvalidParameter."""
    if sigma * 2.0 ** (step_bits(dimension) + 1) < _LEAST_SCALE * math.sqrt(alpha):
        raise InvalidParameter("epsilon is too large for this grid")


@dataclass(frozen=True)
class VectorGrid:
    """d sums released as step * (sum // step + Z), all Z of one scale.

    Two discrete Gaussians of scales s and s' around whole numbers have at most the divergence of the continuous
    ones and d ln(1 + 2 exp(-2 pi^2 min(s, s')^2 / alpha) + ...) more: their sums over whole numbers are the
    integrals times theta functions, largest where the centre is whole (Poisson summation). From a scale of 16
    sqrt(alpha) that is below d 2^-7000. Source: Canonne, Kamath & Steinke, NeurIPS 2020, for s = s'.

    Attributes:
      tau_units: the threshold, a power of two, in units of 2^-30.
      dimension: d.
    """

    tau_units: int
    dimension: int

    @property
    def tau(self) -> float:
        """The threshold in normalised weight."""
        return self.tau_units / ONE

    @property
    def step(self) -> int:
        """In units of 2^-SHARE_BITS of 2^-30; a power of two, as a threshold is at least 2^-20."""
        return (self.tau_units << SHARE_BITS) >> step_bits(self.dimension)

    @property
    def step_weight(self) -> float:
        """One step in normalised weight; exact."""
        return self.tau * 2.0 ** -step_bits(self.dimension)

    def scale(self, sigma: float) -> float:
        """sigma in steps, from multiples of 2 tau; exact."""
        return sigma * 2.0 ** (step_bits(self.dimension) + 1)

    def released(self, sums: Sequence[int], sigma: float, entropy: Entropy) -> NDArray[np.float64]:
        """(d,) noisy sums in normalised weight.

        Args:
          sums: d exact integers in units of 2^-SHARE_BITS of 2^-30.
          sigma: of the noise, in multiples of 2 tau.
        Raises: EntropyFailed when the source returns something else than was asked for; InvalidParameter for a scale
          beyond 2^50 steps, which takes a selection error of probability below 2^-1000000.
        """
        noise = checked(entropy.gaussian(self.scale(sigma), self.dimension), self.dimension)
        steps = [total // self.step + drawn for total, drawn in zip(sums, noise.tolist(), strict=True)]
        values: NDArray[np.float64] = np.array([float(step) for step in steps]) * self.step_weight
        return values
