"""The rewritten SQL for DuckDB: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

What the two read differently, and what is written instead:

* `numeric` has 38 digits at most and a literal's type depends on its digits: digits are counted, literals cast;
* a decimal becomes a double by division, which rounds twice for long ones: those go through text;
* no decimal is NaN, and 'NaN' is no decimal;
* `real` against a literal compares as real: it is widened first;
* LIKE has no escape character unless it is named;
* a date outside the years of timestamps fails to become one: it is unknown instead.

A construct that is not listed here has not been compared on both databases and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects import duckdb_aggregates, duckdb_conditions, duckdb_numbers, duckdb_values
from planner.rewriting.dialects.exact_digits import Handler, Typed, literal
from planner.schema import Schema, Table
from planner.sql.sql_nodes import DECLARED, ROWS, cast_sql, tables_by_alias
from planner.sql.sql_types import READ_AS, Family, SqlType, sql_type
from planner.sql.trees import position_of

CLAUSES = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Order, exp.Ordered, exp.Distinct, exp.Alias,
    exp.TableAlias, exp.Table, exp.TableSample, exp.Identifier, exp.Var, exp.Limit,
)  # fmt: skip

HANDLERS: dict[type[exp.Expr], Handler] = {
    **duckdb_conditions.CONDITIONS,
    **duckdb_numbers.HANDLERS,
    **duckdb_values.HANDLERS,
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
    aggregates: Mapping[type[exp.Expr], Handler] = field(default_factory=lambda: duckdb_aggregates.AGGREGATES)
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
