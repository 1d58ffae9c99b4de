from __future__ import annotations

from dataclasses import replace

import pytest

from planner.binding.placeholders import substitute
from planner.describe import describe
from planner.errors import (
    AmbiguousColumn,
    InvalidSyntax,
    PlannerError,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.limits import MAX_PUBLIC_ROWS, MAX_TABLES
from planner.parsing.parse import read
from planner.policy.policy import ColumnPolicy, TablePolicy
from planner.public.bind import bind_public
from planner.schema import Column, Schema, Table
from tests.support.planning import demo_policy
from tests.support.public import public, public_sql
from tests.support.refused import assert_refused
from tests.support.tpch_schema import tpch_schema

REFUSED: list[tuple[type[PlannerError], str, str]] = [
    (UnsupportedSQL, "private", "SELECT * FROM §customer"),
    (UnsupportedSQL, "private", "SELECT n_name FROM nation WHERE EXISTS (SELECT 1 FROM §customer)"),
    (UnsupportedSQL, "private",
     "SELECT n_name FROM nation WHERE n_nationkey IN (SELECT c_nationkey FROM §customer)"),
    (UnsupportedSQL, "private", "SELECT (SELECT max(c_custkey) FROM §customer)"),
    (UnsupportedSQL, "private", "SELECT n_nationkey FROM nation UNION ALL SELECT c_custkey FROM §customer"),
    (UnsupportedSQL, "private", "WITH nation AS (SELECT * FROM §customer) SELECT * FROM nation"),
    (UnsupportedSQL, "private", "SELECT 1 ORDER BY (SELECT count(*) FROM §customer)"),
    (UnsupportedSQL, "private", "SELECT count(*) FROM nation HAVING count(*) > (SELECT count(*) FROM §orders)"),
    (UnsupportedSQL, "private", "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM §orders)) FROM nation"),
    (UnsupportedSQL, "private", "SELECT 1 FROM nation JOIN region ON EXISTS (SELECT 1 FROM §orders)"),
    (UnknownTable, "no table", "SELECT * FROM §pg_class"),
    (UnknownTable, "no table", "SELECT * FROM §pg_catalog.nation"),
    (UnknownTable, "no table", "SELECT * FROM §other.nation"), (UnknownTable, "no table", 'SELECT * FROM §"NATION"'),
    (UnknownTable, "database 'tpch' does not exist", "SELECT * FROM §tpch.public.nation"),
    (UnsupportedSQL, "RECURSIVE", "WITH §RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a"),
    (UnsupportedSQL, "LATERAL", "SELECT 1 FROM nation, §LATERAL (SELECT 1) AS q"),
    (UnknownColumn, "n_name", "SELECT 1 FROM nation, (SELECT §n_name) AS q"),
    (UnsupportedSQL, "generate_series", "SELECT * FROM §generate_series(1, 3)"),
    (UnsupportedSQL, "read_csv", "SELECT * FROM §read_csv('/etc/passwd')"),
    (UnsupportedSQL, "pg_read_file", "SELECT §pg_read_file('/etc/passwd')"),
    (UnsupportedSQL, "random", "SELECT §random()"),
    (UnsupportedSQL, "pg_sleep", "SELECT n_name FROM nation WHERE §pg_sleep(9) IS NULL"),
    (UnsupportedSQL, "current_user", "SELECT §current_user"),
    (UnsupportedSQL, "TABLESAMPLE", "SELECT * FROM nation §TABLESAMPLE BERNOULLI (10)"),
    (UnsupportedSQL, "window", "SELECT §sum(n_nationkey) OVER () FROM nation"),
    (UnsupportedSQL, "FOR UPDATE", "SELECT n_name FROM nation §FOR UPDATE"),
    (UnsupportedSQL, "DISTINCT ON", "SELECT §DISTINCT ON (n_regionkey) n_name FROM nation"),
    (UnknownColumn, "ctid", "SELECT §ctid FROM nation"), (UnknownColumn, "nation", "SELECT §nation FROM nation"),
    (UnsupportedSQL, "neither in GROUP BY", "SELECT §n_name, count(*) FROM nation"),
    (UnsupportedSQL, "neither in GROUP BY", "SELECT §n_name FROM nation GROUP BY n_nationkey + 1"),
    (UnsupportedSQL, "neither in GROUP BY",
     "SELECT §q.n_name FROM (SELECT * FROM nation) AS q GROUP BY q.n_nationkey"),
    (UnsupportedSQL, "neither in GROUP BY",
     "SELECT §b.n_name FROM nation a JOIN nation b ON a.n_regionkey = b.n_regionkey GROUP BY a.n_nationkey"),
    (UnsupportedSQL, "neither in GROUP BY", "SELECT n_regionkey FROM nation GROUP BY n_regionkey ORDER BY §n_name"),
    (UnsupportedSQL, "not in GROUP BY", "SELECT (§SELECT n_name) FROM nation GROUP BY n_regionkey"),
    (UnsupportedSQL, "aggregate", "SELECT n_name FROM nation WHERE §count(*) > 1"),
    (UnsupportedSQL, "aggregate", "SELECT sum(§count(*)) FROM nation"),
    (UnsupportedSQL, "a constant group key", "SELECT count(*) FROM nation GROUP BY §'a'::text"),
    (InvalidSyntax, "is not the position", "SELECT count(*) FROM nation GROUP BY §'a'"),
    (UnsupportedSQL, "one column", "SELECT 1 WHERE 1 IN (§SELECT 1, 2)"),
    (UnsupportedSQL, "selected columns only", "SELECT DISTINCT n_name FROM nation ORDER BY §n_regionkey"),
    (UnsupportedSQL, "no common type", "§SELECT n_name FROM nation UNION SELECT 1"),
    (UnsupportedSQL, "numbers of columns", "§SELECT 1 UNION SELECT 1, 2"),
    (UnsupportedSQL, "MIN over boolean", "SELECT §min(n_nationkey = 1) FROM nation"),
    (UnsupportedSQL, "USING", "SELECT 1 FROM nation §RIGHT JOIN part USING (p_partkey)"),
    (InvalidSyntax, "only COUNT", "SELECT §sum(*) FROM nation"),
    (InvalidSyntax, "position", "SELECT n_name FROM nation ORDER BY §2"),
    (AmbiguousColumn, "n_name", "SELECT §n_name FROM nation a, nation b"),
    (StatementTooComplex, "subqueries", "SELECT 1" + " UNION SELECT 1" * 60),
    (StatementTooComplex, "tables", "SELECT 1 FROM " + ", ".join(f"nation n{i}" for i in range(MAX_TABLES + 1))),
]  # fmt: skip


def test_a_refusal_says_what_and_where() -> None:
    for kind, words, marked in REFUSED:
        before, mark, rest = marked.partition("§")
        assert_refused(public, before + rest, kind, words, rest if mark else None)


def test_the_answer_is_cut_one_row_after_the_limit() -> None:
    assert public_sql("SELECT n_name FROM nation").endswith(f"LIMIT {MAX_PUBLIC_ROWS + 1}")
    assert public_sql("SELECT n_name FROM nation LIMIT 999999").endswith(f"LIMIT {MAX_PUBLIC_ROWS + 1}")
    assert public_sql("SELECT n_name FROM nation LIMIT 3").endswith("LIMIT 3")


def test_names_and_types_are_known() -> None:
    query = public(
        "SELECT n_nationkey, sum(n_nationkey), avg(n_nationkey) AS mean, sum(p_retailprice), min(n_name), "
        "count(*) > 1 AS b, DATE '2020-01-01' AS d, now() AS t, 1.5, NULL AS nothing FROM nation, part GROUP BY 1"
    )
    assert [kind for _, kind in query.columns] == [
        "int8", "int8", "float8", "numeric", "text", "bool", "date", "timestamp", "numeric", "text",
    ]  # fmt: skip
    assert [name for name, _ in query.columns[:4]] == ["n_nationkey", "sum", "mean", "sum"]
    assert query.reads == ("nation", "part")


def test_no_word_of_the_analyst_but_literals_reaches_the_database() -> None:
    written = public_sql('WITH w AS (SELECT n_name AS "x; DROP" FROM nation z) SELECT "x; DROP" AS evil FROM w y')
    assert not any(word in written for word in ("DROP", "evil", '"w"', '"y"', '"z"'))


def test_now_is_snapped() -> None:
    assert "2024-05-17 00:00:00" in public_sql("SELECT now()")


def test_a_column_of_a_type_that_nobody_knows_is_shown_as_text() -> None:
    table = Table("shapes", "public", (Column("id", "integer", False), Column("shape", "geometry", True)), (), ())
    schema = Schema({**tpch_schema().tables, "shapes": table})
    policy = replace(demo_policy(), tables={**demo_policy().tables, "shapes": TablePolicy(public=True)})
    assert public("SELECT id FROM (SELECT * FROM shapes) AS s", schema, policy).columns == (("id", "int8"),)
    assert public("SELECT * FROM shapes", schema, policy).columns == (("id", "int8"), ("shape", "text"))


def test_what_a_policy_declares_of_a_column_does_not_clamp_it() -> None:
    """Ranges and domains bound noise; here there is none."""
    narrow = TablePolicy(public=True, columns={"p_size": ColumnPolicy(range=(1.0, 2.0), domain=(1, 2))})
    declared = replace(demo_policy(), tables={**demo_policy().tables, "part": narrow})
    sql = "SELECT sum(p_size / 2.0), p_size FROM part GROUP BY p_size"
    assert public(sql, policy=declared).statement == public(sql).statement


def test_moments_of_public_rows_move_by_whole_steps() -> None:
    columns = (Column("at", "timestamp without time zone", True), Column("share", "double precision", True))
    schema = Schema({"event": Table("event", "public", columns, (), ())})
    policy = replace(demo_policy(), tables={"event": TablePolicy(public=True)})
    for moved in (
        "date_bin('15 minutes', at, TIMESTAMP '2024-01-01')",
        "to_timestamp(floor(extract(epoch FROM at) / 900) * 900)",
        "at - ceil(share) * INTERVAL '1 hour'",
    ):
        ((_, kind),) = public(f"SELECT {moved} FROM event", schema, policy).columns
        assert kind in ("timestamp", "timestamptz")
    with pytest.raises(UnsupportedSQL, match="whole number of units"):
        public("SELECT at - share * INTERVAL '1 hour' FROM event", schema, policy)


def test_placeholders_are_typed_and_filled() -> None:
    tree = read("SELECT n_name FROM nation WHERE n_nationkey > $1 AND n_name LIKE $2 LIMIT $3").tree
    described = describe(tree, tpch_schema(), demo_policy())
    assert described.parameters == ("int8", "text", "int8")
    assert tuple((one.name, one.type) for one in described.outputs) == (("n_name", "text"),)
    filled = bind_public(substitute(tree, (3, "A%", 2)), tpch_schema(), demo_policy())
    assert "LIKE 'A%'" in filled.statement.sql("postgres")
