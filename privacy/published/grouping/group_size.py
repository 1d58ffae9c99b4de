"""How many keys a group of GS has: a choice among noisy numbers, which is post-processing."""

from __future__ import annotations

import math

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
    differ. So it mostly finds small groups.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.3, figure 6.

    Args:
      ordered_sample: (n_keys,) the noisy counts of the sample in their order.
      most: L0.
      noise_scale: of the release in a group of one key.
    """
    estimate = ordered_sample * most
    keys = len(estimate)

    def error(size: int) -> float:
        spread = np.abs(estimate - _own_means(estimate, size)).mean()
        return float(spread) + noise_scale * (keys // size) / keys

    return min(candidate_sizes(keys), key=error)


def size_by_bounds(
    ordered: NDArray[np.float64] | None, total: float, keys: int, variance: float, noise_scale: float
) -> int:
    """The size whose mean absolute error is bounded lowest, from noise that has no part in the order.

    With size 1 nothing is smoothed and the error is that of the noise. Else two bounds on what smoothing adds:

    * Counts are not negative, so those of a group of n are off their mean by at most 2 (1 - 1/n) of their sum in
      all. Of all groups that is 2 (1 - 1/w) of the total, whose noise is small beside it.
    * By Jensen the mean deviation is at most the root of the mean square. The sum of squares around the means of
      groups, less what noise of that variance adds, estimates it without bias, since the order depends on other
      noise; two standard deviations of it are added.

    The larger the noise the more the first decides, the smaller the more the second.

    Args:
      ordered: (keys,) noisy counts in the order of the grouping; None leaves the second bound out.
      total: the noisy sum of all counts.
      variance: of the noise in `ordered`.
      noise_scale: of the release in a group of one key.
    """
    mean = max(0.0, total) / keys

    def error(size: int) -> float:
        if size == 1:
            return noise_scale
        smoothing = 2 * (1 - 1 / size) * mean
        if ordered is not None:
            freedom = keys - keys // size
            squares = float(((ordered - _own_means(ordered, size)) ** 2).sum()) - freedom * variance
            # Laplace noise has a fourth moment of 6 variances squared: a square around a mean varies by 5 of them.
            most = squares + 2 * math.sqrt(5 * freedom) * variance
            smoothing = min(smoothing, math.sqrt(max(0.0, most) / keys))
        return smoothing + noise_scale * (keys // size) / keys

    return min(candidate_sizes(keys), key=error)


def _own_means(ordered: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """(keys,) the mean of each one's group: `equal_groups` of keys that stand in order."""
    groups = len(ordered) // size
    starts = np.arange(groups) * size
    sizes = np.diff(starts, append=len(ordered))
    return np.repeat(np.add.reduceat(ordered, starts) / sizes, sizes)
