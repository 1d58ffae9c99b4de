"""Answers to queries over public tables: exact and free, from the rows of `public_reads.py`."""

from __future__ import annotations

from collections.abc import Sequence

from planner.public.relation import PublicStatement
from planner.rewriting.read_nan_as_null import nan_note
from planner.sql.sql_types import ResultType
from server.backends.public_rows import Rows
from server.query import Budget, Explanation, QueryResponse, ResultColumn
from server.results.result_types import RESULT_TYPES, as_it_is, cells_of

NOTE = "Only public tables were read, so the answer is exact and free."

_CONSTANT = "The statement reads no table, so the answer is exact and free."


def public_response(statement: PublicStatement, rows: Rows, budget: Budget, request_id: str) -> QueryResponse:
    """The answer: no interval, no charge."""
    cells = _cells(rows, [kind for _, kind in statement.columns])
    notes = [NOTE if statement.reads else _CONSTANT, *([nan_note(statement.nan)] if statement.nan else [])]
    return QueryResponse.exact(statement.columns, cells, budget, request_id, notes)


def _cells(rows: Rows, kinds: Sequence[ResultType]) -> Rows:
    """The rows as cells; most need no conversion."""
    if all(RESULT_TYPES[kind].cell is as_it_is for kind in kinds):
        return rows
    columns = [cells_of(kind, [row[place] for row in rows]) for place, kind in enumerate(kinds)]
    return tuple(zip(*columns, strict=True))


def public_explanation(statement: PublicStatement) -> Explanation:
    """The statement, and why it costs nothing."""
    tables = f"reads public tables only ({', '.join(statement.reads)})" if statement.reads else "reads no table"
    return Explanation(
        rewritten_sql=statement.sql,
        reason=f"none: it {tables}, so the answer is exact and free",
        columns=tuple(ResultColumn(name, kind) for name, kind in statement.columns),
    )
