"""Noisy counts by key, each that of its group of keys: the release that LPA, GS-R, GS-S and GS share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import float_at_least
from privacy.mechanisms.by_key.incidence import Incidence


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """One count per key. Every field is safe to publish.

    Attributes:
      values: (n_keys,) float64.
      noise_scale: (n_keys,) float64, the scale of Laplace noise in each, for sums of noise that of the same
        variance; what smoothing changes is no noise.
      group: (n_keys,) int64, the group of each key; keys of one group have one value.
      group_size: w; the last group is larger by what is left over.
      mechanism: its name.
      epsilon: what all counts together spent.
      frequencies: how many Fourier frequencies the values are made of; 0 where they are means of groups.
    """

    values: NDArray[np.float64]
    noise_scale: NDArray[np.float64]
    group: NDArray[np.int64]
    group_size: int
    mechanism: str
    epsilon: float
    frequencies: int = 0


def equal_groups(order: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """(n_keys,) groups of `size` keys that follow one another in an order; the last has what is left over as well.

    Raises: InvalidParameter for a size out of [1, n_keys].
    """
    if not 1 <= size <= len(order):
        raise InvalidParameter("a group has at least one key and no more than there are")
    group = np.empty(len(order), np.int64)
    group[order] = np.minimum(np.arange(len(order)) // size, len(order) // size - 1)
    return group


def noise_scale(moved: int, epsilon: Fraction) -> float:
    """Laplace noise that hides `moved`, in counts, rounded up."""
    return float_at_least(moved / epsilon)


def noisy(counts: NDArray[np.int64], moved: int, epsilon: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Counts plus discrete Laplace noise, epsilon-DP where neighbours differ by `moved` in L1.

    Raises: EntropyFailed.
    """
    return counts + checked(entropy.laplace(noise_scale(moved, epsilon), len(counts)), len(counts))


def smoothed(
    incidence: Incidence,
    group: NDArray[np.int64],
    epsilon: Fraction,
    entropy: Entropy,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of each key's group, with noise on the group's whole sum, and the noise scale of that mean.

    The sums of disjoint groups move by no more in L1 than the counts do, whatever the groups are, and the sum of all
    by L0, as a unit is counted at so many keys at most. So integer noise of scale moved / epsilon on each sum is
    epsilon-DP; dividing by the public size of the group is post-processing. It is the noise of the papers on
    averages, moved / (epsilon w), without real numbers, and less for the last group.

    Args:
      group: (n_keys,), public, or a function of an earlier release.
    Raises: EntropyFailed.
    """
    sizes = np.bincount(group)
    moved = incidence.most if len(sizes) == 1 else incidence.moved
    sums = np.bincount(group, incidence.counts).astype(np.int64)  # sums of whole numbers below 2^53 are exact
    means = noisy(sums, moved, epsilon, entropy) / sizes
    return means[group], (noise_scale(moved, epsilon) / sizes)[group]
