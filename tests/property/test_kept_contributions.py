"""Contributions that a mirror keeps are those that PostgreSQL computes for that data version, to the bit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import psycopg
import pytest

from planner.kept_contributions import KeptContributions, kept_contributions
from planner.plan import Plan
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.join_tuples import JoinTuples
from privacy.truncation.encode import encode
from privacy.truncation.histograms import ContributionHistogram
from server.backends.backend import MirrorFirst, Source
from server.backends.mirror import CurrentMirror, Stamp, contributions_place
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.postprocessing.composition import Composition
from server.query import QueryRequest
from server.startup.mirror import open_mirror, refresh_mirror
from server.workers.pool import WorkerPool
from tests.support.planning import planned
from tests.support.seeds import SEED, examples

ACT = Act("grace", "a test")
TABLES = """
DROP TABLE IF EXISTS shared, line, visit, person;
CREATE TABLE person (id bigint PRIMARY KEY);
CREATE TABLE visit (id bigint PRIMARY KEY, person bigint, x numeric(8,2), f float8, "Of Day" integer NOT NULL);
CREATE TABLE line (visit bigint, y smallint);
CREATE TABLE shared (one bigint REFERENCES person, other bigint REFERENCES person, y integer);
"""
POLICY = """
name = "clinic"
[database]
url = "env:NOISEGATE_UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 8.0
delta = 1e-6
[privacy_units]
person = "id"
[[foreign_keys]]
table = "visit"
columns = ["person"]
references = "person"
key = ["id"]
[[foreign_keys]]
table = "line"
columns = ["visit"]
references = "visit"
key = ["id"]
[tables.person]
[tables.visit.columns]
x = { range = [-20, 100] }
f = { range = [0, 1] }
"Of Day" = { range = [0, 9] }
[tables.line.columns]
y = { range = [0, 50] }
[tables.shared.columns]
y = { range = [0, 50] }
[mirror]
path = "copy.duckdb"
holds = "contributions"
"""
KEPT: Mapping[str, str | None] = {
    "SELECT count(*) FROM visit": None,
    "SELECT sum(x) FROM visit": None,
    "SELECT avg(f) FROM visit": None,
    'SELECT sum("Of Day") FROM visit v': "group_lp",
    "SELECT count(x), count(*), sum(f), avg(x) FROM visit": None,
    "SELECT count(*) FROM line": "s4s_vector",
    "SELECT sum(y) FROM line": "pmsja",
    "SELECT avg(y), count(*) FROM line": None,
}
"""By question: the mechanism that it names, if any."""

OTHERS = (
    "SELECT count(*) FROM visit WHERE x > 0",
    "SELECT sum(x) FILTER (WHERE f > 0.5) FROM visit",
    'SELECT "Of Day", count(*) FROM visit GROUP BY "Of Day"',
    "SELECT count(*) FROM visit JOIN line ON visit = id",
    "SELECT count(DISTINCT x) FROM visit",
    "SELECT count(*) FROM person",
    "SELECT count(*) FROM shared",
    "SELECT count(*) FROM visit TABLESAMPLE BERNOULLI (50)",
)


@dataclass(frozen=True)
class World:
    """A database, and the mirror of contributions beside it."""

    url: str
    policy: Policy
    schema: Schema
    ledger: Ledger
    mirror: CurrentMirror

    @property
    def backend(self) -> PostgresBackend:
        """The database."""
        return PostgresBackend(self.url)

    def refreshed(self) -> None:
        """Make the contributions again."""
        refresh_mirror(self.mirror, self.policy, self.url, self.ledger, ACT)

    def plan(self, sql: str) -> Plan:
        """The plan of a question."""
        mechanism = KEPT.get(sql)
        return planned(sql, self.schema, self.policy, mechanism=mechanism, delta=1e-6 if mechanism else 0.0)

    def source(self, sql: str) -> Source:
        """Where a question is read."""
        plan = self.plan(sql)
        version = self.ledger.data_version()
        return self.mirror.source(plan, self.mirror.query(plan, self.schema), version, self.backend)

    def read(self, source: Source, sql: str) -> object:
        """What is measured of a question, without the order of people, and without their keys."""
        _, tuples = source.read(rewrite(self.plan(sql), schema=self.schema))
        join = tuples.join
        if isinstance(join, ContributionHistogram):
            columns = (join.sums, join.group, join.interval, join.units, join.totals)
            return sorted(zip(*(column.tolist() for column in columns), strict=True)), join.thresholds.tolist()
        assert isinstance(join, JoinTuples), "no other form is kept"
        coded = encode(join)
        return Counter(map(tuple, np.asarray(coded.weights).T.tolist())), coded.n_groups


@pytest.fixture
def world(scratch_url: str, tmp_path: Path) -> Iterator[World]:
    with psycopg.connect(scratch_url) as connection:
        connection.execute(TABLES)
        policy = parse_policy(POLICY)
        schema = with_declared_keys(read_schema(connection), policy)
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "policy.ledger.json")
    mirror = open_mirror(policy, schema, scratch_url, tmp_path, ledger)
    assert mirror is not None
    yield World(scratch_url, policy, schema, ledger, mirror)
    ledger.close()


def _fill(url: str, rng: random.Random) -> None:
    """Random rows: people without rows and with many, NULL and unknown owners, NaN, infinity and values outside."""
    people = range(rng.randint(0, 12))
    owners = [None, 99, *people]
    visits = [
        (one, rng.choice(owners), rng.choice([None, "NaN", -30, -0.01, 7.25, 99.99, 500]),
         rng.choice([None, "NaN", "Infinity", 0.1, 0.3, 1e-300, rng.random()]), rng.randint(-1, 11))
        for one in range(rng.choice([0, 5, 60]))
    ]  # fmt: skip
    numbers = range(rng.choice([0, 90]))
    lines = [(rng.choice([None, 1_000, *range(70)]), rng.choice([None, -5, 3, 50, 60])) for _ in numbers]
    pairs = [(rng.choice(people), rng.choice(people), 1) for _ in range(5)] if people else []
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("TRUNCATE person CASCADE; TRUNCATE visit, line")
        rows: dict[str, list[tuple[Any, ...]]] = {"person": [(one,) for one in people], "visit": visits}
        for table, values in (rows | {"line": lines, "shared": pairs}).items():
            for row in values:
                cursor.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})".encode(), row)


def _check(world: World, rng: random.Random) -> None:
    """Compare every question with the database, before and after rows are deleted."""
    _fill(world.url, rng)
    for change in ("", "DELETE FROM visit WHERE id % 3 = 0", "DELETE FROM person WHERE id % 2 = 0 AND id NOT IN "
                   "(SELECT one FROM shared UNION SELECT other FROM shared)"):  # fmt: skip
        if change:
            stale = {sql: world.read(world.source(sql), sql) for sql in KEPT}
            with psycopg.connect(world.url) as connection:
                connection.execute(change.encode())
            for sql in KEPT:
                assert world.read(world.source(sql), sql) == stale[sql], f"{sql}: of the recorded data version"
            world.ledger.bump_data(ACT)
            for sql in KEPT:
                assert isinstance(world.source(sql), PostgresBackend), f"{sql}: not of another data version"
        world.refreshed()
        for sql in KEPT:
            source = world.source(sql)
            assert isinstance(source, MirrorFirst), sql
            assert world.read(source, sql) == world.read(world.backend, sql), sql
        for sql in OTHERS:
            assert isinstance(world.source(sql), PostgresBackend), sql


def test_kept_contributions_are_the_databases(world: World) -> None:
    for example in range(examples(1, 10)):
        _check(world, random.Random(f"{SEED} {example}"))


def test_a_total_that_compares_with_an_answer_is_read_in_the_database(world: World) -> None:
    """The answer's table is in no mirror, and what was kept knows no condition."""
    _fill(world.url, random.Random(f"{SEED}"))
    world.refreshed()
    pool = cast("WorkerPool", None)
    planning = Pipeline(world.policy, world.schema, world.backend, world.ledger, pool, mirror=world.mirror).planning
    found = planning.planned(QueryRequest("ada", "SELECT count(*) FROM visit WHERE x > (SELECT avg(x) FROM visit)"))
    assert isinstance(found, Composition)
    sources = {len(part.question.tables): planning.source(part.question) for part in found.parts}
    assert isinstance(sources[0], MirrorFirst) and isinstance(sources[1], PostgresBackend)


def _any_question(self: Stamp, alone: Sequence[str]) -> str | None:
    columns = ", ".join(f'"w0" AS "w{place}"' for place in range(len(alone)))
    return f'SELECT rowid AS "o0", {columns} FROM {contributions_place(0)}' if alone else None


def _another_sum(self: Stamp, alone: Sequence[str]) -> str | None:
    found = _CONTRIBUTIONS(self, alone)
    return None if found is None else found.replace('"w1" AS', '"w0" AS')


def _without_owners(schema: Schema, policy: Policy) -> Iterator[KeptContributions]:
    for one in kept_contributions(schema, policy):
        columns = ", ".join(f"w{place}" for place in range(len(one.alone)))
        yield replace(one, statement=f"SELECT 0 AS o0, {columns} FROM ({one.statement}) AS r")


_CONTRIBUTIONS = Stamp.contributions
_MUTANTS = {
    "conditions do not count": ("server.backends.mirror.Stamp.contributions", _any_question),
    "the sum does not count": ("server.backends.mirror.Stamp.contributions", _another_sum),
    "rows without an owner are a person": ("server.startup.mirror.kept_contributions", _without_owners),
}


@pytest.mark.parametrize("mutant", _MUTANTS)
def test_the_property_finds_a_mutant(mutant: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*_MUTANTS[mutant])
    with pytest.raises(AssertionError):
        for example in range(20):
            _check(world, random.Random(f"{SEED} {example}"))


def test_the_property_finds_a_mirror_that_does_not_look_at_the_data_version(world: World) -> None:
    def current() -> tuple[int, str | None]:
        stamp = world.mirror.file.stamp()
        return world.ledger.data_version(), None if stamp is None else stamp.id

    with pytest.raises(AssertionError, match="not of another data version"):
        _check(replace(world, mirror=replace(world.mirror, load=current)), random.Random(SEED))
