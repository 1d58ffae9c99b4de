"""A question for the practice database: DuckDB's SQL, also where its values may differ from PostgreSQL's.

The rows are made up, so DuckDB's own time zones and texts of numbers will do.
"""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb import HANDLERS, duckdb_sql
from planner.rewriting.dialects.duckdb_and_spark import Handlers, Typed, Write
from planner.schema import Schema
from planner.sql.sql_types import Family, SqlType, sql_type
from planner.sql.trees import InZone, cast_sql


def practice_sql(tree: exp.Expr, schema: Schema | None) -> str:
    """Write a statement for the practice database. Raises: UnsupportedSQL."""
    return duckdb_sql(tree, schema, handlers=_HANDLERS)


def _in_zone(node: exp.Expr, write: Write) -> Typed:
    moment = write(node.this)
    local = moment.type.family is Family.TIMESTAMPTZ
    zoned = exp.Anonymous(this="TIMEZONE", expressions=[node.args["zone"].copy(), moment.sql])
    return Typed(zoned, SqlType(Family.TIMESTAMP if local else Family.TIMESTAMPTZ))


def _cast(node: exp.Expr, write: Write) -> Typed:
    try:
        return HANDLERS[exp.Cast](node, write)
    except UnsupportedSQL:
        kind = sql_type(node.args["to"].sql("postgres").lower())
        if kind.family not in (Family.TEXT, Family.CHAR):
            raise
        return Typed(cast_sql(write(node.this).sql, "TEXT"), SqlType(Family.TEXT))


_HANDLERS: Handlers = {**HANDLERS, InZone: _in_zone, exp.Cast: _cast}
