"""A forgotten join condition is refused before anything is charged; CROSS JOIN says that it was not forgotten.

Subqueries, CTEs and joins: every spelling of a select-project-join is the same list of tables and conditions.
"""

from __future__ import annotations

from dataclasses import replace

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
from planner.rewriting.rewrite import to_sql
from tests.golden.tpch.queries import policy
from tests.support.planning import bound, planned, unbounded
from tests.support.refused import assert_refused
from tests.support.tpch_schema import tpch_schema


def test_private_tables_without_a_condition_are_refused() -> None:
    for sql, at in [
        ("SELECT count(*) FROM orders, customer", "customer"),
        ("SELECT count(*) FROM orders JOIN customer ON true", "customer"),
        ("SELECT count(*) FROM orders NATURAL JOIN customer", "customer"),
        ("SELECT count(*) FROM orders o, lineitem l, customer c WHERE o_custkey = c_custkey", "lineitem"),
        ("SELECT count(*) FROM orders, nation, customer WHERE c_nationkey = n_nationkey", "customer"),
        ("SELECT count(*) FROM orders, customer WHERE o_orderkey = 1 AND c_custkey = 1", "customer"),
        ("SELECT count(*) FROM (SELECT o_custkey FROM orders) a, (SELECT c_custkey FROM customer) b", "customer"),
    ]:  # fmt: skip
        assert_refused(bound, sql, UnsupportedSQL, "no condition connects", at, "CROSS JOIN")


def test_any_condition_between_them_or_cross_join_will_do() -> None:
    for sql in [
        "SELECT count(*) FROM orders CROSS JOIN customer", "SELECT count(*) FROM orders, nation",
        "SELECT count(*) FROM orders, customer WHERE o_custkey < c_custkey OR c_custkey = 7",
        "SELECT count(*) FROM customer, nation, supplier WHERE c_nationkey = n_nationkey AND s_suppkey > n_nationkey",
        "SELECT count(*) FROM customer CROSS JOIN (SELECT s_suppkey FROM supplier) s",
        "SELECT count(*) FROM (customer CROSS JOIN supplier) JOIN orders ON o_custkey = c_custkey",
    ]:  # fmt: skip
        assert bound(sql).tables


def test_what_every_side_of_an_or_says_joins_its_tables() -> None:
    """Both tables of each OR are joined inside of it, along a key: neither is a join that could explode."""
    sql = (
        "SELECT count(*) FROM lineitem, part, orders WHERE "
        "((l_partkey = p_partkey AND p_size = 1) OR (p_size = 2 AND (l_partkey = p_partkey AND l_tax > 0))) AND "
        "((l_orderkey = o_orderkey AND o_totalprice > 5) OR (l_orderkey = o_orderkey))"
    )
    written = bound(sql).predicates
    joined = "SELECT count(*) FROM lineitem, part, orders WHERE l_partkey = p_partkey AND l_orderkey = o_orderkey"
    assert set(bound(joined).predicates) < set(written)
    assert planned(sql).size == planned(joined).size


PLAIN = "SELECT sum(l_quantity * l_tax) FROM lineitem l JOIN orders o ON l_orderkey = o_orderkey WHERE l_tax > 0.01"

SPELLINGS = [
    "SELECT sum(v) FROM (SELECT l_quantity * l_tax AS v, l_orderkey AS k FROM lineitem WHERE l_tax > 0.01) AS s "
    "JOIN orders ON k = o_orderkey",
    "WITH s AS (SELECT l_quantity * l_tax AS v, l_orderkey FROM lineitem WHERE l_tax > 0.01) "
    "SELECT sum(v) FROM s JOIN orders o ON s.l_orderkey = o.o_orderkey",
    "WITH s(v, k) AS (SELECT l_quantity * l_tax, l_orderkey FROM lineitem WHERE l_tax > 0.01) "
    "SELECT sum(v) FROM s, orders WHERE k = o_orderkey",
    "SELECT sum(q * t) FROM (SELECT l_orderkey, l_quantity, l_tax FROM lineitem) AS s(k, q, t) "
    "JOIN (SELECT * FROM orders) AS o ON k = o_orderkey WHERE t > 0.01",
    "WITH a AS (SELECT * FROM lineitem), b AS (SELECT *, l_quantity * l_tax AS v FROM a WHERE l_tax > 0.01) "
    "SELECT sum(b.v) FROM b JOIN orders ON b.l_orderkey = o_orderkey",
    "SELECT sum(v) FROM (SELECT l_quantity * l_tax v FROM (lineitem JOIN orders ON l_orderkey = o_orderkey) "
    "WHERE l_tax > 0.01)",
    "WITH x AS NOT MATERIALIZED (WITH y AS (SELECT l_tax t, l_quantity q, l_orderkey k FROM lineitem) "
    "SELECT q * t AS v, k, t FROM y) SELECT sum(v) FROM x JOIN orders ON k = o_orderkey WHERE x.t > 0.01",
    "SELECT sum(q * l_tax) FROM lineitem AS l(l_orderkey, p, s, n, q), orders WHERE l_orderkey = o_orderkey "
    "AND l_tax > 0.01",
]


def test_what_flattens_is_the_plain_join() -> None:
    for sql in SPELLINGS:
        plain, written = planned(PLAIN), planned(sql)
        assert to_sql(written.source) == to_sql(plain.source)
        assert [to_sql(r.weight).replace("(", "").replace(")", "") for r in written.releases] == [
            to_sql(r.weight).replace("(", "").replace(")", "") for r in plain.releases
        ]


def test_each_reference_to_a_cte_is_a_copy_of_its_own() -> None:
    query = bound("WITH k AS (SELECT src AS a, dst AS b FROM knows) SELECT count(*) FROM k x JOIN k y ON x.b = y.a")
    assert [entry.alias for entry in query.tables] == ["knows_0", "knows_1"]
    assert [to_sql(p) for p in query.predicates] == ['"knows_0"."dst" = "knows_1"."src"']


def test_natural_join_equates_the_columns_that_both_have() -> None:
    natural = bound("SELECT count(*) FROM knows a NATURAL JOIN (SELECT dst, src AS other FROM knows) b WHERE dst = 1")
    assert {to_sql(p) for p in natural.predicates} == {'"knows_0"."dst" = "knows_1"."dst"', '"knows_0"."dst" = 1'}
    nothing = bound("SELECT count(*) FROM customer NATURAL JOIN nation")
    assert nothing.predicates == ()


def test_left_join_keeps_its_place_and_later_conditions_wait() -> None:
    plan = planned(
        "SELECT count(*) FROM customer LEFT JOIN nation ON c_nationkey = n_nationkey AND n_name <> 'PERU' "
        "JOIN orders ON o_custkey = c_custkey AND n_regionkey > 1 WHERE n_name IS NULL"
    )
    sql = to_sql(plan.source)
    on, where = sql.split(" LEFT JOIN ")[1].split(" INNER JOIN ")[0], sql.split(" WHERE ")[1]
    assert "'PERU'" in on
    assert "n_regionkey" not in on
    assert '"n_regionkey" > 1' in where
    assert '"n_name" IS NULL' in where


def test_a_filtered_public_subquery_may_be_left_joined() -> None:
    plan = planned(
        "SELECT count(*) FROM customer LEFT JOIN (SELECT n_nationkey AS k FROM nation WHERE n_name = 'PERU') n "
        "ON c_nationkey = k"
    )
    on = to_sql(plan.source).split(" ON ")[1]
    assert "'PERU'" in on
    assert "WHERE" not in on


def test_the_rows_of_a_left_join_may_be_null() -> None:
    """COUNT of its column is not COUNT(*), though the catalog says NOT NULL."""
    plan = planned("SELECT count(*), count(n_name) FROM customer LEFT JOIN nation ON c_nationkey = n_nationkey")
    assert len(plan.releases) == 2


def test_a_left_join_that_where_requires_is_the_inner_join() -> None:
    tied = "customer ON o_custkey = c_custkey"
    beside = "customer AS a LEFT JOIN customer AS b ON b.c_custkey = a.c_nationkey"
    for sql, same in [
        (f"orders LEFT JOIN {tied} WHERE c_acctbal > 1", f"orders JOIN {tied} WHERE c_acctbal > 1"),
        (f"{beside} WHERE b.c_acctbal > 1", f"{beside.replace('LEFT ', '')} WHERE b.c_acctbal > 1"),
        (f"{beside}", "customer AS a"),
        (f"{beside} AND b.c_acctbal > 1 WHERE a.c_acctbal > 1", "customer AS a WHERE a.c_acctbal > 1"),
    ]:
        one, other = (planned(f"SELECT count(*) FROM {text}", policy=unbounded(policy())) for text in (sql, same))
        assert to_sql(one.source) == to_sql(other.source)


REFUSED = [
    ("SELECT count(*) FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey", UnsupportedSQL, "private",
     "LEFT"),
    ("SELECT count(*) FROM customer LEFT JOIN (nation JOIN region ON n_regionkey = r_regionkey) "
     "ON c_nationkey = n_nationkey", UnsupportedSQL, "several", "LEFT"),
    ("SELECT count(*) FROM orders LEFT JOIN (SELECT coalesce(n_nationkey, 1) k FROM nation) n ON o_orderkey = k",
     UnsupportedSQL, "computed", "LEFT"),
    ("SELECT avg(n) FROM (SELECT o_orderstatus, count(*) AS n FROM orders GROUP BY o_orderstatus) s", UnsupportedSQL,
     "one person's rows", "GROUP BY"),
    ("SELECT count(s) FROM (SELECT sum(l_tax) AS s FROM lineitem) s", UnsupportedSQL, "inside FROM", "sum"),
    ("SELECT count(*) FROM (SELECT o_custkey FROM orders ORDER BY 1) s", UnsupportedSQL, "ORDER BY", "ORDER"),
    ("WITH s AS (SELECT src FROM knows) SELECT count(*) FROM s WHERE dst = 1", UnknownColumn, "dst", "dst"),
    ("WITH s AS (SELECT src FROM t), t AS (SELECT src FROM knows) SELECT count(*) FROM s", UnknownTable, "t", "t)"),
    ("WITH s AS (SELECT count(*) FROM s) SELECT count(*) FROM s", PlannerError, "", None),
    ("SELECT count(*) FROM (SELECT src, dst AS src FROM knows) s WHERE src = 1", AmbiguousColumn, "src", "src = 1"),
    ("SELECT count(*) FROM (SELECT src FROM knows) s(a, b)", InvalidSyntax, "aliases", None),
    ("SELECT count(*) FROM knows a JOIN knows b ON c.src = 1, knows c", UnknownTable, "c", "c.src"),
    ("SELECT count(*) FROM knows a, knows b JOIN knows c ON a.src = c.src", UnknownTable, "a", "a.src"),
    ("SELECT count(*) FROM orders, (SELECT src FROM knows WHERE src = o_custkey) s", UnknownColumn, "o_custkey",
     None),
]  # fmt: skip


def test_refuses_by_name_and_place() -> None:
    for sql, error, word, at in REFUSED:
        assert_refused(bound, sql, error, word, at)


def test_copies_of_copies_end() -> None:
    ctes = ["x0 AS (SELECT l_tax AS v FROM lineitem)"]
    ctes += [f"x{i} AS (SELECT v + v AS v FROM x{i - 1})" for i in range(1, 20)]
    with pytest.raises(StatementTooComplex):
        bound(f"WITH {', '.join(ctes)} SELECT sum(v) FROM x19")
    tables = ["y0 AS (SELECT src FROM knows)"]
    tables += [f"y{i} AS (SELECT a.src FROM y{i - 1} a, y{i - 1} b)" for i in range(1, 20)]
    with pytest.raises(StatementTooComplex):
        bound(f"WITH {', '.join(tables)} SELECT count(*) FROM y19")


NATIONS = "nation LEFT JOIN customer ON c_nationkey = n_nationkey"
PER_NATION = "SELECT n_name, count(c_custkey), avg(c_acctbal) FROM"


def test_public_left_join_private_is_the_inner_join_of_what_is_counted() -> None:
    for sql, inner in [
        (f"{PER_NATION} {NATIONS}", f"{PER_NATION} nation JOIN customer ON c_nationkey = n_nationkey"),
        (f"{PER_NATION} customer RIGHT JOIN nation ON c_nationkey = n_nationkey",
         f"{PER_NATION} nation JOIN customer ON c_nationkey = n_nationkey"),
        ("SELECT n_name, count(DISTINCT c_mktsegment), sum(twice) FROM nation LEFT JOIN "
         "(SELECT *, c_acctbal * 2 AS twice FROM customer WHERE c_acctbal > 10) AS c ON c_nationkey = n_nationkey",
         "SELECT n_name, count(DISTINCT c_mktsegment), sum(c_acctbal * 2) FROM nation JOIN customer "
         "ON c_nationkey = n_nationkey AND c_acctbal > 10"),
        ("SELECT n_name, count(c_custkey) FROM nation LEFT JOIN knows k ON k.src = n_nationkey "
         "LEFT JOIN customer ON k.src = c_custkey",
         "SELECT n_name, count(*) FROM nation JOIN knows k ON k.src = n_nationkey "
         "JOIN customer ON k.src = c_custkey"),
    ]:  # fmt: skip
        one, other = (planned(f"{text} GROUP BY n_name", policy=unbounded(policy())) for text in (sql, inner))
        assert to_sql(one.source) == to_sql(other.source)
        assert [release.weight for release in one.releases] == [release.weight for release in other.releases]
        assert one.domains == other.domains


def test_a_missing_partner_that_would_be_counted_is_refused() -> None:
    for sql in [
        f"SELECT n_name, count(*) FROM {NATIONS} GROUP BY 1",
        f"SELECT n_name, count(n_nationkey) FROM {NATIONS} GROUP BY 1",
        f"SELECT n_name, count(c_custkey), count(*) FROM {NATIONS} GROUP BY 1",
        f"SELECT n_name, count(c_custkey) FROM {NATIONS} GROUP BY 1 HAVING count(*) > 1",
        f"SELECT n_name, avg(coalesce(c_acctbal, 0)) FROM {NATIONS} GROUP BY 1",
        f"SELECT n_name, sum(CASE WHEN c_acctbal > 0 THEN 0 ELSE 1 END) FROM {NATIONS} GROUP BY 1",
        f"SELECT n_name, count(DISTINCT (c_custkey, n_name)) FROM {NATIONS} GROUP BY 1",
        f"SELECT c_mktsegment, count(c_custkey) FROM {NATIONS} GROUP BY 1",
        f"SELECT n_name, count(c_custkey) FROM {NATIONS} AND n_name < 'C' GROUP BY 1",
        f"SELECT n_name FROM {NATIONS} GROUP BY 1",
        f"SELECT count(x) FROM (SELECT coalesce(c_acctbal, 0) AS x FROM {NATIONS}) AS t",
        ("SELECT count(x) FROM nation LEFT JOIN (SELECT c_nationkey, coalesce(c_acctbal, 0) AS x FROM customer) AS c "
         "ON c_nationkey = n_nationkey"),
        ("SELECT count(s_suppkey) FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey "
         "LEFT JOIN supplier ON s_nationkey = n_nationkey"),
    ]:  # fmt: skip
        with pytest.raises(UnsupportedSQL, match="LEFT JOIN"):
            planned(sql, policy=unbounded(policy()))


def test_a_column_is_written_with_either_name_of_the_schema_of_a_file() -> None:
    """The catalog that clients see calls it public, and DuckDB main."""
    schema = tpch_schema()
    tables = {name: replace(table, namespace="main") for name, table in schema.tables.items()}
    files = replace(schema, tables=tables)
    for named in ("public", "main"):
        sql = f'SELECT count(*) FROM {named}.customer WHERE public.customer."c_acctbal" > main.customer.c_custkey'
        assert [entry.table.name for entry in bound(sql, files).tables] == ["customer"], named
    with pytest.raises(UnknownTable, match=r"no table 'other\.customer'") as refused:
        bound("SELECT count(*) FROM public.customer WHERE other.customer.c_acctbal > 3", files)
    assert refused.value.hint == "write customer without a schema"
