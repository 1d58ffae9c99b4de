"""The values that a condition leaves to a column: only where it compares the column as what it is."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from planner.base_values import listed_literals
from planner.sql_types import SqlType, sql_type


@pytest.mark.parametrize(
    ("condition", "kind", "values"),
    [
        ("a.x = 5", "bigint", (5,)),
        ("a.x = -(5)", "bigint", (-5,)),
        ("a.x IN (5, 7, 5)", "bigint", (5, 7)),
        ("a.x = CAST(5 AS DECIMAL)", "bigint", (5,)),
        ("a.x = CAST(100000000000000000 AS DOUBLE PRECISION)", "bigint", None),  # sixteen bigints are this double
        ("a.x IN (5, CAST(100000000000000000 AS DOUBLE PRECISION))", "bigint", None),
        ("a.x = CEIL(CAST(5 AS DECIMAL))", "bigint", None),
        ("a.x = 'a'", "text", ("a",)),
        ("a.y = 5", "bigint", None),
    ],
)
def test_listed_literals(condition: str, kind: str, values: tuple[str | int, ...] | None) -> None:
    declared: SqlType = sql_type(kind)
    assert listed_literals(("a", "x"), declared, [parse_one(condition, dialect="postgres")]) == values
