"""A composed statement: questions over private rows, and one SELECT that post-processes their answers."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from planner.sql.sql_types import NUMBERS, ResultType

RELATION_PREFIX = "noisegate answer "
"""The prefix of the names of answers' relations, followed by a number; no statement may use such names."""

LOW, HIGH = " low", " high"
"""The suffixes of the columns that hold the ends of a column's intervals."""


class NotComposed(Exception):
    """The statement is no composition of answers; planning it as one question says what is wrong with it."""


MAX_PARTS = 16
"""The most questions of one statement, which share its epsilon."""


@dataclass(frozen=True)
class Part:
    """One question over private rows, released and charged like any other.

    Attributes:
      relation: the name under which the outer SELECT reads its answer.
      select: the question. Its columns are named k1, k2, ... (group keys) and a1, a2, ... (aggregates), or as the
        analyst named them where the answer stands in FROM unchanged.
    """

    relation: str
    select: exp.Select


@dataclass(frozen=True)
class ReleasedTable:
    """A table of released values that later parts read beside private rows (`released_tables.py`).

    Attributes:
      name: under which parts read it.
      query: over answers and public tables; its rows.
      columns: the names of its columns, in order.
      keys: those that identify a row; empty: it has one row, and a column that is 1 in front.
    """

    name: str
    query: exp.Query
    columns: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Composed:
    """A statement that reads private rows only through its parts.

    Attributes:
      parts: the questions, each different from the others; before each, those whose answers it reads.
      outer: the SELECT over their answers and public tables.
      tables: what parts read of the answers of earlier parts.
      groups_more: are private rows grouped by columns that meet an answer, beside the written keys?
    """

    parts: tuple[Part, ...]
    outer: exp.Query
    tables: tuple[ReleasedTable, ...] = ()
    groups_more: bool = False


def relation_type(kind: ResultType) -> ResultType:
    """Return the type of a released column inside an outer SELECT.

    Released numbers are numeric, so quotients of counts keep their fraction, and functions of whole numbers and of
    floats both apply.

    >>> relation_type("int8"), relation_type("text")
    ('numeric', 'text')
    """
    return "numeric" if kind in NUMBERS else kind


def relation_name(number: int) -> str:
    """Return the name of the relation of an answer, numbered from 1."""
    return f"{RELATION_PREFIX}{number}"


def released_table_name(number: int) -> str:
    """Return the name of a table of released values, numbered from 1."""
    return f"{RELATION_PREFIX}table {number}"


def is_relation(table: exp.Table) -> bool:
    """Whether a table of the statement stands for an answer."""
    return isinstance(table.this, exp.Identifier) and table.name.startswith(RELATION_PREFIX)
