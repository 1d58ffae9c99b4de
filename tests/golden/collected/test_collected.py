"""The collected statements: the table of verdicts, and every answered one before noise on both databases."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import duckdb
import psycopg
import pytest

from planner.parsing.parse import read
from planner.policy.validate import validate
from planner.public.route import lists_people
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.pipeline import Pipeline
from tests.golden.collected.before_noise import answered, differences
from tests.golden.collected.outcomes import NAMESPACE, Outcome, found, outcome, pipeline, policy, schema, write_file
from tests.golden.collected.statements import adapted, collected
from tests.golden.collected.verdicts import GAPS, NOT_TO_BE_ANSWERED, verdict, working
from tests.golden.collected.world import OF_SOMEBODY, ROWS, TABLES
from tests.golden.collected.write_table import TABLE, answered_share, table
from tests.golden.databases import on_server
from tests.golden.refusal_lines import assert_plain_words
from tests.golden.untruncated import Rows, Run
from tests.support.seeds import sampled

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
    with (
        on_server(embedded_postgres, "collected", (*TABLES, *ROWS)) as all_rows,
        on_server(embedded_postgres, "collected_of_somebody", (*TABLES, *ROWS, *OF_SOMEBODY)) as of_somebody,
    ):
        yield all_rows, of_somebody


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
        assert_plain_words(collected()[name].sql, refusal)


def test_no_answered_statement_is_taken_for_a_list_of_people() -> None:
    answered = [one.sql for name, one in collected().items() if name not in NOT_TO_BE_ANSWERED.keys() | GAPS.keys()]
    assert all(lists_people(read(sql).tree, schema(), policy()) is None for sql in answered)


def test_the_catalogs_agree(urls: tuple[str, str]) -> None:
    validate(policy(), schema())
    with psycopg.connect(urls[0]) as connection:
        assert read_schema(connection).fingerprint == schema().fingerprint


def test_all_are_statements_of_postgresql(truth: Callable[[str], Rows]) -> None:
    """Also those that are refused."""
    for statement in collected().values():
        truth(statement.sql)


def test_before_noise_it_is_what_the_database_says(truth: Callable[[str], Rows], on_postgres: Database) -> None:
    """What is found for a PostgreSQL that nobody is connected to, executed on one that has the same catalog."""
    for name, sql in sampled(list(working().items()), 25):
        true = _true(name, sql, truth)
        assert (name in EMPTY) == (not any(map(any, true))), name
        _assert_shown(name, outcome(sql), on_postgres, true)


def test_what_duckdb_would_compute_otherwise_is_refused(on_duckdb: Database) -> None:
    for name in NOT_ON_DUCKDB:
        assert found(working()[name], on_duckdb.pipeline).refusal is not None, name


@pytest.mark.slow
def test_so_it_is_on_duckdb(truth: Callable[[str], Rows], on_duckdb: Database) -> None:
    for name, sql in working().items():
        if name not in NOT_ON_DUCKDB:
            _assert_shown(name, found(sql, on_duckdb.pipeline), on_duckdb, _true(name, sql, truth))


def _true(name: str, sql: str, truth: Callable[[str], Rows]) -> Rows:
    return truth(sql.replace(*TRUTHS.get(name, ("", ""))))


def _assert_shown(name: str, result: Outcome, database: Database, true: Rows) -> None:
    assert result.found is not None, (name, result.refusal)
    shown = answered(result.found, database.run, database.backend, empty=name in WITH_EMPTY_GROUPS)
    assert not list(differences(shown, true)), name
