"""Rows that belong to no group, because a key's column is outside of its declared range.

The policy and the catalog decide it, not the rows.
"""

from __future__ import annotations

import math
from collections.abc import Set
from datetime import date
from decimal import Decimal

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.expressions.column_ranges import known_where, literal_number
from planner.expressions.datetimes import ALWAYS
from planner.expressions.scalar import Span
from planner.group_domains.column_values import listed_literals
from planner.group_domains.day_conditions import days_left
from planner.group_domains.key_sources import ColumnSources, ColumnValues, KeySources
from planner.sql.literals import moment, moment_sql, number_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import (
    ColumnRef,
    around,
    cast_sql,
    children,
    column_ref,
    columns_of,
    computed_from,
    copied,
    holds,
)


def rows_in_groups(key: BoundKey, sources: KeySources) -> tuple[exp.Expr, ...]:
    """The conditions for a row to have a group: the columns that its key is computed from are in range.

    Keys are computed from clamped numbers, and from datetimes that are NULL beyond their range. Without a condition,
    a row beyond it would be in the first, last or NULL group, or in any group of `x % 5`. A key that is a column
    needs no condition, since its values are compared with the declared ones.
    """
    if isinstance(key.value, exp.Column):
        return ()
    found: dict[ColumnRef, exp.Expr] = {}
    for column in computed_from(key.written):
        ref = column_ref(column)
        texts = bool(sources.declared(ref).forms)  # read as NULL beyond the range
        if sources.rows(ref[0]) is None and not sources.is_per_person(ref) and not texts:
            condition = _within(column, sources.type_of(ref), numbers_beyond(ref, sources), days_beyond(ref, sources))
            if condition is not None:
                found[ref] = condition
    return tuple(found.values())


def tells_apart_beyond(key: BoundKey, sources: KeySources) -> bool:
    """May a row beyond a range have a group of its own, as with the condition `d > '2030-01-01'`?

    Not if values are compared with literals within the range: then its ends represent all values beyond.
    """
    computed = set(map(column_ref, computed_from(key.written)))
    for column in columns_of(key.value):
        ref = column_ref(column)
        seen = ref not in computed and sources.rows(ref[0]) is None and not sources.is_per_person(ref)
        if seen and not all(_is_inside(ref, part, sources) for part in _compared_with(column)):
            return True
    return False


def _compared_with(column: exp.Column) -> list[exp.Expr]:
    """The other sides of a column's condition, without NULL; the column itself if it is in no condition."""
    above = around(column, exp.Paren)
    if not isinstance(above, exp.Predicate):
        return [column]
    sides = [part.unnest() for part in children(above)]
    return [part for part in sides if part is not column and not isinstance(part, exp.Null)]


def _is_inside(column: ColumnRef, value: exp.Expr, sources: KeySources) -> bool:
    """Is it a literal within the column's range, or can the column not be beyond it?"""
    numbers, days = numbers_beyond(column, sources), days_beyond(column, sources)
    if numbers is not None:
        number = literal_number(value)
        return number is not None and numbers[0] < number < numbers[1]
    if days is not None:
        found = moment(value)
        return found is not None and days[0] < date(found.year, found.month, found.day) < days[1]
    return True


def numbers_beyond(column: ColumnRef, sources: KeySources) -> tuple[float, float] | None:
    """The declared range of a number, if conditions allow values outside of it."""
    declared = sources.declared(column).range
    if declared is None or not sources.type_of(column).is_number:
        return None
    low, high = -math.inf, math.inf
    for condition in sources.query.predicates:
        for interval in known_where(condition, lambda name: name, {}).get(column, ()):
            low = low if interval.lo is None else max(low, float(interval.lo))
            high = high if interval.hi is None else min(high, float(interval.hi))
    return None if declared[0] <= low and high <= declared[1] else declared


def days_beyond(column: ColumnRef, sources: KeySources) -> Span | None:
    """The declared range of a datetime, if conditions allow values outside of it."""
    declared = sources.declared(column)
    dated = sources.type_of(column).is_moment or bool(declared.forms)
    if not dated or declared.dates is None or declared.domain is not None:
        return None
    first, last = days_left(sources.conditions(column), column, ALWAYS)
    return None if declared.dates[0] <= first and last <= declared.dates[1] else declared.dates


def _within(
    column: exp.Column, kind: SqlType, numbers: tuple[float, float] | None, days: Span | None
) -> exp.Expr | None:
    """The condition that the column is in its range, NULL or NaN, which is read as NULL; None if it always is.

    >>> price = SqlType(Family.NUMERIC, 15, 2)
    >>> _within(exp.column("price", "t"), price, (0.0, 10.5), None).sql("postgres")
    '(t.price BETWEEN 0 AND 10.5 OR t.price IS NULL)'
    """
    value: exp.Expr = copied(column)
    if numbers is not None:
        low, high = (number_sql(Decimal(repr(end)).normalize()) for end in numbers)
        if kind.family is Family.FLOAT:  # a real compares as its exact value
            value = cast_sql(value, "DOUBLE PRECISION")
    elif days is not None:
        low, high = map(moment_sql, days)
        if kind.family is not Family.DATE:
            texts = f"{days[0]} 00:00:00", f"{days[1]} 23:59:59.999999"
            low, high = (cast_sql(exp.Literal.string(text), "TIMESTAMP") for text in texts)
        if kind.family is Family.TIMESTAMPTZ:
            value = exp.AtTimeZone(this=value, zone=exp.Literal.string("UTC"))
    else:
        return None
    inside = exp.Between(this=value, low=low, high=high)
    return exp.Paren(this=exp.Or(this=inside, expression=exp.Is(this=copied(column), expression=exp.Null())))


def omitted_rows(key: BoundKey, meant: ColumnSources, sources: KeySources) -> str | None:
    """The sentence about rows that a key's domain leaves out; None if every row has a group.

    Args:
      meant: the sources of its columns; empty if the expression or the policy determines its values.
    """
    itself = isinstance(key.value, exp.Column)
    if itself and sources.rows(key.columns[0][0]) is None and sources.declared(key.columns[0]).other is not None:
        return None
    computed = frozenset() if itself else frozenset(map(column_ref, computed_from(key.written)))
    reasons = []
    for column in key.columns:
        if sources.rows(column[0]) is not None:
            continue
        compared = not meant and column not in computed and _has_every_row(key.written, computed)
        ways = ["NULL"] if not compared and _drops_null(column, key, sources) else []
        if not itself and sources.is_per_person(column):  # no policy declares its values, so all count
            ways = [] if holds(key.written, exp.Coalesce, exp.Case) else ways
        elif _drops_values(column, key, meant, computed, sources):
            listed = sources.declared(column).domain is not None
            ways.append("not among its declared values" if listed else "not in its range")
        elif not itself and not compared and (column in meant or column in computed):
            beyond = days_beyond(column, sources)
            ways += [] if beyond is None else [f"not from {beyond[0]} to {beyond[1]}"]
        if ways:
            reasons.append(f"{sources.name(column)} is {' or '.join(ways)}")
    if not reasons:
        return None
    return f"Rows whose {', or whose '.join(reasons)} {'are' if itself else 'may be'} left out."


def _has_every_row(value: exp.Expr, computed: Set[ColumnRef]) -> bool:
    """Is it a CASE with ELSE whose results are constants, or computed from these columns?

    Then each row has a group, whatever a column is that it only compares.
    """
    case = value.unnest()
    if not isinstance(case, exp.Case) or case.args.get("default") is None:
        return False
    results = [one.unnest() for one in (*(part.args["true"] for part in case.args["ifs"]), case.args["default"])]
    return all(
        _has_every_row(one, computed)
        if isinstance(one, exp.Case)
        else not isinstance(one, exp.Null) and all(column_ref(column) in computed for column in columns_of(one))
        for one in results
    )


def _drops_null(column: ColumnRef, key: BoundKey, sources: KeySources) -> bool:
    shown = key.values is not None and None in key.values
    return not shown and sources.may_be_null(column) and not sources.declared(column).null_group


def _drops_values(
    column: ColumnRef, key: BoundKey, meant: ColumnSources, computed: Set[ColumnRef], sources: KeySources
) -> bool:
    """Can the column have a value without a group? For datetimes in expressions, `days_beyond` decides.

    `computed`: the columns that the key is computed from, which must be in their range.
    """
    kind, declared = sources.type_of(column), sources.declared(column)
    if kind.family is Family.BOOL or (declared.domain is None and declared.range is None and declared.dates is None):
        return False
    if declared.forms or (kind.is_moment and declared.domain is None and not isinstance(key.value, exp.Column)):
        return False
    if column in computed and (numbers_beyond(column, sources) or days_beyond(column, sources)):
        return True
    if column not in meant:
        return column in computed and declared.domain is not None
    if not isinstance(meant[column][0], ColumnValues):
        return False
    asked = listed_literals(column, kind, sources.query.predicates)
    return asked is None or declared.domain is None or not set(asked) <= set(declared.domain)
