"""How far smoothing moves the count of any key at most, measured: what makes an interval honest about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy.entropy import Entropy, checked
from privacy.exact import UPWARD, float_at_least
from privacy.mechanisms.by_key.fpa import coefficients, column_sum, from_coefficients, reals
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts

_GRID = 1 << 10
"""It is measured in whole parts of a count, so that rounding costs next to nothing."""

_FLOAT_ERROR = 2.0**-6
"""Of counts made of at most 63 whole coefficients: 63^2 terms of 2^33 / d at most, each off by 2^-52 of it."""

_ENTRY_ERROR = 2.0**-18
"""Of the rounded basis per coefficient: two entries below 2 that are off by 2^-20 each, over d, times d changes."""


@dataclass(frozen=True)
class SmoothingBias:
    """The largest |c - s| over all keys, c a count and s what smoothing makes of it without noise; plus noise.

    The smoothing is public, or a function of what was released: means of groups, or the first frequencies. A unit
    changes at most `moved` counts, each by d in [-1, 1], and c - s by that of d.
    Groups of w: |d_i - mean d| <= (1 - 1/w) + (w - 1)/w < 2, and at most 1 where one count changes. It is taken in
    parts of 2^-10, rounded up from exact whole numbers, and the largest of several moves by no more than each may.
    Frequencies: the largest row sum of |I - P|, or `moved` times the largest entry, which is at most 1; the basis is
    rounded and the sums are floats, for which it is more by what stands above, and by one part as it is rounded up.
    epsilon-DP with discrete Laplace noise for that, in parts.

    Attributes:
      epsilon: what it may spend, > 0.
    """

    epsilon: Fraction

    def scale(self, n_keys: int, moved: int, frequencies: int) -> float:
        """Of the noise, in parts of 2^-10. Public."""
        return float_at_least(_sensitivity(n_keys, moved, frequencies) / self.epsilon)

    def added(self, n_keys: int, moved: int, frequencies: int, tail: float) -> float:
        """How far above the bias what is released lies in the middle of all draws, in counts. Public."""
        return quantile(self.scale(n_keys, moved, frequencies), tail) / _GRID

    def at_most(self, incidence: Incidence, smooth: NoisyCounts, tail: float, entropy: Entropy) -> float:
        """A released number that no key's bias exceeds, with probability 1 - `tail`; 0 where nothing is smoothed.

        Whether anything is smoothed is a function of what was released.

        Raises: EntropyFailed.
        """
        if not smooth.frequencies and smooth.group_size == 1:
            return 0.0
        scale = self.scale(incidence.n_keys, incidence.moved, smooth.frequencies)
        exactly = (
            _by_frequencies(incidence, smooth.frequencies) if smooth.frequencies else _by_groups(incidence, smooth)
        )
        noisy = exactly + int(checked(entropy.laplace(scale, 1), 1)[0])
        return max(0, noisy + quantile(scale, tail)) / _GRID


def quantile(scale: float, tail: float) -> int:
    """The least k >= 0 with P(Z > k) = a^(k + 1) / (1 + a) <= tail, Z discrete Laplace noise, a = e^(-1 / scale).

    >>> [quantile(scale, 0.025) for scale in (0.1, 1.0, 10.0)]
    [0, 3, 30]
    """
    beyond = -(math.log(tail) + math.log1p(math.exp(-1 / scale))) * scale * UPWARD
    return max(0, math.ceil(beyond) - 1)


def _sensitivity(n_keys: int, moved: int, frequencies: int) -> int:
    if not frequencies:
        return _GRID if moved == 1 else 2 * _GRID
    m = reals(n_keys, frequencies)
    exactly = 0.0 if m == n_keys else min(column_sum(frequencies, n_keys), float(moved))
    return math.ceil((exactly + m * _ENTRY_ERROR + 2 * _FLOAT_ERROR) * _GRID) + 1


def _by_groups(incidence: Incidence, smooth: NoisyCounts) -> int:
    """The largest bias in parts, rounded up, by whole numbers of 2^61 at most. Private."""
    sizes = np.bincount(smooth.group)
    sums = np.bincount(smooth.group, incidence.counts).astype(np.int64)
    size = sizes[smooth.group]
    off = np.abs(size * incidence.counts - sums[smooth.group]) * _GRID
    return int((-(-off // size)).max())


def _by_frequencies(incidence: Incidence, frequencies: int) -> int:
    m = reals(incidence.n_keys, frequencies)
    smooth = from_coefficients(coefficients(incidence.counts, m).astype(np.float64), incidence.n_keys)
    return math.ceil((float(np.abs(incidence.counts - smooth).max()) + _FLOAT_ERROR) * _GRID)
