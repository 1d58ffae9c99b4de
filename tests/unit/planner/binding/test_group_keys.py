"""Group keys: what they are computed from, and the public domain that each must have."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import cache, partial

import duckdb
import pytest

from planner.errors import PlannerError, PolicyInvalid, SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.plan import Plan
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite, to_sql
from planner.schema import Schema
from tests.support.planning import DEMO_POLICY, planned
from tests.support.refused import assert_refused
from tests.support.tpch_schema import tpch_schema

POLICY = parse_policy(
    DEMO_POLICY.read_text().replace(
        "[tables.orders]\n",
        "[tables.orders.columns]\n"
        "o_orderdate = { range = [1992-01-15, 1993-02-01], step = 'month' }\n"
        "o_shippriority = { range = [0, 20], step = 5, other = -1 }\n"
        "o_orderstatus = { domain = ['F', 'O'], other = 'rest' }\n"
        "o_orderkey = { range = [1, 200000] }\n"
        "o_custkey = { range = [1, 50000] }\n",
    )
    + "l_shipdate = { range = [1995-03-01, 1996-08-01] }\nl_linenumber = { range = [1, 7] }\n"
)


QUARTERS = "1995-01-01 1995-04-01 1995-07-01 1995-10-01 1996-01-01 1996-04-01 1996-07-01"


def _grouped(table: str, key: str) -> Plan:
    return planned(f"SELECT {key} AS k, count(*) FROM {table} GROUP BY 1", policy=POLICY)


def _values(plan: Plan) -> tuple[object, ...]:
    """The domain of the one key; a statement over declared values needs no tables, so any database runs it."""
    (domain,) = plan.domains
    if domain.values is not None:
        return domain.values
    (statement,) = rewrite(plan, dialect="duckdb", schema=tpch_schema()).domains
    assert statement is not None
    return tuple(value for (value,) in _database().execute(statement).fetchall())


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def test_a_group_key_has_the_type_and_the_values_of_its_domain() -> None:
    for table, key, kind, values in [
        ("lineitem", "l_tax > 0.01", "bool", (False, True)),
        ("lineitem", "l_tax IS NULL OR l_tax < 0.5", "bool", (False, True)),
        ("lineitem", "CASE WHEN l_tax > 0.01 THEN 'b'::varchar ELSE CAST('a' AS text) END", "text", ("b", "a")),
        ("lineitem", "CASE WHEN l_tax > 0.01 THEN 'high' WHEN l_tax > 0 THEN 'low' END", "text", ("high", "low",
         None)),
        ("lineitem", "CASE WHEN l_tax > 0.01 THEN 1 ELSE 0 END", "int8", (1, 0)),
        ("lineitem", "extract(year FROM l_shipdate)", "numeric", (1995, 1996)),
        ("lineitem", "extract(month FROM l_commitdate)", "numeric", tuple(range(1, 13))),
        ("lineitem", "extract(quarter FROM l_shipdate)", "numeric", (1, 2, 3, 4)),
        ("lineitem", "date_part('quarter', l_shipdate)", "float8", (1, 2, 3, 4)),
        ("lineitem", "extract(quarter FROM l_shipdate)::int", "int8", (1, 2, 3, 4)),
        ("lineitem", "extract(quarter FROM l_shipdate)::text", "text", ("1", "2", "3", "4")),
        ("lineitem", "10 * date_part('quarter', l_shipdate)", "float8", (10, 20, 30, 40)),
        ("lineitem", "floor(extract(month FROM l_shipdate) / 5)", "numeric", (0, 1, 2)),
        ("lineitem", "date_trunc('year', l_shipdate)", "timestamp", ("1995-01-01 00:00:00", "1996-01-01 00:00:00")),
        ("lineitem", "date_trunc('quarter', l_shipdate)", "timestamp",
         tuple(f"{day} 00:00:00" for day in QUARTERS.split())),
        ("lineitem", "l_linenumber", "int8", tuple(range(1, 8))),
        ("lineitem", "l_linenumber + 1", "int8", tuple(range(2, 9))),
        ("lineitem", "floor(l_quantity / 10)", "numeric", (0, 1, 2, 3, 4, 5)),
        ("lineitem", "floor(l_quantity / 25) * 25", "numeric", (0, 25, 50)),
        ("lineitem", "20 * floor(-l_quantity / 20)", "numeric", (-60, -40, -20, 0)),
        ("lineitem", "round(l_quantity, -1)", "numeric", (0, 10, 20, 30, 40, 50)),
        ("lineitem", "ceil(l_quantity::float8 / 25)", "float8", (0, 1, 2)),
        ("lineitem", "floor(l_quantity / 25)::int", "int8", (0, 1, 2)),
        ("orders", "o_shippriority", "int8", (0, 5, 10, 15, 20, -1)),
        ("orders", "o_orderstatus", "text", ("F", "O", "rest")),
        ("orders", "o_orderdate", "date", (*(f"1992-{month:02}-01" for month in range(1, 13)), "1993-01-01",
         "1993-02-01")),
    ]:  # fmt: skip
        plan = _grouped(table, key)
        (found,) = plan.group_keys
        assert (found.type, _values(plan)) == (kind, values)


def test_a_date_is_a_key_where_its_range_or_a_condition_bounds_its_days() -> None:
    first, last = date(1995, 3, 1), date(1996, 8, 1)
    days = tuple(str(first + timedelta(number)) for number in range((last - first).days + 1))
    assert _values(_grouped("lineitem", "l_shipdate")) == days
    narrowed = _grouped("lineitem WHERE l_commitdate BETWEEN '1995-03-01' AND '1995-03-09'", "l_commitdate")
    assert _values(narrowed) == days[:9]


def test_values_outside_go_to_the_other_group() -> None:
    (status,) = _grouped("orders", "o_orderstatus").group_keys
    text = 'CAST("orders_0"."o_orderstatus" AS TEXT)'
    assert to_sql(status.key) == f"CASE WHEN {text} IN ('F', 'O') THEN {text} ELSE 'rest' END"


def test_one_unit_reaches_one_group_only_if_its_columns_are_determined() -> None:
    assert _grouped("orders", "o_orderstatus").bounds.groups is None
    assert _grouped("customer", "c_nationkey > 5").bounds.groups == 1
    assert _grouped("customer JOIN orders ON c_custkey = o_custkey", "c_acctbal > o_totalprice").bounds.groups is None


def test_a_select_item_may_compute_with_a_key() -> None:
    plan = planned(
        "SELECT 10 * extract(year FROM l_shipdate), count(*) FROM lineitem GROUP BY extract(year FROM l_shipdate)",
        policy=POLICY,
    )
    assert [output.type for output in plan.display.outputs] == ["float8", "int8"]


def test_a_group_key_without_a_domain_is_refused() -> None:
    for table, key, error, word in [
        ("lineitem", "extract(year FROM l_commitdate)", SensitivityUnbounded, "lineitem.l_commitdate"),
        ("lineitem", "date_trunc('month', l_commitdate)", SensitivityUnbounded, "lineitem.l_commitdate"),
        ("lineitem", "l_commitdate", SensitivityUnbounded, "lineitem.l_commitdate"),
        ("orders", "o_orderkey", SensitivityUnbounded, "orders.o_orderkey"),
        ("lineitem", "CASE WHEN l_tax > 0 THEN l_shipmode ELSE 'x' END", SensitivityUnbounded, "l_shipmode"),
        ("lineitem", "upper(l_shipmode)", SensitivityUnbounded, "lineitem.l_shipmode"),
        ("lineitem", "count(*)", UnsupportedSQL, "aggregate"),
        ("lineitem", "CASE WHEN l_tax > 0 THEN 'x' ELSE 1 END", PlannerError, ""),
        ("orders", "o_orderstatus, o_custkey", PlannerError, ""),
    ]:  # fmt: skip
        assert_refused(partial(_grouped, table), key, error, word)


def test_the_number_of_groups_is_limited() -> None:
    sql = "SELECT count(*) FROM orders GROUP BY o_custkey, o_orderstatus"
    with pytest.raises(StatementTooComplex, match="100000 groups"):
        planned(sql, policy=POLICY)


def test_a_bucket_is_checked_before_it_is_converted() -> None:
    """A numeric may hold NaN or leave its range: neither may fail, and neither falls into a group."""
    (key,) = _grouped("lineitem", "floor(l_quantity / 10)").group_keys
    bucket = 'FLOOR("lineitem_0"."l_quantity" / 10)'
    assert to_sql(key.key) == f"CAST(CASE WHEN {bucket} BETWEEN 0 AND 5 THEN CAST({bucket} AS BIGINT) END AS BIGINT)"


def test_few_decimals_of_a_range_are_listed_by_their_last_digit() -> None:
    for key in ("l_quantity", "l_quantity / 10", "round(l_quantity, 1)", "floor(l_quantity * 100000)"):
        (domain,) = _grouped("lineitem", key).domains
        assert domain.statement is not None or len(domain.values or ()) == 5001


def test_fractions_and_too_many_buckets_have_no_domain() -> None:
    for key in ("l_extendedprice / 10", "round(l_extendedprice, 1)", "floor(l_extendedprice * 100)"):
        with pytest.raises(PlannerError, match=r"are not public|groups"):
            _grouped("lineitem", key)


def test_the_other_group_stays_where_other_values_can_pass() -> None:
    for condition, values in [
        ("o_orderstatus IN ('F', 'O')", ("F", "O")), ("o_orderstatus = 'O'", ("O",)),
        ("o_orderstatus IN ('O', 'P')", ("O", "rest")), ("o_orderstatus <> 'O'", ("F", "O", "rest")),
    ]:  # fmt: skip
        plan = planned(f"SELECT o_orderstatus, count(*) FROM orders WHERE {condition} GROUP BY 1", policy=POLICY)
        assert plan.domains[0].values == values
        assert plan.group_keys[0].omitted is None


def test_conditions_narrow_buckets_that_are_not_enumerated() -> None:
    plan = planned("SELECT floor(l_quantity / 10), count(*) FROM lineitem WHERE l_quantity < 15 GROUP BY 1")
    assert plan.domains[0].values == (0, 1, 2), "instead of six; bounds are rounded outwards"


def test_values_listed_in_where_need_no_policy() -> None:
    plan = planned("SELECT l_shipmode, count(*) FROM lineitem WHERE l_shipmode IN ('AIR', 'MAIL') GROUP BY 1")
    assert _values(plan) == ("AIR", "MAIL")
    with pytest.raises(SensitivityUnbounded):
        planned("SELECT l_shipmode, count(*) FROM lineitem WHERE l_shipmode <> 'AIR' GROUP BY 1")


def test_null_has_a_group_or_other_takes_it() -> None:
    text = DEMO_POLICY.read_text().replace(
        "[tables.orders]\n",
        "[tables.orders.columns]\no_orderstatus = { domain = ['F'], other = 'x', null_group = true }\n",
    )
    with pytest.raises(PolicyInvalid, match="null_group has no meaning beside it"):
        validate(parse_policy(text), tpch_schema())


WIDE = parse_policy(
    DEMO_POLICY.read_text().replace(
        "[tables.orders]\n",
        "[tables.orders.columns]\no_shippriority = { range = [0, 74879], step = 1 }\n",
    )
)


def _sums(number: int) -> str:
    sums = ", ".join(f"sum(o_totalprice + {index})" for index in range(number))
    return f"SELECT o_shippriority, {sums} FROM orders GROUP BY 1"


def test_groups_times_columns_are_bounded_before_anything_is_charged() -> None:
    assert planned(_sums(12), policy=WIDE).columns == 13
    with pytest.raises(
        StatementTooComplex, match="74,880 groups x 14 columns are 1,048,320 cells, more than 1,000,000"
    ):
        planned(_sums(13), policy=WIDE)


def test_what_is_measured_counts_as_a_column_shown_or_not() -> None:
    added = " + ".join(f"sum(o_totalprice + {index})" for index in range(14))
    with pytest.raises(StatementTooComplex, match="74,880 groups x 14 columns"):
        planned(f"SELECT {added} FROM orders GROUP BY o_shippriority", policy=WIDE)


def test_a_list_of_groups_is_bounded_alike() -> None:
    keys = ", ".join(f"o_shippriority AS k{index}" for index in range(14))
    with pytest.raises(StatementTooComplex, match="74,880 groups x 14 columns"):
        planned(f"SELECT {keys} FROM orders GROUP BY o_shippriority", policy=WIDE)


def test_how_many_columns_there_are_does_not_name_what_is_read() -> None:
    one, two = (
        planned(f"SELECT o_orderstatus, {what} FROM orders GROUP BY 1", policy=POLICY)
        for what in ("count(*)", "count(*), count(*) AS m")
    )
    assert rewrite(one).columns < rewrite(two).columns
    assert rewrite(one).what_is_read() == rewrite(two).what_is_read()


_NATIONS = "FROM customer JOIN nation n ON c_nationkey = n.n_nationkey JOIN nation other ON other.n_nationkey < 3"


def test_what_depends_on_a_public_primary_key_is_a_key_behind_the_written_ones() -> None:
    """One question, so one plan and one charge."""
    for written, spelled_out in [
        ("n.n_nationkey, n.n_name, count(*) {} GROUP BY n.n_nationkey",
         "n.n_nationkey, n.n_name, count(*) {} GROUP BY n.n_nationkey, n.n_name"),
        ("n.n_name AS named, count(*) {} GROUP BY (n.n_nationkey) ORDER BY named",
         "n.n_name AS named, count(*) {} GROUP BY n.n_nationkey, n.n_name ORDER BY named"),
        ("count(*) {} GROUP BY n.n_nationkey HAVING n.n_name <> 'PERU' ORDER BY n.n_regionkey, n.n_name",
         "count(*) {} GROUP BY n.n_nationkey, n.n_name, n.n_regionkey HAVING n.n_name <> 'PERU' "
         "ORDER BY n.n_regionkey, n.n_name"),
        ("coalesce(n.n_name, 'none'), count(n.n_comment) {} GROUP BY n.n_nationkey",
         "coalesce(n.n_name, 'none'), count(n.n_comment) {} GROUP BY n.n_nationkey, n.n_name"),
        ("n.n_name, other.n_name, count(*) {} GROUP BY n.n_nationkey, other.n_nationkey",
         "n.n_name, other.n_name, count(*) {} GROUP BY n.n_nationkey, other.n_nationkey, n.n_name, other.n_name"),
        ("x.n_name, count(*) FROM customer JOIN nation x ON c_nationkey = x.n_nationkey GROUP BY x.n_nationkey",
         "x.n_name, count(*) FROM customer JOIN nation x ON c_nationkey = x.n_nationkey GROUP BY x.n_nationkey, 1"),
    ]:  # fmt: skip
        plan, same = (planned(f"SELECT {sql.format(_NATIONS)}") for sql in (written, spelled_out))
        assert plan == same
        assert rewrite(plan) == rewrite(same)


def test_what_depends_on_no_whole_public_primary_key_is_no_key() -> None:
    cases = [
        ("SELECT other.n_name, count(*) {} GROUP BY n.n_nationkey", "n_name"),  # another row of the same table
        ("SELECT n.n_name, count(*) {} GROUP BY c_nationkey", "n_name"),  # equal to the key: PostgreSQL refuses, too
        ("SELECT n.n_name, count(*) {} GROUP BY n.n_nationkey + 1", "n_name"),
        ("SELECT n.n_nationkey, count(*) {} GROUP BY n.n_name", "n_nationkey"),
        ("SELECT c_name, count(*) FROM customer GROUP BY c_custkey", "c_name"),  # private
    ]
    for sql, column in cases:
        with pytest.raises(UnsupportedSQL, match=f"column '{column}' is neither in GROUP BY nor inside an aggregate"):
            planned(sql.format(_NATIONS))


def test_a_merely_unique_key_determines_nothing() -> None:
    """As in PostgreSQL: its columns may be NULL in several rows, and nothing keeps the constraint."""
    tables = tpch_schema().tables
    sql = f"SELECT n.n_name, count(*) {_NATIONS} GROUP BY n.n_nationkey"
    unique = Schema({**tables, "nation": replace(tables["nation"], primary_key=None)})
    assert unique.tables["nation"].unique_keys == (("n_nationkey",),)
    assert unique.fingerprint != tpch_schema().fingerprint
    planned(sql)
    with pytest.raises(UnsupportedSQL, match="column 'n_name' is neither in GROUP BY nor inside an aggregate"):
        planned(sql, unique)


def test_a_part_of_a_primary_key_determines_nothing() -> None:
    tables = tpch_schema().tables
    nation = replace(tables["nation"], primary_key=("n_regionkey", "n_nationkey"))
    schema = Schema({**tables, "nation": nation})
    sql = f"SELECT n.n_name, count(*) {_NATIONS} GROUP BY n.n_nationkey"
    with pytest.raises(UnsupportedSQL, match="column 'n_name' is neither in GROUP BY nor inside an aggregate"):
        planned(sql, schema)
    assert len(planned(f"{sql}, n.n_regionkey", schema).group_keys) == 3


def test_years_between_dates_that_nobody_bounds_are_no_groups() -> None:
    """Twenty thousand groups of noise would be charged for."""
    joined = "FROM orders JOIN lineitem ON l_orderkey = o_orderkey"
    sql = f"SELECT extract(year FROM o_orderdate) - extract(year FROM l_shipdate) AS years, count(*) {joined}"
    with pytest.raises(SensitivityUnbounded, match=r"computed from orders\.o_orderdate and lineitem\.l_shipdate"):
        planned(f"{sql} GROUP BY 1")
    within = (
        "WHERE o_orderdate BETWEEN '1998-01-01' AND '1998-06-30' AND l_shipdate BETWEEN '1998-01-01' AND '1999-12-31'"
    )
    assert planned(f"{sql} {within} GROUP BY 1").domains[0].statement is not None
