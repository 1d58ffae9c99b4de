"""Which joins may explode, from schema and policy alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import UnsupportedSQL
from planner.plan import JoinSize
from planner.policy.policy import DeclaredForeignKey, Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import planned, unbounded

TEXT = """
name = "town"
[database]
url = "env:URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
[tables.knows]
[tables.visit]
[tables.staff]
[tables.ward]
public = true
[tables.band]
public = true
[tables.season]
public = true
"""


def _table(name: str, columns: str, unique: list[tuple[str, ...]], *keys: tuple[str, str]) -> Table:
    types = {"hiv": "boolean", "day": "date"}
    found = tuple(Column(one, types.get(one, "bigint"), nullable=False) for one in columns.split())
    foreign = tuple(ForeignKey((column,), parent, ("id",)) for column, parent in keys)
    return Table(name, "public", found, tuple(unique), foreign)


SCHEMA = Schema(
    {
        table.name: table
        for table in (
            _table("person", "id hiv age", [("id",)]),
            _table("knows", "v w", [("v", "w")], ("v", "person"), ("w", "person")),
            _table("visit", "id person ward day cost", [("id",)], ("person", "person"), ("ward", "ward")),
            _table("staff", "id person ward day", [("id",)], ("person", "person"), ("ward", "ward")),
            _table("ward", "id beds", [("id",)]),
            _table("band", "id lo hi", [("id",)]),
            _table("season", "id first last", [("id",)]),
        )
    }
)


def size(text: str, policy: Policy | None = None) -> JoinSize:
    return planned(f"SELECT count(*) FROM {text}", SCHEMA, policy or unbounded(parse_policy(TEXT))).size


def test_joins_along_keys_from_one_table_are_linear() -> None:
    for text in [
        "person", "visit JOIN person ON visit.person = person.id",
        "visit v JOIN person p ON v.person = p.id JOIN ward w ON v.ward = w.id",
        "visit v LEFT JOIN ward w ON v.ward = w.id",
        "knows k JOIN person a ON k.v = a.id JOIN person b ON k.w = b.id WHERE a.hiv <> b.hiv",
        "visit a JOIN visit b ON a.id = b.id",
    ]:  # fmt: skip
        assert (size(text).kind, size(text).free_steps) == ("linear", 0)


def test_joins_along_keys_of_private_tables_are_equi_joined() -> None:
    cases = [
        ("knows a JOIN knows b ON a.w = b.v", 1),
        ("knows a JOIN knows b ON a.w = b.v JOIN knows c ON a.v = c.v AND b.w = c.w", 1),  # (v, w) is a key
        ("knows a JOIN knows b ON a.w = b.v JOIN knows c ON b.w = c.v", 1),  # the ends say what is between
        ("knows a JOIN knows b ON a.v = b.v JOIN knows c ON b.v = c.v", 2),
        ("visit a JOIN visit b ON a.person = b.person", 1),
        ("visit a JOIN staff b ON a.person = b.person AND a.day <= b.day", 1),
        ("person p JOIN visit a ON a.person = p.id JOIN staff b ON b.person = p.id", 1),
        (
            "visit v JOIN band b ON v.cost >= b.lo AND v.cost < b.hi",
            1,
        ),  # a public table multiplies by a public number
    ]
    for text, steps in cases:
        assert (size(text).kind, size(text).free_steps) == ("equi_joined", steps)


def test_everything_else_is_refused_unless_the_policy_allows_it() -> None:
    for text in [
        "person a CROSS JOIN knows v CROSS JOIN knows w WHERE a.id = 7 AND a.hiv",
        "person a CROSS JOIN visit v WHERE a.id = 7 AND a.hiv", "person a JOIN knows v ON a.hiv OR v.v = a.id",
        "person a JOIN knows v ON a.id < v.v", "knows v JOIN knows w ON v.v = w.v OR v.w = w.w",
        "knows v JOIN knows w ON v.v + 0 = w.v", "person a JOIN person b ON a.hiv = b.hiv",
        "visit v JOIN staff s ON v.ward = s.ward",
        "visit v JOIN ward w ON v.ward = w.id JOIN staff s ON s.ward = w.id",
        "visit v JOIN staff s ON v.day = s.day", "visit v CROSS JOIN staff s WHERE v.person = 7 AND s.person = 7",
        "person a CROSS JOIN band b CROSS JOIN season s WHERE a.id = 7 AND a.hiv",
    ]:  # fmt: skip
        found = size(text)
        assert (found.kind, found.apart is None) == ("unbounded", False)
        with pytest.raises(UnsupportedSQL, match=r"no key connects|both multiply") as caught:
            size(text, parse_policy(TEXT))
        assert caught.value.hint is not None
        assert "unbounded_joins" in caught.value.hint


def test_the_hint_names_the_keys_between_two_tables() -> None:
    """A part of a key of several columns connects nothing: of which there are more, only the catalog says."""
    for text, way in [
        ("finding f JOIN visit v ON f.visit = v.id", "finding (visit, day) references visit (id, day)"),
        ("visit v JOIN finding f ON f.day = v.day", "finding (visit, day) references visit (id, day)"),
        ("person a JOIN visit v ON a.age = v.cost", "visit (person) references person (id)"),
        ("visit v JOIN staff s ON v.day = s.day", "join them along foreign keys, or count each table by"),
    ]:  # fmt: skip
        visit = _table("visit", "id person ward day cost", [("id", "day")], ("person", "person"), ("ward", "ward"))
        key = ForeignKey(("visit", "day"), "visit", ("id", "day"))
        finding = replace(_table("finding", "visit day rank", [("visit", "day", "rank")]), foreign_keys=(key,))
        schema = Schema({**SCHEMA.tables, "visit": visit, "finding": finding})
        with pytest.raises(UnsupportedSQL, match="no key connects") as caught:
            planned(f"SELECT count(*) FROM {text}", schema, parse_policy(f"{TEXT}[tables.finding]\n"))
        assert caught.value.hint is not None and way in caught.value.hint
        whole = "finding f JOIN visit v ON f.visit = v.id AND f.day = v.day"
        assert planned(f"SELECT count(*) FROM {whole}", schema, parse_policy(f"{TEXT}[tables.finding]\n")).releases


def test_a_declared_fan_out_bounds_a_join_where_it_is_small() -> None:
    for fanout, kind in ((30, "linear"), (2000, "equi_joined")):
        declared = (DeclaredForeignKey("knows", ("v",), "person", ("id",), fanout=fanout),)
        policy = replace(parse_policy(TEXT), foreign_keys=declared)
        assert size("knows a JOIN knows b ON a.w = b.v", policy).kind == kind
    assert size("visit v JOIN staff s ON v.ward = s.ward", unbounded(policy)).kind == "unbounded"


def _with_rows(limit: int | None = None, **rows: int) -> Policy:
    policy = parse_policy(TEXT)
    tables = {name: replace(table, rows=rows.get(name)) for name, table in policy.tables.items()}
    channels = replace(policy.side_channels, max_join_tuples=limit)
    return replace(policy, tables=tables, side_channels=channels)


def test_declared_rows_bound_the_tuples() -> None:
    path = "knows a JOIN knows b ON a.w = b.v"
    assert size(path).most_tuples is None
    assert size(path).undeclared == ("knows",)
    assert size(path, _with_rows(knows=50)).most_tuples == 2500
    assert size("visit JOIN person ON visit.person = person.id", _with_rows(visit=70)).most_tuples == 70
    triangle = "knows a JOIN knows b ON a.w = b.v JOIN knows c ON a.v = c.v AND b.w = c.w"
    assert size(triangle, _with_rows(knows=50)).most_tuples == 2500
    assert size("person a JOIN band b ON a.age > b.lo", _with_rows(person=9, band=4)).most_tuples == 36


def test_more_tuples_than_the_policy_allows_are_refused_before_anything_starts() -> None:
    path = "knows a JOIN knows b ON a.w = b.v"
    assert size(path, _with_rows(2500, knows=50)).most_tuples == 2500
    with pytest.raises(UnsupportedSQL, match="may have 2,500 rows, more than the policy's 2,499"):
        size(path, _with_rows(2499, knows=50))
    with pytest.raises(UnsupportedSQL, match="size of this join is unknown") as caught:
        size(path, _with_rows(2499))
    assert caught.value.hint == "the administrator can declare the `rows` of knows"


def test_several_loose_public_tables_are_allowed_where_their_rows_are_declared() -> None:
    text = "person a CROSS JOIN band b CROSS JOIN season s"
    assert size(text, _with_rows(band=4, season=4)).kind == "equi_joined"
