"""Compute with values and intervals. Every step is monotone, also in doubles, so intervals stay valid."""

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
    """Values of G groups. Truth values are 0 and 1; a text is its place among all texts.

    `low`, `high` and `may_be_null` hold where all released values lie within their own intervals.

    Attributes:
      value: (G,) float64, finite; 0 where NULL.
      null: (G,) is the value NULL?
      low, high: (G,) float64, bounds of the values that are not NULL; low > high where all are NULL.
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
        """(G,) whether each group's value may be something other than NULL."""
        return np.asarray(self.low <= self.high)


def column(value: Floats, null: Flags, low: Floats, high: Floats, may_be_null: Flags) -> Column:
    """Build a column from numbers that may have overflowed.

    Values beyond the range of a double become its ends, so no later value is infinite or NaN. An infinite end means
    an unbounded interval.

    Args:
      value: (G,) a number per group.
      null: (G,) is it NULL?
      low, high: (G,) the ends of its interval.
      may_be_null: (G,) can it be NULL without noise?
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
    """Build a column without noise: a group key, or a literal."""
    finite = np.clip(np.nan_to_num(np.where(null, 0.0, value), nan=LARGEST), -LARGEST, LARGEST)
    return column(finite, null, np.where(null, np.inf, finite), np.where(null, -np.inf, finite), null)


def null_column(n_groups: int) -> Column:
    """Build a column of NULLs."""
    return exactly(np.zeros(n_groups), np.ones(n_groups, np.bool_))


def truth(value: Flags, null: Flags, may_be_true: Flags, may_be_false: Flags, may_be_null: Flags) -> Column:
    """Build a column of truth values: 1 true, 0 false.

    Args:
      value: (G,) is the condition true?
      null: (G,) is it NULL?
      may_be_true, may_be_false, may_be_null: (G,) what it may be without noise.
    """
    low = np.where(may_be_false, 0.0, np.where(may_be_true, 1.0, np.inf))
    high = np.where(may_be_true, 1.0, np.where(may_be_false, 0.0, -np.inf))
    return column(value.astype(np.float64), null, low, high, may_be_null)


def together(columns: tuple[Column, ...]) -> tuple[Flags, Flags, Flags]:
    """Return (null, may be null, may be known) of an operator that is NULL where an argument is."""
    null, may_be_null = columns[0].null, columns[0].may_be_null
    known = columns[0].may_be_known
    for other in columns[1:]:
        null, may_be_null, known = null | other.null, may_be_null | other.may_be_null, known & other.may_be_known
    return null, may_be_null, known


def add(left: Column, right: Column) -> Column:
    """left + right, per group; the ends of the intervals are added."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _spread(
            (left, right), left.value + right.value, _below(left.low, right.low), _above(left.high, right.high)
        )


def subtract(left: Column, right: Column) -> Column:
    """left - right, per group; the far end of one meets the near end of the other."""
    return add(left, negate(right))


def negate(operand: Column) -> Column:
    """-operand, per group; its interval is reversed."""
    return _spread((operand,), -operand.value, -operand.high, -operand.low)


def multiply(left: Column, right: Column) -> Column:
    """left * right; the ends lie at the corners."""
    with np.errstate(over="ignore", invalid="ignore"):
        corners = [_times(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return _spread(
            (left, right), left.value * right.value, np.minimum.reduce(corners), np.maximum.reduce(corners)
        )


def divide(left: Column, right: Column) -> Column:
    """left / right; NULL where the denominator is zero, unbounded where its interval contains zero."""
    zero = right.value == 0.0
    crosses = (right.low <= 0.0) & (right.high >= 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # infinity / infinity is NaN: its corner may be anything between zero and the other corners
        corners = [np.nan_to_num(a / b, nan=0.0, posinf=np.inf, neginf=-np.inf)
                   for a in (left.low, left.high) for b in (right.low, right.high)]  # fmt: skip
        low = np.where(crosses, -np.inf, np.minimum.reduce(corners))
        high = np.where(crosses, np.inf, np.maximum.reduce(corners))
        value = np.where(zero, 0.0, left.value / np.where(zero, 1.0, right.value))
    null, may_be_null, known = together((left, right))
    always = (right.low == 0.0) & (right.high == 0.0)
    return _known(value, null | zero, low, high, may_be_null | crosses, known & ~always)


def absolute(operand: Column) -> Column:
    """|operand|, per group; its interval begins at 0 where the operand's contains 0."""
    ends = np.abs(operand.low), np.abs(operand.high)
    crosses = (operand.low <= 0.0) & (operand.high >= 0.0)
    return _spread((operand,), np.abs(operand.value), np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends))


def around(products: Column, x: Column, y: Column, count: Column) -> Column:
    """Return the sum of products around the means: products - x y / count; NULL without rows.

    Args:
      products, x, y, count: per group, the sum of products, of either factor, and the number of rows.
    """
    return subtract(products, multiply(x, divide(y, count)))


def within(operand: Column, low: Column, high: Column) -> Column:
    """Move values to the nearest end of a range that holds the truth. NULL stays NULL.

    The interval is the intersection with the range, or the range where that is empty.
    """
    value = np.clip(operand.value, low.value, high.value)
    apart = (operand.high < low.value) | (operand.low > high.value)
    null, may_be_null, known = together((operand, low, high))
    lower = np.where(apart, low.value, np.maximum(operand.low, low.value))
    upper = np.where(apart, high.value, np.minimum(operand.high, high.value))
    return _known(value, null, lower, upper, may_be_null, known)


def square_root(operand: Column) -> Column:
    """The square root; NULL for negative numbers."""
    value, low, high = (np.sqrt(np.maximum(part, 0.0)) for part in (operand.value, operand.low, operand.high))
    null, may_be_null, known = together((operand,))
    negative = operand.value < 0.0
    return _known(value, null | negative, low, high, may_be_null | (operand.low < 0.0), known & (operand.high >= 0.0))


def rounded(operand: Column, digits: int) -> Column:
    """Round to decimal places, or to a power of ten for negative `digits`; ties go to even."""
    return _spread((operand,), *(_round(part, digits) for part in (operand.value, operand.low, operand.high)))


def whole(operand: Column) -> Column:
    """Round to a whole number, and its interval outward."""
    return _spread((operand,), np.rint(operand.value), np.floor(operand.low), np.ceil(operand.high))


def greatest(*operands: Column) -> Column:
    """The largest value that is not NULL, as in PostgreSQL and DuckDB."""
    value = np.max([np.where(one.null, -np.inf, one.value) for one in operands], axis=0)
    sure = [np.where(one.may_be_null, -np.inf, one.low) for one in operands]
    least_known = np.min([one.low for one in operands], axis=0)
    floor = np.max(sure, axis=0)
    high = np.max([one.high for one in operands], axis=0)  # -inf where NULL
    may_be_null = np.logical_and.reduce([one.may_be_null for one in operands])
    null = np.logical_and.reduce([one.null for one in operands])
    return _known(value, null, np.maximum(floor, least_known), high, may_be_null, high > -np.inf)


def least(*operands: Column) -> Column:
    """The smallest value that is not NULL."""
    return negate(greatest(*map(negate, operands)))


def _spread(operands: tuple[Column, ...], value: Floats, low: Floats, high: Floats) -> Column:
    """Build the result of an operator that is NULL exactly where an operand is."""
    null, may_be_null, known = together(operands)
    return _known(value, null, low, high, may_be_null, known)


def _known(value: Floats, null: Flags, low: Floats, high: Floats, may_be_null: Flags, known: Flags) -> Column:
    """Build a column with an empty interval where no value is possible."""
    return column(value, null, np.where(known, low, np.inf), np.where(known, high, -np.inf), may_be_null)


def _below(left: Floats, right: Floats) -> Floats:
    """Add two lower ends; unbounded if one is."""
    return np.where(np.isneginf(left) | np.isneginf(right), -np.inf, left + right)


def _above(left: Floats, right: Floats) -> Floats:
    """Add two upper ends; unbounded if one is."""
    return np.where(np.isposinf(left) | np.isposinf(right), np.inf, left + right)


def _times(left: Floats, right: Floats) -> Floats:
    """Multiply two ends. Zero times an unbounded end is zero, because all values are finite."""
    return np.where((left == 0.0) | (right == 0.0), 0.0, left * right)


def _round(numbers: Floats, digits: int) -> Floats:
    if digits == 0:
        return np.rint(numbers)
    scale = 10.0 ** abs(digits)
    with np.errstate(over="ignore", invalid="ignore"):
        if digits < 0:
            return np.rint(numbers / scale) * scale
        scaled = numbers * scale
        return np.where(
            np.isfinite(scaled), np.rint(scaled) / scale, numbers
        )  # such large numbers have no decimal places


def equal(left: Column, right: Column) -> Column:
    """left = right, per group, NULL where either is."""
    overlap = (left.low <= right.high) & (right.low <= left.high)
    same = (left.low == left.high) & (right.low == right.high) & (left.low == right.low)
    return _compared(left, right, left.value == right.value, overlap, ~same)


def less(left: Column, right: Column) -> Column:
    """left < right, per group, NULL where either is."""
    return _compared(left, right, left.value < right.value, left.low < right.high, left.high >= right.low)


def negated(operand: Column) -> Column:
    """NOT operand, per group; NULL stays NULL."""
    known = operand.may_be_known
    return column(
        value=np.where(operand.null, 0.0, 1.0 - operand.value),
        null=operand.null,
        low=np.where(known, 1.0 - operand.high, np.inf),
        high=np.where(known, 1.0 - operand.low, -np.inf),
        may_be_null=operand.may_be_null,
    )


def both(*operands: Column) -> Column:
    """AND: false where one is false, else NULL where one is NULL."""
    result = operands[0]
    for other in operands[1:]:
        false = _is_false(result) | _is_false(other)
        result = truth(
            value=_is_true(result) & _is_true(other),
            null=(result.null | other.null) & ~false,
            may_be_true=_may_be_true(result) & _may_be_true(other),
            may_be_false=_may_be_false(result) | _may_be_false(other),
            may_be_null=result.may_be_null | other.may_be_null,
        )
    return result


def either(*operands: Column) -> Column:
    """OR of conditions, per group: true where one is, NULL where none is true and one is NULL."""
    return negated(both(*map(negated, operands)))


def is_null(operand: Column) -> Column:
    """operand IS NULL, per group; never NULL itself."""
    never = np.zeros(len(operand), np.bool_)
    return truth(operand.null, never, operand.may_be_null, operand.may_be_known, never)


def surely(operand: Column) -> Column:
    """Does the operand's whole interval lie above 0, per group; never NULL itself?"""
    never = np.zeros(len(operand), np.bool_)
    sure = np.asarray(operand.may_be_known & (operand.low > 0) & ~operand.may_be_null)
    return truth(sure, never, np.asarray(operand.high > 0), ~sure, never)


def case(*arguments: Column) -> Column:
    """CASE: condition, value, condition, value, ..., default."""
    chooser = _Chooser(len(arguments[0]))
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        chooser.choose(
            value,
            where=_is_true(condition),
            possibly=_may_be_true(condition),
            else_possibly=_may_be_false(condition) | condition.may_be_null,
        )
    return chooser.otherwise(arguments[-1])


def coalesce(*operands: Column) -> Column:
    """The first that is not NULL."""
    chooser = _Chooser(len(operands[0]))
    for operand in operands:
        chooser.choose(
            _if_known(operand),
            where=~operand.null,
            possibly=operand.may_be_known,
            else_possibly=operand.may_be_null,
        )
    return chooser.otherwise(null_column(len(operands[0])))


def nullif(left: Column, right: Column) -> Column:
    """NULL where left = right, else left."""
    same = equal(left, right)
    always = ~_may_be_false(same) & ~same.may_be_null
    return column(
        value=left.value,
        null=left.null | _is_true(same),
        low=np.where(always, np.inf, left.low),
        high=np.where(always, -np.inf, left.high),
        may_be_null=left.may_be_null | _may_be_true(same),
    )


class _Chooser:
    """Take each group's value from the first choice that applies, and its interval from all that may."""

    def __init__(self, n_groups: int) -> None:
        self._open = np.ones(n_groups, np.bool_)
        self._reachable = np.ones(n_groups, np.bool_)
        self._result = null_column(n_groups)
        self._may_be_null = np.zeros(n_groups, np.bool_)

    def choose(self, value: Column, *, where: Flags, possibly: Flags, else_possibly: Flags) -> None:
        """Offer a value to the groups that have none yet."""
        taken, may = self._open & where, self._reachable & possibly
        result = self._result
        self._may_be_null |= may & value.may_be_null
        self._result = Column(
            value=np.where(taken, value.value, result.value),
            null=np.where(taken, value.null, result.null),
            low=np.where(may, np.minimum(result.low, value.low), result.low),
            high=np.where(may, np.maximum(result.high, value.high), result.high),
            may_be_null=self._may_be_null,
        )
        self._open &= ~where
        self._reachable &= else_possibly

    def otherwise(self, value: Column) -> Column:
        """Apply the ELSE of a CASE to the groups that no WHEN has taken, and return the whole CASE."""
        everywhere = np.ones(len(value), np.bool_)
        self.choose(value, where=everywhere, possibly=everywhere, else_possibly=~everywhere)
        last = self._result
        return column(last.value, last.null, last.low, last.high, self._may_be_null)


def _if_known(operand: Column) -> Column:
    """Return the operand where it is not NULL."""
    never = np.zeros(len(operand), np.bool_)
    return Column(operand.value, never, operand.low, operand.high, never)


def _compared(left: Column, right: Column, value: Flags, may_be_true: Flags, may_be_false: Flags) -> Column:
    null, may_be_null, known = together((left, right))
    return truth(value & ~null, null, may_be_true & known, may_be_false & known, may_be_null)


def _is_true(operand: Column) -> Flags:
    return np.asarray(~operand.null & (operand.value != 0.0))


def _is_false(operand: Column) -> Flags:
    return np.asarray(~operand.null & (operand.value == 0.0))


def _may_be_true(operand: Column) -> Flags:
    return np.asarray(operand.high >= 1.0)  # -inf where it can only be NULL


def _may_be_false(operand: Column) -> Flags:
    return np.asarray(operand.low <= 0.0)
