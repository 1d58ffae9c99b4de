"""Long passes in pieces, so that they can be watched and stopped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.control import Control

_ENTRIES = 1 << 24
"""Owners that are read between two looks at the control: a tenth of a second."""


def slices(indptr: NDArray[np.int64], control: Control, stage: str) -> Iterator[tuple[int, int]]:
    """Ranges of tuples (first, last) that cover all, of at most 2^24 owners or one tuple each; at least one range.

    Args:
      indptr: (m + 1,) where the owners of each tuple begin.
    Raises: Cancelled, before a range.
    """
    m, last, step = len(indptr) - 1, 0, 0
    while step == 0 or last < m:
        control.check(stage, step)
        first, step = last, step + 1
        fitting = int(np.searchsorted(indptr, indptr[first] + _ENTRIES, side="right")) - 1
        last = min(m, max(first + 1, fitting))
        yield first, last
