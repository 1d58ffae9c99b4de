"""The only type in this package that may leave the process: released values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from privacy.units import Bools, Floats

Covers = Literal["released_sample", "truncated_sample", "truncated_full", "smoothed", "truth_lower"]
"""What an interval covers:
* released_sample: the truncated answer over all data, sampling error included;
* truncated_sample: that of the drawn sample, scaled up, without the sampling error;
* truncated_full: the truncated answer of unsampled data;
* smoothed: the same, around a value smoothed with neighbouring groups, by a released bound on the change;
* truth_lower: the truth, from below."""

NoiseKind = Literal["laplace", "gaussian"]
"""The distribution of a release's noise, on a grid of whole steps."""

CONFIDENCE = 0.95
"""Of every interval, unless a mechanism is asked for another."""

CLIPPED_SHARE = 1 / 4
"""A value that may lack more of itself is marked. `make benchmark NAME=trust` shows the trade-off."""


@dataclass(frozen=True)
class Exceeding:
    """How many units exceed a named threshold, in all groups together. Safe to publish.

    Attributes:
      people: the noisy number, which may be negative.
      at_most: its upper end, at least at the confidence of the answer; >= 0.
      below, above: how far each interval is widened for what they may lose, in normalised weight, >= 0.
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
      tau: (n_groups,) float64, the clipping threshold, in normalised weight.
      noise_scale: (n_groups,) float64, in normalised weight: the scale of Laplace noise, sigma of Gaussian noise.
      low, high: (n_groups,) float64, the interval at `confidence`, in normalised weight; high is +inf for
        `truth_lower`.
      confidence: the probability, over noise and draws, that the interval covers what `covers` names.
      covers: what the interval covers, which never includes the clipping bias.
      mechanism: the mechanism's name.
      epsilon: what this release spent, for all groups together.
      signal: (n_groups,) float64, `CLIPPED_SHARE` of the released value's size, in multiples of `missing`. 0 if the
        value is not above 0, so that nothing is known; +inf if there was no choice.
      delta: what this release spent beside epsilon; 0 for pure differential privacy.
      noise: the kind of `noise_scale`.
      exceeding: who exceeds tau, if that was measured.
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
        """(n_groups,) what the interval may lack of the truth, in normalised weight, by `signal`.

        The choice of tau overlooks so many people at most, but for one answer in twenty. Each is assumed to have as
        much again as tau. That is no bound: one person may have any amount.
        """
        known = np.isfinite(self.signal) & (self.signal > 0)
        found: Floats = np.zeros_like(self.values)
        np.divide(CLIPPED_SHARE * np.abs(self.values), self.signal, out=found, where=known)
        return found

    @property
    def may_be_clipped(self) -> Bools:
        """(n_groups,) where a small budget met little data, so that much of the truth may be missing."""
        return self.signal < 1
