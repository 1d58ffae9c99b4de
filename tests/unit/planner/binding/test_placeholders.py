from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from planner.binding.bind import bind
from planner.binding.placeholders import MAX_ELEMENTS, MAX_PARAMETERS, IntervalText, Value, substitute
from planner.describe import Description, describe
from planner.errors import InvalidSetting, InvalidSyntax, UnsupportedSQL
from planner.parsing.parse import parse
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

_NOW = datetime(2024, 1, 1, tzinfo=UTC)


def _described(sql: str) -> Description:
    return describe(parse(sql), tpch_schema(), demo_policy())


def _conditions(sql: str, *values: Value) -> list[str]:
    query = bind(substitute(parse(sql), values), tpch_schema(), demo_policy(), _NOW)
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
    assert tuple((one.name, one.type) for one in described.outputs) == (
        ("n_name", "text"),
        ("many", "int8"),
        ("count", "int8"),
    )
    assert described.parameters == ("int8", "float8", "int8")


@pytest.mark.parametrize(
    ("clause", "types"),
    [
        ("WHERE date_part($1::VARCHAR, o_orderdate) = $2::INTEGER", ("varchar", "int4")),
        ("WHERE to_char(o_orderdate, $1::VARCHAR) = $2", ("varchar", "text")),
        ("WHERE o_comment ILIKE $1::VARCHAR", ("varchar",)),
        ("WHERE o_comment LIKE '%' || $1::VARCHAR || '%' ESCAPE '/'", ("varchar",)),
        ("WHERE coalesce(o_shippriority, $1::INTEGER) = $2::SMALLINT", ("int4", "int2")),
        ("WHERE left(o_comment, $1::INTEGER) = 'a' AND o_totalprice > $2::REAL", ("int4", "float4")),
        ("WHERE o_orderkey = ANY($1::INTEGER[]) AND o_clerk = ANY($2::VARCHAR[])", ("int4[]", "varchar[]")),
        ("WHERE $1::INTEGER IS NULL OR o_orderkey = $1", ("int4",)),
        ("WHERE o_orderdate > now() - $1", ("interval",)),
        ("WHERE o_orderdate > now() - $1::interval", ("interval",)),
        ("WHERE o_orderdate > now() - make_interval(days => $1)", ("int8",)),
        ("WHERE o_orderdate > now() - make_interval(0, 0, 0, $1::INTEGER)", ("int4",)),
        ("WHERE o_orderdate > now() - ($1 || ' days')::interval", ("text",)),
        ("WHERE o_orderdate > now() - $1::INTEGER * INTERVAL '1 day'", ("int4",)),
        ("WHERE o_orderdate AT TIME ZONE $1::VARCHAR > '1995-01-01'", ("varchar",)),
        ("WHERE width_bucket(o_totalprice, $1::NUMERIC, $2, $3::INTEGER) = 1", ("numeric", "numeric", "int4")),
        ("HAVING count(*) > $1::INTEGER", ("int4",)), ("LIMIT $1::INTEGER OFFSET $2", ("int4", "int8")),
    ],
)  # fmt: skip
def test_a_cast_says_the_type_as_in_postgresql(clause: str, types: tuple[str, ...]) -> None:
    assert _described(f"SELECT count(*) FROM orders {clause}").parameters == types


def test_what_a_client_says_of_its_values_types_arithmetic_whose_place_says_nothing() -> None:
    sql = "SELECT count(*) FROM orders WHERE o_orderdate BETWEEN current_date - $1 AND now() + $2"
    given = describe(parse(sql), tpch_schema(), demo_policy(), None, ("int2", "interval"))
    assert given.parameters == ("int2", "interval")


def test_a_quantile_and_a_unit_may_be_placeholders() -> None:
    sql = "SELECT percentile_cont({}) WITHIN GROUP (ORDER BY least(greatest(o_shippriority, 0), 9)) FROM orders"
    for written, kind in (("$1", "float8"), ("$1::REAL", "float4"), ("$1::DOUBLE PRECISION", "float8")):
        assert _described(sql.format(written)).parameters == (kind,)
        bind(substitute(parse(sql.format(written)), (0.5,)), tpch_schema(), demo_policy(), _NOW)
    month = "date_trunc({}::VARCHAR, o_orderdate)"
    unit = f"SELECT {month.format('$1')}, count(*) FROM orders GROUP BY {month.format('$2')}"
    assert _described(unit).parameters == ("varchar", "varchar")


@pytest.mark.parametrize(
    ("written", "values", "plain"),
    [
        ("to_char(o_orderdate, $1::VARCHAR) = $2::VARCHAR", ("YYYY", "1995"),
         "to_char(o_orderdate, 'YYYY') = '1995'"),
        ("date_trunc($1::VARCHAR, o_orderdate) = '1995-01-01'", ("year",),
         "date_trunc('year', o_orderdate) = '1995-01-01'"),
        ("date_part('month'::varchar, o_orderdate) = 3", (), "date_part('month', o_orderdate) = 3"),
        ("o_comment ILIKE '%' || $1::VARCHAR || '%'", ("a",), "o_comment ILIKE '%a%'"),
        ("o_comment LIKE 'abc'::varchar(2)", (), "o_comment LIKE 'ab'"),
        ("left(o_comment, $1::INTEGER) = $2::TEXT", ("2", "ab"), "left(o_comment, 2) = 'ab'"),
        ("coalesce(o_shippriority, $1::INTEGER) = 3", (3,), "coalesce(o_shippriority, 3) = 3"),
        ("o_orderkey = ANY($1::INTEGER[])", ((2, 1),), "o_orderkey IN (1, 2)"),
        ("o_orderdate > now() - $1", (IntervalText("7 days"),), "o_orderdate > now() - INTERVAL '7' DAY"),
        ("o_orderdate > now() - $1::interval", (IntervalText("7 days"),), "o_orderdate > now() - INTERVAL '7' DAY"),
        ("o_orderdate > now() - make_interval(days => $1)", (7,), "o_orderdate > now() - INTERVAL '7' DAY"),
        ("o_orderdate > now() - make_interval(0, 0, 1)", (), "o_orderdate > now() - INTERVAL '7' DAY"),
        ("o_orderdate > now() - ($1 || ' days')::interval", (7,), "o_orderdate > now() - INTERVAL '7' DAY"),
        ("o_orderdate > now() - concat($1::text, ' days')::interval", ("7",),
         "o_orderdate > now() - INTERVAL '7' DAY"),
        ("o_orderdate > now() - ('7 days'::interval)", (), "o_orderdate > now() - INTERVAL '7' DAY"),
    ],
)  # fmt: skip
def test_a_cast_of_a_constant_is_the_constant(written: str, values: tuple[Value, ...], plain: str) -> None:
    sql = "SELECT count(*) FROM orders WHERE "
    assert _conditions(sql + written, *values) == _conditions(sql + plain)


def test_a_cast_of_what_is_no_such_value_is_refused() -> None:
    for condition in (
        "left(o_comment, 'x'::int) = 'a'", "left(o_comment, 2.5::int) = 'a'", "o_comment LIKE o_clerk::varchar",
        "o_orderdate > now() - make_interval(days => 1, hours => 2)",
        "o_orderdate > now() - ($1 || ' days')::interval",
        "o_orderdate > now() - make_interval(days => 1, 2)", "o_orderdate > now() - make_interval(fortnights => 1)",
    ):  # fmt: skip
        with pytest.raises(UnsupportedSQL):
            _conditions(f"SELECT count(*) FROM orders WHERE {condition}", *(("x",) if "$1" in condition else ()))
    with pytest.raises(InvalidSyntax, match="syntax error at =>"):
        parse("SELECT count(*) FROM orders WHERE o_orderkey => 3")


def test_null_in_place_of_an_array_makes_a_condition_null_and_an_empty_array_decides() -> None:
    null, sql = "CAST(NULL AS BOOLEAN)", "SELECT count(*) FROM orders WHERE "
    for array in ("NULL", "NULL::int[]", "CAST(NULL AS int[])"):
        assert _conditions(f"{sql}o_orderkey = ANY({array})") == [null]
        assert _conditions(f"{sql}o_orderkey <> ALL({array})") == [null]
        assert _conditions(f"{sql}NOT o_orderkey = ANY({array})") == [null]
    assert _conditions(f"{sql}o_orderkey = ANY($1)", None) == [null]
    assert _conditions(f"{sql}o_orderkey <> ALL($1::INTEGER[])", None) == [null]
    assert _conditions(f"{sql}o_orderkey = ANY('{{}}')") == ["FALSE"]
    assert _conditions(f"{sql}o_orderkey <> ALL('{{}}')") == _conditions(f"{sql}NOT o_orderkey = ANY($1)", ()) == []
    assert _conditions(f"{sql}o_orderkey = ANY('{{NULL}}')") == [null]
    assert _conditions(f"{sql}o_orderkey <> ALL($1)", (1, None)) == [
        f'NOT (("orders_0"."o_orderkey" IN (1)) OR {null})'
    ]


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
    for number in ("0", str(MAX_PARAMETERS + 1)):
        with pytest.raises(UnsupportedSQL, match="placeholder"):
            _conditions(f"SELECT count(*) FROM orders WHERE o_orderkey = ${number}")
    with pytest.raises(InvalidSyntax):  # beyond PostgreSQL's own numbers
        _conditions(f"SELECT count(*) FROM orders WHERE o_orderkey = ${10**20}")


def test_the_most_values_are_taken() -> None:
    places = ", ".join(f"${n}" for n in range(1, MAX_PARAMETERS + 1))
    sql = f"SELECT count(*) FROM orders WHERE o_orderkey IN ({places})"
    assert len(_described(sql).parameters) == MAX_PARAMETERS
    assert _conditions(sql, *range(MAX_PARAMETERS))


def test_an_array_has_as_many_elements_as_it_says_and_no_more() -> None:
    sql = "SELECT count(*) FROM orders WHERE o_orderkey = ANY($1)"
    (condition,) = _conditions(sql, tuple(range(MAX_ELEMENTS)))
    assert condition.endswith(f", {MAX_ELEMENTS - 1})")
    with pytest.raises(InvalidSetting, match="more than 1,000 elements"):
        _conditions(sql, tuple(range(MAX_ELEMENTS + 1)))
