from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from planner.placeholders import Value
from server.query import QueryRequest
from server.question import Asked, request_hash

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def asked(value: Value) -> Asked:
    request = QueryRequest("ada", "SELECT count(*) FROM t WHERE x = $1", parameters=(value,))
    return Asked.of(request, NOW, 1, "policy", "fingerprint")


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (Decimal(2), Decimal("2.0")), ("1", 1), (0.0, -0.0)])
def test_values_that_python_takes_for_equal_are_other_questions(one: Value, other: Value) -> None:
    assert asked(one) != asked(other)
    assert asked(one) == asked(one)
    assert hash(asked(one)) == hash(asked(one))


SENT = QueryRequest(
    "ada", "SELECT count(*) FROM t", 1.0, 0.0, "gem", "r", (1,), sampling_rate=0.5, idempotency_key="order-7"
)


@pytest.mark.parametrize(
    "other",
    [
        {"sql": "SELECT count(*) AS n FROM t"},
        {"sql": "SELECT count(*) FROM t HAVING count(*) > 5"},
        {"epsilon": 0.5},
        {"epsilon": None},
        {"delta": 1e-9},
        {"mechanism": "r2t"},
        {"sampling_rate": 0.25},
        {"sampling_rate": None},
        {"parameters": (1.0,)},
    ],
    ids=str,
)
def test_what_was_sent_is_known_by_all_that_was_written(other: dict[str, object]) -> None:
    assert request_hash(replace(SENT, **other)) != request_hash(SENT)  # type: ignore[arg-type]


def test_the_same_request_is_known_again_and_one_without_a_key_is_not_noted() -> None:
    assert request_hash(replace(SENT, request_id="another", idempotency_key="order-8")) == request_hash(SENT)
    assert request_hash(replace(SENT, idempotency_key="")) == ""
