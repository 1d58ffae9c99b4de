"""Groups that are counted by their noisy numbers, and `*` beside GROUP BY."""

from __future__ import annotations

from collections.abc import Callable

from tests.golden.collected.before_noise import answered, differences
from tests.golden.collected.conftest import Database
from tests.golden.collected.outcomes import found, outcome
from tests.golden.refusal_lines import assert_plain_words
from tests.golden.untruncated import Rows

_PER_PRODUCT = "(SELECT product_id, count(*) AS n FROM order_items GROUP BY product_id) AS t"

DECIDED_BY_NOISE = (
    f"SELECT count(*) FROM {_PER_PRODUCT} WHERE n = 1",
    "SELECT count(*) FROM (SELECT status FROM orders GROUP BY status HAVING count(*) = 1) AS t",
    f"SELECT sum(n) FROM {_PER_PRODUCT} WHERE n IN (1, 2)",
    f"SELECT n, count(*) FROM {_PER_PRODUCT} GROUP BY n",
    f"SELECT n AS items, count(*) FROM {_PER_PRODUCT} GROUP BY 1 ORDER BY 1",
    f"SELECT CASE WHEN n = 1 THEN 'once' ELSE 'more' END AS k, count(*) FROM {_PER_PRODUCT} GROUP BY 1",
)
"""What PostgreSQL means by them is a number of groups that noise hides."""

BY_RANGE = (
    f"SELECT count(*) FROM {_PER_PRODUCT} WHERE n BETWEEN 1 AND 90",
    f"SELECT CASE WHEN n >= 10 THEN 'many' ELSE 'few' END AS k, count(*) FROM {_PER_PRODUCT} GROUP BY 1",
    f"SELECT product_id FROM {_PER_PRODUCT} WHERE n = (SELECT max(n) FROM {_PER_PRODUCT})",
    "SELECT count(*) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) AS t WHERE n = 1",
)
"""What the hints lead to; what is no equality with a number; and tables with one row per person."""

STARS = (
    "SELECT *, count(*) FROM (SELECT payment_method, channel FROM orders) AS t GROUP BY 1, 2",
    "SELECT *, sum(1) AS n FROM (SELECT payment_method, channel FROM orders) AS t GROUP BY channel, payment_method",
    "SELECT d.*, count(*) FROM departments d JOIN employees USING (department_id) GROUP BY d.department_id",
)


def test_groups_that_noise_decides_are_not_counted() -> None:
    for sql in DECIDED_BY_NOISE:
        refusal = outcome(sql).refusal
        assert refusal is not None and "noise decides" in refusal.message and refusal.hint, (sql, refusal)
        assert_plain_words(sql, refusal)


def test_groups_by_ranges_are() -> None:
    for sql in BY_RANGE:
        assert outcome(sql).found is not None, (sql, outcome(sql).refusal)


def test_a_star_shows_the_keys(truth: Callable[[str], Rows], on_postgres: Database, on_duckdb: Database) -> None:
    for sql in STARS:
        for database in (on_postgres, on_duckdb):
            result = found(sql, database.pipeline)
            assert result.found is not None, (sql, result.refusal)
            assert not list(differences(answered(result.found, database.run, database.backend), truth(sql))), sql


def test_a_star_that_shows_more_is_refused() -> None:
    refusal = outcome("SELECT *, count(*) FROM orders GROUP BY status, channel").refusal
    assert refusal is not None and "neither in GROUP BY" in refusal.message
