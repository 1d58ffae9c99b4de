"""A DuckDB file as a backend: its catalog, its limits, what it cannot reach, and the words of its failures."""

from __future__ import annotations

import pickle
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest

from planner.errors import SchemaChanged, StatementTooComplex, UnknownTable, UnsupportedSQL
from planner.parsing.parse import read
from planner.plan import BackendQuery
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.public.bind import bind_public
from planner.public.relation import PublicStatement
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Column, ForeignKey
from privacy.join_tuples import JoinTuples
from privacy.truncation.encode import compact
from server.backends.columns import Integers
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.backends.query_tuples import Room
from server.demo.demonstration import QUERIES
from server.errors import BackendFailed, BackendUnavailable, QueryCancelled
from tests.support.planning import demo_policy, planned
from tests.support.tpch_duckdb import NAMESPACE

TABLES = """
    CREATE TABLE person (Id bigint PRIMARY KEY, "Full Name" varchar UNIQUE, born date, score decimal(12,3));
    CREATE TABLE visit (
        person bigint REFERENCES person, day date NOT NULL, place varchar COLLATE nocase, big hugeint,
        PRIMARY KEY (person, day)
    );
    CREATE TABLE note (person bigint, day date, FOREIGN KEY (person, day) REFERENCES visit (person, day));
    CREATE VIEW everything AS SELECT * FROM person;
    CREATE SCHEMA other;
    CREATE TABLE other.hidden (id bigint);
    INSERT INTO person VALUES (1, 'Ann', DATE '1990-01-01', 1.5), (2, NULL, NULL, NULL);
"""


@pytest.fixture
def backend(tmp_path: Path) -> DuckdbBackend:
    path = tmp_path / "it's a file.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(TABLES)
    return DuckdbBackend(path)


def _query(backend: DuckdbBackend, join: str) -> BackendQuery:
    return BackendQuery(join, (None,), ("person",), (), (), 1, backend.schema().fingerprint)


def test_the_catalog_has_tables_and_enforced_constraints(backend: DuckdbBackend) -> None:
    schema = backend.schema()
    assert set(schema.tables) == {"person", "visit", "note"}
    assert schema.tables["person"].columns == (
        Column("id", "bigint", False),
        Column("full name", "text", True),
        Column("born", "date", True),
        Column("score", "numeric(12,3)", True),
    )
    assert schema.tables["person"].unique_keys == (("id",), ("full name",))
    assert schema.tables["person"].primary_key == ("id",)
    assert schema.tables["note"].primary_key is None
    assert schema.tables["visit"].column("place") == Column("place", "text with fuzzy collation", True)
    assert schema.tables["visit"].column("big") == Column("big", "hugeint", True)
    assert schema.tables["visit"].foreign_keys == (ForeignKey(("person",), "person", ("id",)),)
    assert schema.tables["note"].foreign_keys == (ForeignKey(("person", "day"), "visit", ("person", "day")),)


def test_a_table_with_a_dot_in_its_name_is_no_other_table(tmp_path: Path) -> None:
    """Were `x.visit` read as the table visit of a schema x, a public table would be answered by private rows."""
    path = tmp_path / "dots.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("""
            CREATE TABLE person (id bigint PRIMARY KEY);
            CREATE TABLE visit (id bigint PRIMARY KEY, person bigint REFERENCES person);
            CREATE TABLE "x.visit" (id bigint PRIMARY KEY);
            CREATE VIEW recent AS SELECT * FROM visit;
            INSERT INTO person VALUES (1); INSERT INTO visit VALUES (77, 1); INSERT INTO "x.visit" VALUES (5);
        """)
    policy = parse_policy(
        'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\nprivacy = { epsilon = 1 }\n'
        'privacy_units = { person = "id" }\n[tables.person]\n[tables.visit]\n'
        "[tables.'\"x.visit\"']\npublic = true\n"
    )
    backend = DuckdbBackend(path)
    schema = backend.schema()
    validate(policy, schema)
    query = bind_public(read('SELECT id FROM "x.visit"').tree, schema, policy)
    assert backend.public(write_public(query, dialect="duckdb")) == ((5,),)
    for private in ("visit", "main.visit"):
        with pytest.raises(UnsupportedSQL, match="private"):
            bind_public(read(f"SELECT id FROM {private}").tree, schema, policy)
    with pytest.raises(UnknownTable):
        bind_public(read("SELECT id FROM x.visit").tree, schema, policy)
    with pytest.raises(UnknownTable) as refused:
        bind_public(read("SELECT id FROM recent").tree, schema, policy)
    assert "views of files are not read" in (refused.value.hint or "")


def test_it_reads_what_it_was_asked(backend: DuckdbBackend) -> None:
    copied = pickle.loads(pickle.dumps(backend))
    _, tuples = copied.read(
        _query(backend, 'SELECT id AS "o0", CAST(7 AS BIGINT) AS "w0" FROM "main"."person" ORDER BY 1')
    )
    assert tuples.join is not None
    assert tuples.join.owners[0].keys.tolist() == [1, 2]
    assert tuples.join.weights.tolist() == [[7, 7]]


def test_another_schema_is_refused(backend: DuckdbBackend) -> None:
    query = _query(backend, "SELECT 1, 1")
    with duckdb.connect(backend.path) as connection:
        connection.execute("ALTER TABLE note ADD COLUMN text varchar")
    with pytest.raises(SchemaChanged):
        backend.read(query)


def test_no_file_is_unavailable_and_none_is_made(tmp_path: Path) -> None:
    missing = DuckdbBackend(tmp_path / "missing.duckdb")
    with pytest.raises(BackendUnavailable):
        missing.schema()
    assert not missing.path.exists()


def test_a_long_statement_is_cut_off(backend: DuckdbBackend) -> None:
    slow = DuckdbBackend(backend.path, limits=DuckdbLimits(statement_ms=200))
    pairs = "range(1000000) AS a, range(1000000) AS b WHERE (a.range * b.range) % 7 = 3"
    endless = f"SELECT a.range, count(*) FROM {pairs} GROUP BY 1"
    with pytest.raises(QueryCancelled):
        slow.read(_query(backend, endless))


def test_too_many_rows_are_cut_off(backend: DuckdbBackend) -> None:
    small = DuckdbBackend(backend.path, limits=DuckdbLimits(rows=100_000))
    with pytest.raises(QueryCancelled):
        small.read(_query(backend, "SELECT range, 1 FROM range(200000)"))


def _public(backend: DuckdbBackend, sql: str) -> PublicStatement:
    return PublicStatement(sql, (("x", "text"),), backend.schema().fingerprint)


def test_what_is_free_has_a_shorter_limit(backend: DuckdbBackend) -> None:
    assert DuckdbLimits().public.statement_ms == 15_000
    slow = DuckdbBackend(backend.path, limits=DuckdbLimits(public_ms=200))
    endless = "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b WHERE (a.range * b.range) % 7 = 3"
    with pytest.raises(QueryCancelled, match="longer"):
        slow.public(_public(backend, endless))


def test_what_is_free_has_a_bound_in_bytes_and_in_memory(backend: DuckdbBackend) -> None:
    with pytest.raises(StatementTooComplex, match="MiB"):
        backend.public(_public(backend, "SELECT repeat('x', 100000) FROM range(100000)"))
    small = DuckdbBackend(backend.path, limits=DuckdbLimits(public_memory_mb=50))
    with pytest.raises(QueryCancelled, match="memory"):
        small.public(_public(backend, "SELECT len(list(range)) FROM range(30000000)"))


def test_it_can_only_read_the_file_and_says_nothing(backend: DuckdbBackend, subtests: pytest.Subtests) -> None:
    """A refusal has none of DuckDB's words."""
    for statement in (
        "INSERT INTO person VALUES (3, 'Eve', NULL, NULL)",
        "COPY person TO '/tmp/noisegate-stolen.csv'",
        "SELECT 1, count(*) FROM read_csv('/etc/passwd')",
        "ATTACH '/tmp/noisegate-more.duckdb' AS more",
        "SET enable_external_access = true",
        "SET threads = 64",
        "INSTALL httpfs",
        "SELECT nothing FROM nowhere",
    ):
        with subtests.test(statement):
            with pytest.raises(BackendFailed) as failure:
                backend.read(_query(backend, statement))
            assert failure.value.message == "the database refused the query that the proxy made from yours"
    assert not Path("/tmp/noisegate-stolen.csv").exists()


@pytest.mark.slow
def test_the_demonstration_is_the_same_on_both(tpch_duckdb: Path, tpch_url: str) -> None:
    """Read and compacted by the parts that run in production."""
    here = DuckdbBackend(tpch_duckdb, NAMESPACE)
    schema = here.schema()
    with psycopg.connect(tpch_url) as connection:
        other_schema = read_schema(connection)
    validate(demo_policy(), schema)
    for query in QUERIES:
        plan = planned(query.sql, schema)
        domain, tuples = here.read(rewrite(plan, dialect="duckdb", schema=schema, contributions=False))
        other = rewrite(planned(query.sql, other_schema), contributions=False)
        other_domain, other_tuples = PostgresBackend(tpch_url).read(other)
        assert domain == other_domain
        assert isinstance(tuples.join, JoinTuples) and isinstance(other_tuples.join, JoinTuples)
        ours, theirs = compact(tuples.join), compact(other_tuples.join)
        for name in ("indptr", "units", "group", "weights"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))


def test_texts_come_as_they_are_beside_whole_numbers(tmp_path: Path) -> None:
    file = tmp_path / "texts.duckdb"
    duckdb.connect(file).close()
    texts = [None, "", "Ωm" * 50, "None"]
    rows = ", ".join(f"({place}, {'NULL' if text is None else repr(text)})" for place, text in enumerate(texts))
    backend = DuckdbBackend(file)
    with backend.opened(backend.limits) as connection:
        statement, room = f"SELECT * FROM (VALUES {rows}) t(o0, k0) ORDER BY o0", Room(4)
        whole, found = backend._columns(connection, room, statement, 2)
        assert isinstance(whole, Integers) and list(whole) == [0, 1, 2, 3]
        assert found == tuple(texts)
        assert backend._columns(connection, room, "SELECT 'x' AS k0, 1 AS w0 WHERE FALSE", 2)[0] == ()
        with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
            backend._columns(connection, Room(3), statement, 2)
