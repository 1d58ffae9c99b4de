"""The 99 queries of TPC-DS: the table of verdicts, and every answered one executed on PostgreSQL and DuckDB."""

from __future__ import annotations

import pytest

from planner.policy.validate import validate
from tests.golden.executed import Database, assert_same_rows, executed
from tests.golden.tpcds.queries import TPCDS
from tests.golden.tpcds.write_table import TABLE, table

REFUSED = {54}
EMPTY = {4, 8}
"""Questions that no row answers at the tests' scale."""


def test_the_table_is_the_written_one() -> None:
    assert table() == TABLE.read_text()


def test_the_policy_fits_the_catalog() -> None:
    validate(TPCDS.policy, TPCDS.schema)


@pytest.mark.parametrize("number", [number for number in TPCDS.numbers if TPCDS.adapted(number) is not None])
def test_an_adapted_text_works_where_the_published_one_does_not(number: int) -> None:
    text = TPCDS.adapted(number)
    assert text is not None and text.startswith("-- "), "its first line says what differs"
    assert TPCDS.outcome(text).answers, TPCDS.outcome(text).refusal
    assert not TPCDS.outcome(TPCDS.published(number)).answers


def test_a_refusal_says_where_and_why() -> None:
    """Nothing is refused without a place in the text and something to do about it."""
    outcomes = {number: TPCDS.outcome(TPCDS.published(number)) for number in TPCDS.numbers}
    for number, outcome in outcomes.items():
        if outcome.refusal is not None:
            assert outcome.refusal.position is not None and outcome.refusal.hint, number


@pytest.mark.parametrize("number", TPCDS.numbers)
def test_the_answer_is_the_databases_own(number: int, on_postgres: Database, on_duckdb: Database) -> None:
    """Planned anew over the catalog that each database shows, without truncation and noise."""
    assert (TPCDS.verdict(number) == "refused") == (number in REFUSED), TPCDS.outcome(TPCDS.published(number)).refusal
    text = TPCDS.text(number)
    for database in (on_postgres, on_duckdb):
        expected = database.run(text)
        assert expected or number in EMPTY | REFUSED
        if number not in REFUSED:
            assert_same_rows(executed(text, database, TPCDS.policy), expected)


def test_the_catalog_is_the_databases(on_postgres: Database) -> None:
    for name, written in TPCDS.schema.tables.items():
        found = on_postgres.schema.tables[name]
        assert (written.columns, written.unique_keys) == (found.columns, found.unique_keys)
        assert set(written.foreign_keys) == set(found.foreign_keys)
