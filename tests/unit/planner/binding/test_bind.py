from __future__ import annotations

import pytest

from planner.errors import (
    AmbiguousColumn,
    InvalidSyntax,
    PlannerError,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.limits import MAX_TABLES
from planner.released_expression import KeyValue, ReleasedValue
from tests.support.planning import bound
from tests.support.refused import assert_refused

# statement, error, a word of its message, the text at its position
REFUSED = [
    ("SELECT count(*) FROM nowhere", UnknownTable, "nowhere", "nowhere"),
    ("SELECT count(*) FROM pg_catalog.orders", UnknownTable, "pg_catalog.orders", None),
    ('SELECT count(*) FROM ORDERS WHERE "O_ORDERKEY" = 1', UnknownColumn, "O_ORDERKEY", '"O_ORDERKEY"'),
    ('SELECT count(*) FROM "Orders"', UnknownTable, "Orders", '"Orders"'),
    ("SELECT count(*) FROM orders o WHERE orders.o_orderkey = 1", UnknownTable, "orders", None),
    ("SELECT count(*) FROM orders WHERE nothing = 1", UnknownColumn, "nothing", "nothing"),
    ("SELECT count(*) FROM orders o WHERE o.nothing = 1", UnknownColumn, "nothing", None),
    ("SELECT count(*) FROM knows a, knows b WHERE src = 1", AmbiguousColumn, "src", "src"),
    ("SELECT count(*) FROM knows, knows", InvalidSyntax, "twice", None),
    ("SELECT count(*) FROM knows a JOIN orders o ON b.src = 1 JOIN knows b ON true", UnknownTable, "b", None),
    ("SELECT count(*) FROM knows a, orders JOIN knows b USING (src)", UnknownColumn, "src", "src)"),
    ("SELECT count(*) FROM orders INNER JOIN knows", InvalidSyntax, "ON or USING", None),
    ("SELECT *", InvalidSyntax, "FROM", None),
    ("SELECT o_orderkey FROM orders", UnsupportedSQL, "without an aggregate", "o_orderkey"),
    ("SELECT o_orderkey, count(*) FROM orders", UnsupportedSQL, "neither in GROUP BY", "o_orderkey"),
    ("SELECT * FROM orders", UnsupportedSQL, "without an aggregate", "*"),
    ("SELECT *, count(*) FROM orders", UnsupportedSQL, "select list", "*"),
    ("SELECT count(*) || 'x' FROM orders", UnsupportedSQL, "around noisy answers", "count"),
    ("SELECT count(*) + 'x' FROM orders", UnsupportedSQL, "not a number", "count"),
    ("SELECT count(*) FROM orders GROUP BY 2", InvalidSyntax, "position", "2"),
    ("SELECT count(*) FROM orders GROUP BY 1", UnsupportedSQL, "aggregate in GROUP BY", "1"),
    ("SELECT count(DISTINCT (o_orderkey, (o_custkey, o_clerk))) FROM orders", UnsupportedSQL, "a row of",
     "o_custkey"),
    ("SELECT count() FROM orders", InvalidSyntax, "argument", "count"),
    ("SELECT count(*) FROM orders WHERE o_orderkey", UnsupportedSQL, "condition", "o_orderkey"),
    ("SELECT count(*) FROM orders WHERE o_orderkey / 0 = 1", UnsupportedSQL, "zero", "0"),
    ("SELECT count(*) FROM orders WHERE o_orderkey / o_custkey = 1", PlannerError, "range", None),
    ("SELECT count(*) FROM orders WHERE o_orderkey = 'x'", InvalidSyntax, "integer", "'x'"),
    ("SELECT count(*) FROM orders WHERE o_orderkey = o_comment", UnsupportedSQL, "integer and text", None),
    ("SELECT count(*) FROM orders WHERE o_orderkey IN (1, o_custkey)", UnsupportedSQL, "IN list", "o_custkey"),
    ("SELECT count(*) FROM orders WHERE o_orderdate = '1994-02-30'", InvalidSyntax, "date", "'1994-02-30'"),
    ("SELECT count(*) FROM orders WHERE o_orderdate = DATE 'epoch'", InvalidSyntax, "date", "'epoch'"),
    ("SELECT count(*) FROM orders WHERE o_orderdate > DATE '9999-01-01' + INTERVAL '9' YEAR", InvalidSyntax, "9999",
     None),
    ("SELECT count(*) FROM orders WHERE o_orderdate > DATE '1999-01-01' + INTERVAL '1.5' DAY", UnsupportedSQL, "",
     None),
    ("SELECT count(*) FROM orders WHERE o_comment::int = 1", UnsupportedSQL, "cast", None),
    ("SELECT count(*) FROM orders WHERE o_comment LIKE 'a\\'", InvalidSyntax, "backslash", "'a"),
    ("SELECT count(*) FROM orders WHERE o_comment LIKE o_clerk", UnsupportedSQL, "LIKE", None),
    ("SELECT count(*) FROM orders WHERE o_orderkey LIKE 'a'", UnsupportedSQL, "text", None),
    ("SELECT count(*) FROM orders WHERE o_totalprice > 1e400", UnsupportedSQL, "1e100", "1e400"),
    ("SELECT count(*) FROM orders WHERE o_totalprice > 1e200", UnsupportedSQL, "1e100", "1e200"),
]  # fmt: skip


def test_refuses_by_name_and_place() -> None:
    for sql, error, word, at in REFUSED:
        assert_refused(bound, sql, error, word, at)


def _conditions(sql: str) -> list[str]:
    return [predicate.sql("postgres") for predicate in bound(sql).predicates]


def test_names_fold_as_in_postgresql() -> None:
    query = bound(
        'SELECT Count(*) AS Total, COUNT(O_COMMENT) AS "N" FROM Public.ORDERS "O", Knows K '
        'WHERE "O".o_orderkey = k.SRC'
    )
    assert [entry.table.name for entry in query.tables] == ["orders", "knows"]
    assert [output.name for output in query.display.outputs] == ["total", "N"]
    assert [p.sql("postgres") for p in query.predicates] == ['"knows_1"."src" = "orders_0"."o_orderkey"']


def test_every_spelling_of_a_join_is_the_same_query() -> None:
    spellings = [
        "SELECT count(*) FROM knows a JOIN knows b ON a.src = b.src",
        "SELECT count(*) FROM knows x, knows y WHERE (x.src = y.src)",
        "SELECT count(*) FROM knows CROSS JOIN knows AS k WHERE knows.src = k.src",
        "SELECT count(*) FROM knows a JOIN knows b USING (src)",
        "SELECT count(*) FROM public.knows a INNER JOIN public.knows b ON ((a.src = b.src))",
    ]
    assert {tuple(_conditions(sql)) for sql in spellings} == {('"knows_0"."src" = "knows_1"."src"',)}


def test_using_merges_the_column() -> None:
    sql = "SELECT count(*) FROM knows a JOIN knows b USING (src) JOIN knows c USING (src) WHERE src = 1"
    assert set(_conditions(sql)) == {
        '"knows_0"."src" = "knows_1"."src"',
        '"knows_0"."src" = "knows_2"."src"',
        '"knows_0"."src" = 1',
    }


def test_bound_conditions_fail_on_no_row() -> None:
    for condition, expected in [
        ("o_shippriority * o_shippriority > 1", "CAST({} AS DECIMAL) * CAST({} AS DECIMAL) > 1"),
        ("o_shippriority / 2 = 1", "DIV(CAST({} AS DECIMAL), 2) = 1"),
        ("o_shippriority / 2.0 = 1", "CAST({} AS DECIMAL) / 2.0 = 1"), ("o_shippriority = -3", "{} = -3"),
        ("o_shippriority = '-3'", "{} = -3"), ("o_shippriority NOT IN (1, 2)", "NOT ({} IN (1, 2))"),
        ("o_shippriority IS NOT NULL", "{} IS NOT NULL"),
        ("(o_shippriority > 1) IS NOT TRUE", "NOT (({} > 1) IS TRUE)"),
        ("o_shippriority = 1 OR o_shippriority = 2 AND true", "({} = 1) OR ({} = 2)"),
    ]:  # fmt: skip
        column = '"orders_0"."o_shippriority"'
        assert _conditions(f"SELECT count(*) FROM orders WHERE {condition}") == [expected.replace("{}", column)]


def test_dates_are_computed_before_the_database_sees_them() -> None:
    cases = [
        ("'1994-01-31'", "CAST('1994-01-31' AS DATE)"),
        ("'1994-01-31 10:00'", "CAST('1994-01-31' AS DATE)"),  # as PostgreSQL reads it beside a date
        ("TIMESTAMP '1994-01-31 10:00'", "CAST('1994-01-31 10:00:00' AS TIMESTAMP)"),
        ("DATE '1994-01-31' + INTERVAL '1' MONTH", "CAST('1994-02-28' AS DATE)"),
        ("DATE '1994-03-01' - INTERVAL '1 day'", "CAST('1994-02-28' AS DATE)"),
        ("DATE '1996-02-29' + INTERVAL '1' YEAR - INTERVAL '2 weeks'", "CAST('1997-02-14' AS DATE)"),
        ("TIMESTAMP '1994-12-31 23:00:00' + INTERVAL '90 minutes'", "CAST('1995-01-01 00:30:00' AS TIMESTAMP)"),
    ]
    for written, value in cases:
        assert _conditions(f"SELECT count(*) FROM orders WHERE o_orderdate < {written}") == [
            f'"orders_0"."o_orderdate" < {value}'
        ]


def test_group_by_takes_columns_positions_and_aliases() -> None:
    for key in ("c_nationkey", "customer.c_nationkey", "1", "nation"):
        query = bound(f"SELECT c_nationkey AS nation, count(*) FROM customer GROUP BY {key}")
        assert [key.value.name for key in query.keys] == ["c_nationkey"]
        assert [output.name for output in query.display.outputs] == ["nation", "count"]
        assert [output.expression for output in query.display.outputs] == [KeyValue(0), ReleasedValue(0)]


def test_the_number_of_tables_is_limited() -> None:
    tables = [f"knows k{i}" for i in range(MAX_TABLES + 1)]
    assert len(bound(f"SELECT count(*) FROM {' CROSS JOIN '.join(tables[:-1])}").tables) == MAX_TABLES
    with pytest.raises(StatementTooComplex):
        bound(f"SELECT count(*) FROM {' CROSS JOIN '.join(tables)}")
