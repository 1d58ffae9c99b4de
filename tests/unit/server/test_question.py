from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from planner.placeholders import Value
from server.query import QueryRequest
from server.question import Asked

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def asked(value: Value) -> Asked:
    request = QueryRequest("ada", "SELECT count(*) FROM t WHERE x = $1", parameters=(value,))
    return Asked.of(request, NOW, 1, "policy", "fingerprint")


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (Decimal(2), Decimal("2.0")), ("1", 1), (0.0, -0.0)])
def test_values_that_python_takes_for_equal_are_other_questions(one: Value, other: Value) -> None:
    assert asked(one) != asked(other)
    assert asked(one) == asked(one)
    assert hash(asked(one)) == hash(asked(one))
