"""The rewritten SQL for Spark: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

What the two read differently, and what is written instead, stands in the files beside this one. Everything runs under
`spark.sql.ansi.enabled`, where a value that does not fit is an error and never another value; so that no such error
tells of a row, what could fail is written as a function that is NULL instead, and never reached where PostgreSQL has
a value. The session's settings, which are a part of what a statement means, are in server/backends/spark/session.py.

A construct that is not listed here has not been compared on both databases and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb import CLAUSES, Writer
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write
from planner.rewriting.dialects.spark import aggregates, conditions, moments, numbers, texts, values
from planner.rewriting.dialects.spark.calls import call, double
from planner.rules.compact_provenance import SATURATION
from planner.rules.sample_rows import bernoulli_percent
from planner.schema import Schema, Table
from planner.sql.sql_nodes import is_type, tables_by_alias
from planner.sql.sql_types import Family, SqlType

FILES = "main"
"""The schema of tables that are files: views of the session, whose names Spark knows without one."""

SEED = "seed"
"""The parameter of a statement that samples: whoever runs it draws it anew."""

_VALUES: dict[type[exp.Expr], Handler] = {
    **conditions.CONDITIONS,
    **numbers.HANDLERS,
    **values.VALUES,
    **texts.TEXTS,
    **moments.MOMENTS,
}
_OTHER = SqlType(Family.OTHER)


def spark_sql(tree: exp.Expr, schema: Schema | None) -> str:
    """Write a statement for Spark.

    Args:
      tree: what the rules built: generated aliases, bound columns.
      schema: the catalog, for the columns' types.
    Raises: UnsupportedSQL where Spark would answer differently or could fail for some row.
    """
    assert schema is not None, "Spark's statements depend on the columns' types"
    tables = dict(tables_by_alias(tree, schema))
    writer = Writer(
        tables,
        {**_VALUES, **aggregates.AGGREGATES, **_TABLES},
        CLAUSES,
        schema,
        name="Spark",
        aggregates=aggregates.INNER_HANDLERS,
        declared=_declared,
    )
    return written(writer.write(tree).sql)


def spark_loads_sql(tree: exp.Expr) -> str:
    """What stands around the loads of all units: whole numbers alone, whose totals saturate instead of failing."""

    def saturating(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Sum):
            return node
        total = call("TRY_SUM", node.this)
        return call("COALESCE", total, exp.Literal.number(SATURATION))

    return written(tree.transform(saturating) if isinstance(tree, exp.Query) else tree)


def written(tree: exp.Expr) -> str:
    """The text of a tree, whose every name is quoted. Raises: UnsupportedError rather than drop anything."""
    return tree.sql("spark", unsupported_level=ErrorLevel.RAISE, comments=False)


def _table(node: exp.Expr, write: Write) -> Typed:
    """A table; of files, without its schema. A sample keeps each row by its own draw, at exactly the plan's rate."""
    table = exp.Table(this=node.this.copy())
    if node.text("db") != FILES:
        table.set("db", node.args["db"].copy())
    others = {name for name, value in node.args.items() if value} - {"this", "db", "alias", "sample"}
    if others:
        raise UnsupportedSQL("this way to read a table is not supported on Spark")
    alias = node.args["alias"].copy()
    sample = node.args.get("sample")
    if sample is None:
        table.set("alias", alias)
        return Typed(table, _OTHER)
    assert sample.args["method"].name == "BERNOULLI", "blocks are never sampled"
    rate = bernoulli_percent(float(sample.args["percent"].name) / 100)[1]
    kept = exp.LT(this=call("RAND", exp.Placeholder(this=SEED)), expression=double(repr(rate)))
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), where=exp.Where(this=kept))
    return Typed(exp.Subquery(this=rows, alias=alias), _OTHER)


def _declared(node: exp.Subquery) -> exp.Expr:
    """Public values that a policy declares, whose series of steps has another name, and ends before its end."""
    for part in node.find_all(exp.AtTimeZone, exp.Cast):
        if not isinstance(part, exp.Cast) or not is_type(part.to, *_DECLARED):
            raise UnsupportedSQL("declared values of this type are not supported on Spark")
    return node.transform(_steps)


_DECLARED = ("smallint", "int", "bigint", "decimal", "double", "text", "boolean", "date", "timestamp")


def _steps(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous) or node.name.upper() != "GENERATE_SERIES":
        return node
    first, last = (int(end.sql()) for end in node.expressions)
    return call("RANGE", *map(exp.Literal.number, (first, last + 1)))


_TABLES: dict[type[exp.Expr], Handler] = {exp.Table: _table}


def spark_public_sql(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    """Write a statement over public tables. Raises: UnsupportedSQL where Spark would answer differently."""
    handlers = {**_VALUES, **aggregates.INNER_HANDLERS, **_TABLES}
    writer = Writer(tables, handlers, (*CLAUSES, exp.Having), name="Spark")
    return written(writer.write(tree).sql)
