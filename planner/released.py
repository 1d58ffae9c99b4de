"""Arithmetic over released values: post-processing, so none of it can cost privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Constant = str | int | float | bool | None

Operator = Literal[
    "+", "-", "*", "/", "negate", "abs", "round", "coalesce", "nullif", "greatest", "least",
    "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "is null", "case",
]  # fmt: skip
"""What may be done with released values. `/` by zero gives NULL; NULL spreads as in SQL.

`case` takes condition, value, condition, value, ..., default. `round` takes a value and a number of digits.
"""


@dataclass(frozen=True)
class ReleasedValue:
    """The noisy value of Plan.releases[release], in the answer's unit (weight times weight_bound)."""

    release: int


@dataclass(frozen=True)
class KeyValue:
    """The group's value of Plan.group_keys[key]."""

    key: int


@dataclass(frozen=True)
class Given:
    """A literal of the statement."""

    value: Constant


@dataclass(frozen=True)
class Apply:
    """An operator over its arguments."""

    operator: Operator
    arguments: tuple[ReleasedExpression, ...]


ReleasedExpression = ReleasedValue | KeyValue | Given | Apply


@dataclass(frozen=True)
class SortKey:
    """One key of ORDER BY over released rows; NULLs come last, as in PostgreSQL, unless `nulls_first`."""

    expression: ReleasedExpression
    descending: bool = False
    nulls_first: bool = False


def substitute(expression: ReleasedExpression, values: Sequence[ReleasedExpression]) -> ReleasedExpression:
    """The expression with values[i] in place of ReleasedValue(i).

    >>> substitute(Apply("negate", (ReleasedValue(1),)), [ReleasedValue(0), Given(2)])
    Apply(operator='negate', arguments=(Given(value=2),))
    """
    if isinstance(expression, ReleasedValue):
        return values[expression.release]
    if isinstance(expression, Apply):
        return Apply(expression.operator, tuple(substitute(part, values) for part in expression.arguments))
    return expression
