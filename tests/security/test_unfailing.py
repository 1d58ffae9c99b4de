"""Generated statements over hostile rows: each is refused before its charge, or answered; none fails after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.plan import BackendQuery
from server.backends.columns import Domain
from server.backends.embedded import EmbeddedPostgres
from server.backends.query_tuples import QueryTuples
from server.query import QueryRequest
from tests.security.pairwise.kept_connections import KeptConnections
from tests.security.pairwise.lockstep import ANALYST
from tests.security.pairwise.unfailing import Asked, ask_all, duckdb_backend, postgres_backend
from tests.support.seeds import SEED, examples

STATEMENTS = examples(25, 500)
FIRST = 1_000_000 * SEED


def test_on_duckdb(tmp_path: Path) -> None:
    with duckdb_backend(tmp_path) as backend:
        _check(ask_all(backend, range(FIRST, FIRST + STATEMENTS)))


def test_on_postgres(embedded_postgres: EmbeddedPostgres) -> None:
    with postgres_backend(embedded_postgres, "unfailing") as backend:
        _check(ask_all(backend, range(FIRST + STATEMENTS, FIRST + 2 * STATEMENTS)))


def test_a_numeric_without_a_double_beside_doubles_does_not_fail(embedded_postgres: EmbeddedPostgres) -> None:
    """Found by the generator: 1e400 in a UNION ALL with doubles told one person's row by the failure."""
    sides = ("m", "m * 2", "floor(m)", "coalesce(m, n)")
    texts = [
        f"SELECT count(x), sum(least(x, 5)) FROM (SELECT f AS x FROM h UNION ALL SELECT {one} FROM h) u"
        for one in sides
    ]
    with postgres_backend(embedded_postgres, "unfailing_union") as backend:
        asked = ask_all(backend, range(len(texts)), lambda number: QueryRequest(ANALYST, texts[number], epsilon=8.0))
        assert asked.counts["answered"] == len(texts), asked.failed


def test_a_read_that_fails_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: a row of the database ends the statement."""

    def failing(self: KeptConnections, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        raise ZeroDivisionError

    monkeypatch.setattr(KeptConnections, "read", failing)
    with duckdb_backend(tmp_path) as backend:
        assert ask_all(backend, range(10)).failed


def _check(asked: Asked) -> None:
    assert not asked.failed, asked.failed[0]
    assert asked.counts["answered"] > STATEMENTS // 4 and asked.counts["refused"]
