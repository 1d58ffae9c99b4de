"""Answers about other people's rows beside private rows: released first, then read like a public table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from server.answers.work import Compose
from tests.golden.collected.before_noise import answered, differences
from tests.golden.collected.conftest import Database
from tests.golden.collected.outcomes import found, outcome
from tests.golden.untruncated import Rows
from tests.support.seeds import sampled

STATEMENTS = Path(__file__).with_name("released_values.sql").read_text().split(";\n")[:-1]

REFUSED = {
    "SELECT count(*) FROM employees WHERE salary > (SELECT avg(salary) FROM employees GROUP BY job_id)": "rows",
    "SELECT count(*) FROM employees e WHERE 2 > (SELECT count(*) FROM employees x WHERE x.salary > e.salary)": "rank",
    "SELECT count(*) FROM employees WHERE salary > (SELECT salary FROM employees)": "rows, and no answer",
    "SELECT count(*) FROM employees WHERE first_name = (SELECT 'a' || count(*) FROM employees)": "a text of numbers",
}
"""What is refused, and why."""


def test_one_answer_is_read_by_another() -> None:
    for sql in STATEMENTS:
        work = outcome(sql).found
        assert isinstance(work, Compose) and work.composition.tables, (sql, outcome(sql).refusal)


def test_what_no_released_table_holds_is_refused() -> None:
    for sql in REFUSED:
        refusal = outcome(sql).refusal
        assert refusal is not None and refusal.hint, sql


def test_before_noise_it_is_what_the_database_says(truth: Callable[[str], Rows], on_postgres: Database) -> None:
    _check(sampled(STATEMENTS, 12), truth, on_postgres)


@pytest.mark.slow
def test_so_it_is_on_duckdb(truth: Callable[[str], Rows], on_duckdb: Database) -> None:
    _check(STATEMENTS, truth, on_duckdb)


def _check(statements: Sequence[str], truth: Callable[[str], Rows], database: Database) -> None:
    for sql in statements:
        result = found(sql, database.pipeline)
        assert result.found is not None, (sql, result.refusal)
        assert not list(differences(answered(result.found, database.run, database.backend), truth(sql))), sql


def test_nobody_gives_a_name_of_answers_to_a_table_of_their_own() -> None:
    """Also where the name stands in a list that is rewritten before it is checked."""
    inner = "(SELECT count(*) AS n FROM orders) AS t"
    counting = "WITH RECURSIVE {}(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM {} WHERE x < 3) SELECT x, n FROM {}, "
    for name in ('"noisegate answer 1"', '"Noisegate answer table 1"'):
        for sql in (
            f"SELECT n * 2, rank() OVER (ORDER BY n) FROM {inner}, (VALUES (1)) AS {name}(x)",
            counting.format(name, name, name) + inner,
            f"SELECT count(*) FROM orders WHERE freight > (SELECT avg(freight) FROM orders AS {name})",
        ):
            refusal = outcome(sql).refusal
            assert refusal is not None and "are reserved" in refusal.message, sql
            assert refusal.position == sql.index(name) + 1
