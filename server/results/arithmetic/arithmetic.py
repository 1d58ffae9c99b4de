"""Numbers with intervals. Every step is monotone, as doubles round too, so an interval contains what it should."""

from __future__ import annotations

import numpy as np

from server.results.arithmetic.column import Column, Flags, Floats, column, together


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
    """-operand, per group; its interval is turned round."""
    return _spread((operand,), -operand.value, -operand.high, -operand.low)


def multiply(left: Column, right: Column) -> Column:
    """left * right: the ends lie at the corners."""
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
        # infinity over infinity is NaN; its corner stands for anything from zero to the other corners
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
    """The sum of products around the means, from that around 0: products - x y / count; NULL of no rows.

    Args:
      products, x, y, count: per group, the sum of products, of either factor, and the number of rows.
    """
    return subtract(products, multiply(x, divide(y, count)))


def within(operand: Column, low: Column, high: Column) -> Column:
    """The operand, moved to the nearest end of a range that holds the truth; NULL where it is.

    The interval is what it has in common with the range, or the range where they have nothing in common.
    """
    value = np.clip(operand.value, low.value, high.value)
    apart = (operand.high < low.value) | (operand.low > high.value)
    null, may_be_null, known = together((operand, low, high))
    lower = np.where(apart, low.value, np.maximum(operand.low, low.value))
    upper = np.where(apart, high.value, np.minimum(operand.high, high.value))
    return _known(value, null, lower, upper, may_be_null, known)


def square_root(operand: Column) -> Column:
    """The root of what is not negative; of a negative number NULL."""
    value, low, high = (np.sqrt(np.maximum(part, 0.0)) for part in (operand.value, operand.low, operand.high))
    null, may_be_null, known = together((operand,))
    negative = operand.value < 0.0
    return _known(value, null | negative, low, high, may_be_null | (operand.low < 0.0), known & (operand.high >= 0.0))


def rounded(operand: Column, digits: int) -> Column:
    """To so many decimal places, or to a power of ten when `digits` is negative; ties go to even."""
    return _spread((operand,), *(_round(part, digits) for part in (operand.value, operand.low, operand.high)))


def whole(operand: Column) -> Column:
    """To a whole number, the interval outward: it still contains what was not rounded."""
    return _spread((operand,), np.rint(operand.value), np.floor(operand.low), np.ceil(operand.high))


def greatest(*operands: Column) -> Column:
    """The largest that is not NULL, as in PostgreSQL and DuckDB."""
    value = np.max([np.where(one.null, -np.inf, one.value) for one in operands], axis=0)
    sure = [np.where(one.may_be_null, -np.inf, one.low) for one in operands]
    least_known = np.min([one.low for one in operands], axis=0)
    floor = np.max(sure, axis=0)
    high = np.max([one.high for one in operands], axis=0)  # -inf where NULL
    may_be_null = np.logical_and.reduce([one.may_be_null for one in operands])
    null = np.logical_and.reduce([one.null for one in operands])
    return _known(value, null, np.maximum(floor, least_known), high, may_be_null, high > -np.inf)


def least(*operands: Column) -> Column:
    """The smallest that is not NULL."""
    return negate(greatest(*map(negate, operands)))


def _spread(operands: tuple[Column, ...], value: Floats, low: Floats, high: Floats) -> Column:
    """An operator that is NULL exactly where an operand is."""
    null, may_be_null, known = together(operands)
    return _known(value, null, low, high, may_be_null, known)


def _known(value: Floats, null: Flags, low: Floats, high: Floats, may_be_null: Flags, known: Flags) -> Column:
    """A column whose interval is empty where nothing can be known."""
    return column(value, null, np.where(known, low, np.inf), np.where(known, high, -np.inf), may_be_null)


def _below(left: Floats, right: Floats) -> Floats:
    """The sum of two lower ends, unbounded if one is."""
    return np.where(np.isneginf(left) | np.isneginf(right), -np.inf, left + right)


def _above(left: Floats, right: Floats) -> Floats:
    """The sum of two upper ends, unbounded if one is."""
    return np.where(np.isposinf(left) | np.isposinf(right), np.inf, left + right)


def _times(left: Floats, right: Floats) -> Floats:
    """A corner: zero times an end that is unbounded is zero, since each value within is finite."""
    return np.where((left == 0.0) | (right == 0.0), 0.0, left * right)


def _round(numbers: Floats, digits: int) -> Floats:
    if digits == 0:
        return np.rint(numbers)
    scale = 10.0 ** abs(digits)
    with np.errstate(over="ignore", invalid="ignore"):
        if digits < 0:
            return np.rint(numbers / scale) * scale
        scaled = numbers * scale
        return np.where(np.isfinite(scaled), np.rint(scaled) / scale, numbers)  # so large a number has no places
