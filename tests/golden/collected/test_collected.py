"""The collected statements: the table of verdicts, and every answered one before noise on both databases."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import duckdb
import psycopg
import pytest

from planner.policy.validate import validate
from server.backends.backend import Backend
from server.backends.catalog import read_schema
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.pipeline import Pipeline
from tests.golden.collected.before_noise import answered, differences
from tests.golden.collected.outcomes import NAMESPACE, found, outcome, pipeline, policy, schema, write_file
from tests.golden.collected.statements import adapted, collected
from tests.golden.collected.verdicts import GAPS, NOT_TO_BE_ANSWERED, verdict, working
from tests.golden.collected.world import OF_SOMEBODY, ROWS, TABLES
from tests.golden.collected.write_table import TABLE, answered_share, table
from tests.golden.untruncated import Rows, Run

TRUTHS = {
    "peer04": ("SUM(income) / COUNT(income)", "SUM(income)::numeric / COUNT(income)"),
    "exe24": ("FROM employees GROUP BY", "FROM employees WHERE department_id IS NOT NULL GROUP BY"),
}
"""By name, what the database must be asked: quotients of released numbers keep their fractions; a domain has no
NULL."""

EMPTY = {"bi07", "dbt04", "dbt05", "dbt06", "dbt07"}
"""Questions whose true answer has no row, or counts none: tests that the data passes, and days without rows."""

WITH_EMPTY_GROUPS = {"exe26", "exe36"}
"""Where a LEFT JOIN shows the groups that nothing falls into."""

NOT_ON_DUCKDB = {"bi03", "bi19", "peer10"}
"""What is refused there, since its decimals divide inexactly and it has no to_char."""


@dataclass(frozen=True)
class Database:
    """One of the two: how a text is looked up for it, and how its statements run."""

    run: Run
    backend: Backend
    pipeline: Pipeline


@pytest.fixture(scope="module")
def urls(embedded_postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    """The tables as the proxy reads them, and as answers are of them: without nobody's rows, within ranges."""
    names = ("collected", "collected_of_somebody")
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        for name, changes in zip(names, ((), OF_SOMEBODY), strict=True):
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {name}".encode())
            connection.execute(f"ALTER DATABASE {name} SET timezone = 'UTC'".encode())
            with psycopg.connect(embedded_postgres.url(database=name)) as loading:
                for statement in (*TABLES, *ROWS, *changes):
                    loading.execute(statement.encode())
        yield embedded_postgres.url(database=names[0]), embedded_postgres.url(database=names[1])
        for name in names:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="module")
def truth(urls: tuple[str, str]) -> Iterator[Callable[[str], Rows]]:
    """What PostgreSQL itself says."""
    with psycopg.connect(urls[1], autocommit=True) as connection:
        yield partial(_postgres_rows, connection)


@pytest.fixture(scope="module")
def on_postgres(urls: tuple[str, str]) -> Iterator[Database]:
    backend = PostgresBackend(urls[0])
    with psycopg.connect(urls[0], autocommit=True) as connection:
        yield Database(partial(_postgres_rows, connection), backend, pipeline(backend))


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The proxy's backend opens a file for each question; the test keeps a copy open."""
    path = tmp_path_factory.mktemp("collected") / "collected.duckdb"
    write_file(path)
    copy = shutil.copy(path, path.with_suffix(".copy"))
    backend = DuckdbBackend(path, NAMESPACE)
    with duckdb.connect(copy, read_only=True) as connection:
        connection.execute(f"USE {NAMESPACE}; SET TimeZone = 'UTC'")
        yield Database(lambda sql: connection.execute(sql).fetchall(), backend, pipeline(backend))


def _postgres_rows(connection: psycopg.Connection[tuple[object, ...]], sql: str) -> Rows:
    return connection.execute(sql.encode()).fetchall()


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


def test_at_least_150_and_most_of_the_answerable_ones_are_answered() -> None:
    assert len(collected()) >= 150
    assert answered_share() >= 0.85


def test_every_refused_one_is_classified_and_no_other() -> None:
    refused = {name for name, one in collected().items() if outcome(one.sql).refusal is not None}
    assert refused == NOT_TO_BE_ANSWERED.keys() | GAPS.keys()
    assert not NOT_TO_BE_ANSWERED.keys() & GAPS.keys()
    assert adapted().keys() <= GAPS.keys()
    assert all(verdict(name) == "answered adapted" for name in adapted())


def test_a_refusal_says_where_and_hints() -> None:
    for name in NOT_TO_BE_ANSWERED.keys() | GAPS.keys():
        refusal = outcome(collected()[name].sql).refusal
        assert refusal is not None and refusal.hint, name
        assert refusal.position is not None or name == "peer18", name


def test_the_catalogs_agree(urls: tuple[str, str]) -> None:
    validate(policy(), schema())
    with psycopg.connect(urls[0]) as connection:
        assert read_schema(connection).fingerprint == schema().fingerprint


def test_all_are_statements_of_postgresql(truth: Callable[[str], Rows]) -> None:
    """Also those that are refused."""
    for statement in collected().values():
        truth(statement.sql)


@pytest.mark.parametrize("name", sorted(working()))
def test_before_noise_it_is_what_the_database_says(
    name: str, truth: Callable[[str], Rows], on_postgres: Database, on_duckdb: Database
) -> None:
    sql = working()[name]
    true = truth(sql.replace(*TRUTHS.get(name, ("", ""))))
    assert (name in EMPTY) == (not any(map(any, true)))
    for database in (on_postgres, on_duckdb):
        result = found(sql, database.pipeline)
        if database is on_duckdb and name in NOT_ON_DUCKDB:
            assert result.refusal is not None
            continue
        assert result.found is not None, result.refusal
        shown = answered(result.found, database.run, database.backend, empty=name in WITH_EMPTY_GROUPS)
        assert not list(differences(shown, true))
