"""The one table of databases: what a dialect needs for questions, for public statements, and around answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb import duckdb_public_sql, duckdb_sql
from planner.rewriting.dialects.mirror import mirror_sql
from planner.rewriting.dialects.postgres import postgres_sql
from planner.rewriting.dialects.spark import spark_loads_sql, spark_public_sql, spark_sql
from planner.schema import Dialect, Schema, Table, name_parts
from planner.sql.sql_types import ResultType, SqlType

_TYPES: Mapping[ResultType, str] = {
    "int8": "BIGINT",
    "float4": "DOUBLE PRECISION",
    "float8": "DOUBLE PRECISION",
    "numeric": "NUMERIC",
    "text": "TEXT",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
}


def _enum_by_name(kind: SqlType) -> str | None:
    parts = name_parts(kind.enum) if kind.enum else ()
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts) or None


def _enum_by_labels(kind: SqlType) -> str:
    labels = ", ".join("'" + label.replace("'", "''") + "'" for label in kind.labels)
    return f"ENUM({labels})"


@dataclass(frozen=True)
class DialectSql:
    """What is written for one database.

    Attributes:
      question: the rewritten SQL of a question as text, given the catalog that it was planned with.
      public: a statement over public tables as text, given its tables by alias.
      types: what the columns of a relation of released answers are cast to.
      by_name: does it have the functions that are known by PostgreSQL's name alone?
      refused: constructs that may surround answers elsewhere, and not here.
      loads: what stands around what every unit has, as text.
      again: how a relation is marked that is computed anew where it is read; empty: the database decides.
      around: may anything surround answers there?
      enum: the type of an enum's labels in a relation of released answers; None where the database has none.
      compares_otherwise: does it compare a label with a text as texts, and a real with a number as reals?
    """

    question: Callable[[exp.Expr, Schema | None], str]
    public: Callable[[exp.Expr, Mapping[str, Table]], str]
    types: Mapping[ResultType, str]
    by_name: bool = False
    refused: frozenset[type[exp.Expr]] = field(default_factory=frozenset)
    loads: Callable[[exp.Expr], str] = postgres_sql
    again: str = ""
    around: bool = True
    enum: Callable[[SqlType], str | None] = _enum_by_name
    compares_otherwise: bool = False


def _question_on_duckdb(tree: exp.Expr, schema: Schema | None) -> str:
    assert schema is not None, "DuckDB's statements depend on the columns' types"
    return duckdb_sql(tree, schema)


def _question_on_mirror(tree: exp.Expr, schema: Schema | None) -> str:
    assert schema is not None, "a mirror has the tables of a schema"
    return mirror_sql(tree, schema)


def _question_on_spark(tree: exp.Expr, schema: Schema | None) -> str:
    before = tree.copy()
    try:
        return spark_sql(tree, schema)
    except UnsupportedSQL as error:
        raise _of_spark(error, lambda: _question_on_duckdb(before, schema)) from error


def _public_on_spark(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    before = tree.copy()
    try:
        return spark_public_sql(tree, tables)
    except UnsupportedSQL as error:
        raise _of_spark(error, lambda: duckdb_public_sql(before, tables)) from error


def _of_spark(error: UnsupportedSQL, on_duckdb: Callable[[], str]) -> UnsupportedSQL:
    """The same refusal, which says whose it is, and which databases answer the question as it stands."""
    try:
        on_duckdb()
        can = "PostgreSQL and DuckDB (parquet:///) answer it as it stands"
    except UnsupportedSQL:
        can = "PostgreSQL answers it as it stands"
    named = "Spark" in error.message
    hint = can if error.hint is None else f"{error.hint}; {can}"
    return UnsupportedSQL(
        error.message if named else f"{error.message}: not on Spark", hint=hint, position=error.position
    )


_DUCKDB = DialectSql(
    _question_on_duckdb,
    duckdb_public_sql,
    {**_TYPES, "numeric": "DOUBLE", "float4": "DOUBLE", "float8": "DOUBLE", "text": "VARCHAR"},
    refused=frozenset({exp.TimeToStr, exp.ToChar, exp.GroupConcat, exp.Initcap, exp.WidthBucket, exp.ConcatWs}),
    enum=_enum_by_labels,
    compares_otherwise=True,
)

DIALECTS: Mapping[Dialect, DialectSql] = {
    "postgres": DialectSql(
        lambda tree, _: postgres_sql(tree),
        lambda tree, _: postgres_sql(tree),
        _TYPES,
        by_name=True,
        again="NOT MATERIALIZED ",
    ),
    "duckdb": _DUCKDB,
    "spark": DialectSql(_question_on_spark, _public_on_spark, _TYPES, loads=spark_loads_sql, around=False),
    "mirror": replace(_DUCKDB, question=_question_on_mirror),  # of private tables alone
}
"""By name; a database that is added has its row here, its writer beside this file, and its backend in the server."""
