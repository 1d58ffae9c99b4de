"""The values that a condition leaves to a column: only where it compares the column as what it is."""

from __future__ import annotations

from sqlglot import parse_one

from planner.group_domains.column_values import base_values, listed_literals
from planner.policy.policy import ColumnPolicy
from planner.sql.sql_types import SqlType, sql_type


def test_literals_of_a_condition_are_the_columns_values() -> None:
    cases: list[tuple[str, str, tuple[str | int, ...] | None]] = [
        ("a.x = 5", "bigint", (5,)),
        ("a.x = -(5)", "bigint", (-5,)),
        ("a.x IN (5, 7, 5)", "bigint", (5, 7)),
        ("a.x = CAST(5 AS DECIMAL)", "bigint", (5,)),
        ("a.x = CAST(100000000000000000 AS DOUBLE PRECISION)", "bigint", None),  # sixteen bigints are this double
        ("a.x IN (5, CAST(100000000000000000 AS DOUBLE PRECISION))", "bigint", None),
        ("a.x = CEIL(CAST(5 AS DECIMAL))", "bigint", None),
        ("a.x = 'a'", "text", ("a",)),
        ("a.y = 5", "bigint", None),
    ]
    for condition, kind, values in cases:
        declared: SqlType = sql_type(kind)
        assert listed_literals(("a", "x"), declared, [parse_one(condition, dialect="postgres")]) == values


def test_a_condition_lists_the_values_of_the_same_expression_alone() -> None:
    value = parse_one("LEFT(a.x, 2)", dialect="postgres")
    for condition, values in [
        ("LEFT(a.x, 2) IN ('ab', 'cd')", ("ab", "cd")), ("(LEFT(a.x, 2)) = 'ab'", ("ab",)),
        ("LEFT(a.x, 3) IN ('ab', 'cd')", None), ("LEFT(a.y, 2) = 'ab'", None), ("a.x = 'ab'", None),
        ("LEFT(a.x, 2) <> 'ab'", None), ("NOT LEFT(a.x, 2) IN ('ab')", None), ("LEFT(a.x, 2) IN ('ab', a.y)", None),
    ]:  # fmt: skip
        assert listed_literals(value, sql_type("text"), [parse_one(condition, dialect="postgres")]) == values


def test_decimals_of_a_range_step_by_their_last_digit() -> None:
    for kind, declared, conditions, first, count in [
        ("numeric(4,1)", (0.1, 2.0), (), 1, 20), ("numeric(4,1)", (-0.15, 0.15), (), -1, 3),
        ("numeric(4,1)", (0.0, 99999.0), (), 0, 10_000),
        ("numeric(4,1)", (0.0, 10.0), ("a.x > 0.3", "a.x <= 0.55"), 4, 2),
        ("numeric(4,1)", None, ("a.x BETWEEN 1 AND 2",), 10, 11),
        ("numeric(4,1)", (0.0, 10.0), ("a.x > 20",), 201, 0),
    ]:  # fmt: skip
        predicates = [parse_one(condition, dialect="postgres") for condition in conditions]
        use = parse_one("a.x", dialect="postgres")
        found = base_values(("a", "x"), sql_type(kind), ColumnPolicy(range=declared), [use], predicates)
        assert found is not None
        assert (found.first, found.count, found.scale) == (first, count, 1)


def test_decimals_without_two_ends_or_with_uncounted_digits_are_not_listed() -> None:
    use = parse_one("a.x", dialect="postgres")
    over = parse_one("a.x > 3", dialect="postgres")
    assert base_values(("a", "x"), sql_type("numeric(4,1)"), ColumnPolicy(), [use], [over]) is None
    for kind in ("numeric", "numeric(16,1)", "numeric(9,4)"):
        assert base_values(("a", "x"), sql_type(kind), ColumnPolicy(range=(0.0, 1000.0)), [use], []) is None
