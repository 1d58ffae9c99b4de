"""One value per group with an interval that contains it: what every step of post-processing takes and gives."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LARGEST = sys.float_info.max


@dataclass(frozen=True, eq=False)
class Column:
    """Values of G groups; truths are 0 and 1, texts are their places in the order of all texts.

    `low`, `high` and `may_be_null` hold wherever the released values lie within their own intervals.

    Attributes:
      value: (G,) float64, finite; 0 where NULL.
      null: (G,) is the value NULL?
      low, high: (G,) float64, the values that are not NULL lie between them; low > high where all are NULL.
      may_be_null: (G,) can it be NULL?
    """

    value: Floats
    null: Flags
    low: Floats
    high: Floats
    may_be_null: Flags

    def __len__(self) -> int:
        return len(self.value)

    @property
    def may_be_known(self) -> Flags:
        """(G,) can it be a value?"""
        return np.asarray(self.low <= self.high)


def column(value: Floats, null: Flags, low: Floats, high: Floats, may_be_null: Flags) -> Column:
    """A column from numbers that may have overflowed.

    Values beyond the range of a double become its ends, so that no later step meets an infinity or NaN in a value;
    an infinite end says that the interval is unbounded.

    Args:
      value: (G,) a number per group.
      null: (G,) is it NULL?
      low, high: (G,) the ends of its interval.
      may_be_null: (G,) might it be NULL without the noise?
    """
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    empty = low > high
    value = np.clip(np.where(null, 0.0, value), -LARGEST, LARGEST)
    return Column(
        value=value,
        null=null,
        low=np.where(empty, np.inf, np.minimum(low, LARGEST)),
        high=np.where(empty, -np.inf, np.maximum(high, -LARGEST)),
        may_be_null=may_be_null | null,
    )


def exactly(value: Floats, null: Flags) -> Column:
    """What is known without noise: a group key, or a literal."""
    finite = np.clip(np.nan_to_num(np.where(null, 0.0, value), nan=LARGEST), -LARGEST, LARGEST)
    return column(finite, null, np.where(null, np.inf, finite), np.where(null, -np.inf, finite), null)


def null_column(n_groups: int) -> Column:
    """NULL in every group."""
    return exactly(np.zeros(n_groups), np.ones(n_groups, np.bool_))


def truth(value: Flags, null: Flags, may_be_true: Flags, may_be_false: Flags, may_be_null: Flags) -> Column:
    """A condition in three values as a column: 1 true, 0 false, and what else each group's might be.

    Args:
      value: (G,) is the condition true?
      null: (G,) is it NULL?
      may_be_true, may_be_false, may_be_null: (G,) what it might be without the noise.
    """
    low = np.where(may_be_false, 0.0, np.where(may_be_true, 1.0, np.inf))
    high = np.where(may_be_true, 1.0, np.where(may_be_false, 0.0, -np.inf))
    return column(value.astype(np.float64), null, low, high, may_be_null)


def together(columns: tuple[Column, ...]) -> tuple[Flags, Flags, Flags]:
    """NULL spreads: (null, may be null, may be known) of an operator that is NULL where any argument is."""
    null, may_be_null = columns[0].null, columns[0].may_be_null
    known = columns[0].may_be_known
    for other in columns[1:]:
        null, may_be_null, known = null | other.null, may_be_null | other.may_be_null, known & other.may_be_known
    return null, may_be_null, known
