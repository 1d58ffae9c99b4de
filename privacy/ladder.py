"""The thresholds that a mechanism chooses from: public, fixed before any data is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.units import WEIGHT_BITS


@dataclass(frozen=True)
class Ladder:
    """Powers of two from 2**low to 2**high, in normalised weight.

    Attributes:
      low: exponent of the smallest threshold, >= -20.
      high: exponent of the largest threshold, <= 32 (where loads saturate).
    """

    low: int = -20
    high: int = 32

    def __post_init__(self) -> None:
        if not -20 <= self.low <= self.high <= 32:
            raise InvalidParameter("a ladder runs from 2^-20 at the least to 2^32 at the most")

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """(L,) int64 thresholds in units of 2^-30, ascending."""
        return np.int64(1) << np.arange(self.low + WEIGHT_BITS, self.high + WEIGHT_BITS + 1, dtype=np.int64)

    @property
    def taus(self) -> NDArray[np.float64]:
        """(L,) float64 thresholds in normalised weight, ascending; exact."""
        return np.ldexp(1.0, np.arange(self.low, self.high + 1))

    def __len__(self) -> int:
        return self.high - self.low + 1
