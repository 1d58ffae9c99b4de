"""How many keys a group of GS may have, and the paper's choice among them, from a noisy sample alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def candidate_sizes(n_keys: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 11, ... and n_keys: steps of sqrt(2), where the paper tries all sizes."""
    steps = {round(2 ** (step / 2)) for step in range(2 * n_keys.bit_length())}
    return sorted(size for size in {1, n_keys, *steps} if size == n_keys or 2 * size <= n_keys)


def size_as_published(ordered_sample: NDArray[np.float64], most: int, noise_scale: float) -> int:
    """The size with the least estimated error, were the counts L0 times the noisy sample.

    The mean of |noise| takes the place of noise that the paper draws to simulate. It is a poor estimate of the error:
    L0 times the sample overestimates counts of units at fewer keys, and its noise, sorted, looks like counts that
    differ. So it mostly finds small groups. `smoothing_choice` is what replaces it.
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


def group_sizes(keys: int, size: int) -> NDArray[np.int64]:
    """(groups,) how many keys each group of `equal_groups` has, in their order: the last has what is left over."""
    sizes = np.full(keys // size, size, np.int64)
    sizes[-1] += keys % size
    return sizes


def own_means(ordered: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(keys,) the mean of each one's group, of numbers whose groups follow one another."""
    return np.repeat(np.add.reduceat(ordered, np.cumsum(sizes) - sizes) / sizes, sizes)
