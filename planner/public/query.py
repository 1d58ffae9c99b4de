"""What is decided about a query over public tables: a statement, and what its answer looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp

from planner.dialects.duckdb_public import duckdb_public_sql
from planner.plan import ResultType
from planner.rewrite import Dialect, to_sql
from planner.schema import Table


@dataclass(frozen=True)
class PublicQuery:
    """A query that reads public tables only.

    Attributes:
      statement: a SELECT whose columns are c0, c1, ..., of generated aliases and checked names; it returns at most
        MAX_PUBLIC_ROWS rows and one more, which says that there are more.
      columns: name and type of each column of the answer.
      reads: the names of the public tables that it reads, in the order in which they are found.
      fingerprint: of the schema that it was made for.
      tables: by alias, every table and subquery of the statement.
    """

    statement: exp.Select
    columns: tuple[tuple[str, ResultType], ...]
    reads: tuple[str, ...]
    fingerprint: str
    tables: Mapping[str, Table] = field(repr=False)


@dataclass(frozen=True)
class PublicStatement:
    """A PublicQuery as the text that a database gets.

    Attributes:
      sql: the statement.
      types: of its columns.
      fingerprint: the schema that it is valid for.
    """

    sql: str
    types: tuple[ResultType, ...]
    fingerprint: str


def write_public(query: PublicQuery, *, dialect: Dialect = "postgres") -> PublicStatement:
    """The text for a database. Raises: UnsupportedSQL for what the dialect cannot say with the same meaning."""
    write: Callable[[exp.Expr], str] = to_sql
    if dialect == "duckdb":
        write = partial(duckdb_public_sql, tables=query.tables)
    return PublicStatement(write(query.statement), tuple(kind for _, kind in query.columns), query.fingerprint)
