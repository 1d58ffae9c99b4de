"""Arithmetic in [0, MAX_UNITS] that stops at the upper end instead of wrapping around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.units import MAX_UNITS


def saturating_add(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """min(MAX_UNITS, left + right) for summands in [0, MAX_UNITS]."""
    return np.minimum(left, MAX_UNITS - right) + right
