"""A question for a mirror: a DuckDB file with the rows of a PostgreSQL database.

The plan was made for PostgreSQL's catalog. Where DuckDB may differ, the question is refused here and goes to
PostgreSQL. This concerns the order and the case of texts, which depend on the collation. It also concerns columns of
types that DuckDB cannot hold exactly. A char(n) is copied and compared without trailing blanks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb import HANDLERS, duckdb_sql
from planner.rewriting.dialects.duckdb_and_spark import Handlers, Typed, Write
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import Family, SqlType, sql_type

_WHOLE = {5: "SMALLINT", 10: "INTEGER", 19: "BIGINT"}
_DIGITS = 38
_TYPES = {
    Family.TEXT: "VARCHAR",
    Family.CHAR: "VARCHAR",
    Family.BOOL: "BOOLEAN",
    Family.DATE: "DATE",
    Family.TIMESTAMP: "TIMESTAMP",
    Family.TIMESTAMPTZ: "TIMESTAMPTZ",
    Family.UUID: "UUID",
}
_PARTLY = (Family.TIMESTAMP, Family.TIMESTAMPTZ)
"""Types of which DuckDB lacks some values, which become NULL. No key may have such a type."""

_FOLDED = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


def mirror_type(column_type: str) -> str | None:
    """The DuckDB type that holds the same values as a PostgreSQL type; None if there is none.

    >>> mirror_type("numeric(15,2)"), mirror_type("character(10)"), mirror_type("numeric"), mirror_type("bytea")
    ('DECIMAL(15, 2)', 'VARCHAR', None, None)
    """
    kind = sql_type(column_type)
    if kind.family is Family.INTEGER:
        return _WHOLE[kind.precision or 19]
    if kind.family is Family.NUMERIC and kind.precision is not None and kind.scale is not None:
        fits = 0 <= kind.scale <= kind.precision <= _DIGITS
        return f"DECIMAL({kind.precision}, {kind.scale})" if fits else None
    if kind.family is Family.FLOAT:
        return "FLOAT" if column_type in ("real", "float4") else "DOUBLE"
    if kind.family is Family.ENUM:
        return enum_by_labels(kind)
    return _TYPES.get(kind.family)


def enum_by_labels(kind: SqlType) -> str:
    """DuckDB's type for an enum."""
    labels = ", ".join("'" + label.replace("'", "''") + "'" for label in kind.labels)
    return f"ENUM({labels})"


def mirrored(table: Table) -> Table:
    """The table with only the columns that a mirror has.

    It lacks columns of types that are not copied, columns whose names DuckDB confuses, and timestamps in keys.
    """
    keyed = {name for key in (*table.keys, *(one.columns for one in table.foreign_keys)) for name in key}
    names = Counter(folded(column.name) for column in table.columns)
    columns = [column for column in table.columns if names[folded(column.name)] == 1 and _is_copied(column, keyed)]
    return replace(table, columns=tuple(columns))


def _is_copied(column: Column, keyed: set[str]) -> bool:
    partly = sql_type(column.type).family in _PARTLY
    return mirror_type(column.type) is not None and not (partly and column.name in keyed)


def folded(name: str) -> str:
    """A name as DuckDB compares it, with ASCII letters in lower case.

    >>> folded("Visit")
    'visit'
    """
    return name.translate(_FOLDED)


def mirror_sql(tree: exp.Expr, schema: Schema | None) -> str:
    """Write a statement for a mirror.

    Args:
      tree: the statement that the rules built.
      schema: the mirror's tables, with their columns in PostgreSQL.
    Raises: UnsupportedSQL for a question that PostgreSQL must answer.
    """
    assert schema is not None, "a mirror has the tables of a schema"
    tables = {}
    for node in tree.find_all(exp.Table):
        if isinstance(node.this, exp.Identifier):
            table = schema.at(node.text("db"), node.name)
            assert table is not None, "other questions are refused before"
            tables[table.name] = mirrored(table)
    return duckdb_sql(tree, Schema(tables), handlers=_HANDLERS)


def _refused(node: exp.Expr, write: Write) -> Typed:
    raise UnsupportedSQL("the case of letters depends on PostgreSQL's collation")


def _ordered(node: exp.Expr, write: Write) -> Typed:
    if any(part.type.is_string for part in _operands(node, write)):
        raise UnsupportedSQL("the order of texts depends on PostgreSQL's collation")
    return HANDLERS[type(node)](node, write)


def _sorted(node: exp.Expr, write: Write) -> Typed:
    value = write(node.this)
    if value.type.is_string:
        raise UnsupportedSQL("the order of texts depends on PostgreSQL's collation")
    return replace(value, sql=exp.Ordered(**{**node.args, "this": value.sql}))


def _equal(node: exp.Expr, write: Write) -> Typed:
    if any(part.type.family is Family.CHAR for part in _operands(node, write)):
        node = node.transform(_without_blanks)
    return HANDLERS[type(node)](node, write)


def _like(node: exp.Expr, write: Write) -> Typed:
    if write(node.this).type.family is Family.CHAR:
        raise UnsupportedSQL("LIKE reads the blanks of a char(n), which the mirror lacks")
    return HANDLERS[type(node)](node, write)


def _operands(node: exp.Expr, write: Write) -> list[Typed]:
    parts = [node.args.get(name) for name in ("this", "expression", "low", "high")]
    return [write(part) for part in (*parts, *(node.args.get("expressions") or ())) if isinstance(part, exp.Expr)]


def _without_blanks(node: exp.Expr) -> exp.Expr:
    return exp.Literal.string(node.name.rstrip(" ")) if isinstance(node, exp.Literal) and node.is_string else node


_HANDLERS: Handlers = {
    **HANDLERS,
    exp.Lower: _refused,
    exp.Upper: _refused,
    exp.ILike: _refused,
    exp.ToChar: _refused,
    **dict.fromkeys((exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Least, exp.Greatest, exp.Max), _ordered),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ), _equal),
    exp.Like: _like,
    exp.Ordered: _sorted,
}
