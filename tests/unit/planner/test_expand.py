"""Views written out in statements, without a database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from planner.binding.bind import bind
from planner.describe import describe
from planner.errors import StatementTooComplex, UnknownTable, UnsupportedSQL
from planner.expand_views import expanded, read_definition
from planner.parsing.parse import private_select, read
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, Schema, Table, View
from planner.sql.trees import nodes
from tests.support.planning import demo_policy, planned
from tests.support.tpch_schema import tpch_schema


def _view(name: str, definition: str | None, *reads: str, kind: str = "view") -> View:
    return View(Table(name, "public", (Column("x", "bigint", True),), (), ()), kind, definition, reads)


def _schema(*views: View) -> Schema:
    return Schema(tpch_schema().tables, {view.table.name: view for view in views})


OPEN = _view(
    "open_orders", " SELECT o.o_orderkey AS x FROM public.orders o WHERE (o.o_orderstatus = 'O'::bpchar);", "orders"
)
KEYS = _view("keys", "SELECT open_orders.x FROM public.open_orders;", "open_orders")


def _tables(sql: str, *views: View) -> list[str]:
    tree = expanded(read(sql), _schema(*views), demo_policy()).tree
    return sorted(table.name for table in tree.find_all(exp.Table))


def _planned(sql: str, *views: View) -> object:
    schema = _schema(*views)
    select = private_select(expanded(read(sql), schema, demo_policy()))
    return bind(select, schema, demo_policy())


def test_a_plan_over_a_view_is_that_over_its_subquery() -> None:
    schema = _schema(OPEN)
    select = private_select(expanded(read("SELECT count(*) FROM open_orders v WHERE v.x > 5"), schema, demo_policy()))
    written = "SELECT count(*) FROM (SELECT o_orderkey AS x FROM orders WHERE o_orderstatus = 'O') v WHERE x > 5"
    over_view = bind(select, schema, demo_policy())
    assert replace(over_view, tables=()) == replace(
        bind(private_select(read(written)), schema, demo_policy()), tables=()
    )
    assert rewrite(planned(written)).join is not None


def test_a_statement_without_views_is_itself() -> None:
    statement = read("SELECT count(*) FROM orders")
    assert expanded(statement, _schema(OPEN), demo_policy()) is statement


def test_the_definition_is_shared_and_never_changed() -> None:
    assert OPEN.definition is not None
    before = read_definition(OPEN.definition).tree.sql()
    sql = "SELECT count(*) FROM open_orders a JOIN open_orders b ON a.x = b.x"
    _planned(sql, OPEN)
    assert _tables(sql, OPEN) == ["orders", "orders"]
    assert read_definition(OPEN.definition).tree.sql() == before


def test_every_node_stands_where_the_view_is_named() -> None:
    sql = "SELECT count(*)\n FROM keys"
    tree = expanded(read(sql), _schema(KEYS, OPEN), demo_policy()).tree
    subquery = tree.find(exp.Subquery)
    assert subquery is not None
    starts = {node.meta["start"] for node in nodes(subquery) if "start" in node.meta}
    assert starts == {sql.index("keys")}


def test_which_names_mean_a_view() -> None:
    for sql, tables in [
        ("SELECT count(*) FROM keys", ["orders"]),
        ("WITH keys AS (SELECT * FROM lineitem) SELECT count(*) FROM keys", ["keys", "lineitem"]),
        ("WITH open_orders AS (SELECT 1) SELECT count(*) FROM public.open_orders", ["orders"]),
        ("WITH keys AS (SELECT * FROM keys) SELECT count(*) FROM keys", ["keys", "orders"]),
        ("SELECT count(*) FROM (SELECT * FROM open_orders JOIN nation ON true) s", ["nation", "orders"]),
        ("SELECT count(*) FROM OPEN_ORDERS", ["orders"]), ('SELECT count(*) FROM "Open_orders"', ["Open_orders"]),
        ("SELECT count(*) FROM nation WHERE EXISTS (SELECT 1 FROM keys)", ["nation", "orders"]),
        ("SELECT 1 FROM nation UNION SELECT x FROM other.keys", ["keys", "nation"]),
    ]:  # fmt: skip
        assert _tables(sql, KEYS, OPEN) == tables


def test_what_is_no_view_to_ask() -> None:
    for views, error, words in [
        ([_view("keys", "SELECT x FROM public.keys", "keys")], UnsupportedSQL, "it reads itself"),
        ([_view("keys", "SELECT relname FROM pg_class")], UnsupportedSQL, "it reads a relation without a schema"),
        ([_view("keys", "SELECT 1 FROM public.orders FOR UPDATE", "orders")], UnsupportedSQL, "FOR UPDATE"),
        ([_view("keys", "SELECT string_agg(o_clerk, ',') AS x FROM public.orders", "orders")], UnsupportedSQL,
         "string_agg"),
        ([_view("keys", "SELECT x FROM public.hidden", "hidden")], UnknownTable, "no table 'keys'"),
        ([_view("keys", "SELECT 1 FROM public.orders, generate_series(1, o_custkey)", "orders")], UnsupportedSQL,
         "keys"),
        ([_view("keys", None, kind="foreign table")], UnknownTable, "no table 'keys'"),
        ([_view("keys", "SELECT 1", kind="view of DuckDB")], UnknownTable, "no table 'keys'"),
        ([_view("keys", "SELECT o_orderkey AS x FROM public.orders", "orders", kind="materialized view")],
         UnsupportedSQL, "materialized"),
        ([_view("keys", "SELECT @ o_orderkey AS x FROM public.orders", "orders")], UnsupportedSQL, "keys"),
        ([_view("keys", "SELECT a.x FROM public.inner_one a", "inner_one"), _view("inner_one",
         "SELECT DISTINCT o_clerk AS x FROM public.orders", "orders")], UnsupportedSQL,
         "the view 'inner_one' is an aggregate answer.*: DISTINCT"),
    ]:  # fmt: skip
        sql = "SELECT count(*) FROM keys"
        with pytest.raises(error, match=words) as refused:
            _planned(sql, *views)
        assert refused.value.position == sql.index("keys") + 1


def test_views_that_double_end() -> None:
    """Each reads the one before it twice: a definition of 60 lines that stands for 2^60 tables."""
    views = [_view("v0", "SELECT o_orderkey AS x FROM public.orders", "orders")]
    for depth in range(1, 61):
        below = f"v{depth - 1}"
        views.append(
            _view(f"v{depth}", f"SELECT a.x FROM public.{below} a JOIN public.{below} b ON a.x = b.x", below)
        )
    for name in ("v5", "v60"):
        with pytest.raises(StatementTooComplex):
            _planned(f"SELECT count(*) FROM {name}", *views)
    assert _planned("SELECT count(*) FROM v2", *views)


def test_what_is_behind_views_is_looked_at_once() -> None:
    """A ladder of two views a step, each of which reads both below: 2^60 ways down."""
    views = [_view(f"{side}0", "SELECT o_orderkey AS x FROM public.orders", "orders") for side in "vw"]
    for depth in range(1, 61):
        reads = [f"{side}{depth - 1}" for side in "vw"]
        views += [_view(f"{side}{depth}", f"SELECT x FROM public.{reads[0]}", *reads) for side in "vw"]
    assert _planned("SELECT count(*) FROM w15", *views)


def test_a_clock_in_a_view_is_snapped() -> None:
    view = _view(
        "keys", "SELECT o_orderkey AS x FROM public.orders WHERE o_orderdate > (CURRENT_DATE - 30)", "orders"
    )
    with pytest.raises(UnsupportedSQL, match="there is no clock here"):
        _planned("SELECT count(*) FROM keys", view)
    schema = _schema(view)
    select = private_select(expanded(read("SELECT count(*) FROM keys WHERE x > $1"), schema, demo_policy()))
    assert describe(select, schema, demo_policy()).parameters == ("int8",)


def test_the_fingerprint_has_every_definition() -> None:
    assert _schema().fingerprint == tpch_schema().fingerprint, "one without views is as it was"
    prints = [_schema(OPEN), _schema(replace(OPEN, definition="SELECT 2")), _schema(KEYS), _schema(OPEN, KEYS)]
    prints.append(_schema(replace(OPEN, kind="materialized view")))
    assert len({schema.fingerprint for schema in prints}) == len(prints)
    assert _schema(OPEN).declaring(["open_orders"]).fingerprint == _schema(OPEN).fingerprint
