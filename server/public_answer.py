"""Queries over public tables: answered exactly, free of charge."""

from __future__ import annotations

from planner.public.query import PublicQuery, PublicStatement
from server.backends.backend import Backend
from server.backends.public_rows import Rows
from server.query import Budget, Explanation, QueryResponse, ResultColumn

NOTE = "Only public tables were read: the answer is exact and free."

_CONSTANT = "It reads no table: the answer is exact and free."


def read_public(backend: Backend, statement: PublicStatement) -> Rows:
    """Run the statement; called in a worker process."""
    return backend.public(statement)


def public_response(query: PublicQuery, rows: Rows, budget: Budget, request_id: str) -> QueryResponse:
    """The answer: no interval, no charge.

    Args:
      rows: what the database holds.
      budget: the analyst's, unchanged.
    """
    nothing = ((None,) * len(query.columns),) * len(rows)
    return QueryResponse(
        columns=tuple(ResultColumn(name, kind) for name, kind in query.columns),
        rows=rows,
        intervals=nothing,
        confidence=1.0,
        covers="exact",
        mechanism="none",
        epsilon=0.0,
        delta=0.0,
        budget=budget,
        request_id=request_id,
        weak=(False,) * len(rows),
        taus=nothing,
        notes=(NOTE if query.reads else _CONSTANT,),
    )


def public_explanation(query: PublicQuery, statement: PublicStatement) -> Explanation:
    """What would be run, and why it costs nothing."""
    tables = f"reads public tables only ({', '.join(query.reads)})" if query.reads else "reads no table"
    return Explanation(
        rewritten_sql=statement.sql,
        privacy_units=(),
        owners=(),
        weight_bounds=(),
        groups_per_unit=None,
        mechanism="none",
        reason=f"none: it {tables}, so the answer is exact and free",
        epsilon=0.0,
        delta=0.0,
        expected_noise=(),
        columns=tuple(ResultColumn(name, kind) for name, kind in query.columns),
    )
