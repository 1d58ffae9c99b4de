from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from planner.binding.bind import bind
from planner.binding.placeholders import MAX_PARAMETERS, Value, substitute
from planner.describe import Description, describe
from planner.errors import InvalidSetting, InvalidSyntax, UnsupportedSQL
from planner.parsing.parse import parse
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema


def _described(sql: str) -> Description:
    return describe(parse(sql), tpch_schema(), demo_policy())


def _conditions(sql: str, *values: Value) -> list[str]:
    query = bind(substitute(parse(sql), values), tpch_schema(), demo_policy(), datetime(2024, 1, 1, tzinfo=UTC))
    return [condition.sql("postgres") for condition in query.predicates]


def test_types_follow_from_context() -> None:
    for condition, types in [
        ("o_orderkey = $1", ("int8",)), ("$1 < o_totalprice", ("numeric",)),
        ("o_orderdate BETWEEN $2 AND $1", ("date", "date")),
        ("o_comment LIKE $1 OR o_comment = $2", ("text", "text")), ("o_orderkey IN ($1, $2, 3)", ("int8", "int8")),
        ("o_orderkey + $1 > 3", ("numeric",)), ("o_orderkey = $1 AND o_totalprice > $1", ("numeric",)),
        ("$1::date < o_orderdate", ("date",)), ("extract(year FROM o_orderdate) = $1", ("numeric",)),
        ("date_part('year', o_orderdate) = $1", ("float8",)), ("left(o_comment, $1) = $2", ("int8", "text")),
        ("CASE WHEN $1 THEN 1 ELSE 0 END = 1", ("bool",)), ("coalesce(o_comment, $1) <> 'x'", ("text",)),
        ("o_orderdate > now() AND o_orderkey = $1", ("int8",)),
    ]:  # fmt: skip
        assert _described(f"SELECT count(*) FROM orders WHERE {condition}").parameters == types


def test_names_and_types_of_the_answer_are_known_before_values() -> None:
    described = _described(
        "SELECT n_name, count(*) AS many, sum(s_suppkey * $1) FROM supplier JOIN nation ON s_nationkey = n_nationkey "
        "GROUP BY n_name HAVING count(*) > $2 LIMIT $3".replace(
            "sum(s_suppkey * $1)", "count(CASE WHEN s_suppkey > $1 THEN 1 END)"
        )
    )
    assert described.columns == (("n_name", "text"), ("many", "int8"), ("count", "int8"))
    assert described.parameters == ("int8", "float8", "int8")


def test_a_type_that_is_not_clear_is_refused() -> None:
    for condition in ("o_orderkey = $2", "o_comment = $1 AND o_orderkey = $1", "$1 IS NULL"):
        with pytest.raises(UnsupportedSQL):
            _described(f"SELECT count(*) FROM orders WHERE {condition}")


def test_values_are_literals() -> None:
    cases: list[tuple[str, Value, str]] = [
        ("o_comment = $1", "x' OR 1 = 1 --", "= 'x'' OR 1 = 1 --'"), ("o_comment = $1", "\\'; $1", "= '\\''; $1'"),
        ("o_orderkey = $1", -5, "= -5"), ("o_orderkey = $1", "-5", "= -5"), ("o_totalprice > $1", 0.1, "> 0.1"),
        ("o_totalprice > $1", 1e-7, "> 0.0000001"), ("o_totalprice > $1", Decimal("1E+3"), "> 1000"),
        ("o_orderdate > $1", "1995-01-31", "> CAST('1995-01-31' AS DATE)"),
    ]  # fmt: skip
    for condition, value, written in cases:
        [sql] = _conditions(f"SELECT count(*) FROM orders WHERE {condition}", value)
        assert sql.endswith(written)


def test_a_placeholder_in_a_string_or_name_is_none() -> None:
    assert _conditions("SELECT count(*) FROM orders WHERE o_comment = '$1'") == ['"orders_0"."o_comment" = \'$1\'']


def test_values_that_do_not_fit_are_refused() -> None:
    for values, error in [
        ((), InvalidSetting), ((1, 2), InvalidSetting), ((float("nan"),), InvalidSetting),
        ((float("inf"),), InvalidSetting), ((10**200,), InvalidSetting), ((1e-200,), InvalidSetting),
        ((Decimal("1e9999999"),), InvalidSetting), ((Decimal("-1e9999999"),), InvalidSetting),
        ((Decimal("1e-9999999"),), InvalidSetting), (("a\0",), InvalidSetting), (("\ud800",), InvalidSetting),
        (("x" * 10_000,), InvalidSetting), (("x",), InvalidSyntax), ((True,), UnsupportedSQL),
    ]:  # fmt: skip
        with pytest.raises(error):
            _conditions("SELECT count(*) FROM orders WHERE o_orderkey = $1", *values)


def test_null_is_a_value_and_an_optional_filter_may_be_left_out() -> None:
    assert _conditions("SELECT count(*) FROM orders WHERE o_orderkey = $1", None) == ["CAST(NULL AS BOOLEAN)"]
    optional = "SELECT count(*) FROM orders WHERE ($1::text IS NULL OR o_orderstatus = $1)"
    assert _conditions(optional, None) == []
    assert _conditions(optional, "F") == ['"orders_0"."o_orderstatus" = \'F\'']


def test_numbers_are_limited() -> None:
    for number in ("0", str(MAX_PARAMETERS + 1), "99999999999999999999"):
        with pytest.raises(UnsupportedSQL, match="placeholder"):
            _conditions(f"SELECT count(*) FROM orders WHERE o_orderkey = ${number}")


def test_the_most_values_are_taken() -> None:
    places = ", ".join(f"${n}" for n in range(1, MAX_PARAMETERS + 1))
    sql = f"SELECT count(*) FROM orders WHERE o_orderkey IN ({places})"
    assert len(_described(sql).parameters) == MAX_PARAMETERS
    assert _conditions(sql, *range(MAX_PARAMETERS))
