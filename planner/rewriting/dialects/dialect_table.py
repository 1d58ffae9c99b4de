"""The table of databases: writers for questions and public statements, and what SQL around answers may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb import duckdb_public_sql, duckdb_sql
from planner.rewriting.dialects.mirror import enum_by_labels, mirror_sql
from planner.rewriting.dialects.postgres import postgres_sql
from planner.rewriting.dialects.practice import practice_sql
from planner.rewriting.dialects.spark import spark_contributions_sql, spark_public_sql, spark_sql
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
    "interval": "INTERVAL",
}


def _enum_by_name(kind: SqlType) -> str | None:
    parts = name_parts(kind.enum) if kind.enum else ()
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts) or None


@dataclass(frozen=True)
class DialectSql:
    """What one database needs.

    Attributes:
      question: writes a question, given the catalog that it was planned with.
      public: writes a statement over public tables, given its tables by alias.
      types: the types of columns in a relation of released answers.
      by_name: does it have the functions that only PostgreSQL's name identifies?
      refused: constructs around answers that this database lacks.
      contributions: writes the statement around each unit's contributions.
      again: the mark of a relation that is computed wherever it is read; empty: the database decides.
      looks_up: does it join thresholds faster than it plans a CASE of all of them?
      around: can the database evaluate SQL around answers?
      enum: the type of an enum in a relation of released answers; None if the database has no enums.
      compares_otherwise: does it compare labels with texts as texts, and reals with numbers as reals?
    """

    question: Callable[[exp.Expr, Schema | None], str]
    public: Callable[[exp.Expr, Mapping[str, Table]], str]
    types: Mapping[ResultType, str]
    by_name: bool = False
    refused: frozenset[type[exp.Expr]] = field(default_factory=frozenset)
    contributions: Callable[[exp.Expr], str] = postgres_sql
    again: str = ""
    looks_up: bool = False
    around: bool = True
    enum: Callable[[SqlType], str | None] = _enum_by_name
    compares_otherwise: bool = False


Catalog = TypeVar("Catalog")


def _on_spark(
    write: Callable[[exp.Expr, Catalog], str], on_duckdb: Callable[[exp.Expr, Catalog], str]
) -> Callable[[exp.Expr, Catalog], str]:
    """Wrap Spark's writer: its refusals name Spark, and the databases that accept the question."""

    def written(tree: exp.Expr, catalog: Catalog) -> str:
        before = tree.copy()
        try:
            return write(tree, catalog)
        except UnsupportedSQL as error:
            can = "PostgreSQL and DuckDB (parquet:///) answer it as it stands"
            try:
                on_duckdb(before, catalog)
            except UnsupportedSQL:
                can = "PostgreSQL answers it as it stands"
            message = error.message if "Spark" in error.message else f"{error.message}: not on Spark"
            hint = can if error.hint is None else f"{error.hint}; {can}"
            raise UnsupportedSQL(message, hint=hint, position=error.position) from error

    return written


_DUCKDB = DialectSql(
    duckdb_sql,
    duckdb_public_sql,
    {**_TYPES, "numeric": "DOUBLE", "float4": "DOUBLE", "float8": "DOUBLE", "text": "VARCHAR"},
    refused=frozenset({exp.TimeToStr, exp.ToChar, exp.GroupConcat, exp.Initcap, exp.WidthBucket, exp.ConcatWs}),
    enum=enum_by_labels,
    compares_otherwise=True,
    looks_up=True,
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
    "spark": DialectSql(
        _on_spark(spark_sql, duckdb_sql),
        _on_spark(spark_public_sql, duckdb_public_sql),
        _TYPES,
        contributions=spark_contributions_sql,
        around=False,
    ),
    "mirror": replace(_DUCKDB, question=mirror_sql),  # for private tables only
    "practice": replace(_DUCKDB, question=practice_sql),  # likewise
}
"""By name. A new database needs a row here, a writer in this folder, and a backend in the server."""
