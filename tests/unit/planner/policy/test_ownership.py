"""Ownership where rows have no enforced key, and views that may show rows of people."""

from __future__ import annotations

from planner.policy.declared import with_declared_keys
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import parse_policy
from planner.schema import Column, ForeignKey, Schema, Table, View


def _table(name: str, columns: str, *keys: str, references: tuple[ForeignKey, ...] = ()) -> Table:
    parsed = tuple(Column(column, "bigint", False) for column in columns.split())
    return Table(name, "public", parsed, tuple((key,) for key in keys), references)


POLICY = parse_policy("""
name = "x"
database = { url = "env:DB" }
ledger = { path = "l" }
privacy = { epsilon = 1 }
privacy_units = { person = "id" }
[tables.person]
[tables.visit]
keys = ["id"]
rows_are_units = true
[tables.icd]
public = true
""")
TABLES = {
    "person": _table("person", "id", "id"),
    "visit": _table("visit", "id"),
    "note": _table("note", "visit", references=(ForeignKey(("visit",), "visit", ("id",)),)),
    "icd": _table("icd", "id", "id"),
}


def _view(name: str, *reads: str, kind: str = "view") -> View:
    return View(_table(name, "id"), kind, "SELECT", reads)


VIEWS = (
    _view("sizes", "visit", "icd"), _view("of_sizes", "sizes"), _view("circle", "circle", "visit"),
    _view("notes", "note"), _view("hidden", "secret"), _view("of_duckdb", kind="view of DuckDB"),
    _view("stored", "visit", kind="materialized view"), _view("foreign", kind="foreign table"),
    _view("of_stored", "stored", "icd"), _view("codes", "icd"),
)  # fmt: skip
SCHEMA = Schema(TABLES, {view.table.name: view for view in VIEWS})


def test_a_graph_has_the_declared_keys_whether_its_schema_has_them_yet() -> None:
    """Both schemas have one fingerprint, and who asks first must not decide what the other is told."""
    assert with_declared_keys(SCHEMA, POLICY).fingerprint == SCHEMA.fingerprint
    first = ownership(SCHEMA, POLICY)
    second = ownership(with_declared_keys(SCHEMA, POLICY), POLICY)
    assert [graph.orphan_key("visit") for graph in (first, second)] == [("id",)] * 2
    assert first.is_owned("note") and second.is_owned("note")


def test_a_view_that_reads_rows_of_people_or_what_nobody_knows_may_show_them() -> None:
    for name in ("sizes", "of_sizes", "circle", "notes", "hidden", "of_duckdb"):
        assert Ownership(SCHEMA, POLICY).may_show_owned(name)


def test_a_view_of_public_or_stored_rows_and_a_table_are_not_computed_from_people() -> None:
    for name in ("stored", "foreign", "of_stored", "codes", "icd", "person"):
        assert not Ownership(SCHEMA, POLICY).may_show_owned(name)
