"""Every golden question on PostgreSQL, DuckDB and Parquet: the plain aggregate, and the same rows; and a mirror."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import cast

import psycopg
import pytest
from duckdb import connect

from planner.plan import BackendQuery, Plan
from planner.policy.policy import Policy
from planner.policy.sections import MirrorPolicy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.mirror import CurrentMirror, MirrorBackend
from server.backends.postgres_catalog import read_schema
from server.demo.demonstration import QUERIES
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.startup.mirror import open_mirror, refresh_mirror
from tests.golden.planner.write_cases import before_files, mechanism_of
from tests.golden.tpch.queries import policy as tpch_policy
from tests.golden.tpch.queries import working
from tests.golden.untruncated import Rows, Run, assert_same, duckdb, postgres, untruncated
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy, planned
from tests.support.seeds import ALL, sampled
from tests.support.tpch_duckdb import NAMESPACE


@cache
def demo() -> dict[str, str]:
    """The golden questions of the planner's rules, and those of the demonstration."""
    golden = {path.name.split(".")[0]: path.read_text() for path in before_files()}
    return golden | {f"demo {query.name}": query.sql for query in QUERIES}


@cache
def statements() -> dict[str, str]:
    """All of them, with the queries of TPC-H that are answered."""
    return demo() | {f"TPC-H {name}": text for name, text in working().items()}


EMPTY = {"TPC-H Q17 adapted"}
"""Questions that no row answers at the tests' scale."""

POSTGRES_ALONE = {"TPC-H Q17 adapted", "per_person_public_keys", "semi_join_not_in_public", "texts"}
"""Questions that no mirror is asked: they hang on the order of texts, or on the case of letters, or DuckDB has no
exact answer."""


@dataclass(frozen=True)
class Database:
    """One of the three: how a question is planned for it, and how statements run on it."""

    schema: Schema
    run: Run
    duckdb: bool
    _made: dict[str, tuple[Plan, BackendQuery]] = field(default_factory=dict)

    def planned(self, name: str) -> tuple[Plan, BackendQuery]:
        if name not in self._made:
            self._made[name] = self._planned(name)
        return self._made[name]

    def _planned(self, name: str) -> tuple[Plan, BackendQuery]:
        text = statements()[name]
        plan = planned(text, self.schema, policy_of(name), mechanism=mechanism_of(text))
        return plan, rewrite(plan, dialect="duckdb", schema=self.schema) if self.duckdb else rewrite(
            plan, schema=self.schema
        )


def policy_of(name: str) -> Policy:
    return demo_policy() if name in demo() else tpch_policy()


@pytest.fixture(scope="session")
def on_postgres(tpch_url: str, tpch_owner_url: str) -> Database:
    with psycopg.connect(tpch_url) as connection:
        return Database(read_schema(connection), postgres(tpch_owner_url), duckdb=False)


@pytest.fixture(scope="session")
def on_duckdb(tpch_duckdb: Path) -> Database:
    schema = DuckdbBackend(tpch_duckdb, NAMESPACE).schema()
    return Database(schema, duckdb(tpch_duckdb, NAMESPACE), duckdb=True)


@pytest.fixture(scope="session")
def on_parquet(
    tpch_duckdb: Path, on_duckdb: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """The same rows as files; keys are the other file's, as a policy would declare them."""
    folder = tmp_path_factory.mktemp("parquet")
    tables = {name: replace(table, namespace="main") for name, table in on_duckdb.schema.tables.items()}
    with connect(tpch_duckdb, read_only=True) as connection:
        for name in tables:
            connection.execute(f'COPY "{NAMESPACE}"."{name}" TO \'{folder / name}.parquet\'')
    with DuckdbBackend(folder).opened(DuckdbLimits()) as connection:

        def run(sql: str) -> Rows:
            return connection.execute(sql.replace(f"{NAMESPACE}.", "main.")).fetchall()

        yield Database(Schema(tables), run, duckdb=True)


OnMirror = tuple[CurrentMirror, Run]


@pytest.fixture(scope="session")
def on_mirror(tpch_url: str, on_postgres: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnMirror]:
    """A copy of the same PostgreSQL, whose catalog the plans are made for."""
    folder = tmp_path_factory.mktemp("mirror")
    policy = replace(demo_policy(), mirror=MirrorPolicy("copy.duckdb", None, 1_000))
    ledger = cast("Ledger", MemoryLedger({}))
    mirror = open_mirror(policy, on_postgres.schema, tpch_url, folder, ledger)
    assert mirror is not None
    refresh_mirror(mirror, policy, tpch_url, ledger, Act("test", "a copy"))
    stamp = mirror.file.stamp()
    assert stamp is not None and mirror.why_not() is None
    with MirrorBackend(mirror.file.path, id=stamp.id).opened(DuckdbLimits()) as connection:
        yield mirror, lambda sql: connection.execute(sql).fetchall()


def test_both_databases_give_the_plain_aggregate_of_the_same_join_tuples(
    on_postgres: Database, on_duckdb: Database
) -> None:
    """Without truncation and noise: COUNT to the last unit, SUM up to the rounding of each row's weight.

    Weights are whole numbers, so nothing but equality will do between the two.
    """
    both = {*sampled(sorted(demo()), 12), *_compared_by_tuples()}
    tpch = sampled(sorted(statements().keys() - demo().keys()), 4)  # which has no rule of its own
    for name in (*demo(), *tpch):
        text = statements()[name]
        databases = (on_postgres, on_duckdb) if ALL or name in both else (on_duckdb,)
        made = [(database, *database.planned(name)) for database in databases]
        for database, plan, query in made:
            assert_same(untruncated(plan, database.run, query), plan, database.run(text))
        if name in _compared_by_tuples():
            assert_same_tuples(name, *((query, database.run) for database, _, query in made))


def _compared_by_tuples() -> set[str]:
    """Questions whose every tuple is read, up to 60,000 of each: a few of the golden ones, all in `make test-all`."""
    return set(statements()) if ALL else set(sampled(sorted(demo()), 4))


def assert_same_tuples(name: str, *made: tuple[BackendQuery, Run]) -> None:
    """Do all of them read the same rows, and name them alike?"""
    (first, run), *others = made
    read = [Counter(map(tuple, run(text))) for text in _statements(first)]
    assert sum(map(len, read)) > 0 or name in EMPTY
    for query, other in others:
        assert (query.relations, query.values) == (first.relations, first.values)
        for rows, text in zip(read, _statements(query), strict=True):
            assert Counter(map(tuple, other(text))) == rows, text


@pytest.mark.slow
def test_so_do_parquet_files(on_duckdb: Database, on_parquet: Database) -> None:
    for name, text in statements().items():
        plan, query = on_parquet.planned(name)
        assert_same(untruncated(plan, on_parquet.run, query), plan, on_parquet.run(text))
        assert_same_tuples(name, (on_duckdb.planned(name)[1], on_duckdb.run), (query, on_parquet.run))


def test_a_mirror_gives_the_same_join_tuples(on_postgres: Database, on_mirror: OnMirror) -> None:
    mirror, run = on_mirror
    names = {*sampled(sorted(statements()), 20), *_compared_by_tuples()}
    for name in sorted(names - POSTGRES_ALONE):
        plan, query = on_postgres.planned(name)
        copied = mirror.query(plan, mirror.schema)
        assert copied is not None and copied.fingerprint == query.fingerprint, "the mirror can be asked"
        if name in _compared_by_tuples():
            assert_same_tuples(name, (query, on_postgres.run), (copied, run))


def test_what_a_mirror_could_answer_otherwise_is_left_to_postgres(on_postgres: Database, on_mirror: OnMirror) -> None:
    for name in sorted(POSTGRES_ALONE):
        assert on_mirror[0].query(on_postgres.planned(name)[0], on_mirror[0].schema) is None


def _statements(query: BackendQuery) -> list[str]:
    every = query.join, query.contributions, *query.distinct, *query.distinct_contributions, *query.domains
    return [text for text in every if text is not None]


def test_every_joined_row_keeps_its_owners(on_postgres: Database, on_duckdb: Database) -> None:
    """The triangles' owners, recomputed without the planner."""
    triangles = (
        "SELECT a.src, b.src, b.dst FROM knows a, knows b, knows c "
        "WHERE a.dst = b.src AND a.src = c.src AND b.dst = c.dst"
    )
    for database in (on_postgres, on_duckdb):
        expected = {frozenset(row) for row in database.run(triangles)}
        join = database.planned("demo triangles")[1].join
        assert join is not None
        assert {frozenset(row[:3]) for row in database.run(join)} == expected
        assert all(len(row) == 3 for row in expected)
