"""The rewritten SQL for DuckDB: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

Conditions for DuckDB.

Aggregates for DuckDB, with their FILTER: the same numbers as on PostgreSQL, a sum's digits counted.

The rewritten SQL for DuckDB: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

What the two read differently, and what is written instead:

* `numeric` has 38 digits at most and a literal's type depends on its digits: digits are counted, literals cast;
* a decimal becomes a double by division, which rounds twice for long ones: those go through text;
* no decimal is NaN, and 'NaN' is no decimal;
* `real` against a literal compares as real: it is widened first;
* LIKE has no escape character unless it is named;
* a date outside the years of timestamps fails to become one: it is unknown instead.

A construct that is not listed here has not been compared on both databases and is refused.

Statements over public tables for DuckDB: what `planner.rewriting.dialects.duckdb` writes, and whole queries around
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects import duckdb_casts, duckdb_numbers
from planner.rewriting.dialects.duckdb_and_spark import (
    CONNECTIVES,
    Handler,
    Typed,
    Write,
    compared,
    literal,
    numeric,
    truth,
)
from planner.schema import Schema, Table
from planner.sql.sql_types import READ_AS, Family, SqlType, sql_type
from planner.sql.trees import DECLARED, ROWS, cast_sql, is_type, position_of, tables_by_alias


def _compared(node: exp.Expr, write: Write) -> Typed:
    value, other = write(node.this), node.args["expression"]
    if isinstance(other, exp.Literal) and other.is_string and value.type.is_number:
        return _no_nan(node, value)
    left, right = compared([value, write(other)])
    return truth(type(node)(this=left, expression=right))


def _no_nan(node: exp.Expr, value: Typed) -> Typed:
    """`x <> 'NaN'`, the only quoted number that rules write; a decimal is never NaN, so it is only not NULL."""
    assert isinstance(node, exp.NEQ) and node.expression.name == "NaN"
    if value.type.family is Family.FLOAT:
        return truth(exp.NEQ(this=value.sql, expression=cast_sql(node.expression.copy(), "DOUBLE")))
    return truth(exp.Is(this=value.sql, expression=exp.Null(), negate=True))


def _between(node: exp.Expr, write: Write) -> Typed:
    value, low, high = compared([write(node.args[part]) for part in ("this", "low", "high")])
    return truth(exp.Between(this=value, low=low, high=high))


def _listed(node: exp.Expr, write: Write) -> Typed:
    value, *items = compared([write(node.this), *map(write, node.args["expressions"])])
    return truth(exp.In(this=value, expressions=items))


def _tested(node: exp.Expr, write: Write) -> Typed:
    test = node.args["expression"].copy()
    return truth(exp.Is(this=write(node.this).sql, expression=test, negate=node.args.get("negate")))


def _like(node: exp.Expr, write: Write) -> Typed:
    """DuckDB has no escape character unless one is named; PostgreSQL's is the backslash."""
    like = type(node)(this=write(node.this).sql, expression=node.args["expression"].copy())
    escaped = exp.Escape(this=like, expression=exp.Literal.string("\\"))
    return truth(exp.Not(this=escaped) if node.args.get("negate") else escaped)


def _found(node: exp.Expr, write: Write) -> Typed:
    return truth(exp.Exists(this=write(node.this).sql))


CONDITIONS: dict[type[exp.Expr], Handler] = {
    **CONNECTIVES,
    exp.EQ: _compared,
    exp.NEQ: _compared,
    exp.LT: _compared,
    exp.LTE: _compared,
    exp.GT: _compared,
    exp.GTE: _compared,
    exp.NullSafeEQ: _compared,
    exp.NullSafeNEQ: _compared,
    exp.Between: _between,
    exp.In: _listed,
    exp.Is: _tested,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Exists: _found,
}


_MOST_DIGITS = 38
_ROW_DIGITS = 12
_OTHER = SqlType(Family.OTHER)


def _aggregate(node: exp.Expr, write: Write) -> Typed:
    """An aggregate with its FILTER."""
    call = node.this if isinstance(node, exp.Filter) else node
    argument = call.this
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Star):
        value = Typed(exp.Star(), _OTHER)
    else:
        value = write(argument.expressions[0] if distinct else argument)
    taken = exp.Distinct(expressions=[value.sql]) if distinct else value.sql
    sql: exp.Expr = type(call)(this=taken)
    if isinstance(node, exp.Filter):
        sql = exp.Filter(this=sql, expression=exp.Where(this=write(node.expression.this).sql))
    return _typed(call, sql, value)


def _typed(call: exp.Expr, sql: exp.Expr, value: Typed) -> Typed:
    if isinstance(call, exp.Count):
        return Typed(sql, SqlType(Family.INTEGER))
    if not isinstance(call, exp.Sum) or value.type.family is Family.FLOAT:
        return Typed(sql, value.type)
    whole = min(value.whole + _ROW_DIGITS, _MOST_DIGITS - value.scale)
    kind = numeric(whole, value.scale)
    return Typed(cast_sql(sql, f"DECIMAL({kind.precision}, {kind.scale})"), kind)


AGGREGATES: dict[type[exp.Expr], Handler] = dict.fromkeys(
    (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Filter), _aggregate
)


CLAUSES = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Order, exp.Ordered, exp.Distinct, exp.Alias,
    exp.TableAlias, exp.Table, exp.TableSample, exp.Identifier, exp.Var, exp.Limit,
)  # fmt: skip

HANDLERS: dict[type[exp.Expr], Handler] = {
    **CONDITIONS,
    **duckdb_numbers.HANDLERS,
    **duckdb_casts.HANDLERS,
}


def duckdb_sql(
    tree: exp.Expr, schema: Schema, *, handlers: Mapping[type[exp.Expr], Handler] = HANDLERS, pretty: bool = False
) -> str:
    """Write a statement for DuckDB.

    Args:
      tree: what the rules built: generated aliases, bound columns.
      schema: the catalog, for the columns' types.
      handlers: per construct.
    Raises: UnsupportedSQL where DuckDB would answer differently or could fail for some row.
    """
    tables = dict(tables_by_alias(tree, schema))
    written = Writer(tables, handlers, schema=schema).write(tree).sql
    return written.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False, pretty=pretty)


@dataclass(frozen=True)
class Writer:
    """Rewrites bottom-up; every value carries its type.

    Attributes:
      tables: by alias, for the columns' types.
      handlers: per construct.
      clauses: what stays the same over rewritten parts.
      schema: the catalog, for the columns of subqueries that are tables of their own.
      name: of the database, for refusals.
      aggregates: the handlers of such subqueries, beside the others.
      declared: writes the public values that a policy declares; PostgreSQL and DuckDB read them alike.
    """

    tables: Mapping[str, Table]
    handlers: Mapping[type[exp.Expr], Handler] = field(default_factory=lambda: HANDLERS)
    clauses: tuple[type[exp.Expr], ...] = CLAUSES
    schema: Schema = field(default_factory=lambda: Schema({}))
    name: str = "DuckDB"
    aggregates: Mapping[type[exp.Expr], Handler] = field(default_factory=lambda: AGGREGATES)
    declared: Callable[[exp.Subquery], exp.Expr] = exp.Subquery.copy

    def write(self, node: exp.Expr) -> Typed:
        """The node for DuckDB. Raises: UnsupportedSQL for a construct that is not known to mean the same there."""
        try:
            return self._written(node)
        except UnsupportedSQL as refusal:
            if refusal.position is None:
                refusal.position = position_of(node)
            raise

    def _written(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal):
            return Typed(node.copy(), SqlType(Family.TEXT)) if node.is_string else literal(node)
        if isinstance(node, exp.Subquery) and DECLARED in node.meta:
            return Typed(self.declared(node), SqlType(Family.OTHER))
        if isinstance(node, exp.Subquery) and ROWS in node.meta:
            known = dict(tables_by_alias(node.this, self.schema))
            inside = replace(self, tables=known, handlers={**self.handlers, **self.aggregates})
            return Typed(
                exp.Subquery(this=inside.write(node.this).sql, alias=node.args["alias"]), SqlType(Family.OTHER)
            )
        handler = self.handlers.get(type(node))
        if handler is not None:
            return handler(node, self.write)
        if isinstance(node, self.clauses):
            return self._clause(node)
        name = f"the function {node.sql_name().lower()}" if isinstance(node, exp.Func) else "what stands here"
        raise UnsupportedSQL(f"{name} is not supported on {self.name}")

    def _column(self, node: exp.Column) -> Typed:
        alias, *others = [node.table] if node.table else self.tables
        assert not others, "a column without its table stands in a query over one table"
        column = self.tables[alias].column(node.name)
        if column is None:
            raise UnsupportedSQL(f"{node.name} is not in the mirror")
        kind = sql_type(column.type)
        if kind.family is Family.FLOAT:
            return Typed(cast_sql(node.copy(), "DOUBLE"), kind)
        if column.type in READ_AS:
            return Typed(exp.TryCast(this=node.copy(), to=exp.DataType.build(READ_AS[column.type])), kind)
        return Typed(node.copy(), kind)

    def _clause(self, node: exp.Expr) -> Typed:
        """The same clause over rewritten parts."""
        arguments: dict[str, object] = {}
        for name, value in node.args.items():
            if isinstance(value, list):
                arguments[name] = [self.write(part).sql if isinstance(part, exp.Expr) else part for part in value]
            else:
                arguments[name] = self.write(value).sql if isinstance(value, exp.Expr) else value
        return Typed(type(node)(**arguments), SqlType(Family.OTHER))


_CLAUSES = (
    *CLAUSES, exp.Having, exp.Union, exp.Intersect, exp.Except,
)  # fmt: skip


def duckdb_public_sql(tree: exp.Expr, tables: Mapping[str, Table], *, pretty: bool = False) -> str:
    """Write a statement for DuckDB.

    Args:
      tree: of a PublicQuery.
      tables: by alias, for the columns' types.
    Raises: UnsupportedSQL where DuckDB would answer differently.
    """
    written = Writer(tables, HANDLERS | _HANDLERS, _CLAUSES).write(tree).sql
    return written.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False, pretty=pretty)


def _exists(node: exp.Expr, write: Write) -> Typed:
    return Typed(exp.Exists(this=write(node.this).sql), SqlType(Family.BOOL))


def _in(node: exp.Expr, write: Write) -> Typed:
    query = node.args.get("query")
    if query is None:
        return HANDLERS[exp.In](node, write)
    return Typed(exp.In(this=write(node.this).sql, query=write(query).sql), SqlType(Family.BOOL))


def _subquery(node: exp.Expr, write: Write) -> Typed:
    """In FROM a clause; elsewhere a value, of the type of its one column."""
    arguments = {name: write(value).sql for name, value in node.args.items() if isinstance(value, exp.Expr)}
    joins = [write(join).sql for join in node.args.get("joins") or []]
    sql = exp.Subquery(**arguments, joins=joins) if joins else exp.Subquery(**arguments)
    inner = node.this
    value = isinstance(inner, exp.Select) and node.args.get("alias") is None
    return Typed(sql, write(inner.expressions[0].this).type if value else _OTHER)


def _constant(node: exp.Expr, write: Write) -> Typed:
    """LIMIT and OFFSET: the number stays as it is."""
    return Typed(node.copy(), _OTHER)


def _cast(node: exp.Expr, write: Write) -> Typed:
    """A sum keeps its own digits, NULL is of any type; any other cast is as everywhere."""
    if isinstance(node.this, exp.Null):
        return Typed(node.copy(), sql_type(node.args["to"].sql("postgres").lower()))
    inner = node.this.this if isinstance(node.this, exp.Filter) else node.this
    if isinstance(inner, exp.Sum) and is_type(node.args["to"], "decimal"):
        return write(node.this)
    return HANDLERS[exp.Cast](node, write)


_HANDLERS: dict[type[exp.Expr], Handler] = {
    **AGGREGATES,
    exp.Exists: _exists,
    exp.In: _in,
    exp.Subquery: _subquery,
    exp.Limit: _constant,
    exp.Offset: _constant,
    exp.Cast: _cast,
}
