"""Binds per-person subqueries: a subquery in FROM that groups private rows by the key of the person who owns them.

    SELECT avg(n) FROM (SELECT patient_id, count(*) AS n FROM visit GROUP BY patient_id HAVING count(*) > 1) AS p
      table  SELECT patient_id AS k1, count(*) AS a1 FROM visit GROUP BY patient_id
      p      SELECT k1 AS patient_id, a1 AS n FROM table WHERE a1 > 1

The keys and aggregates of the grouped SELECT become the columns of a table; its select list and HAVING become
expressions over it. This module checks whether the keys can identify a person. `planner.planning.person_tables`
proves the owner of every row (docs/mathematics.md, section 2.3). Each value must depend on the person's own rows and
public rows only, so sums are exact: a sum of doubles depends on the order in which the database adds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import ClassVar

from sqlglot import exp

from planner.binding.aggregates import Aggregates, check_typed, nested_aggregate
from planner.binding.bound_query import BoundAggregate, BoundKey, BoundQuery, BoundTable, PersonColumn, PersonTable
from planner.binding.derived_columns import refuse_clauses
from planner.binding.group_keys import GroupKeys, distinct_as_groups
from planner.binding.output_names import output_name
from planner.binding.scope import Scope, Tables
from planner.errors import UnsupportedSQL
from planner.expressions.bind_scalar import bind_predicate, bind_scalar
from planner.expressions.intervals import Bounds
from planner.expressions.predicates import conjuncts
from planner.expressions.scalar import Calendar, Scalar, unfit, wrap
from planner.parsing.aggregate_spellings import SUM_BY_KEY, truth_as_extreme
from planner.parsing.postgres_parser import LABEL
from planner.policy.policy import ColumnPolicy
from planner.released_expression import Apply, ReleasedExpression, ReleasedValue
from planner.schema import Column
from planner.sql.literals import number_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import (
    aggregates,
    bound_column,
    cast_sql,
    column_ref,
    copied,
    nodes,
    position_of,
    rebuilt,
    select_within,
)

MOST_ROWS = 1 << 19
"""The upper bound of a count per person where it is added up; further rows do not count.

It is a power of two, so weights are divided exactly, and it is below the size of a computed group domain.
"""

_MOST_RANKED, _MOST_REAL = 1 << 10, 1 << 12
"""A sum per person has so many times the range of its argument where it is ranked or a group key; and where it is
added up, unless the argument is whole. A weight has so many digits that a longer range would cost precision."""

_EXACT_BITS = 40

_EXACT_DIGITS, _ROW_DIGITS = 15, 12
"""The most digits of public decimals whose sums need no range, and of the number of rows in one."""

_WHOLE = 2.0**49
"""The largest clamped sum that is a bigint: its argument is at most 2^30, so it would take 2^33 rows to leave one."""

_LARGEST_BIGINT = 2.0**62
"""Whole numbers of a larger range do not fit a bigint, so they are counted in units, like doubles."""

_SMALLEST = 1e-290


_EXTREMES = (exp.Min, exp.Max)
_CALLS = (exp.Count, exp.Sum, exp.Avg, *_EXTREMES)

_TYPES = {
    Family.INTEGER: "bigint",
    Family.FLOAT: "double precision",
    Family.BOOL: "boolean",
    Family.DATE: "date",
    Family.TIMESTAMP: "timestamp without time zone",
    Family.UUID: "uuid",
}


def grouped_select(body: exp.Expr) -> exp.Select | None:
    """Return the SELECT of a subquery that groups rows by keys, by GROUP BY or DISTINCT."""
    found = select_within(body)
    if found is None:
        return None
    select = distinct_as_groups(found)
    group = select.args.get("group")
    plain = group is not None and group.expressions and not any(map(group.args.get, ("rollup", "cube", "all")))
    return select if plain and select.args.get("distinct") is None else None


def aggregated_select(body: exp.Expr) -> exp.Select | None:
    """Return the SELECT of a subquery that aggregates all of its rows, without groups."""
    found = select_within(body)
    if found is None or found.args.get("group") is not None or found.args.get("distinct") is not None:
        return None
    clauses = [*found.expressions, found.args.get("having")]
    return found if any(True for one in clauses if one is not None for _ in aggregates(one)) else None


def check_person_rows(select: exp.Select) -> None:
    """Refuse a LIMIT. Raises: UnsupportedSQL."""
    refuse_clauses(select, ("limit", "offset", "fetch"), position_of(select))


def check_rows_of_persons(entries: Sequence[BoundTable], beside_public: Iterable[int | None]) -> None:
    """Refuse samples and rows without an owner. Raises: UnsupportedSQL."""
    for entry in entries:
        if entry.sample is not None:
            message = "TABLESAMPLE inside a subquery of one person's rows is not supported"
            raise UnsupportedSQL(message, hint="leave it out, or sample without the subquery", position=entry.start)
    for position in beside_public:
        hint = "use an inner JOIN; to count people without rows, LEFT JOIN from the table of people"
        raise UnsupportedSQL(
            "LEFT JOIN from a public table per person is not supported", hint=hint, position=position
        )


def may_identify_a_person(keys: Sequence[BoundKey], tables: Tables) -> bool:
    """Do the group keys include the key of a person or of an owned row?"""
    return tables.names_a_person([key.value for key in keys if isinstance(key.value, exp.Column)])


class OwnRows(ABC):
    """The columns of a table of one person's rows, given the names, tables and conditions of a SELECT's FROM."""

    expands: ClassVar = False

    def __init__(self, select: exp.Select, scope: Scope, tables: Tables, given: Sequence[exp.Expr]) -> None:
        self._select = select
        self._scope = scope
        self._tables = tables
        self._given = given
        self._aggregates = Aggregates(scope, given, exactly=True)
        self.proved: Mapping[str, ColumnPolicy] = {}
        self._columns: list[PersonColumn] = []

    def person(self, query: BoundQuery) -> PersonTable:
        """Return the table of all columns read so far."""
        columns, at = tuple(self._columns), position_of(self._select)
        return PersonTable(query, columns, at, self._partitions(), expands=self.expands)

    def _partitions(self) -> Mapping[tuple[str, ...], int | None] | None:
        """The columns of each PARTITION BY, and its position; None for groups."""
        return None

    @property
    def group_keys(self) -> tuple[BoundKey, ...]:
        """The keys of its groups; none for windows."""
        return ()

    def may_identify_a_person(self) -> bool:
        """May each of its rows belong to one person?"""
        return True

    @abstractmethod
    def columns(self, alias: str) -> list[tuple[str, exp.Expr]]:
        """Bind the select list over the table's columns, as (name, expression)."""

    @abstractmethod
    def conditions(self, alias: str) -> list[exp.Expr]:
        """Bind the conditions on its rows over the table's columns."""

    def _column(self, alias: str, index: int, at: exp.Expr | None = None) -> exp.Column:
        """A column of the table, at the position of what it stands for."""
        column = bound_column(alias, self._columns[index].column.name)
        column.meta["bound"] = True
        position = None if at is None else position_of(at)
        if position is not None:
            column.meta["start"] = position - 1
        return column

    def _entered(self, made: PersonColumn) -> int:
        """Enter a column, and return its place; an equal one is there once."""
        for index, other in enumerate(self._columns):
            if replace(other, column=made.column) == made:
                return index
        self._columns.append(made)
        return len(self._columns) - 1

    def _own(self, column: exp.Column) -> int:
        """Enter a column of the rows."""
        known = self._tables.catalog_column(column)
        made = replace(known, name=f"k{len(self._columns) + 1}", nullable=self._scope.may_be_null(column), nan=False)
        declared = self._scope.declared(column)[1]
        ref = column_ref(column)
        return self._entered(PersonColumn(made, copied(column), declared, ref, is_key=True, label=column.name))

    def _aggregated(self, node: exp.Expr, call: exp.Expr) -> PersonColumn:
        """Bind an aggregate with its FILTER."""
        if not isinstance(call, _CALLS) or SUM_BY_KEY in call.meta:
            name = call.sql_name().lower() if isinstance(call, exp.Func) else "this"
            hint = "use count, sum, avg, min or max per person"
            raise UnsupportedSQL(f"{name} per person is not supported", hint=hint, at=call)
        exact = None if isinstance(call, _EXTREMES) else self._of_public_numbers(node, call)
        made = exact or (self._extreme(node, call) if isinstance(call, _EXTREMES) else self._added_up(node))
        return replace(made, label=str(node.meta.get(LABEL, "")) or f"{type(call).__name__.lower()}(...)")

    def _named(self, kind: str, *, nullable: bool) -> Column:
        return Column(f"a{len(self._columns) + 1}", kind, nullable)

    def _added_up(self, node: exp.Expr) -> PersonColumn:
        """Bind COUNT, SUM or AVG, with arguments as in any question."""
        found = self._aggregates.bind(node)
        assert found is not None, "one of the calls that Aggregates knows"
        call = node.this if isinstance(node, exp.Filter) else node
        scale = 0 if isinstance(call, exp.Count) else self._scale(call.this)
        if isinstance(found, ReleasedValue):
            one = self._aggregates.found[found.release]
            return self._count(one) if one.bounds is None else self._sum(one, scale)
        total, count = self._quotient(found)
        assert total.bounds is not None, "of a sum"
        declared = ColumnPolicy(range=(total.bounds.lo, total.bounds.hi))
        return self._column_of(_quotient(_units(total, scale), _count(count)), declared)

    def _scale(self, argument: exp.Expr) -> int:
        """The digits after the point of an exact decimal; 0 for any other number."""
        if isinstance(argument, exp.Distinct):
            return 0
        digits = bind_scalar(argument, self._scope, self._given).digits
        return 0 if digits is None else digits.scale

    def _of_public_numbers(self, node: exp.Expr, call: exp.Expr) -> PersonColumn | None:
        """Bind SUM or AVG of exact decimals of public tables, which need no range; None for any other aggregate."""
        if not self._is_public or isinstance(call, exp.Count) or isinstance(call.this, exp.Distinct):
            return None
        check_typed(call, call.this)
        scalar = bind_scalar(call.this, self._scope, self._given)
        digits, value = scalar.digits, scalar.plain
        if digits is None or value is None or (digits.scale and digits.whole + digits.scale > _EXACT_DIGITS):
            return None
        if isinstance(node, exp.Filter):
            value = exp.Case().when(bind_predicate(node.expression.this, self._scope), value, copy=False)
        unit = _number(10**digits.scale)
        whole = cast_sql(exp.Mul(this=exp.Paren(this=value), expression=unit), "BIGINT")
        rows = _number(1) if isinstance(call, exp.Sum) else exp.Count(this=copied(value), big_int=True)
        far = 10.0 ** (digits.whole + (_ROW_DIGITS if isinstance(call, exp.Sum) else 0))
        declared = ColumnPolicy(extent=(-far, far))
        if isinstance(call, exp.Avg) and not scalar.unranged and (bounds := scalar.bounds) is not None:
            declared = replace(declared, range=(bounds.lo, bounds.hi))
        return self._column_of(_quotient((exp.Sum(this=whole), unit), rows), declared)

    def _column_of(self, value: exp.Expr, declared: ColumnPolicy) -> PersonColumn:
        return PersonColumn(self._named("double precision", nullable=True), cast_sql(value, "DOUBLE"), declared)

    @cached_property
    def _is_public(self) -> bool:
        return all(self._tables.is_public(entry.table) for entry in self._tables.entries)

    def _quotient(self, found: ReleasedExpression) -> tuple[BoundAggregate, BoundAggregate]:
        assert isinstance(found, Apply), "AVG is a sum over a count"
        found = next((one for one in found.arguments if isinstance(one, Apply)), found)  # moved into its range
        places = [part.release for part in found.arguments if isinstance(part, ReleasedValue)]
        total, count = (self._aggregates.found[place] for place in places)
        return total, count

    def _count(self, one: BoundAggregate) -> PersonColumn:
        least = 1 if one.condition is None and one.function == "count" else 0
        column = self._named("bigint", nullable=False)
        known = self.proved.get(column.name, ColumnPolicy()).range
        return PersonColumn(column, _count(one), ColumnPolicy(range=known or (float(least), float(MOST_ROWS))))

    def _sum(self, one: BoundAggregate, scale: int) -> PersonColumn:
        bounds = one.bounds
        assert bounds is not None and one.argument is not None, "of a sum"
        most = MOST_ROWS if bounds.integral else _MOST_REAL
        ranked, added = _times(bounds, _MOST_RANKED), _times(bounds, most)
        whole = bounds.integral and max(-added[0], added[1]) <= _WHOLE
        total, unit = _units(one, scale)
        value = cast_sql(total, "BIGINT") if whole else cast_sql(_quotient((total, unit), _number(1)), "DOUBLE")
        column = self._named("bigint" if whole else "double precision", nullable=True)
        return PersonColumn(column, value, ColumnPolicy(range=ranked, added=added))

    def _extreme(self, node: exp.Expr, call: exp.Expr) -> PersonColumn:
        """Bind MIN or MAX of numbers, dates and timestamps; its range is the argument's."""
        argument = call.this
        if call.expressions or isinstance(argument, exp.Distinct):
            raise UnsupportedSQL("this MIN or MAX is not supported", hint="write min(x)", at=call)
        nested = next((part for part in nodes(call)[1:] if isinstance(part, exp.AggFunc)), None)
        if nested is not None:
            raise nested_aggregate(nested)
        scalar = bind_scalar(argument, self._scope, self._given)
        kind, value, declared = self._typed(argument, scalar)
        text = scalar.type is not None and scalar.type.family is Family.TEXT and self._is_public
        if kind is None or scalar.type is None or not (scalar.is_number or scalar.type.is_moment or text):
            name = type(call).__name__.upper()
            hint = f"{name.lower()} takes numbers, dates and timestamps"
            raise UnsupportedSQL(f"{name} of {scalar.kind} is not supported", hint=hint, at=call)
        if isinstance(node, exp.Filter):
            where = bind_predicate(node.expression.this, self._scope)
            value = exp.Case().when(where, value, copy=False)
        made = type(call)(this=value)
        declared = ColumnPolicy(range=declared.range, dates=declared.dates, step=declared.step)
        return PersonColumn(self._named(kind, nullable=True), made, declared)

    def _typed(self, argument: exp.Expr, scalar: Scalar) -> tuple[str | None, exp.Expr, ColumnPolicy]:
        """Return the type of an argument's values, its SQL, and their public knowledge."""
        argument = argument.unnest()
        if isinstance(argument, exp.Column):
            declared = self._scope.declared(argument)[1]
            return self._tables.written_type(argument), copied(scalar.sql), declared
        return *typed_sql(scalar, scalar.sql), declared_of(scalar)


def _times(bounds: Bounds, rows: int) -> tuple[float, float]:
    """The range of a sum of one to so many values."""
    return bounds.lo * (rows if bounds.lo < 0 else 1), bounds.hi * (rows if bounds.hi > 0 else 1)


class PersonRows(OwnRows):
    """Binds a SELECT with GROUP BY as a table of its groups, given the names, tables and conditions of its FROM."""

    def __init__(self, select: exp.Select, scope: Scope, tables: Tables, given: Sequence[exp.Expr]) -> None:
        super().__init__(select, scope, tables, given)
        self._places: dict[exp.Expr, int] = {}
        self.keys = GroupKeys(select, scope, given)
        for key in list(self.keys.keys):
            self._enter_key(key)

    def may_identify_a_person(self) -> bool:
        """Do the group keys include the key of a person or of an owned row?"""
        return may_identify_a_person(self.keys.keys, self._tables)

    @property
    def group_keys(self) -> tuple[BoundKey, ...]:
        """The keys of its groups."""
        return tuple(self.keys.keys)

    def columns(self, alias: str) -> list[tuple[str, exp.Expr]]:
        """Bind the select list. Raises: UnsupportedSQL for a column outside keys and aggregates."""
        items = self._select.expressions
        star = next((item for item in items if item.is_star), None)
        if star is not None:
            hint = "name the group keys, and aggregates of the other columns"
            raise UnsupportedSQL("* beside GROUP BY is not supported", hint=hint, at=star)
        return [(output_name(item), self._read(self._scope.bind(item.unalias()), alias)) for item in items]

    def conditions(self, alias: str) -> list[exp.Expr]:
        """Bind HAVING, as `columns`."""
        having = self._select.args.get("having")
        parts = [] if having is None else conjuncts(having.this)
        return [self._read(self._scope.bind(part), alias) for part in parts]

    def _read(self, node: exp.Expr, alias: str) -> exp.Expr:
        place = self.keys.place(node)
        if place is not None:
            key = self.keys.keys[place]
            if key.written not in self._places:
                self._enter_key(key)
            return self._column(alias, self._places[key.written], node)
        extreme = truth_as_extreme(node)
        if extreme is not None:
            return self._read(extreme, alias)
        call = node.this if isinstance(node, exp.Filter) else node
        if isinstance(call, exp.AggFunc):
            return self._column(alias, self._entered(self._aggregated(node, call)), node)
        if isinstance(node, exp.Column):
            message = f"column {node.name!r} is neither in GROUP BY nor inside an aggregate"
            raise UnsupportedSQL(message, hint="add it to GROUP BY, or aggregate it", at=node)
        return rebuilt(node, lambda part: self._read(part, alias))

    def _enter_key(self, key: BoundKey) -> None:
        self._places[key.written] = len(self._columns)
        made = _key_column(key, self._scope, self._given, f"k{len(self._columns) + 1}")
        label = key.value.name if isinstance(key.value, exp.Column) else "the group key"
        self._columns.append(replace(made, label=label))


def _key_column(key: BoundKey, scope: Scope, given: Sequence[exp.Expr], name: str) -> PersonColumn:
    """Make a column of a key; values that follow from its expression are its domain."""
    if isinstance(key.value, exp.Column):
        column = key.value
        declared = scope.declared(column)[1]
        made = Column(name, scope.written_type(column), scope.may_be_null(column))
        return PersonColumn(made, copied(key.value), declared, key=column_ref(column), is_key=True)
    scalar = bind_scalar(key.written, scope, given)
    kind, value = typed_sql(replace(scalar, type=key.type), copied(key.value))
    if kind is None:
        hint = "group by numbers, texts, dates or timestamps"
        raise UnsupportedSQL(
            f"a subquery per person cannot GROUP BY a {scalar.kind}", hint=hint, position=key.position
        )
    declared = declared_of(scalar)
    if isinstance(key.written, exp.Column):  # the start of its declared step
        declared = replace(declared, step=scope.declared(key.written)[1].step)
    if key.values is not None and key.type.family in (Family.TEXT, Family.INTEGER):
        values = tuple(value for value in key.values if value is not None)
        declared = ColumnPolicy(domain=values or None, null_group=None in key.values)
    return PersonColumn(Column(name, kind, True), value, declared, is_key=True)


def declared_of(scalar: Scalar) -> ColumnPolicy:
    """Return the public knowledge of an expression's values: the range of numbers, the days of moments."""
    if scalar.is_number and not scalar.is_null:
        bounds = None if scalar.unranged else scalar.bounds
        if bounds is None or not math.isfinite(bounds.lo) or not math.isfinite(bounds.hi):
            return ColumnPolicy()
        return ColumnPolicy(range=(bounds.lo, bounds.hi))
    span = scalar.span or scalar.declared
    calendar = scalar.calendar
    step = calendar.unit if calendar is not None and calendar == Calendar(calendar.unit) else None
    return ColumnPolicy(dates=span, step=step) if span is not None else ColumnPolicy()


def typed_sql(scalar: Scalar, sql: exp.Expr) -> tuple[str | None, exp.Expr]:
    """Return the database's name of an expression's type, None if it has none, and its SQL in this type."""
    if scalar.zoned and scalar.type == SqlType(Family.TIMESTAMP):  # its SQL is the timestamp at UTC
        return "timestamp with time zone", exp.AtTimeZone(this=wrap(sql), zone=exp.Literal.string("UTC"))
    return None if scalar.zoned or scalar.type is None else written_as(scalar.type), sql


def written_as(kind: SqlType) -> str | None:
    """Return the database's name of a type; None for a type whose values databases write differently."""
    if kind.family is Family.TEXT:
        return "text"
    if kind.family is Family.NUMERIC:
        return f"numeric({kind.precision},{kind.scale})" if kind.precision is not None else None
    return _TYPES.get(kind.family)


def _count(one: BoundAggregate) -> exp.Expr:
    """Return COUNT of rows, or of distinct values, where a condition is true."""
    if one.function == "distinct":
        assert one.argument is not None, "of COUNT(DISTINCT x)"
        value = (
            one.argument if one.condition is None else exp.Case().when(copied(one.condition), copied(one.argument))
        )
        return exp.Count(this=exp.Distinct(expressions=[copied(value)]), big_int=True)
    if one.condition is None:
        return exp.Count(this=exp.Star(), big_int=True)
    return exp.Count(this=exp.Case().when(copied(one.condition), _number(1), copy=False), big_int=True)


def _units(one: BoundAggregate, scale: int) -> tuple[exp.Expr, exp.Expr]:
    """Return an exact SUM of a bounded argument as a sum of whole multiples of a unit, and how many units are 1.

    A sum of doubles depends on the order of the rows, other people's included. A sum of whole numbers does not.
    Decimals with `scale` digits after the point are whole. Of other numbers, each loses at most 2^-40 of the largest.
    """
    bounds, argument = one.bounds, one.argument if one.added is None else one.added
    assert bounds is not None and argument is not None, "of a sum"

    def added(value: exp.Expr) -> exp.Expr:
        return exp.Sum(this=value if one.added is None else exp.Distinct(expressions=[value]))

    if bounds.integral and bounds.size <= _LARGEST_BIGINT:
        return added(cast_sql(copied(argument), "BIGINT")), _number(1)
    units = 2.0 ** (_EXACT_BITS - math.frexp(bounds.size)[1])
    inner = argument if isinstance(argument, (exp.Column, exp.Cast, exp.Case)) else exp.Paren(this=argument)
    if 10.0**scale <= units and scale:
        counted: exp.Expr = exp.Mul(this=copied(inner), expression=_real(_number(10**scale)))
        counted = exp.Add(this=counted, expression=_real(exp.Literal.number("0.5")))
        return added(cast_sql(exp.Floor(this=counted), "BIGINT")), _number(10**scale)
    if min(bounds.least, bounds.least * units) < _SMALLEST:
        raise unfit(argument)
    unit = number_sql(Decimal(units))
    whole = cast_sql(exp.Floor(this=exp.Mul(this=copied(inner), expression=_real(unit))), "BIGINT")
    return added(whole), copied(unit)


def _quotient(total: tuple[exp.Expr, exp.Expr], rows: exp.Expr) -> exp.Expr:
    """Return a sum over a number of rows, rounded once, so that equal quotients of decimals are equal doubles."""
    units, unit = total
    one = exp.Literal.number(1)
    divisors = [_real(copied(part)) for part in (rows, unit) if part != one]
    if rows == one:
        return exp.Div(this=_real(units), expression=divisors[0], typed=True) if divisors else _real(units)
    divisor = exp.Mul(this=divisors[0], expression=divisors[1]) if len(divisors) > 1 else divisors[0]
    return exp.Div(this=_real(units), expression=exp.Nullif(this=divisor, expression=_number(0)), typed=True)


def _real(value: exp.Expr) -> exp.Expr:
    return cast_sql(value, "DOUBLE")


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
