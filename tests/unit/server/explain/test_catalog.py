from __future__ import annotations

from dataclasses import replace

from planner.policy.policy import parse_policy
from planner.schema import Column, Schema, Table
from server.explain.catalog import Catalog, CatalogTable, catalog
from tests.support.planning import DEMO_POLICY, demo_policy
from tests.support.tpch_schema import tpch_schema


def made() -> Catalog:
    return catalog(tpch_schema(), demo_policy())


def table(name: str) -> CatalogTable:
    (found,) = (one for one in made().tables if one.name == name)
    return found


def test_only_what_is_in_the_policy_and_in_the_database_is_there() -> None:
    names = [one.name for one in made().tables]
    assert names == sorted(set(demo_policy().tables) & set(tpch_schema().tables))
    schema = tpch_schema()
    fewer = replace(schema, tables={name: one for name, one in schema.tables.items() if name != "nation"})
    less = catalog(fewer, demo_policy())
    assert "nation" not in [one.name for one in less.tables]
    assert all(join.table != "nation" for one in less.tables for join in one.joins), "no path leads to nowhere"


def test_ranges_and_keys_are_the_declared_ones() -> None:
    columns = {column.name: column for column in table("lineitem").columns}
    low, high = demo_policy().column("lineitem", "l_quantity").range or (None, None)
    assert (columns["l_quantity"].low, columns["l_quantity"].high) == (low, high)
    assert columns["l_quantity"].note == f"{low:g} to {high:g}"
    assert columns["l_comment"].low is None and columns["l_comment"].note == ""
    assert ("o_orderkey",) in table("orders").keys


def test_the_labels_of_an_enum_are_group_keys_that_can_be_planned() -> None:
    from tests.support.planning import planned

    columns = (Column("id", "bigint", False), Column("state", "enum('in', 'out')", True))
    schema = Schema({"patient": Table("patient", "public", columns, (("id",),), ())})
    text = DEMO_POLICY.read_text().split("[privacy_units]")[0]
    policy = parse_policy(text + '[privacy_units]\npatient = "id"\n[tables.patient]\n')
    found = catalog(schema, policy)
    ((_, state),) = (one.columns for one in found.tables)
    assert (state.type, state.domain, state.note) == ("enum", ("in", "out"), "in, out")
    (by_state,) = (one for one in found.examples if one.name == "patient: by state")
    assert planned(by_state.sql, schema, policy).domains[0].values == ("in", "out")


def test_joins_follow_the_foreign_keys_and_say_who_owns() -> None:
    (join,) = (one for one in table("orders").joins if one.table == "customer")
    assert (join.columns, join.key, join.owning) == (("o_custkey",), ("c_custkey",), True)


def test_a_key_that_the_policy_disowns_is_said_to_be() -> None:
    text = DEMO_POLICY.read_text()
    key = 'table = "orders"\ncolumns = ["o_custkey"]\nreferences = "customer"\nkey = ["c_custkey"]'
    disowned = f"\n[[foreign_keys]]\n{key}\nowning = false\n"
    policy = parse_policy(text + disowned)
    orders = next(one for one in catalog(tpch_schema(), policy).tables if one.name == "orders")
    assert [join.owning for join in orders.joins if join.table == "customer"] == [False]
