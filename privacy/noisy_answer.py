"""The only type in this package that may leave the process: values that a mechanism released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from privacy.units import Bools, Floats

Covers = Literal["released_sample", "truncated_sample", "truncated_full", "smoothed", "truth_lower"]
"""What an interval covers: the truncated answer over all data, sampling error included; that of the sample that was
drawn, scaled up, without the sampling error; the truncated answer of unsampled data; the same around a value that
other groups had a say in, by a released bound on how far that moves it; or the truth, from below."""

NoiseKind = Literal["laplace", "gaussian"]
"""The distribution of a release's noise, on a grid of whole steps."""

CUT_SHARE = 1 / 4
"""A value that may lack more of itself is marked. By `make benchmark NAME=trust`, which has the trade-off."""


@dataclass(frozen=True)
class Exceeding:
    """How many units have more than a threshold that somebody named, in all groups together. Safe to publish.

    Attributes:
      people: the noisy number, which may be negative.
      at_most: its upper end at the confidence of the answer, or more; >= 0.
      below, above: by how much each interval's ends are moved for what they may lose, in normalised weight, >= 0.
    """

    people: int
    at_most: int
    below: float = 0.0
    above: float = 0.0


@dataclass(frozen=True, eq=False)
class NoisyAnswer:
    """One release, one value per public group. Every field is safe to publish.

    Attributes:
      values: (n_groups,) float64 in normalised weight (multiply by W).
      tau: (n_groups,) float64, the contribution bound that was chosen, in normalised weight.
      noise_scale: (n_groups,) float64, in normalised weight: the scale of Laplace noise, sigma of Gaussian noise.
      low, high: (n_groups,) float64, the interval at `confidence`, in normalised weight;
        high is +inf for `truth_lower`.
      confidence: the probability, over noise and draws alone, that the interval covers what `covers` names.
      covers: what the interval covers. Truncation bias is outside of it.
      mechanism: the mechanism's name.
      epsilon: what this release spent, for all groups together.
      signal: (n_groups,) float64, `CUT_SHARE` of the released value's size, in multiples of `missing`; 0 where
        that is not known, as the value is not above 0; +inf where no choice was made.
      delta: what this release spent beside epsilon; 0 for pure differential privacy.
      noise: what `noise_scale` is the scale of.
      exceeding: who has more than tau, where that was measured; None elsewhere.
    """

    values: Floats
    tau: Floats
    noise_scale: Floats
    low: Floats
    high: Floats
    confidence: float
    covers: Covers
    mechanism: str
    epsilon: float
    signal: Floats
    delta: float = 0.0
    noise: NoiseKind = "laplace"
    exceeding: Exceeding | None = None

    @property
    def missing(self) -> Floats:
        """(n_groups,) what of the truth the interval may lack, in normalised weight, as far as `signal` tells.

        The choice of tau overlooks so many people at most, but for one answer in twenty; whoever has more than tau is
        taken to have as much again. That is no bound: one person may have any amount.
        """
        told = np.isfinite(self.signal) & (self.signal > 0)
        found: Floats = np.zeros_like(self.values)
        np.divide(CUT_SHARE * np.abs(self.values), self.signal, out=found, where=told)
        return found

    @property
    def may_be_clipped(self) -> Bools:
        """(n_groups,) where so little budget met so little data that much of the truth may be missing."""
        return self.signal < 1
