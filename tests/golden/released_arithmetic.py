"""Arithmetic over released values in exact fractions: what the answer would be without noise.

Written from planner/released_expression.py alone, so that it can disagree with the server's own arithmetic.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from planner.released_expression import Apply, Given, KeyValue, ReleasedExpression, ReleasedValue

Value = str | bool | date | Fraction | None
"""A cell; every number is a fraction."""

_ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def plain(value: object) -> Value:
    """A database's or a policy's value: numbers as fractions, text without the blanks that pad char(n)."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal | Fraction):
        return Fraction(value)
    return value.rstrip() if isinstance(value, str) else str(value)


def evaluate(expression: ReleasedExpression, released: Sequence[Fraction], keys: Sequence[Value]) -> Value:
    """The value in one group.

    Args:
      expression: from Plan.display.
      released: per release of the plan, its value in the answer's own unit.
      keys: the group's keys.
    """
    if isinstance(expression, ReleasedValue):
        return released[expression.release]
    if isinstance(expression, KeyValue):
        return keys[expression.key]
    if isinstance(expression, Given):
        return plain(expression.value)
    assert isinstance(expression, Apply), "of one row"
    return _apply(expression, [evaluate(argument, released, keys) for argument in expression.arguments])


def _apply(expression: Apply, values: list[Value]) -> Value:
    name = expression.operator
    if name == "case":
        pairs = zip(values[:-1:2], values[1::2], strict=True)
        return next((value for condition, value in pairs if condition is True), values[-1])
    if name == "coalesce":
        return next((value for value in values if value is not None), None)
    if name == "is null":
        return values[0] is None
    if name == "surely":
        return values[0] is not None and _numbers(values)[0] > 0
    if name in ("and", "or"):
        decisive = name == "or"
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if name == "nullif":
        return None if values[0] == values[1] else values[0]
    if name in ("greatest", "least"):
        known = _numbers([value for value in values if value is not None])
        return (max if name == "greatest" else min)(known) if known else None
    if None in values:
        return None
    return _strict(name, values)


def _strict(name: str, values: list[Value]) -> Value:
    """The operators of which one NULL makes NULL."""
    if name == "not":
        return not values[0]
    if name in _COMPARISONS:
        return _COMPARISONS[name](*values)
    numbers = _numbers(values)
    if name in _ARITHMETIC:
        return _ARITHMETIC[name](*numbers)
    if name == "/":
        return numbers[0] / numbers[1] if numbers[1] else None
    if name == "negate":
        return -numbers[0]
    if name == "around":
        products, x, y, count = numbers
        return products - x * y / count if count else None
    if name == "within":
        return min(max(numbers[0], numbers[1]), numbers[2])
    if name == "sqrt":
        return Fraction(math.sqrt(numbers[0])) if numbers[0] >= 0 else None
    if name == "abs":
        return abs(numbers[0])
    assert name == "round", name
    return Fraction(round(numbers[0], int(numbers[1]) if len(numbers) > 1 else 0))


def _numbers(values: Sequence[Value]) -> list[Fraction]:
    assert all(isinstance(value, Fraction) for value in values)
    return [value for value in values if isinstance(value, Fraction)]
