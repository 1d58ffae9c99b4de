"""What PostgreSQL refuses is refused with its SQLSTATE; what it takes needlessly stood refused, and is taken."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.binding.bind import bind
from planner.errors import PlannerError, UnsupportedSQL
from planner.parsing.parse import parse
from server.error_table import problem
from tests.support.planning import demo_policy, join_sql
from tests.support.public import public_sql
from tests.support.tpch_schema import tpch_schema


def test_refused_by_its_code() -> None:
    for select, code in [
        ("count(*) FROM {} ORDER BY 'x'", "42601"), ("count(*) FROM {} ORDER BY ('x')", "42601"),
        ("count(*) FROM {} ORDER BY NULL", "42601"), ("count(*) FROM {} ORDER BY TRUE", "42601"),
        ("count(*) FROM {} ORDER BY 1.5", "42601"), ("count(*) FROM {} GROUP BY 'x'", "42601"),
        ("sum(NULL) FROM {}", "42725"), ("avg((NULL)) FROM {}", "42725"), ("sum('5') FROM {}", "42725"),
    ]:  # fmt: skip
        for table in ("orders", "nation"):
            with pytest.raises(PlannerError) as caught:
                public_sql(f"SELECT {select.format(table)}") if table == "nation" else join_sql(
                    f"SELECT {select.format(table)}"
                )
            assert problem(caught.value).code == code


def test_what_postgresql_takes_has_the_plan_of_its_plain_form() -> None:
    for written, same in [
        ("count(CASE WHEN o_orderkey > 5 THEN 1 ELSE NULL END) FROM orders",
         "count(CASE WHEN o_orderkey > 5 THEN 1 END) FROM orders"),
        ("count(CASE WHEN o_orderkey > 5 THEN NULL ELSE 1 END) FROM orders",
         "count(CASE WHEN o_orderkey > 5 THEN NULL ELSE 'a' END) FROM orders"),
        ("count(NULL) FROM orders", "count(NULL::text) FROM orders"),
        ("count(orders.*) FROM orders", "count(*) FROM orders"),
        ("count(o.*) FROM orders o JOIN customer ON o_custkey = c_custkey",
         "count(*) FROM orders o JOIN customer ON o_custkey = c_custkey"),
        ("n_name, count(*) FROM nation RIGHT JOIN customer ON c_nationkey = n_nationkey GROUP BY 1",
         "n_name, count(*) FROM customer LEFT JOIN nation ON c_nationkey = n_nationkey GROUP BY 1"),
        ("count(*) FROM nation n RIGHT OUTER JOIN customer c ON c.c_nationkey = n.n_nationkey AND n.n_name = 'PERU' "
         "JOIN orders ON o_custkey = c_custkey",
         "count(*) FROM customer c LEFT JOIN nation n ON c.c_nationkey = n.n_nationkey AND n.n_name = 'PERU' "
         "JOIN orders ON o_custkey = c_custkey"),
    ]:  # fmt: skip
        assert join_sql(f"SELECT {written}") == join_sql(f"SELECT {same}")


def test_what_has_no_sound_answer_stays_refused() -> None:
    for sql in [
        "SELECT count(*) FROM customer RIGHT JOIN nation ON c_nationkey = n_nationkey",
        "SELECT count(nation.*) FROM customer LEFT JOIN nation ON c_nationkey = n_nationkey",
    ]:  # fmt: skip
        with pytest.raises(UnsupportedSQL):
            join_sql(sql)


def test_an_interval_may_be_negative_after_a_cast_of_the_clock() -> None:
    select = parse("SELECT count(*) FROM orders WHERE o_orderdate > CAST(NOW() AS timestamp) + INTERVAL '-30 day'")
    (condition,) = bind(select, tpch_schema(), demo_policy(), datetime(2024, 5, 17, tzinfo=UTC)).predicates
    assert condition.sql("postgres").endswith("> CAST('2024-04-17' AS DATE)")
