"""Long passes in pieces, so that they can be watched and stopped."""

from __future__ import annotations

from collections.abc import Iterator

from privacy.truncation.control import Control

_ENTRIES = 1 << 24
"""Owners that are read between two looks at the control: a tenth of a second."""


def slices(m: int, width: int, control: Control, stage: str) -> Iterator[tuple[int, int]]:
    """Ranges of tuples (first, last) that cover [0, m), each of at most about 2^24 owners, and at least one range.

    Args:
      width: the largest number of owners of a tuple.
    Raises: Cancelled, before a range.
    """
    size = max(1, _ENTRIES // max(1, width))
    for step, first in enumerate(range(0, max(m, 1), size)):
        control.check(stage, step)
        yield first, min(m, first + size)
