"""A forgotten join condition is refused before anything is charged; CROSS JOIN says that it was not forgotten."""

from __future__ import annotations

import pytest

from planner.errors import UnsupportedSQL
from tests.support.planning import bound


@pytest.mark.parametrize(
    ("sql", "at"),
    [
        ("SELECT count(*) FROM orders, customer", "customer"),
        ("SELECT count(*) FROM orders JOIN customer ON true", "customer"),
        ("SELECT count(*) FROM orders NATURAL JOIN customer", "customer"),
        ("SELECT count(*) FROM orders o, lineitem l, customer c WHERE o_custkey = c_custkey", "lineitem"),
        ("SELECT count(*) FROM orders, nation, customer WHERE c_nationkey = n_nationkey", "customer"),
        ("SELECT count(*) FROM orders, customer WHERE o_orderkey = 1 AND c_custkey = 1", "customer"),
        ("SELECT count(*) FROM (SELECT o_custkey FROM orders) a, (SELECT c_custkey FROM customer) b", "customer"),
    ],
)
def test_private_tables_without_a_condition_are_refused(sql: str, at: str) -> None:
    with pytest.raises(UnsupportedSQL, match="no condition connects") as caught:
        bound(sql)
    assert caught.value.hint is not None
    assert "CROSS JOIN" in caught.value.hint
    assert caught.value.position is not None
    assert sql[caught.value.position - 1 :].startswith(at)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM orders CROSS JOIN customer",
        "SELECT count(*) FROM orders, nation",
        "SELECT count(*) FROM orders, customer WHERE o_custkey < c_custkey OR c_custkey = 7",
        "SELECT count(*) FROM customer, nation, supplier WHERE c_nationkey = n_nationkey AND s_suppkey > n_nationkey",
        "SELECT count(*) FROM customer CROSS JOIN (SELECT s_suppkey FROM supplier) s",
        "SELECT count(*) FROM (customer CROSS JOIN supplier) JOIN orders ON o_custkey = c_custkey",
    ],
)
def test_any_condition_between_them_or_cross_join_will_do(sql: str) -> None:
    assert bound(sql).tables
