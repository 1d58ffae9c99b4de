"""A composed statement: questions over private rows, and one SELECT that is post-processing of their answers."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from planner.sql.sql_types import NUMBERS, ResultType

RELATION_PREFIX = "noisegate answer "
"""With a number behind it, the name of the relation that holds an answer's rows; no statement may use such names."""

LOW, HIGH = " low", " high"
"""Behind a column's name, the columns of a relation with the ends of its intervals."""


class NotComposed(Exception):
    """The statement is no composition of answers; whoever plans it as one question says what is wrong with it."""


@dataclass(frozen=True)
class Part:
    """One question over private rows, whose answer is released and charged like any other.

    Attributes:
      relation: the name under which the SELECT around it reads the answer.
      select: the question; its columns are named k1, k2, ... (group keys) and a1, a2, ... (aggregates), or as the
        analyst named them where the answer stands in FROM as it is.
    """

    relation: str
    select: exp.Select


@dataclass(frozen=True)
class Composed:
    """A statement that reads private rows through its parts only.

    Attributes:
      parts: the questions, each different from the others.
      outer: what is computed from their answers and from public tables.
    """

    parts: tuple[Part, ...]
    outer: exp.Query


def relation_type(kind: ResultType) -> ResultType:
    """The type that a released column has where something is computed from it.

    Released numbers are numeric, whatever they count: quotients of counts are true quotients, as everywhere here, and
    what PostgreSQL can do with whole numbers and with floats it can do with numerics.

    >>> relation_type("int8"), relation_type("text")
    ('numeric', 'text')
    """
    return "numeric" if kind in NUMBERS else kind


def relation_name(number: int) -> str:
    """The name of the relation of the answer of this number, from 1."""
    return f"{RELATION_PREFIX}{number}"


def is_relation(table: exp.Table) -> bool:
    """Does the table stand for an answer?"""
    return isinstance(table.this, exp.Identifier) and table.name.startswith(RELATION_PREFIX)
