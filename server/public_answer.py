"""Queries over public tables: answered exactly, free of charge."""

from __future__ import annotations

import threading

from planner.public.query import PublicQuery, PublicStatement
from server.backends.backend import Backend
from server.backends.public_rows import Rows
from server.errors import (
    BackendConnectionLost,
    BackendUnavailable,
    CancelledByClient,
    CancelledEarly,
    PublicQueryFailed,
    QueryCancelled,
)
from server.query import Budget, Explanation, QueryResponse, ResultColumn
from server.workers import WorkerPool

NOTE = "Only public tables were read: the answer is exact and free."

_ATTEMPTS = 2  # a lost connection is retried once
_LIMIT_S = 30.0
"""Of one attempt, whatever the database does: its own limit, and time to connect and to read the answer."""

_CONSTANT = "It reads no table: the answer is exact and free."


def read_public(backend: Backend, statement: PublicStatement) -> Rows:
    """Run the statement; called in a worker process."""
    return backend.public(statement)


def rows_in_worker(
    workers: WorkerPool,
    backend: Backend,
    statement: PublicStatement,
    analyst: str,
    cancelled: threading.Event | None,
) -> Rows:
    """Read in a worker, whose limits hold here, too; what fails was free.

    Raises: PublicQueryFailed over a limit, CancelledEarly when `cancelled` is set, BackendUnavailable when the
      connection was lost twice.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return workers.call(read_public, backend, statement, cancelled=cancelled, owner=analyst, limit_s=_LIMIT_S)
        except CancelledByClient as error:
            raise CancelledEarly("the query was cancelled", hint="it was free") from error
        except QueryCancelled as error:
            hint = "join less, or add predicates; nothing was charged"
            raise PublicQueryFailed("the query went over its time or memory limit", hint=hint) from error
        except BackendConnectionLost as error:
            if attempt == _ATTEMPTS:
                hint = "try again; nothing was charged"
                raise BackendUnavailable("the connection to the database was lost", hint=hint) from error
    raise AssertionError("the last attempt returns or raises")


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
