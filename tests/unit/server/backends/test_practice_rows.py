"""Drawn rows keep what the schema and the policy declare, and follow from these alone."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from planner.policy.policy import Policy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table
from server.backends.practice import write_practice
from server.backends.practice_rows import practice_rows

POLICY = """
name = "clinic"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[practice]
rows = 300
[privacy_units]
person = "id"
[[foreign_keys]]
table = "visit"
columns = ["person_id"]
references = "person"
key = ["id"]
fanout = 7
[[foreign_keys]]
table = "test"
columns = ["visit_id", "at"]
references = "visit"
key = ["id", "at"]
[tables.ward]
public = true
[tables.person.columns]
town = { domain = ["Graz", "Linz"], other = "other" }
born = { range = [1950-01-01, 2009-12-31] }
weight = { range = [40, 120] }
written = { format = "DD/MM/YYYY", range = [2020-01-01, 2020-12-31] }
moved = { format = 'YYYY-MM-DD"T"HH24:MI:SS', range = [2020-01-01, 2020-01-31] }
[tables.visit]
rows_per_unit = { person = 5 }
[tables.visit.columns]
number = { range = [1, 3] }
[tables.test]
[tables.pair]
[tables.one]
"""


def _columns(*described: str) -> tuple[Column, ...]:
    """Columns, such as `id bigint!`, where `!` is NOT NULL."""
    pairs = [one.split(" ", 1) for one in described]
    return tuple(Column(name, kind.rstrip("!"), not kind.endswith("!")) for name, kind in pairs)


def _table(name: str, columns: tuple[Column, ...], key: tuple[str, ...], *references: ForeignKey) -> Table:
    return Table(name, "public", columns, (key,), references, key)


WARD = _table("ward", _columns("id smallint!", "name text!"), ("id",))
PERSON = _table(
    "person",
    _columns(
        "id uuid!", "town text", "born date!", "weight numeric(5,1)", "written text", "sex enum('f', 'm', 'd')!",
        "moved text", "boss uuid", "code character(3)!", "amount numeric", "seen timestamp with time zone",
        "photo bytea", "home inet", "wakes time without time zone", "Home text", "alive boolean!",
    ),
    ("id",),
    ForeignKey(("boss",), "person", ("id",)),
    ForeignKey(("code",), "circle", ("code",)),
)  # fmt: skip
CIRCLE = _table(
    "circle", _columns("code character(3)!", "head uuid!"), ("code",), ForeignKey(("head",), "person", ("id",))
)
_AT = "at timestamp without time zone!"
VISIT = _table(
    "visit",
    _columns("id bigint!", _AT, "person_id uuid", "ward_id smallint!", "number smallint!"),
    ("id", "at"),
    ForeignKey(("ward_id",), "ward", ("id",)),
)
TEST = _table("test", _columns("visit_id bigint!", _AT, "rank smallint!"), ("visit_id", "at", "rank"))
PAIR = _table(
    "pair",
    _columns("a uuid!", "b uuid!"),
    ("a", "b"),
    ForeignKey(("a",), "person", ("id",)),
    ForeignKey(("b",), "person", ("id",)),
)
ONE = _table(
    "one",
    _columns("person_id uuid!", "text varchar!"),
    ("person_id",),
    ForeignKey(("person_id",), "person", ("id",)),
)
SCHEMA = Schema({one.name: one for one in (WARD, PERSON, CIRCLE, VISIT, TEST, PAIR, ONE)})


@pytest.fixture(scope="module")
def policy() -> Policy:
    return parse_policy(POLICY)


@pytest.fixture(scope="module")
def file(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = tmp_path_factory.mktemp("practice") / "rows.duckdb"
    write_practice(path, SCHEMA, practice_rows(SCHEMA, policy, policy.practice.rows, policy.practice.skew, {}))
    return duckdb.connect(path, read_only=True)


def _one(file: duckdb.DuckDBPyConnection, sql: str) -> Any:
    row = file.execute(f"USE public; SELECT {sql}").fetchone()
    assert row is not None
    return row[0] if len(row) == 1 else row


@pytest.mark.parametrize("table", sorted(SCHEMA.tables))
def test_every_table_has_rows_without_null_where_none_may_be(file: duckdb.DuckDBPyConnection, table: str) -> None:
    assert _one(file, f"count(*) > 20 FROM {table}")
    for column in SCHEMA.tables[table].columns:
        if not column.nullable:
            assert _one(file, f'count(*) FROM {table} WHERE "{column.name}" IS NULL') == 0, column


@pytest.mark.parametrize("table", sorted(SCHEMA.tables))
def test_keys_are_unique_and_references_have_a_parent(file: duckdb.DuckDBPyConnection, table: str) -> None:
    for unique in SCHEMA.tables[table].unique_keys:
        listed = ", ".join(f'"{name}"' for name in unique)
        assert _one(file, f"count(*) = count(DISTINCT row({listed})) FROM {table}"), unique
    declared = [one.foreign_key for one in parse_policy(POLICY).foreign_keys if one.table == table]
    for key in (*SCHEMA.tables[table].foreign_keys, *declared):
        met = " AND ".join(f'p."{theirs}" = c."{ours}"' for ours, theirs in zip(key.columns, key.key, strict=True))
        known = " AND ".join(f'c."{ours}" IS NOT NULL' for ours in key.columns)
        orphans = f"FROM {table} c WHERE {known} AND NOT EXISTS (SELECT 1 FROM {key.references} p WHERE {met})"
        assert _one(file, f"count(*) {orphans}") == 0, key


def test_values_lie_in_their_domains_and_ranges(file: duckdb.DuckDBPyConnection) -> None:
    assert _one(file, "list_sort(list(DISTINCT town)) FROM person WHERE town IS NOT NULL") == [
        "Graz",
        "Linz",
        "elsewhere",
    ]
    low, high = _one(file, "(min(born), max(born)) FROM person")
    assert date(1950, 1, 1) <= low < date(1960, 1, 1) < date(2000, 1, 1) < high <= date(2009, 12, 31)
    assert _one(file, "bool_and(weight BETWEEN 40 AND 120) AND count(DISTINCT weight) > 100 FROM person")
    times = "try_strptime(moved, '%Y-%m-%dT%H:%M:%S') BETWEEN '2020-01-01' AND '2020-02-01'"
    assert _one(file, f"bool_and(coalesce({times}, false)) FROM person WHERE moved IS NOT NULL")
    assert _one(file, "count(DISTINCT substr(moved, 12)) > 9 FROM person")
    assert _one(file, "bool_and(try_strptime(written, '%d/%m/%Y') IS NOT NULL) FROM person WHERE written IS NOT NULL")
    assert _one(file, "list_sort(list(DISTINCT sex::text)) FROM person") == ["d", "f", "m"]
    assert _one(file, "bool_and(number BETWEEN 1 AND 3) FROM visit")
    assert _one(file, "count(amount) > 0 AND count(seen) > 0 AND count(wakes) > 0 AND count(home) > 0 FROM person")


def test_no_parent_has_more_rows_than_declared_and_a_few_have_most(file: duckdb.DuckDBPyConnection) -> None:
    counted = "FROM (SELECT count(*) AS n FROM visit WHERE person_id IS NOT NULL GROUP BY person_id)"
    assert _one(file, f"max(n) {counted}") == 5
    assert _one(file, f"min(n) {counted}") == 1


def test_rows_follow_from_schema_and_policy_and_known_public_rows_stay(policy: Policy) -> None:
    first, second = (practice_rows(SCHEMA, policy, 50, 2.0, {}) for _ in range(2))
    for name, rows in first.items():
        assert all((rows.columns[one] == texts).all() for one, texts in second[name].columns.items())
    ward = first["ward"]
    ward.columns["name"][:] = "known"
    again = practice_rows(SCHEMA, policy, 50, 2.0, {"ward": ward})
    assert set(again["ward"].columns["name"]) == {"known"}


def test_sizes_are_settings(policy: Policy) -> None:
    for rows in (1, 40, 400):
        assert len(practice_rows(SCHEMA, policy, rows, 1.0, {})["person"]) == rows


def test_names_that_duckdb_confuses_are_written_once(tmp_path: Path, policy: Policy) -> None:
    columns = _columns("id bigint!", "ID bigint!")
    schema = Schema({name: Table(name, "public", columns, (), ()) for name in ("person", "Person")})
    both = parse_policy(POLICY.partition("[[foreign")[0] + "[tables.person]\n[tables.Person]\n")
    write_practice(tmp_path / "rows.duckdb", schema, practice_rows(schema, both, 10, 2.0, {}))
    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        assert _one(connection, "count(id) FROM person") == 10
