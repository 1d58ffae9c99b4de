"""The group keys that a policy declares for a column: values, or a range and the step through it."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import islice

from sqlglot import exp

from planner.limits import MAX_GROUPS
from planner.policy.policy import ColumnPolicy
from planner.policy.toml_section import DomainValue
from planner.sql.calendar_steps import steps
from planner.sql.literals import number_sql
from planner.sql.result_types import day_key
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied


def declared_domain(declared: ColumnPolicy, kind: SqlType) -> tuple[DomainValue, ...] | None:
    """The values in order; None where nothing is declared, or more than MAX_GROUPS values would be.

    A boolean and an enum need no word of the policy. Whole numbers step from the range's low end, by 1 unless
    declared otherwise; dates need a step, since a range of dates alone says only how far they reach.
    """
    if declared.domain is not None:
        return declared.domain
    if kind.family is Family.BOOL:
        return (False, True)
    if kind.family is Family.ENUM:
        return kind.labels
    if kind.family is Family.INTEGER and declared.range is not None and not isinstance(declared.step, str):
        low, high = declared.range
        first, count = whole_steps(low, low, high, declared.step or 1)
        return whole_numbers(first, count, declared.step or 1) if count <= MAX_GROUPS else None
    if (
        kind.family in (Family.DATE, Family.TIMESTAMP)
        and declared.dates is not None
        and isinstance(declared.step, str)
    ):
        days = list(islice(steps(*declared.dates, declared.step), MAX_GROUPS + 1))
        return tuple(day_key(day, kind.family) for day in days) if len(days) <= MAX_GROUPS else None
    return None


def whole_steps(origin: float, low: float, high: float, step: int) -> tuple[int, int]:
    """The whole numbers from low to high on a grid: the first of them, and how many they are.

    Args:
      origin: a number of the grid, at most low.
      low, high: finite.
      step: between two neighbours of the grid, >= 1.

    >>> whole_steps(0, 3, 20, 5)
    (5, 4)
    """
    first = int(origin) + math.ceil((low - origin) / step) * step
    return first, max(0, math.floor((high - first) / step) + 1)


def whole_numbers(first: int, count: int, step: int) -> tuple[int, ...]:
    """So many whole numbers, in steps from the first."""
    return tuple(range(first, first + count * step, step))


def listed(values: tuple[DomainValue, ...], other: DomainValue | None) -> tuple[DomainValue, ...]:
    """The domain with its group for all other values, last unless it is one of them."""
    return values if other is None or other in values else (*values, other)


def with_other(key: exp.Expr, values: tuple[DomainValue, ...], other: DomainValue | None) -> exp.Expr:
    """SQL of the key, in which NULL and what is not in the domain become the other group.

    >>> with_other(exp.column("x"), ("a", "b"), "rest").sql("postgres")
    "CASE WHEN x IN ('a', 'b') THEN x ELSE 'rest' END"
    """
    if other is None:
        return key
    known = exp.In(this=copied(key), expressions=[_literal(value) for value in values])
    return exp.Case().when(known, copied(key), copy=False).else_(_literal(other), copy=False)


def _literal(value: DomainValue) -> exp.Expr:
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    return number_sql(Decimal(repr(value)))
