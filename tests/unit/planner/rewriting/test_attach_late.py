"""Which tables are joined after every unit's rows are added up, and which may not be."""

from __future__ import annotations

from dataclasses import replace

from planner.errors import PlannerError
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from tests.support.planning import planned
from tests.support.tpch_schema import tpch_schema

BY_NATION = (
    "SELECT n_name, sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey{} GROUP BY n_name"
)


def late(sql: str, schema: Schema | None = None) -> list[str]:
    """The tables that stand behind the sums per owner, by the letters of their aliases."""
    catalog = schema or tpch_schema()
    contributions = rewrite(planned(sql, catalog, mechanism="group_lp"), schema=catalog).contributions
    assert contributions is not None
    _, attached, rest = contributions.partition(') AS "orders_1" ')
    return [part.split('"')[3] for part in rest.split(" JOIN ")[1:]] if attached else []


def test_a_customer_s_nation_is_attached_to_what_the_customer_has() -> None:
    assert late(BY_NATION.format("")) == ["customer", "nation"]


def test_whoever_has_a_row_at_all_is_found_late_too() -> None:
    tables = "lineitem, orders, customer WHERE l_orderkey = o_orderkey AND o_custkey = c_custkey"
    sql = f"SELECT sum(l_quantity) FROM {tables}"
    assert late(sql) == ["customer"]


def test_a_table_of_which_more_is_asked_stays_where_it_is() -> None:
    cases = [
        " WHERE c_acctbal > 0",  # fewer rows are added up where it is asked first
        " WHERE l_tax < c_acctbal",
        " WHERE EXISTS (SELECT 1 FROM region WHERE r_regionkey = n_regionkey AND r_name = 'ASIA')",
        " WHERE l_linenumber = c_nationkey",
    ]
    for condition in cases:
        assert "customer" not in late(BY_NATION.format(condition))


def test_a_key_of_the_rows_themselves_is_grouped_by_at_once() -> None:
    sql = BY_NATION.format(" WHERE l_linenumber IN (1, 2)")
    assert late(sql.replace("n_name", "l_linenumber, n_name")) == []


def test_a_table_without_an_enforced_key_is_not_attached_late() -> None:
    """A declared key that is false would give an owner two rows, each of which could reach the threshold."""
    schema = tpch_schema()
    nation = schema.tables["nation"]
    loose = replace(nation, unique_keys=(), primary_key=None, declared_keys=nation.unique_keys)
    others = {name: table for name, table in schema.tables.items() if name != "nation"}
    assert late(BY_NATION.format(""), replace(schema, tables={**others, "nation": loose})) == []


def test_a_key_of_another_kind_than_what_it_is_found_by_is_not_relied_on() -> None:
    """Several values of a unique key may equal one value of another kind."""
    for kind in ("double precision", "numeric", "character(5)", "citext"):
        schema = tpch_schema()
        customer = schema.tables["customer"]
        columns = tuple(
            replace(column, type=kind) if column.name == "c_nationkey" else column for column in customer.columns
        )
        others = {name: table for name, table in schema.tables.items() if name != "customer"}
        changed = replace(schema, tables={**others, "customer": replace(customer, columns=columns)})
        try:
            assert "nation" not in late(BY_NATION.format(""), changed)
        except PlannerError as refusal:
            assert kind != "double precision" and "compared" in refusal.message


def test_a_sum_over_a_table_reads_it_before() -> None:
    counted = "count(*) FILTER (WHERE c_nationkey = 3)"
    assert late(f"SELECT {counted} FROM orders JOIN customer ON o_custkey = c_custkey") == []
