"""One question, one key; another question, another key."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from planner.binding.placeholders import Value
from planner.rewriting.rewrite import rewrite
from planner.sql.trees import quoted
from server.lru_cache import cached_bytes
from server.query import QueryRequest
from server.question import Asked, Question, answer_key, request_hash, words_of
from server.workers.measure import plan_measurements
from tests.support.planning import demo_policy, planned

COUNT = "SELECT count(*) FROM orders WHERE o_orderdate >= DATE '1995-01-01' AND o_totalprice > 10"


def key(sql: str = COUNT, *, grain: str = "day", data_version: int = 1, **settings: object) -> str:
    plan = planned(sql, **settings)  # type: ignore[arg-type]
    return answer_key(plan, rewrite(plan), grain, data_version)


def test_how_it_is_written_does_not_matter() -> None:
    for spelling in [
        "select  COUNT( * )\nfrom ORDERS o where o.o_totalprice > 10 and DATE '1995-01-01' <= o.o_orderdate",
        "SELECT count(*) AS n FROM orders WHERE o_orderdate >= DATE '1995-01-01' AND 10 < o_totalprice LIMIT 1",
        "WITH all_of_it AS (SELECT o_totalprice AS p, o_orderdate AS d FROM orders) "
        "SELECT count(*) FROM all_of_it WHERE d >= DATE '1995-01-01' AND p > 10",
    ]:
        assert key(spelling) == key(), spelling


def test_how_it_is_shown_does_not_matter() -> None:
    grouped = "SELECT n_name, count(*) AS n FROM nation JOIN customer ON c_nationkey = n_nationkey GROUP BY n_name"
    assert key(f"{grouped} HAVING count(*) > 5 ORDER BY n DESC LIMIT 3") == key(grouped)


def test_the_default_is_what_it_stands_for() -> None:
    assert key(epsilon=1.0) == key()


def test_whatever_decides_the_answer_matters() -> None:
    cases: list[dict[str, object]] = [
        {"sql": COUNT.replace("1995-01-01", "1995-01-02")},
        {"sql": COUNT.replace("orders", "orders TABLESAMPLE BERNOULLI (50)")},
        {"epsilon": 0.5},
        {"mechanism": "r2t"},
        {"sampling_rate": 0.5},
        {"grain": "hour"},
        {"data_version": 2},
        {"policy": replace(demo_policy(), groups_per_unit={"customer": 3})},
    ]
    for other in cases:
        assert key(**other) != key(), other  # type: ignore[arg-type]


def test_a_delta_that_it_does_not_spend_changes_nothing() -> None:
    assert key(delta=1e-9, policy=replace(demo_policy(), delta=1e-6)) == key()


def test_a_sum_and_a_count_differ() -> None:
    assert key("SELECT count(*) FROM lineitem") != key("SELECT sum(l_quantity) FROM lineitem")


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def asked(value: Value) -> Asked:
    request = QueryRequest("ada", "SELECT count(*) FROM t WHERE x = $1", parameters=(value,))
    return Asked(words_of(request), NOW, 1, "policy", "fingerprint")


def test_values_that_python_takes_for_equal_are_other_questions() -> None:
    cases: list[tuple[Value, Value]] = [(1, 1.0), (1, True), (Decimal(2), Decimal("2.0")), ("1", 1), (0.0, -0.0)]
    for one, other in cases:
        assert asked(one) != asked(other), one
        assert asked(one) == asked(one), one
        assert hash(asked(one)) == hash(asked(one)), one


SENT = QueryRequest(
    "ada",
    "SELECT count(*) FROM t",
    epsilon=1.0,
    delta=0.0,
    mechanism="gem",
    request_id="r",
    parameters=(1,),
    sampling_rate=0.5,
    idempotency_key="order-7",
)


def test_what_was_sent_is_known_by_all_that_was_written() -> None:
    cases: list[dict[str, object]] = [
        {"sql": "SELECT count(*) AS n FROM t"},
        {"sql": "SELECT count(*) FROM t HAVING count(*) > 5"},
        {"epsilon": 0.5},
        {"epsilon": None},
        {"delta": 1e-9},
        {"mechanism": "r2t"},
        {"sampling_rate": 0.25},
        {"sampling_rate": None},
        {"parameters": (1.0,)},
        {"max_relative_error": 0.05},
        {"max_absolute_error": 0.05},
    ]
    for other in cases:
        assert request_hash(replace(SENT, **other)) != request_hash(SENT), other  # type: ignore[arg-type]


def test_the_same_request_is_known_again_and_one_without_a_key_is_not_noted() -> None:
    assert request_hash(replace(SENT, request_id="another", idempotency_key="order-8")) == request_hash(SENT)
    assert request_hash(replace(SENT, idempotency_key="")) == ""


def question(sql: str) -> Question:
    plan = planned(sql)
    return Question(plan, rewrite(plan), plan_measurements(plan, demo_policy()), "")


def test_a_question_counts_with_its_trees() -> None:
    """They take many times the memory of its statement; the estimate is within a factor of two where it matters."""
    for branches in (1, 100, 400):
        quoted.cache_clear()  # names that trees share lead to the trees of other questions
        one = question(
            "SELECT count(*) FROM orders WHERE " + " OR ".join(f"o_orderkey = {n}" for n in range(branches))
        )
        assert cached_bytes(one) < 2 * one.most_bytes < 16 * max(cached_bytes(one), 500_000), branches
