"""What is decided about a query over public tables: a statement, and what its answer looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from planner.schema import Table
from planner.sql.result_names import ResultType


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
