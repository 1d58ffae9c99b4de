"""Rows that the statement itself holds: VALUES, generate_series of constants, and SELECTs of constants.

    generate_series(1, 3) AS n        -->  (VALUES (1), (2), (3)) AS n(n)
    SELECT 1 AS n UNION ALL SELECT 2  -->  SELECT * FROM (VALUES (1), (2)) AS "values"(n)

They are computed here, from literals alone, and are a public table of the question. `planner.parsing.lists` puts
series of select lists and of WITH RECURSIVE into FROM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import add, mul, sub
from typing import Any

from sqlglot import exp

from planner.errors import InvalidSyntax, PlannerError, StatementTooComplex, UnsupportedSQL
from planner.schema import Column, Table
from planner.sql.constant_intervals import written_interval
from planner.sql.datetimes import begun
from planner.sql.literals import midnight, moment, moment_sql, number, number_sql, value_sql
from planner.sql.trees import bound_column, cast_sql, copied, fold, from_items, named_as, named_sql, nodes, own_name

Value = None | bool | int | Decimal | str | date | datetime

MAX_EXACT_DIGITS = 38
"""The most digits of a numeric on every engine."""

MOST_ROWS = 4_000
"""The most rows of one list."""

_SERIES = exp.ExplodingGenerateSeries
_ARITHMETIC: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {exp.Add: add, exp.Sub: sub, exp.Mul: mul}


class _NotConstant(Exception):
    """The expression is no constant that can be computed here."""


@dataclass(frozen=True)
class LiteralRows:
    """Rows of constants, and the names of their columns."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def table(self, name: str) -> Table:
        """Return the table of the rows, with a key for each column whose values differ."""
        columns = tuple(
            _column(f"c{place + 1}", [row[place] for row in self.rows]) for place in range(len(self.names))
        )
        keys = tuple(
            (column.name,)
            for place, column in enumerate(columns)
            if not column.nullable and len({row[place] for row in self.rows}) == len(self.rows)
        )
        return Table(name, "", columns, keys, ())

    def select(self, table: Table) -> exp.Select:
        """Return the SELECT of the rows."""
        names = [column.name for column in table.columns]
        rows = [exp.Tuple(expressions=[_literal(value) for value in row]) for row in self.rows]
        alias = exp.TableAlias(this=own_name("v"), columns=[own_name(name) for name in names])
        listed = [
            named_sql(cast_sql(bound_column("v", column.name), column.type), column.name) for column in table.columns
        ]
        return exp.Select(expressions=listed, from_=exp.From(this=exp.Values(expressions=rows, alias=alias)))


def literal_rows(node: exp.Values) -> LiteralRows:
    """Read VALUES in FROM. Raises: UnsupportedSQL for anything but constants; StatementTooComplex."""
    try:
        rows = tuple(tuple(_value(one) for one in row.expressions) for row in node.expressions)
    except _NotConstant:
        hint = "write literals, or rows of a table"
        raise UnsupportedSQL("VALUES of anything but constants is not supported", hint=hint, at=node) from None
    if len(rows) > MOST_ROWS:
        raise StatementTooComplex(f"a list of more than {MOST_ROWS:,} rows", at=node)
    _, given = named_as(node)
    if len({len(row) for row in rows}) > 1 or len(given) > len(rows[0]):
        hint = "write as many values in each row, and no more names"
        raise InvalidSyntax("rows of VALUES differ in length, or have too many names", hint=hint, at=node)
    made = tuple(f"column{place}" for place in range(1, len(rows[0]) + 1))
    return LiteralRows((*given, *made[len(given) :]), rows)


def with_values(tree: exp.Select) -> exp.Select:
    """Write series and SELECTs of constants as VALUES. The tree is not changed; others are left as they are.

    >>> from sqlglot import parse_one
    >>> with_values(parse_one("SELECT n FROM generate_series(1, 3) AS n", dialect="postgres")).sql("postgres")
    'SELECT n FROM (VALUES (1), (2), (3)) AS "n"("n")'
    """
    if not any(_may_be_literal(node) for node in nodes(tree)):
        return tree
    tree = copied(tree)
    for node in nodes(tree):
        try:
            if isinstance(node, _SERIES):
                _write(node)
            elif isinstance(node, exp.Union) and not isinstance(node.parent, exp.Union):
                _list(node)
        except (_NotConstant, PlannerError):
            continue
    return tree


def _may_be_literal(node: exp.Expr) -> bool:
    union = isinstance(node, exp.Union) and isinstance(node.expression, exp.Select)
    return isinstance(node, _SERIES) or (union and not from_items(node.expression))


def _list(union: exp.Union) -> None:
    """Replace `SELECT 1 AS n UNION ALL SELECT 2`."""
    first: exp.Expr = union
    while isinstance(first, exp.Union):
        first = first.this.unnest()
    rows = _rows(union)
    names = [_name(item, "?column?") for item in first.args["expressions"]]
    if any(len(row) != len(names) for row in rows):
        raise _NotConstant
    union.replace(exp.Select(expressions=[exp.Star()], from_=exp.From(this=_values(rows, "values", names))))


def _rows(query: exp.Expr) -> list[tuple[Value, ...]]:
    """The rows of SELECTs of constants under UNION."""
    spine = []
    while isinstance(query, exp.Union) and _lists(query):
        spine.append(query)
        query = query.this.unnest()
    if not isinstance(query, exp.Select) or not _lists(query):
        raise _NotConstant
    rows = [tuple(_value(item.unalias()) for item in query.expressions)]
    for union in reversed(spine):
        rows += _rows(union.expression.unnest())
        rows = list(dict.fromkeys(rows)) if union.args.get("distinct") else rows
    return rows


def _lists(query: exp.Expr) -> bool:
    """Has it only parts of a list? No LIMIT reads an ORDER BY."""
    parts = ("this", "expression", "distinct", "order") if isinstance(query, exp.Union) else ("expressions",)
    return all(part in parts for part, value in query.args.items() if value)


def _write(series: exp.Expr) -> None:
    """Replace a series in FROM; `planner.parsing.lists` has put the others there."""
    item = series.parent
    if not isinstance(item, exp.Table):
        raise _NotConstant
    name, given = named_as(item)
    name = name or "generate_series"
    item.replace(_values([(value,) for value in _series(series)], name, given or (name,)))


def _name(item: exp.Expr, otherwise: str) -> str:
    return fold(item.args["alias"]) if isinstance(item, exp.Alias) else otherwise


def _values(rows: Sequence[tuple[Value, ...]], name: str, columns: Sequence[str]) -> exp.Values:
    if not rows:
        raise _NotConstant
    listed = [exp.Tuple(expressions=[_literal(value) for value in row]) for row in rows]
    alias = exp.TableAlias(this=own_name(name), columns=[own_name(column) for column in columns])
    return exp.Values(expressions=listed, alias=alias)


def _series(node: exp.Expr) -> list[Value]:
    """List the values of generate_series. A series of moments adds its step again and again, as PostgreSQL does."""
    start, end = _value(node.args["start"]), _value(node.args["end"])
    step = node.args.get("step")
    found: list[Value] = []
    if isinstance(start, int) and isinstance(end, int):
        each = 1 if step is None else _value(step)
        if not isinstance(each, int) or each == 0 or abs(end - start) > MOST_ROWS * abs(each):
            raise _NotConstant
        return list(range(start, end + (1 if each > 0 else -1), each))
    if isinstance(step, exp.Literal):
        step = written_interval(cast_sql(step, "INTERVAL"))
    if not (isinstance(start, date) and isinstance(end, date) and isinstance(step, exp.Interval)):
        raise _NotConstant
    current, last = midnight(start), midnight(end)
    forward = _moved(current, step, 1) > current
    while (current <= last) if forward else (current >= last):
        found.append(current)
        current = _moved(current, step, 1)
        if len(found) > MOST_ROWS or current == found[-1]:
            raise _NotConstant
    return found


def _moved(start: date | datetime, interval: exp.Interval, sign: int) -> datetime:
    kind = exp.Add if sign > 0 else exp.Sub
    found = moment(kind(this=moment_sql(start), expression=copied(interval)))
    if not isinstance(found, datetime):
        raise _NotConstant
    return found


def _value(node: exp.Expr) -> Value:
    """Compute an expression of literals."""
    node = node.unnest()
    if isinstance(node, (exp.Null, exp.Boolean)):
        return None if isinstance(node, exp.Null) else bool(node.this)
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else _number(number(node))
    if isinstance(node, exp.Cast):
        return _converted(_value(node.this), node.to)
    if isinstance(node, exp.TimestampTrunc):
        value = _value(node.this)
        start = begun(value, node.args["unit"].name.lower()) if isinstance(value, date) else None
        if start is not None:
            return start
    if isinstance(node, exp.Neg):
        value = _value(node.this)
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return -value
    if isinstance(node, tuple(_ARITHMETIC)):
        return _computed(node)
    raise _NotConstant


def _computed(node: exp.Expr) -> Value:
    left = _value(node.args["this"])
    right = node.args["expression"].unnest()
    if isinstance(right, exp.Interval) and isinstance(left, date) and type(node) in (exp.Add, exp.Sub):
        return _moved(left, right, 1 if isinstance(node, exp.Add) else -1)
    other = _value(right)
    if left is None or other is None:
        return None
    numbers = all(isinstance(one, int | Decimal) and not isinstance(one, bool) for one in (left, other))
    if numbers:
        return _number(_ARITHMETIC[type(node)](left, other))
    day = isinstance(left, date) and not isinstance(left, datetime)
    if day and isinstance(other, int) and not isinstance(node, exp.Mul):
        try:
            return _ARITHMETIC[type(node)](left, timedelta(days=other))  # type: ignore[no-any-return]
        except OverflowError:
            raise _NotConstant from None
    raise _NotConstant


def _number(value: Decimal | int) -> int | Decimal:
    if not -(1 << 62) < value < 1 << 62:
        raise _NotConstant
    plain = Decimal(format(value, "f"))
    return int(plain) if plain.as_tuple().exponent == 0 else plain


def _converted(value: Value, target: exp.DataType) -> Value:
    kind = target.this
    if value is None:
        return None
    if kind in (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP):
        name = "DATE" if kind is exp.DataType.Type.DATE else "TIMESTAMP"
        if isinstance(value, str):
            value = moment(cast_sql(exp.Literal.string(value), name))
        if isinstance(value, date):
            moved = midnight(value)
            return moved.date() if name == "DATE" else moved
    if kind in exp.DataType.INTEGER_TYPES and isinstance(value, int):
        return value
    if kind in exp.DataType.TEXT_TYPES and isinstance(value, str) and not target.expressions:
        return value
    if kind is exp.DataType.Type.DECIMAL and isinstance(value, int | Decimal) and not target.expressions:
        return value
    raise _NotConstant


def _literal(value: Value) -> exp.Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, date):
        return moment_sql(value)
    return number_sql(value) if isinstance(value, Decimal) else value_sql(value)


def _column(name: str, values: Sequence[Value]) -> Column:
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if kinds <= {int}:
        kind = "integer" if all(abs(value) < 1 << 31 for value in there if isinstance(value, int)) else "bigint"
    elif not kinds - {int, Decimal}:
        digits = [Decimal(value).as_tuple() for value in there if isinstance(value, int | Decimal)]
        scale = -min(int(one.exponent) for one in digits)
        precision = max(len(one.digits) for one in digits) + scale + 1
        if precision > MAX_EXACT_DIGITS:
            raise UnsupportedSQL("a number of VALUES has too many digits", hint="round it")
        kind = f"numeric({precision},{scale})"
    elif kinds <= {date, datetime}:
        kind = "date" if kinds == {date} else "timestamp without time zone"
    elif len(kinds) == 1:
        kind = "boolean" if kinds == {bool} else "text"
    else:
        raise UnsupportedSQL("a column of VALUES has values of several types", hint="write values of one type")
    return Column(name, kind, len(there) < len(values))
