from __future__ import annotations

import pytest

from planner.errors import StatementTooComplex
from planner.planning.answer_times import MOST_STEPS, row_work
from tests.support.planning import bound, planned

LONG = "Q" * 12_000
DOUBLED = (
    f"WITH a AS (SELECT c_custkey, c_name || '{LONG}' AS x FROM customer),"
    " b AS (SELECT c_custkey, x || x AS x FROM a)"
)


def test_a_search_of_long_texts_for_long_ones_is_refused() -> None:
    for sql in [
        f"{DOUBLED} SELECT count(*) FROM b WHERE c_custkey = 7 AND x NOT LIKE '%{LONG[:9_000]}z%'",
        f"{DOUBLED} SELECT count(*) FROM b WHERE c_custkey = 7 AND x ILIKE '%{LONG[:9_000]}z%'",
        f"{DOUBLED} SELECT count(*) FROM b WHERE c_custkey = 7 AND position('{LONG[:9_000]}z' IN x) > 0",
        f"{DOUBLED} SELECT count(*) FILTER (WHERE x LIKE '%{LONG[:9_000]}z%') FROM b WHERE c_custkey = 7",
        (f"{DOUBLED}, p AS (SELECT c_custkey, count(*) FILTER (WHERE x LIKE '%{LONG[:9_000]}z%') AS n"
         " FROM b GROUP BY 1) SELECT count(*) FROM p WHERE n > 1"),
        (f"{DOUBLED} SELECT count(*) FROM customer WHERE c_custkey IN (SELECT c_custkey FROM b GROUP BY 1"
         f" HAVING max(CASE WHEN x LIKE '%{LONG[:9_000]}z%' THEN 1 ELSE 0 END) = 1)"),
    ]:  # fmt: skip
        assert row_work(bound(sql)) > MOST_STEPS
        with pytest.raises(StatementTooComplex, match="one row may take"):
            planned(sql)


def test_texts_that_double_are_refused() -> None:
    """Each of a few CTEs puts the one before together with itself."""
    doubling = ", ".join(f"t{n} AS (SELECT x || x AS x FROM t{n - 1})" for n in range(1, 13))
    sql = f"WITH t0 AS (SELECT c_name || '{LONG[:100]}' AS x FROM customer), {doubling} SELECT count(*) FROM t12"
    with pytest.raises(StatementTooComplex):
        planned(f"{sql} WHERE x > 'a'")


def test_usual_searches_leave_at_once() -> None:
    for sql in [
        "SELECT count(*) FROM customer WHERE c_name LIKE '%abc%'",
        "SELECT count(*) FROM customer WHERE c_name || c_phone LIKE '%abc%' OR c_name ILIKE '%def%'",
        f"SELECT count(*) FROM customer WHERE c_name = '{LONG}'", "SELECT count(*) FROM customer",
    ]:  # fmt: skip
        assert row_work(bound(sql)) < MOST_STEPS / 10
        assert planned(sql).times.first_s == 0
