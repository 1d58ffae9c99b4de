"""What is known of fbar before any program is solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.units import MAX_UNITS


@dataclass(frozen=True, eq=False, repr=False)
class StartingBounds:
    """Bounds for every group and threshold, and how far fbar is proportional to tau.

    Attributes:
      lower, upper: (G, L) int64 units, lower <= min(fbar, MAX_UNITS) <= upper.
      linear: (G,) index of the largest threshold up to which fbar is proportional to tau, -1 if unknown; known only
        where thresholds double, so that a value is scaled down by a shift.
    """

    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    linear: NDArray[np.int64]

    def spread(self, doubling: bool = True) -> StartingBounds:
        """Tighten every threshold by its neighbours, in place.

        fbar grows with tau and, being concave with fbar(0) = 0, at most doubles when tau doubles; exactly
        doubles up to `linear`.

        Args:
          doubling: each threshold is twice the one before; otherwise fbar grows, and `linear` is forgotten.
        """
        lower, upper = self.lower, self.upper
        if not doubling:
            self.linear[:] = -1
            np.maximum.accumulate(lower, axis=1, out=lower)
            upper[:] = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
            return self
        for column in range(lower.shape[1] - 2, -1, -1):
            above = upper[:, column + 1]
            halved = np.where(column < self.linear, above - (above >> 1), above)
            np.maximum(lower[:, column], lower[:, column + 1] >> 1, out=lower[:, column])
            np.minimum(upper[:, column], halved, out=upper[:, column])
        for column in range(1, lower.shape[1]):
            np.maximum(lower[:, column], lower[:, column - 1], out=lower[:, column])
            doubled = np.minimum(upper[:, column - 1], MAX_UNITS >> 1) << 1
            np.minimum(upper[:, column], doubled, out=upper[:, column])
        return self

    def __repr__(self) -> str:
        return "StartingBounds(<private>)"
