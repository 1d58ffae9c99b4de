"""Rewrite lists that no table holds: VALUES, unnest of an array, and WITH RECURSIVE that only counts.

Each becomes a constant list or a generate_series, so that no later stage meets another form. Each function changes a
tree in place, and leaves unknown forms to the grammar.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from planner.errors import StatementTooComplex
from planner.limits import MAX_PUBLIC_ROWS
from planner.sql.constant_intervals import written_interval
from planner.sql.literals import constant, moment, moment_sql
from planner.sql.trees import cast_sql, copied, fold, nodes, own_name

_Value = int | date | datetime


def written_values(tree: exp.Expr) -> exp.Expr:
    """Write VALUES as a SELECT over it, at the top and on the sides of UNION; the columns are column1, column2, ...

    >>> from sqlglot import parse_one
    >>> written_values(parse_one("VALUES (1, 'a'), (2, 'b')", dialect="postgres")).sql("postgres")
    'SELECT * FROM (VALUES (1, \\'a\\'), (2, \\'b\\')) AS "values"("column1", "column2")'
    """
    operations = [one for one in nodes(tree) if isinstance(one, exp.SetOperation)]
    sides = [side for one in operations for side in _sides(one)]
    for node in [tree, *sides]:
        if not isinstance(node, exp.Values) or node.args.get("alias") is not None:
            continue
        width = len(node.expressions[0].expressions) if isinstance(node.expressions[0], exp.Tuple) else 1
        columns = [own_name(f"column{place + 1}") for place in range(width)]
        rows = exp.Values(
            expressions=node.expressions, alias=exp.TableAlias(this=own_name("values"), columns=columns)
        )
        select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))
        for part in ("order", "limit", "offset"):
            if node.args.get(part) is not None:
                select.set(part, node.args[part])
        if node is tree:
            return select
        node.replace(select)
    return tree


def _sides(node: exp.SetOperation) -> list[exp.Expr]:
    return [side.unnest() for side in (node.this, node.expression)]


def unnested_arrays(tree: exp.Expr) -> None:
    """Write unnest of an array of constants as VALUES: in FROM, or as the only column of a SELECT without FROM.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT x FROM unnest(ARRAY[1, 2]) AS t(x)", dialect="postgres")
    >>> unnested_arrays(tree)
    >>> tree.sql("postgres")
    'SELECT x FROM (VALUES (1), (2)) AS t(x)'
    """
    for node in nodes(tree):
        if isinstance(node, exp.Unnest):
            alias, listed = node.args.get("alias"), _constants(node.expressions)
            if listed is not None and not node.args.get("offset"):
                named = (
                    alias if alias is not None and alias.this is not None else exp.TableAlias(this=own_name("unnest"))
                )
                if not named.columns:
                    named = exp.TableAlias(this=named.this, columns=[copied(named.this)])
                node.replace(exp.Values(expressions=listed, alias=named))
        elif isinstance(node, exp.Select) and node.args.get("from_") is None and len(node.expressions) == 1:
            item = node.expressions[0].unalias()
            listed = _constants([item.this]) if isinstance(item, exp.Explode) else None
            if listed is not None:
                name = exp.TableAlias(this=own_name("unnest"), columns=[own_name("unnest")])
                item.replace(exp.Column(this=own_name("unnest")))
                node.set("from_", exp.From(this=exp.Values(expressions=listed, alias=name)))


def listed_series(tree: exp.Expr) -> None:
    """Write `SELECT generate_series(1, 3)` as a SELECT from it: the only column of a SELECT without FROM.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT generate_series(1, 3) * 2 AS x", dialect="postgres")
    >>> listed_series(tree)
    >>> tree.sql("postgres")
    'SELECT "s"."generate_series" * 2 AS x FROM GENERATE_SERIES(1, 3) AS "s"("generate_series")'
    """
    for node in nodes(tree):
        if isinstance(node, exp.Select) and node.args.get("from_") is None and len(node.expressions) == 1:
            calls = [one for one in nodes(node.expressions[0]) if isinstance(one, exp.ExplodingGenerateSeries)]
            if len(calls) != 1:
                continue
            (call,) = calls
            name = "generate_series"
            if not isinstance(node.expressions[0], exp.Alias):
                named = exp.alias_(copied(node.expressions[0]), own_name(name))
                node.set("expressions", [named])
                (call,) = [one for one in nodes(named) if isinstance(one, exp.ExplodingGenerateSeries)]
            call.replace(exp.column(own_name(name), table=own_name("s")))
            alias = exp.TableAlias(this=own_name("s"), columns=[own_name(name)])
            node.set("from_", exp.From(this=exp.Table(this=call, alias=alias)))


def _constants(arrays: list[exp.Expr]) -> list[exp.Expr] | None:
    """The elements of one array of constants as rows; None for anything else."""
    array = arrays[0].unnest() if len(arrays) == 1 else None
    if not isinstance(array, exp.Array) or not array.expressions:
        return None
    known = all(isinstance(constant(one), (exp.Literal, exp.Null, exp.Neg)) for one in array.expressions)
    return [exp.Tuple(expressions=[one]) for one in array.expressions] if known else None


def counted_series(tree: exp.Expr) -> None:
    """Write WITH RECURSIVE that counts numbers or days as generate_series.

    The series is `start`, and from each value that passes the condition, the value one step further. It is counted
    here, so the last value is exact; at most MAX_PUBLIC_ROWS. Raises: StatementTooComplex beyond.

    >>> from sqlglot import parse_one
    >>> sql = "WITH RECURSIVE d(x) AS (SELECT 1 UNION ALL SELECT x + 2 FROM d WHERE x < 6) SELECT sum(x) FROM d"
    >>> tree = parse_one(sql, dialect="postgres")
    >>> counted_series(tree)
    >>> tree.sql("postgres")
    'WITH d(x) AS (SELECT "s"."x" AS "x" FROM GENERATE_SERIES(1, 7, 2) AS "s"("x")) SELECT SUM(x) FROM d'
    """
    for clause in [node for node in nodes(tree) if isinstance(node, exp.With) and node.args.get("recursive")]:
        found = [(entry, series) for entry in clause.expressions if (series := _series(entry)) is not None]
        for entry, series in found:
            entry.set("this", series)
        if found and not any(_names_itself(entry) for entry in clause.expressions):
            clause.set("recursive", None)


def _names_itself(entry: exp.Expr) -> bool:
    name = fold(entry.args["alias"].this)
    return any(isinstance(node, exp.Table) and _is_named(node, name) for node in nodes(entry.this))


def _is_named(table: exp.Expr, name: str) -> bool:
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    return plain and table.args.get("db") is None and fold(table.this) == name


def _series(entry: exp.Expr) -> exp.Select | None:
    body = entry.this
    if not isinstance(body, exp.Union) or not isinstance(body.this, exp.Select):
        return None
    first, again = body.this, body.expression
    if not isinstance(again, exp.Select) or not _only(again, "expressions", "from_", "where"):
        return None
    named = entry.args["alias"].columns or [first.expressions[0].args.get("alias")]
    single = len(first.expressions) == len(again.expressions) == len(named) == 1 and named[0] is not None
    source = again.args["from_"].this if again.args.get("from_") else None
    if (
        source is None
        or not single
        or not _is_named(source, fold(entry.args["alias"].this))
        or not _only(source, "this", "alias")
    ):
        return None
    start = _start(first)
    column = fold(named[0])
    step = _step(again.expressions[0].unalias(), column, start)
    passes = _condition(again.args.get("where"), column, start, step)
    if start is None or step is None or passes is None:
        return None
    last, count = start, 1
    while passes(last):
        moved = step.after(last)
        if moved is None or moved <= last or count >= MAX_PUBLIC_ROWS:  # type: ignore[operator]
            message = f"WITH RECURSIVE counts more than {MAX_PUBLIC_ROWS:,} values"
            raise StatementTooComplex(message, hint="end it earlier in its WHERE", at=entry.args["alias"].this)
        last, count = moved, count + 1
    select = _select(named[0], start, last, step)
    for part in nodes(select):
        if isinstance(part, exp.ExplodingGenerateSeries):
            part.meta.update(entry.args["alias"].this.meta)
    return select


def _only(node: exp.Expr, *parts: str) -> bool:
    return all(part in parts for part, value in node.args.items() if value)


def _start(first: exp.Select) -> _Value | None:
    """The constant of a SELECT without FROM, or of VALUES with one row."""
    value: exp.Expr = first.expressions[0].unalias()
    source = first.args["from_"].this if first.args.get("from_") else None
    if isinstance(source, exp.Values) and isinstance(value, exp.Star) and len(source.expressions) == 1:
        row = source.expressions[0]
        value, source = row.expressions[0] if isinstance(row, exp.Tuple) else row, None
    return None if source is not None or not _only(first, "expressions", "from_") else _value(value)


def _value(node: exp.Expr) -> _Value | None:
    """A whole number, or a date or timestamp that states its type."""
    plain = constant(node)
    sign, digits = (-1, plain.this.unnest()) if isinstance(plain, exp.Neg) else (1, plain)
    if isinstance(digits, exp.Literal) and not digits.is_string and digits.name.isdecimal() and len(digits.name) < 19:
        return sign * int(digits.name)
    return moment(node) if isinstance(node.unnest(), (exp.Cast, exp.Add, exp.Sub)) else None


class _Step:
    """A step of a series: so many numbers, or so many units of time; `amount` is above 0."""

    def __init__(self, written: exp.Expr, *, days: bool) -> None:
        self.written = written
        self._days = days

    def after(self, value: _Value) -> _Value | None:
        """The next value; None beyond the calendar."""
        if isinstance(value, int):
            return value + int(self.written.name)
        moved = moment(exp.Add(this=moment_sql(value), expression=copied(self.written)))
        return moved.date() if self._days and isinstance(moved, datetime) else moved


def _step(node: exp.Expr, column: str, start: _Value | None) -> _Step | None:
    """`x + 1`, `x + INTERVAL '1 month'` or a cast of it to DATE, if its type is that of `start`."""
    days = type(start) is date
    inner, cast = node.unnest(), False
    while isinstance(inner, exp.Cast):
        if not days or inner.to.this is not exp.DType.DATE:
            return None
        inner, cast = inner.this.unnest(), True
    if not isinstance(inner, exp.Add) or not _is_column(inner.this, column):
        return None
    amount = constant(inner.expression)
    if isinstance(amount, exp.Interval):
        positive = isinstance(amount.this, exp.Literal) and amount.this.name.isdecimal() and int(amount.this.name) > 0
        return _Step(amount, days=days) if positive and isinstance(start, date) and cast is days else None
    if not (isinstance(amount, exp.Literal) and not amount.is_string and amount.name.isdecimal()):
        return None
    if int(amount.name) == 0 or isinstance(start, datetime) or start is None:
        return None
    return _Step(amount if isinstance(start, int) else _interval(amount.name), days=days)


def _interval(days: str) -> exp.Interval:
    return exp.Interval(this=exp.Literal.string(days), unit=exp.var("DAY"))


def _is_column(node: exp.Expr, column: str) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Column) and fold(node.this) == column


def _condition(
    where: exp.Expr | None, column: str, start: _Value | None, step: _Step | None
) -> Callable[[_Value], bool] | None:
    """The condition `x < end` or `x <= end`, also of the next value; None for anything else."""
    test = None if where is None else where.this.unnest()
    if not isinstance(test, (exp.LT, exp.LTE)) or start is None or step is None:
        return None
    end = _end(test.expression, start)
    left, strict = test.this.unnest(), isinstance(test, exp.LT)
    ahead = isinstance(left, exp.Add) and _step(left, column, start) is not None
    if end is None or not (_is_column(left, column) or ahead):
        return None
    further = _step(left, column, start) if ahead else None

    def passes(value: _Value) -> bool:
        seen = value if further is None else further.after(value)
        return seen is not None and (_key(seen) < _key(end) if strict else _key(seen) <= _key(end))

    return passes


def _key(value: _Value) -> tuple[int, datetime]:
    """Numbers and moments in order; a date is its midnight."""
    if isinstance(value, int):
        return value, datetime.min
    return 0, value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _end(node: exp.Expr, start: _Value) -> _Value | None:
    plain = node.unnest()
    if isinstance(start, date) and isinstance(plain, exp.Literal) and plain.is_string:
        return moment(cast_sql(plain, "TIMESTAMP" if isinstance(start, datetime) else "DATE"))
    end = _value(node)
    return end if isinstance(end, int) is isinstance(start, int) else None


def _select(name: exp.Expr, start: _Value, last: _Value, step: _Step) -> exp.Select:
    value: exp.Expr = exp.column(own_name(fold(name)), table=own_name("s"))
    ends = [_sql(start), _sql(last)]
    if type(start) is date:
        value = cast_sql(value, "DATE")
    call = exp.ExplodingGenerateSeries(start=ends[0], end=ends[1], step=copied(step.written))
    alias = exp.TableAlias(this=own_name("s"), columns=[own_name(fold(name))])
    series = exp.Table(this=call, alias=alias)
    return exp.Select(expressions=[exp.alias_(value, own_name(fold(name)))], from_=exp.From(this=series))


def _sql(value: _Value) -> exp.Expr:
    if not isinstance(value, int):
        return moment_sql(value if isinstance(value, datetime) else datetime(value.year, value.month, value.day))
    number = exp.Literal.number(abs(value))
    return number if value >= 0 else exp.Neg(this=number)


MAX_SERIES = 1_000_000
"""The most rows of all constant series of a statement, multiplied, as a join of them has."""

_UNIT_S = {
    "SECOND": 1,
    "MINUTE": 60,
    "HOUR": 3600,
    "DAY": 86_400,
    "WEEK": 604_800,
    "MONTH": 2_419_200,
    "YEAR": 31_536_000,
}
"""The shortest length of each unit in seconds."""


def check_series(tree: exp.Expr) -> None:
    """Refuse constant series of more than MAX_SERIES rows, by their ends, before a database counts them.

    Raises: StatementTooComplex.
    """
    rows = 1
    for node in nodes(tree):
        if isinstance(node, (exp.ExplodingGenerateSeries, exp.GenerateSeries)):
            rows *= max(1, _length(node))
            if rows > MAX_SERIES:
                message = f"generate_series has {rows:,} rows, more than {MAX_SERIES:,}"
                raise StatementTooComplex(message, hint="choose nearer ends, or a longer step", at=node.args["start"])


def _length(series: exp.Expr) -> int:
    """The number of its rows at most; 1 for ends that are not constants."""
    start, end = (_constant_end(series.args[name]) for name in ("start", "end"))
    step = series.args.get("step")
    if isinstance(start, int) and isinstance(end, int):
        by = 1 if step is None else _value(step)
        return (end - start) // by + 1 if isinstance(by, int) and by else 1
    if not isinstance(start, date) or not isinstance(end, date) or step is None:
        return 1
    interval = _interval_of(step)
    if interval is None or interval.text("unit").upper().removesuffix("S") not in _UNIT_S:
        return 1
    seconds = int(interval.this.name) * _UNIT_S[interval.text("unit").upper().removesuffix("S")]
    passed = int((_key(end)[1] - _key(start)[1]).total_seconds())
    return passed // seconds + 1 if seconds else 1


def _constant_end(node: exp.Expr) -> _Value | None:
    """A constant, also below date_trunc, which moves it by less than a row matters here, and below casts."""
    plain = node.unnest()
    if isinstance(plain, exp.Literal) and plain.is_string:
        return moment(cast_sql(plain, "TIMESTAMP"))
    if isinstance(plain, (exp.Add, exp.Sub)) and isinstance(plain.expression.unnest(), exp.Interval):
        start = _constant_end(plain.this)
        return (
            None
            if not isinstance(start, date)
            else moment(type(plain)(this=moment_sql(start), expression=plain.expression))
        )
    if isinstance(plain, exp.TimestampTrunc) or (
        isinstance(plain, exp.Cast) and not isinstance(plain.this, exp.Literal)
    ):
        return _constant_end(plain.this)
    if isinstance(plain, (exp.Mul, exp.Pow)):
        sides = [_constant_end(plain.this), _constant_end(plain.expression)]
        small = all(isinstance(side, int) and abs(side) < 10**18 for side in sides)
        return sides[0] * sides[1] if small and isinstance(plain, exp.Mul) else None  # type: ignore[operator]
    if isinstance(plain, exp.Literal) and not plain.is_string:
        try:
            return int(Decimal(plain.name))
        except (InvalidOperation, OverflowError):
            return None
    return _value(node)


def _interval_of(node: exp.Expr) -> exp.Interval | None:
    plain = node.unnest()
    if isinstance(plain, exp.Interval):
        return plain
    kind = exp.DataType.build("INTERVAL")
    return written_interval(exp.Cast(this=copied(plain), to=kind)) if isinstance(plain, exp.Literal) else None
