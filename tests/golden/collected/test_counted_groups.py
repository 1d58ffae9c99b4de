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

_SIZES = "WITH size AS (SELECT channel, count(*) AS n FROM orders GROUP BY channel)"
_CELLS = "(SELECT channel, status, sum(freight) AS f FROM orders GROUP BY channel, status) AS cell"

DETERMINED = (
    f"{_SIZES} SELECT cell.channel, size.n, sum(f) / size.n FROM {_CELLS} JOIN size ON size.channel = cell.channel "
    "GROUP BY cell.channel, size.n",
    f"{_SIZES} SELECT cell.channel, n, count(*), max(f) FROM {_CELLS}, size WHERE cell.channel = size.channel "
    "AND f > 0 GROUP BY 1, 2",
    f"SELECT channel, n, sum(f) FROM {_CELLS} CROSS JOIN (SELECT count(*) AS n FROM customers) AS w GROUP BY 1, 2",
    f"SELECT a.channel, a.status, a.f, sum(b.f) FROM {_CELLS[:-4]}a, {_CELLS[:-4]}b WHERE a.channel = b.channel "
    "GROUP BY a.channel, a.status, a.f",
    f"SELECT cell.channel, first.f, sum(cell.f) FROM {_CELLS} JOIN (SELECT channel AS c, f FROM {_CELLS} "
    "WHERE status = 'returned') AS first ON first.c = cell.channel GROUP BY cell.channel, first.f",
)
"""GROUP BY keys, and noisy numbers of the one row that they identify."""

NOT_DETERMINED = (
    f"{_SIZES} SELECT cell.status, size.n, sum(f) FROM {_CELLS} JOIN size ON size.channel = cell.channel "
    "GROUP BY cell.status, size.n",
    f"{_SIZES} SELECT cell.channel, n, sum(f) FROM {_CELLS} CROSS JOIN size GROUP BY 1, 2",
    f"SELECT status, n, sum(f) FROM {_CELLS} CROSS JOIN (SELECT count(*) AS n FROM orders GROUP BY channel) AS s "
    "GROUP BY 1, 2",
)

STARS = (
    "SELECT *, count(*) FROM (SELECT payment_method, channel FROM orders) AS t GROUP BY 1, 2",
    "SELECT *, sum(1) AS n FROM (SELECT payment_method, channel FROM orders) AS t GROUP BY channel, payment_method",
    "SELECT d.*, count(*) FROM departments d JOIN employees USING (department_id) GROUP BY d.department_id",
)


def test_groups_that_noise_decides_are_not_counted() -> None:
    for sql in DECIDED_BY_NOISE + NOT_DETERMINED:
        refusal = outcome(sql).refusal
        assert refusal is not None and "noise decides" in refusal.message and refusal.hint, (sql, refusal)
        assert_plain_words(sql, refusal)


def test_groups_by_ranges_are() -> None:
    for sql in BY_RANGE:
        assert outcome(sql).found is not None, (sql, outcome(sql).refusal)


def test_stars_and_determined_numbers_mean_what_postgresql_means(
    truth: Callable[[str], Rows], on_postgres: Database, on_duckdb: Database
) -> None:
    for sql in STARS + DETERMINED:
        for database in (on_postgres, on_duckdb):
            result = found(sql, database.pipeline)
            assert result.found is not None, (sql, result.refusal)
            assert not list(differences(answered(result.found, database.run, database.backend), truth(sql))), sql


def test_a_star_that_shows_more_is_refused() -> None:
    refusal = outcome("SELECT *, count(*) FROM orders GROUP BY status, channel").refusal
    assert refusal is not None and "neither in GROUP BY" in refusal.message
