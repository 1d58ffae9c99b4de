"""Binds GROUP BY: keys by position or alias, columns that depend on them, and domains of key expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.binding.scope import Scope
from planner.errors import InvalidSyntax, PlannerError, UnknownColumn, UnsupportedSQL
from planner.expressions.bind_scalar import bind_scalar
from planner.expressions.canonical_value import ROUNDING
from planner.expressions.datetimes import ALWAYS
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Scalar, repeated, wrap
from planner.limits import MAX_GROUPS
from planner.sql.datetimes import moment_text, steps
from planner.sql.literals import constant, number_sql
from planner.sql.result_types import KeyCell, day_key
from planner.sql.sql_types import Family, ResultType, SqlType
from planner.sql.trees import bound_column, cast_sql, children, column_ref, copied, field_of, fold, holds, position_of
from planner.sql.zones import UTC, instant

Values = tuple[KeyCell, ...]

_MOST = 2.0**53
"""Doubles represent every whole number up to here."""


def expression_domain(node: exp.Expr, scalar: Scalar) -> Values | None:
    """Return the finite domain of an expression; None if nothing public bounds it.

    A condition has true and false, a CASE of literals its literals, a whole number its interval, and date_trunc the
    steps within the declared range. Columns outside their declared range fall in no group.
    """
    labels = _labels(node)
    if labels is not None:
        return labels
    if scalar.type is None:
        return None
    if scalar.type.family is Family.BOOL:
        return (False, True)
    if scalar.type.family is Family.INTEGER:
        return _whole_numbers(scalar)
    return _moments(scalar)


@dataclass(frozen=True)
class Buckets:
    """A whole-valued number as a group key.

    Attributes:
      sql: a bigint; NULL for NULL, NaN and anything outside `values`.
      values: the domain; None if it follows from the columns.
    """

    sql: exp.Expr
    values: tuple[int, ...] | None


def buckets(node: exp.Expr, scalar: Scalar) -> Buckets | None:
    """Bind `floor(x / n)`, `round(x, -1)`, `n * floor(x / n)`; None if it may have a fraction or no bound.

    It takes numerics and doubles that are proved whole, with bounds from declared ranges; `expression_domain` handles
    other whole numbers. The key is checked against the bounds before its conversion, which could overflow or meet
    NaN. Bounds are rounded outward, so the last group may always be empty.

    Raises: StatementTooComplex if the expression is too large to be written twice.
    """
    if scalar.type is None or not scalar.type.is_number:
        return None
    try:
        sql, bounds = scalar.sql, scalar.bounds
    except PlannerError:  # a range is not declared
        return None
    if scalar.type.family is Family.INTEGER and not holds(sql, *ROUNDING):
        return None
    whole = bounds is not None and (bounds.whole if scalar.digits is None else scalar.digits.scale == 0)
    if bounds is None or not whole or not bounds.safe or max(abs(bounds.lo), abs(bounds.hi)) > _MOST:
        return None
    step = abs(_divisor(node)) or 1
    values = range(math.ceil(bounds.lo / step) * step, math.floor(bounds.hi) + 1, step)
    few = 0 < len(values) <= MAX_GROUPS
    if of_fields(sql):  # fields of clamped dates stay within the bounds
        few = few and not _is_any_year(sql, bounds)
        return Buckets(cast_sql(field_of(sql) or sql, "BIGINT"), tuple(values) if few else None)
    if not few:
        return None
    ends = (number_sql(Decimal(values[place])) for place in (0, -1))
    inside = exp.Between(this=wrap(repeated(sql, node)), low=next(ends), high=next(ends))
    return Buckets(exp.Case().when(inside, cast_sql(copied(sql), "BIGINT"), copy=False), tuple(values))


def _divisor(node: exp.Expr) -> int:
    """Return a whole number that divides every value of an expression: 10 for `10 * floor(x)`, else 1; 0 for 0."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        return _divisor(node.this)
    if _is_whole(node):
        return int(node.name)
    if isinstance(node, (exp.Least, exp.Greatest)):  # the result is one of the arguments
        return math.gcd(*(_divisor(argument) for argument in (node.this, *node.expressions)))
    if isinstance(node, exp.Mul):
        left, right = node.left.unnest(), node.right.unnest()
        literal, other = (left, right) if isinstance(left, exp.Literal) else (right, left)
        if _is_whole(literal) and isinstance(other, ROUNDING) and other.args.get("decimals") is None:
            return max(1, int(literal.name))
    if isinstance(node, (exp.Round, exp.Trunc)):
        places = node.args.get("decimals")
        digits = places.this.unnest() if isinstance(places, exp.Neg) else None
        if digits is not None and _is_whole(digits):
            return int(10 ** int(digits.name))
    return 1


def _labels(node: exp.Expr) -> Values | None:
    """Return the literals of a CASE, in order, and NULL last if it can occur."""
    if not isinstance(node, exp.Case):
        return None
    results = [constant(branch.args["true"]) for branch in node.args["ifs"]]
    default = node.args.get("default")
    if default is not None:
        results.append(constant(default))
    known = [result for result in results if not isinstance(result, exp.Null)]
    null: Values = (None,) if default is None or len(known) < len(results) else ()
    texts = [result.name for result in known if isinstance(result, exp.Literal) and result.is_string]
    numbers = [int(result.name) for result in known if _is_whole(result)]
    if known and len(texts) == len(known):
        return (*dict.fromkeys(texts), *null)
    return (*dict.fromkeys(numbers), *null) if known and len(numbers) == len(known) else None


def _is_whole(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 19


def _is_any_year(sql: exp.Expr, bounds: Bounds) -> bool:
    """Does it have the unbounded years of dates without a declared range, alone or as a difference?"""
    field = field_of(sql)
    if field is None and bounds.hi - bounds.lo >= ALWAYS[1].year - ALWAYS[0].year:
        return any(part.this.name.upper() in _YEARS for part in sql.find_all(exp.Extract))
    unknown = field is not None and field.this.name.upper() in _YEARS and bounds.hi - bounds.lo > _MOST_YEARS
    return unknown or (field is not None and bounds.hi == ALWAYS[1].year)


_YEARS = frozenset({"YEAR", "ISOYEAR", "DECADE"})

_MOST_YEARS = 900
"""The decades of all years."""


def of_fields(sql: exp.Expr) -> bool:
    """Whether an expression reads columns through EXTRACT only. Then it is never NaN."""
    if not holds(sql, exp.Extract):
        return False
    stack = [sql]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Column):
            return False
        if not isinstance(node, exp.Extract):
            stack += children(node)
    return True


def _whole_numbers(scalar: Scalar) -> Values | None:
    try:
        bounds = scalar.bounds
    except PlannerError:  # a range is not declared
        return None
    if bounds is None or not bounds.integral or bounds.hi - bounds.lo >= MAX_GROUPS:
        return None
    return tuple(range(int(bounds.lo), int(bounds.hi) + 1))


def _moments(scalar: Scalar) -> Values | None:
    """Return the steps of the calendar within the declared span."""
    calendar = scalar.calendar
    span = scalar.span if calendar is None or calendar.within is None else calendar.within
    if calendar is None or span is None or scalar.type is None:
        return None
    moved = timedelta(days=calendar.days)
    try:
        first, last = span[0] - moved, span[1] - moved
        if last == ALWAYS[1]:
            return None
        found = [day + moved for day in islice(steps(first, last, calendar.unit), MAX_GROUPS + 1)]
        if calendar.zone != UTC:
            midnights = (datetime(day.year, day.month, day.day) for day in found[: MAX_GROUPS + 1])
            moments = tuple(moment_text(instant(midnight, calendar.zone)) for midnight in midnights)
            return None if len(moments) > MAX_GROUPS else moments
    except OverflowError:
        return None
    if len(found) > MAX_GROUPS:
        return None
    return tuple(day_key(day, scalar.type.family) for day in found)


class GroupKeys:
    """The distinct keys of a SELECT: those of GROUP BY, then the keys that they imply, as they are asked for.

    If a public table's whole primary key is grouped by, its other columns have one value per group. As in PostgreSQL,
    select list, HAVING and ORDER BY may name them; they become keys, as if GROUP BY named them.

    Raises: UnsupportedSQL, InvalidSyntax, and name errors.
    """

    def __init__(self, select: exp.Select, scope: Scope, given: Sequence[exp.Expr]) -> None:
        group = select.args.get("group")
        self._scope = scope
        self._keys: list[BoundKey] = []
        self._places: dict[exp.Expr, int] = {}
        self._kinds: set[type[exp.Expr]] = {exp.Column}
        for item in group.expressions if group is not None else []:
            written = scope.bind(meant_key(item, select, scope.resolve)).unnest()
            if written not in self._places:
                self._enter(_bind_key(written, scope, given, position_of(item)))

    @property
    def keys(self) -> Sequence[BoundKey]:
        """The keys so far; a key keeps its place."""
        return self._keys

    def place(self, node: exp.Expr) -> int | None:
        """Return the index of the group key that a bound expression equals, or None. Enters implied keys."""
        if type(node) not in self._kinds:  # hashing a tree is slow
            return None
        place = self._places.get(node)
        if place is None and isinstance(node, exp.Column) and determined(node, self._scope, self._places):
            return self._enter(_bind_key(node, self._scope, (), position_of(node)))
        return place

    def enum(self, place: int) -> SqlType | None:
        """Return the enum of a key; None for any other key.

        With the policy's label for other values, it is not a type of the database.
        """
        key = self._keys[place]
        if key.type.family is not Family.ENUM:
            return None
        other = self._scope.declared(key.value)[1].other if isinstance(key.value, exp.Column) else None
        return key.type if other is None else replace(key.type, labels=(*key.type.labels, str(other)), enum="")

    def _enter(self, key: BoundKey) -> int:
        place = self._places[key.written] = len(self._keys)
        self._keys.append(key)
        self._kinds.add(type(key.written))
        return place


def determined(column: exp.Column, scope: Scope, keys: Container[exp.Expr | None]) -> bool:
    """Whether `keys` include the whole primary key of a bound column's public table."""
    primary_key = scope.public_primary_key(column)
    if primary_key is None:
        return False
    alias, _ = column_ref(column)
    return all(bound_column(alias, name) in keys for name in primary_key)


def constant_place(count: int, item: exp.Expr, clause: str) -> int | None:
    """Return the index of the output that a constant names; None for anything else. Raises: InvalidSyntax."""
    if isinstance(item, exp.Literal) and not item.is_string:
        index = int(item.name) - 1 if item.name.isdigit() and len(item.name) < 4 else -1
        if not 0 <= index < count:
            message = f"{clause} names position {item.name}, which the select list does not have"
            raise InvalidSyntax(message, hint=f"the positions are 1 to {count}", at=item)
        return index
    if isinstance(item, (exp.Literal, exp.Null, exp.Boolean)):
        hint = "name a column, or its position in the select list"
        raise InvalidSyntax(
            f"{clause} has a constant that is not the position of a selected column", hint=hint, at=item
        )
    return None


def meant_key(item: exp.Expr, select: exp.Select, resolve: Callable[[exp.Column], object]) -> exp.Expr:
    """Return the expression of a GROUP BY item: itself, or the output that its position or alias names.

    As in PostgreSQL an alias counts only if no column has the name. Raises: UnknownColumn, as `resolve` does.
    """
    place = constant_place(len(select.expressions), item.unnest(), "GROUP BY")
    if place is not None:
        output: exp.Expr = select.expressions[place].unalias()
        return output
    if isinstance(item, exp.Column) and item.args.get("table") is None:
        try:
            resolve(item)
        except UnknownColumn:
            for output in select.expressions:
                if isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(item.this):
                    meant: exp.Expr = output.this
                    return meant
            raise
    return item


def _bind_key(node: exp.Expr, scope: Scope, given: Sequence[exp.Expr], position: int | None) -> BoundKey:
    if holds(node, exp.AggFunc):
        hint = "group by columns, and write conditions on aggregates in HAVING"
        raise UnsupportedSQL("an aggregate in GROUP BY is not supported", hint=hint, position=position)
    if isinstance(node, exp.Column):
        step = _step(node, scope)
        if step is None:
            return BoundKey(node, node, scope.type_of(node), position)
        return replace(_bind_key(step, scope, given, position), written=node)
    scalar = bind_scalar(node, scope, given)
    whole = buckets(node, scalar)
    if whole is not None:
        return BoundKey(node, whole.sql, SqlType(Family.INTEGER), position, whole.values, _shown(scalar))
    kind, sql = scalar.type or SqlType(Family.TEXT), scalar.sql
    double = kind.family is Family.FLOAT and of_fields(sql)  # equal fields give equal doubles
    shown: ResultType | None = "float8" if double else "timestamptz" if scalar.zoned else None
    return BoundKey(node, sql, kind, position, expression_domain(node, scalar), shown)


def _step(column: exp.Column, scope: Scope) -> exp.Expr | None:
    """Return the start of the declared step that a column's value is in; None if each value is its own group.

    If the policy declares a step of a day, a row at noon belongs to the group of its day. Otherwise the groups would
    be midnights, with only the rows at midnight.
    """
    _, declared = scope.declared(column)
    kind = scope.type_of(column)
    if not kind.is_moment or not isinstance(declared.step, str) or declared.domain is not None:
        return None
    if declared.other is not None or (kind.family is Family.DATE and declared.step == "day"):
        return None
    begun = exp.TimestampTrunc(this=copied(column), unit=exp.var(declared.step.upper()))
    return cast_sql(begun, "DATE") if kind.family is Family.DATE else begun


def _shown(scalar: Scalar) -> ResultType:
    """Return the type of a whole-valued number in an answer; its key is a bigint."""
    if scalar.drops_fractions:
        return "int8"
    return "float8" if scalar.digits is None else "numeric"


def distinct_as_groups(select: exp.Select) -> exp.Select:
    """Write `SELECT DISTINCT a, b FROM t` as `SELECT a, b FROM t GROUP BY a, b`; return other statements unchanged.

    >>> from sqlglot import parse_one
    >>> distinct_as_groups(parse_one("SELECT DISTINCT ward AS w, day FROM visit")).sql()
    'SELECT ward AS w, day FROM visit GROUP BY ward, day'
    """
    clause = select.args.get("distinct")
    items = [item.unalias() for item in select.expressions]
    plain = not any(isinstance(item, exp.Literal) or holds(item, exp.Star, exp.AggFunc) for item in items)
    if clause is None or clause.args.get("on") is not None or select.args.get("group") or not plain:
        return select
    copy = copied(select)
    copy.set("distinct", None)
    copy.set("group", exp.Group(expressions=[copied(item) for item in items]))
    return copy
