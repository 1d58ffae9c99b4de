"""GS-S and GS as they are not served: rows sampled, the published choice of a size, and values cut at 0."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privacy.entropy import Entropy, checked
from privacy.exact import exact_epsilon, float_at_least
from privacy.papers.grouping_smoothing import (
    GSS,
    Incidence,
    NoisyCounts,
    OfKeys,
    equal_groups,
    noise_scale,
    noisy_sample,
    smoothed,
)
from privacy.papers.smoothing_choice import GS, candidate_sizes, group_sizes, own_means
from privacy.sampling.draws import Draws
from privacy.units import Floats, Ints


def noisy_rows(incidence: Incidence, epsilon: Fraction, draws: Draws, entropy: Entropy) -> Ints:
    """(n_keys,) noisy counts of a sample of the units; epsilon-DP.

    It keeps each unit with `row_rate` and adds noise of scale 1 / epsilon, far too little for all keys of a unit
    without the sample. Amplification: let X and Y be the densities without the unit and with it, within a factor E =
    exp(epsilon Delta_1). Then ((1 - b) X + b Y) / X is at most 1 + b (E - 1) = exp(epsilon), and its inverse less.

    Raises: EntropyFailed.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorem 4; docs/mathematics.md, section 11.5.
    """
    scale = float_at_least(1 / epsilon)
    return _rows(incidence, epsilon, draws) + checked(entropy.laplace(scale, incidence.n_keys), incidence.n_keys)


def row_rate(moved: int, epsilon: Fraction) -> float:
    """b = (e^epsilon - 1) / (e^(epsilon Delta_1) - 1), rounded down; 0 where no unit would be drawn anyhow.

    It falls exponentially with Delta_1: below 2^-64 nobody is drawn, which tells less.
    """
    exponent = float_at_least(epsilon * moved)
    if exponent > _LARGEST_EXPONENT:
        return 0.0
    rate = math.expm1(float(epsilon)) / math.expm1(exponent) * (1 - 2.0**-40)
    return min(1.0, rate) if rate >= 2.0**-64 else 0.0


_LARGEST_EXPONENT = 600.0
"""exp() of it still is a float."""


def _rows(incidence: Incidence, epsilon: Fraction, draws: Draws) -> Ints:
    """(n_keys,) counts of the units that are drawn."""
    rate = row_rate(incidence.moved, epsilon)
    if rate == 0:
        return np.zeros(incidence.n_keys, np.int64)
    codes = np.cumsum(np.diff(incidence.units, prepend=incidence.units[:1]) != 0)
    n_units = int(codes[-1]) + 1 if len(codes) else 0
    drawn = draws.binomial(np.ones(n_units, np.int64), rate).astype(bool)
    return np.bincount(incidence.keys[drawn[codes]], minlength=incidence.n_keys)


class GSSOfRows(GSS):
    """GS-S whose sample is of units, where that which is served takes one key of each."""

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts. Raises: EntropyFailed."""
        half = exact_epsilon(self.epsilon) / 2
        sample = noisy_rows(incidence, half, draws, entropy)
        group = equal_groups(np.argsort(sample, kind="stable"), incidence.moved)
        noisy = smoothed(incidence, group, half, entropy)
        return NoisyCounts(*noisy, group, incidence.moved, self.name, self.epsilon)


def size_as_published(ordered_sample: Floats, most: int, noise_scale: float) -> int:
    """The size with the least estimated error, were the counts L0 times the noisy sample.

    The mean of |noise| takes the place of noise that the paper draws to simulate. It is a poor estimate of the error:
    L0 times the sample overestimates counts of units at fewer keys, and its noise, sorted, looks like counts that
    differ. So it mostly finds small groups. `choose` is what replaces it.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.3, figure 6.

    Args:
      ordered_sample: (n_keys,) the noisy counts of the sample in their order.
      most: L0.
      noise_scale: of the release in a group of one key.
    """
    estimate = ordered_sample * most
    keys = len(estimate)

    def error(size: int) -> float:
        sizes = group_sizes(keys, size)
        spread = np.abs(estimate - own_means(estimate, sizes)).mean()
        return float(spread) + noise_scale * len(sizes) / keys

    return min(candidate_sizes(keys), key=error)


@dataclass(frozen=True)
class PublishedGS(OfKeys):
    """GS with half of epsilon for the grouping, and the size by the sample; with the sensitivities that hold."""

    name = "gs"

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts. Raises: EntropyFailed."""
        half = exact_epsilon(self.epsilon) / 2
        sample = noisy_sample(incidence, half, entropy)
        order = np.argsort(sample, kind="stable")
        size = size_as_published(sample[order].astype(np.float64), incidence.most, noise_scale(incidence.moved, half))
        group = equal_groups(order, size)
        noisy = smoothed(incidence, group, half, entropy)
        return NoisyCounts(*noisy, group, size, self.name, self.epsilon)


class CutGS(GS):
    """GS with what is below 0 released as 0, as an answer shows it.

    Counts are not negative, so that takes up to half of the noise of small counts away and never adds an error.
    """

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts. Raises: EntropyFailed."""
        released = super().release(incidence, draws, entropy)
        return replace(released, values=np.maximum(released.values, 0.0))
