"""The collected statements: the table of verdicts, and every answered one before noise on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from planner.parsing.parse import read
from planner.policy.validate import validate
from planner.public.route import lists_people
from server.backends.postgres_catalog import read_schema
from tests.golden.collected.before_noise import answered, differences
from tests.golden.collected.conftest import Database
from tests.golden.collected.outcomes import Outcome, found, outcome, policy, schema
from tests.golden.collected.statements import collected, constructs
from tests.golden.collected.verdicts import GAPS, NOT_TO_BE_ANSWERED, working
from tests.golden.collected.write_table import TABLE, answered_share, table
from tests.golden.refusal_lines import assert_plain_words
from tests.golden.untruncated import Rows
from tests.support.seeds import sampled

TRUTHS = {
    "peer04": ("SUM(income) / COUNT(income)", "SUM(income)::numeric / COUNT(income)"),
    "exe24": ("FROM employees GROUP BY", "FROM employees WHERE department_id IS NOT NULL GROUP BY"),
}
"""By name, what the database must be asked: quotients of released numbers keep their fractions; a domain has no
NULL."""

EMPTY = {"bi07", "dbt04", "dbt05", "dbt06", "dbt07"}
"""Questions whose true answer has no row, or counts none: tests that the data passes, and days without rows."""

WITH_EMPTY_GROUPS = {"exe26", "exe36", "own35", "own36", "own38", "own39", "own44", "own47"}
"""Where a LEFT JOIN shows the groups that nothing falls into."""


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


def test_at_least_150_and_most_of_the_answerable_ones_are_answered() -> None:
    assert len(collected()) >= 150
    assert answered_share() >= 0.85


def test_every_refused_one_is_classified_and_no_other() -> None:
    refused = {name for name, one in collected().items() if outcome(one.sql).refusal is not None}
    assert refused == NOT_TO_BE_ANSWERED.keys() | GAPS.keys()
    assert not NOT_TO_BE_ANSWERED.keys() & GAPS.keys()


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


@pytest.mark.slow
def test_so_it_is_on_duckdb(truth: Callable[[str], Rows], on_duckdb: Database) -> None:
    for name, sql in working().items():
        _assert_shown(name, found(sql, on_duckdb.pipeline), on_duckdb, _true(name, sql, truth))


def test_constructs_are_what_the_database_says_on_both(
    truth: Callable[[str], Rows], on_postgres: Database, on_duckdb: Database
) -> None:
    for name, one in constructs().items():
        true = truth(one.sql)
        assert any(map(any, true)), name
        for database in (on_postgres, on_duckdb):
            _assert_shown(name, found(one.sql, database.pipeline), database, true)


def test_subqueries_are_what_the_database_says(truth: Callable[[str], Rows], on_postgres: Database) -> None:
    for sql in sampled(_subqueries(), 25):
        _assert_shown(sql, outcome(sql), on_postgres, truth(sql))


@pytest.mark.slow
def test_so_they_are_on_duckdb(truth: Callable[[str], Rows], on_duckdb: Database) -> None:
    for sql in _subqueries():
        _assert_shown(sql, found(sql, on_duckdb.pipeline), on_duckdb, truth(sql))


def _subqueries() -> list[str]:
    return Path(__file__).with_name("subqueries.sql").read_text().splitlines()[1:]


def _true(name: str, sql: str, truth: Callable[[str], Rows]) -> Rows:
    return truth(sql.replace(*TRUTHS.get(name, ("", ""))))


def _assert_shown(name: str, result: Outcome, database: Database, true: Rows) -> None:
    assert result.found is not None, (name, result.refusal)
    shown = answered(result.found, database.run, database.backend, empty=name in WITH_EMPTY_GROUPS)
    assert not list(differences(shown, true)), name
