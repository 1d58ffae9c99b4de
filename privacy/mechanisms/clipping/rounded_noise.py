"""Noise for sums that are added up first and rounded to steps afterwards, once in each group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from privacy.errors import InvalidParameter
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.sampling.loss import Loss, laplace_loss
from privacy.truncation.loads.length_histogram import FINER_BITS
from privacy.units import ONE

ROUNDED_BITS = 28
"""A step is at most 2^-28 of tau: steps for 100,000 groups are less than 1/2,000 of tau."""


@dataclass(frozen=True)
class RoundedNoise(ThresholdNoise):
    """A release of vectors of length tau whose sums are rounded down in every group (`VectorsOfSum`).

    Steps are of units 2^-FINER_BITS, so that they are small beside any threshold.

    Sensitivity: the sums move by tau when a unit comes or goes, in the norm of the noise, and by less than one step
    more in each group: ceil(tau / step) + groups covers it in both norms.

    Attributes:
      groups: how many there are at most.
    """

    groups: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 1:
            raise InvalidParameter("there is one group at least")

    @property
    def step(self) -> int:
        """Units of 2^-FINER_BITS per step, a power of two."""
        return 1 << max(0, self.tau_units.bit_length() - 1 + FINER_BITS - ROUNDED_BITS)

    @cached_property
    def sensitivity(self) -> int:
        """By how many steps the sums of all groups can move when one unit comes or goes."""
        return -(-(self.tau_units << FINER_BITS) // self.step) + self.groups

    @property
    def step_weight(self) -> float:
        """One step in normalised weight; a power of two, so multiplying by it is exact."""
        return self.step / (ONE << FINER_BITS)

    @property
    def loss(self) -> Loss:
        """As of any threshold, with a step of rounding in every group."""
        return laplace_loss(self.tau, self.noise_scale, self.groups * self.step_weight)
