"""One question, one key; another question, another key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.rewrite import rewrite
from server.answers.key import answer_key
from tests.support.planning import demo_policy, planned

COUNT = "SELECT count(*) FROM orders WHERE o_orderdate >= DATE '1995-01-01' AND o_totalprice > 10"


def key(sql: str = COUNT, *, grain: str = "day", data_version: int = 1, **settings: object) -> str:
    plan = planned(sql, **settings)  # type: ignore[arg-type]
    return answer_key(plan, rewrite(plan), grain, data_version)


@pytest.mark.parametrize(
    "spelling",
    [
        "select  COUNT( * )\nfrom ORDERS o where o.o_totalprice > 10 and DATE '1995-01-01' <= o.o_orderdate",
        "SELECT count(*) AS n FROM orders WHERE o_orderdate >= DATE '1995-01-01' AND 10 < o_totalprice LIMIT 1",
        "WITH all_of_it AS (SELECT o_totalprice AS p, o_orderdate AS d FROM orders) "
        "SELECT count(*) FROM all_of_it WHERE d >= DATE '1995-01-01' AND p > 10",
    ],
)
def test_how_it_is_written_does_not_matter(spelling: str) -> None:
    assert key(spelling) == key()


def test_how_it_is_shown_does_not_matter() -> None:
    grouped = "SELECT n_name, count(*) AS n FROM nation JOIN customer ON c_nationkey = n_nationkey GROUP BY n_name"
    assert key(f"{grouped} HAVING count(*) > 5 ORDER BY n DESC LIMIT 3") == key(grouped)


def test_the_default_is_what_it_stands_for() -> None:
    assert key(epsilon=1.0) == key()


@pytest.mark.parametrize(
    "other",
    [
        {"sql": COUNT.replace("1995-01-01", "1995-01-02")},
        {"sql": COUNT.replace("orders", "orders TABLESAMPLE BERNOULLI (50)")},
        {"epsilon": 0.5},
        {"delta": 1e-9, "policy": replace(demo_policy(), delta=1e-6)},
        {"mechanism": "r2t"},
        {"sampling_rate": 0.5},
        {"grain": "hour"},
        {"data_version": 2},
        {"policy": replace(demo_policy(), max_epsilon=2.0)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_whatever_decides_the_answer_matters(other: dict[str, object]) -> None:
    assert key(**other) != key()  # type: ignore[arg-type]


def test_a_sum_and_a_count_differ() -> None:
    assert key("SELECT count(*) FROM lineitem") != key("SELECT sum(l_quantity) FROM lineitem")
