"""A refusal says what to write instead, and points at what was written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.binding.placeholders import substitute
from planner.errors import (
    InvalidSetting,
    SensitivityUnbounded,
    UndefinedOperator,
    UnknownColumn,
    UnknownTable,
    UnreadableMoment,
    UnreadableValue,
    UnsupportedSQL,
)
from planner.parsing.parse import parse
from tests.support.planning import planned
from tests.support.tpch_schema import tpch_schema

_JOINED = "FROM orders JOIN lineitem ON l_orderkey = o_orderkey"
# statement with ^ where the position is, error, a word of the hint
HINTS = [
    ("SELECT count(*) FROM ^custmer", UnknownTable, "did you mean customer?"),
    ('SELECT count(*) FROM ^"Customer"', UnknownTable, "did you mean customer?"),
    ("SELECT count(*) FROM customer WHERE ^c_nme = 'x'", UnknownColumn, "did you mean c_name?"),
    ("SELECT count(*) FROM customer c WHERE ^c.c_nme = 'x'", UnknownColumn, "did you mean c_name?"),
    ("SELECT count(*) FROM customer WHERE ^customr.c_name = 'x'", UnknownTable, "did you mean customer?"),
    ('SELECT count(*) FROM customer WHERE c_name = ^"A"', UnknownColumn, "single quotes"),
    ("SELECT count(*) FROM orders JOIN customer USING (^o_custkey)", UnknownColumn, "ON"),
    ("SELECT median(^c_acctbal) FROM customer", SensitivityUnbounded, "range = "),
    ("SELECT median(^c_name) FROM customer", UnsupportedSQL, "declared range"),
    ("SELECT ^percentile_cont(1.5) WITHIN GROUP (ORDER BY c_custkey) FROM customer", UnsupportedSQL, "from 0 to 1"),
    ("SELECT ^quantile(c_acctbal, 0.5) FROM customer", UnsupportedSQL, "WITHIN GROUP"),
    ("SELECT stddev(^c_acctbal) FROM customer", SensitivityUnbounded, "range = "),
    ("SELECT ^skewness(c_acctbal) FROM customer", UnsupportedSQL, "percentile_cont"),
    ("SELECT ^count(*) OVER () FROM customer", UnsupportedSQL, "group by"),
    ("SELECT ^histogram(c_acctbal), count(*) FROM customer GROUP BY 1", UnsupportedSQL, "width_bucket(x"),
    ("SELECT to_char(o_orderdate, ^'J'), count(*) FROM orders GROUP BY 1", UnsupportedSQL, "YYYY, MM"),
    ("SELECT sum(^age(o_orderdate, o_orderdate)) FROM orders", UnsupportedSQL, "year FROM age"),
    ("SELECT count(*) FROM orders WHERE ^make_date(2024, 13, 1) > o_orderdate", UnsupportedSQL, "literal date"),
    ("SELECT count(*) FROM orders WHERE ^regexp_replace(o_clerk, 'a', 'b') = 'x'", UnsupportedSQL, "replace(x"),
    (f"SELECT ^stddev(l_shipdate::timestamp - l_commitdate::timestamp) {_JOINED}", UnsupportedSQL, "extract(epoch"),
    ("SELECT ^string_agg(c_name, ',') FROM customer", UnsupportedSQL, "group by"),
    ("SELECT ^mode() WITHIN GROUP (ORDER BY c_mktsegment) FROM customer", UnsupportedSQL, "sort the groups"),
    ("SELECT corr(^o_shippriority, o_totalprice) FROM orders", SensitivityUnbounded, "range = "),
    ("SELECT count(*) FROM orders WHERE ^o_orderdate::time > '12:00'", UnsupportedSQL, "extract(hour"),
    ("SELECT n_name, count(*) AS n FROM nation GROUP BY n_name HAVING ^n > 3", UnknownColumn, "select list"),
    ("SELECT ^year(o_orderdate), count(*) FROM orders GROUP BY 1", UnsupportedSQL, "extract(year"),
    (f"SELECT sum(^datediff(o_orderdate, l_shipdate)) {_JOINED}", UnsupportedSQL, "write a::date - b::date"),
    ("SELECT count(*) FROM orders WHERE o_orderdate AT TIME ZONE ^'Mars' > '2024-01-01'", InvalidSetting, "Zurich"),
    ("SELECT count(*) FROM orders WHERE (^o_custkey, o_orderkey) = (1, 2, 3)", UnsupportedSQL, "as many values"),
    ("SELECT count(*) FROM orders WHERE (^o_custkey, o_orderkey) IS NULL", UnsupportedSQL, "||"),
    ("SELECT variance(^DISTINCT o_totalprice) FROM orders", UnsupportedSQL, "GROUP BY x"),
    ("SELECT o_orderstatus, count(*) FROM orders ^GROUP BY ALL", UnsupportedSQL, "GROUP BY x, y"),
    ("SELECT sum(^if(c_acctbal > 0, 1, 0)) FROM customer", UnsupportedSQL, "CASE WHEN"),
    ("SELECT avg(^c_acctbal > 0) FROM customer", UnsupportedSQL, "::int"),
    ("SELECT count(*) FROM customer GROUP BY ^upper(c_mktsegment)", SensitivityUnbounded, "list its values in WHERE"),
    ("SELECT count(*) FROM customer WHERE ^c_name ~ '^W+'", UnsupportedSQL, "LIKE"),
    ("SELECT n_name, count(*) FROM nation ^LEFT JOIN customer ON c_nationkey = n_nationkey GROUP BY n_name",
     UnsupportedSQL, "group by the public table's key"),
    ("SELECT count(*) FROM customer WHERE c_acctbal > ^'abc'", UnreadableValue, "number"),
    ("SELECT count(*) FROM orders WHERE o_orderdate > ^'1994-13-01'", UnreadableMoment, "1994-01-31"),
    ("SELECT count(*) FROM customer WHERE ^c_name = 5", UndefinedOperator, "quotes"),
]  # fmt: skip


def test_the_hint_and_the_place() -> None:
    for marked, error, hint in HINTS:
        place = marked.index("^")
        with pytest.raises(error) as caught:
            planned(marked[:place] + marked[place + 1 :])
        assert type(caught.value) is error
        assert hint in (caught.value.hint or "")
        assert caught.value.position == place + 1


def test_avg_is_not_called_sum() -> None:
    with pytest.raises(UnsupportedSQL, match="'o_orderdate' is not a number"):
        planned("SELECT avg(o_orderdate) FROM orders")


def test_a_length_of_time_in_a_column_says_what_to_keep_instead() -> None:
    schema = tpch_schema()
    orders = schema.tables["orders"]
    columns = tuple(replace(one, type="interval") if one.name == "o_clerk" else one for one in orders.columns)
    lengths = replace(schema, tables={**schema.tables, "orders": replace(orders, columns=columns)})
    with pytest.raises(UnsupportedSQL, match="'o_clerk' is not a number") as refused:
        planned("SELECT avg(o_clerk) FROM orders", lengths)
    assert "keep the length in a column of numbers" in (refused.value.hint or "")


def test_the_number_of_values_is_said_in_good_grammar() -> None:
    for values, message in [
        ((), "1 placeholder, but 0 values were sent"), ((1, 2), "1 placeholder, but 2 values were sent"),
    ]:  # fmt: skip
        sql = "SELECT count(*) FROM orders WHERE o_orderkey = $1"
        with pytest.raises(InvalidSetting, match=message) as caught:
            substitute(parse(sql), values)
        assert caught.value.position == (None if values else sql.index("$1") + 1)


def test_no_name_of_a_table_beyond_the_policy_is_suggested() -> None:
    with pytest.raises(UnknownTable) as caught:
        planned("SELECT count(*) FROM pg_clas")
    assert caught.value.hint is None
