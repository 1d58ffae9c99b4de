"""Group keys: what they are computed from, and the public domain that each must have."""

from __future__ import annotations

import duckdb
import pytest

from planner.errors import PlannerError, PolicyInvalid, SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.plan import Plan
from planner.policy import parse_policy
from planner.policy_check import validate
from planner.rewrite import rewrite, to_sql
from tests.support.planning import DEMO_POLICY, planned
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
    with duckdb.connect() as connection:
        return tuple(value for (value,) in connection.execute(statement).fetchall())


@pytest.mark.parametrize(
    ("table", "key", "kind", "values"),
    [
        ("lineitem", "l_tax > 0.01", "bool", (False, True)),
        ("lineitem", "l_tax IS NULL OR l_tax < 0.5", "bool", (False, True)),
        (
            "lineitem",
            "CASE WHEN l_tax > 0.01 THEN 'high' WHEN l_tax > 0 THEN 'low' END",
            "text",
            ("high", "low", None),
        ),
        ("lineitem", "CASE WHEN l_tax > 0.01 THEN 1 ELSE 0 END", "int8", (1, 0)),
        ("lineitem", "extract(year FROM l_shipdate)", "int8", (1995, 1996)),
        ("lineitem", "extract(month FROM l_commitdate)", "int8", tuple(range(1, 13))),
        ("lineitem", "extract(quarter FROM l_shipdate)", "int8", (1, 2, 3, 4)),
        ("lineitem", "date_trunc('year', l_shipdate)", "timestamp", ("1995-01-01 00:00:00", "1996-01-01 00:00:00")),
        (
            "lineitem",
            "date_trunc('quarter', l_shipdate)",
            "timestamp",
            tuple(f"{day} 00:00:00" for day in QUARTERS.split()),
        ),
        ("lineitem", "l_linenumber", "int8", tuple(range(1, 8))),
        ("lineitem", "l_linenumber + 1", "int8", tuple(range(2, 9))),
        ("lineitem", "floor(l_quantity / 10)", "int8", (0, 1, 2, 3, 4, 5)),
        ("lineitem", "floor(l_quantity / 25) * 25", "int8", (0, 25, 50)),
        ("lineitem", "20 * floor(-l_quantity / 20)", "int8", (-60, -40, -20, 0)),
        ("lineitem", "round(l_quantity, -1)", "int8", (0, 10, 20, 30, 40, 50)),
        ("lineitem", "ceil(l_quantity::float8 / 25)", "int8", (0, 1, 2)),
        ("lineitem", "floor(l_quantity / 25)::int", "int8", (0, 1, 2)),
        ("orders", "o_shippriority", "int8", (0, 5, 10, 15, 20, -1)),
        ("orders", "o_orderstatus", "text", ("F", "O", "rest")),
        (
            "orders",
            "o_orderdate",
            "date",
            (*(f"1992-{month:02}-01" for month in range(1, 13)), "1993-01-01", "1993-02-01"),
        ),
    ],
)
def test_domains(table: str, key: str, kind: str, values: tuple[object, ...]) -> None:
    plan = _grouped(table, key)
    (found,) = plan.group_keys
    assert (found.type, _values(plan)) == (kind, values)


def test_values_outside_go_to_the_other_group() -> None:
    (status,) = _grouped("orders", "o_orderstatus").group_keys
    text = 'CAST("orders_0"."o_orderstatus" AS TEXT)'
    assert to_sql(status.key) == f"CASE WHEN {text} IN ('F', 'O') THEN {text} ELSE 'rest' END"


def test_one_unit_reaches_one_group_only_if_its_columns_are_determined() -> None:
    assert _grouped("orders", "o_orderstatus").groups_per_unit is None
    assert _grouped("customer", "c_nationkey > 5").groups_per_unit == 1
    assert (
        _grouped("customer JOIN orders ON c_custkey = o_custkey", "c_acctbal > o_totalprice").groups_per_unit is None
    )


def test_a_select_item_may_compute_with_a_key() -> None:
    plan = planned(
        "SELECT 10 * extract(year FROM l_shipdate), count(*) FROM lineitem GROUP BY extract(year FROM l_shipdate)",
        policy=POLICY,
    )
    assert [output.type for output in plan.outputs] == ["int8", "int8"]


@pytest.mark.parametrize(
    ("table", "key", "error", "word"),
    [
        ("lineitem", "extract(year FROM l_commitdate)", SensitivityUnbounded, "lineitem.l_commitdate"),
        ("lineitem", "date_trunc('month', l_commitdate)", SensitivityUnbounded, "lineitem.l_commitdate"),
        ("lineitem", "l_shipdate", SensitivityUnbounded, "lineitem.l_shipdate"),
        ("orders", "o_orderkey", SensitivityUnbounded, "orders.o_orderkey"),
        ("lineitem", "CASE WHEN l_tax > 0 THEN l_shipmode ELSE 'x' END", SensitivityUnbounded, "l_shipmode"),
        ("lineitem", "upper(l_shipmode)", SensitivityUnbounded, "lineitem.l_shipmode"),
        ("lineitem", "count(*)", UnsupportedSQL, "aggregate"),
        ("lineitem", "CASE WHEN l_tax > 0 THEN 'x' ELSE 1 END", PlannerError, ""),
        ("orders", "o_orderstatus, o_custkey", PlannerError, ""),
    ],
)
def test_refused(table: str, key: str, error: type[PlannerError], word: str) -> None:
    with pytest.raises(error) as caught:
        _grouped(table, key)
    assert word in caught.value.message


def test_the_number_of_groups_is_limited() -> None:
    sql = "SELECT count(*) FROM orders GROUP BY o_custkey, o_orderstatus"
    with pytest.raises(StatementTooComplex, match="100000 groups"):
        planned(sql, policy=POLICY)


def test_a_bucket_is_checked_before_it_is_converted() -> None:
    """A numeric may hold NaN or leave its range: neither may fail, and neither falls into a group."""
    (key,) = _grouped("lineitem", "floor(l_quantity / 10)").group_keys
    bucket = 'FLOOR("lineitem_0"."l_quantity" / 10)'
    assert to_sql(key.key) == f"CAST(CASE WHEN {bucket} BETWEEN 0 AND 5 THEN CAST({bucket} AS BIGINT) END AS BIGINT)"


@pytest.mark.parametrize("key", ["l_quantity / 10", "round(l_quantity, 1)", "floor(l_quantity * 100000)"])
def test_fractions_and_too_many_buckets_have_no_domain(key: str) -> None:
    with pytest.raises(PlannerError, match=r"no public domain|groups"):
        _grouped("lineitem", key)


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("o_orderstatus IN ('F', 'O')", ("F", "O")),
        ("o_orderstatus = 'O'", ("O",)),
        ("o_orderstatus IN ('O', 'P')", ("O", "rest")),
        ("o_orderstatus <> 'O'", ("F", "O", "rest")),
    ],
)
def test_the_other_group_stays_where_other_values_can_pass(condition: str, values: tuple[str, ...]) -> None:
    plan = planned(f"SELECT o_orderstatus, count(*) FROM orders WHERE {condition} GROUP BY 1", policy=POLICY)
    assert plan.domains[0].values == values
    assert plan.group_keys[0].left_out is None


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
    with pytest.raises(PolicyInvalid, match="no null_group beside it"):
        validate(parse_policy(text), tpch_schema())
