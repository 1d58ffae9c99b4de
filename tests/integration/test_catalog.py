"""Reading the structure of a real database."""

from __future__ import annotations

import psycopg
import pytest

from planner.schema import Column, ForeignKey
from planner.sql_types import Family, sql_type
from server.backends.catalog import read_schema
from tests.support.tpch_schema import tpch_schema


def _execute(url: str, *statements: str) -> None:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_columns_keys_and_references(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE person (id bigint PRIMARY KEY, email text UNIQUE, born date NOT NULL)",
        "CREATE TABLE visit (person bigint REFERENCES person, at timestamp, cost numeric(8,2), UNIQUE (person, at))",
    )
    with psycopg.connect(scratch_url) as connection:
        schema = read_schema(connection)
    person, visit = schema.tables["person"], schema.tables["visit"]
    assert person.columns == (
        Column("id", "bigint", False),
        Column("email", "text", True),
        Column("born", "date", False),
    )
    assert person.unique_keys == (("id",), ("email",))
    assert visit.unique_keys == (("person", "at"),)
    assert visit.foreign_keys == (ForeignKey(("person",), "person", ("id",)),)
    assert visit.column("cost") == Column("cost", "numeric(8,2)", True)


def test_keys_that_are_not_enforced_at_once_and_over_all_rows_do_not_count(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE a (id bigint PRIMARY KEY, x int, y int, z int)",
        "CREATE UNIQUE INDEX ON a (x) WHERE y > 0",
        "CREATE UNIQUE INDEX ON a (abs(y))",
        "ALTER TABLE a ADD UNIQUE (z) DEFERRABLE",
        "CREATE TABLE b (a bigint)",
        "INSERT INTO b VALUES (1)",
        "ALTER TABLE b ADD FOREIGN KEY (a) REFERENCES a NOT VALID",
    )
    with psycopg.connect(scratch_url) as connection:
        schema = read_schema(connection)
    assert schema.tables["a"].unique_keys == (("id",),)
    assert schema.tables["b"].foreign_keys == ()


def test_a_covering_index_is_a_key_of_its_key_columns_only(scratch_url: str) -> None:
    _execute(scratch_url, "CREATE TABLE a (x int NOT NULL, y int)", "CREATE UNIQUE INDEX ON a (x) INCLUDE (y)")
    with psycopg.connect(scratch_url) as connection:
        assert read_schema(connection).tables["a"].unique_keys == (("x",),)


def test_views_inheritance_parents_and_partitions_are_left_out(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE child () INHERITS (parent)",
        "CREATE VIEW v AS SELECT 1 AS one",
        "CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
    )
    with psycopg.connect(scratch_url) as connection:
        assert set(read_schema(connection).tables) == {"child", "parts"}


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE a ADD COLUMN c int",
        "ALTER TABLE a DROP CONSTRAINT a_pkey",
        "ALTER TABLE a ALTER COLUMN b TYPE bigint",
        "ALTER TABLE a ALTER COLUMN b SET NOT NULL",
        "DROP TABLE a",
    ],
)
def test_the_fingerprint_follows_the_structure(scratch_url: str, change: str) -> None:
    _execute(scratch_url, "CREATE TABLE a (id int PRIMARY KEY, b int)")
    with psycopg.connect(scratch_url) as connection:
        before = read_schema(connection).fingerprint
        connection.execute("INSERT INTO a VALUES (1, 2)")
        assert read_schema(connection).fingerprint == before
        connection.execute(change.encode())
        assert read_schema(connection).fingerprint != before


def test_a_collation_that_finds_different_texts_equal_makes_another_type(scratch_url: str) -> None:
    _execute(
        scratch_url,
        "CREATE COLLATION loose (provider = libc, locale = 'C')",
        "CREATE TABLE person (email text COLLATE loose PRIMARY KEY, name text)",
        # How a collation of ICU would look, which the embedded server is built without.
        "UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'loose'",
    )
    with psycopg.connect(scratch_url) as connection:
        person = read_schema(connection).tables["person"]
    email, name = person.columns
    assert sql_type(email.type).family is Family.OTHER
    assert sql_type(name.type).family is Family.TEXT


def test_the_planners_fixture_is_the_demonstrations_catalog(tpch_url: str) -> None:
    with psycopg.connect(tpch_url) as connection:
        real = read_schema(connection).tables
    fixture = tpch_schema().tables
    assert set(real) == set(fixture)
    for name, table in real.items():
        assert {column.name for column in table.columns} == {column.name for column in fixture[name].columns}
        assert set(table.unique_keys) == set(fixture[name].unique_keys)
        assert set(table.foreign_keys) == set(fixture[name].foreign_keys)
