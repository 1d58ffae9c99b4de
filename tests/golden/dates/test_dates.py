"""Dates as people write them, before noise on both databases, beside what PostgreSQL itself says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from tests.golden.collected import conftest as collected
from tests.golden.collected.before_noise import Row, answered, plain
from tests.golden.collected.conftest import Database
from tests.golden.collected.outcomes import found
from tests.golden.dates.cases import DATES, LISTS
from tests.golden.dates.statements_at_random import statement
from tests.golden.untruncated import Rows
from tests.support.seeds import sampled

urls, truth = collected.urls, collected.truth
on_postgres, on_duckdb = collected.on_postgres, collected.on_duckdb

NOT_ON_DUCKDB = ("to_char(d, 'YYYY-MM') FROM m",)
"""What is refused there: to_char around answers."""


@pytest.mark.parametrize("sql", [*DATES, *LISTS])
def test_they_mean_what_postgresql_means(
    sql: str, truth: Callable[[str], Rows], on_postgres: Database, on_duckdb: Database
) -> None:
    expected = _counted(truth(sql))
    assert expected, sql
    for database in (on_postgres, on_duckdb):
        outcome = found(sql, database.pipeline)
        if database is on_duckdb and any(part in sql for part in NOT_ON_DUCKDB):
            assert outcome.refusal is not None
            continue
        assert outcome.found is not None, outcome.refusal
        assert _counted(answered(outcome.found, database.run, database.backend)) == expected, sql


def test_a_conversion_that_fails_in_postgresql_gives_null(on_postgres: Database, on_duckdb: Database) -> None:
    """A row whose text or numbers are no date has none, on both databases."""
    for sql, rows in {
        "SELECT count(*) FROM orders WHERE customer_id IS NOT NULL AND CAST(status AS date) IS NULL": 413,
        "SELECT count(*) FROM orders WHERE to_date(status, 'DD/MM/YYYY') IS NOT NULL": 0,
        "SELECT count(*) FROM orders WHERE make_date(2023, order_id, 31) IS NOT NULL": 7,
        "SELECT count(*) FROM orders WHERE CAST('2023-' || order_id || '-31' AS date) IS NOT NULL": 7,
        "SELECT count(*) FROM orders WHERE make_date(order_id, 2, 29) IS NOT NULL": 101,
    }.items():
        for database in (on_postgres, on_duckdb):
            outcome = found(sql, database.pipeline)
            assert outcome.found is not None, outcome.refusal
            assert _counted(answered(outcome.found, database.run, database.backend)) == {(float(rows),): 1}, sql


def _counted(rows: Iterable[Row]) -> Counter[tuple[object, ...]]:
    """Rows in any order, numbers up to the rounding of weights."""
    return Counter(tuple(round(one, 3) if isinstance(one, float) else one for one in map(plain, row)) for row in rows)


@pytest.mark.parametrize("seed", sampled(range(200), 12))
def test_a_question_at_random_means_what_postgresql_means(
    seed: int, truth: Callable[[str], Rows], on_postgres: Database, on_duckdb: Database
) -> None:
    """Or one of the two databases refuses it; the row of NULL is left out where no policy declares a group for it."""
    sql = statement(seed)
    expected = _with_groups(_counted(truth(sql)), sql)
    for database in (on_postgres, on_duckdb):
        outcome = found(sql, database.pipeline)
        if outcome.found is not None:
            shown = _counted(answered(outcome.found, database.run, database.backend))
            assert _with_groups(shown, sql) == expected, sql


def _with_groups(rows: Counter[tuple[object, ...]], sql: str) -> Counter[tuple[object, ...]]:
    if "GROUP BY" in sql:
        return Counter({row: count for row, count in rows.items() if row[0] is not None})
    return Counter({tuple(one or 0.0 for one in row): count for row, count in rows.items()})
