"""By-group sums of people: both databases add up what people of each length have, and no person leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.join_tuples import CodedJoinTuples, DistinctTuples, JoinTuples
from privacy.truncation.encode import encode
from privacy.truncation.histograms import NormHistogram
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend, connected
from server.backends.postgres_catalog import read_schema
from server.workers.measure import _values_of_units, measure, plan_measurements
from tests.support.lengths import lengths_of

PEOPLE, PLACES, ROWS = 200, 5, 1_200

TABLES = """
    CREATE TABLE person (id bigint PRIMARY KEY, ward varchar NOT NULL);
    CREATE TABLE town (name varchar PRIMARY KEY, part varchar NOT NULL);
    CREATE TABLE visit (
        id bigint PRIMARY KEY, person bigint REFERENCES person, town varchar NOT NULL REFERENCES town,
        place varchar, grade integer, cost integer NOT NULL
    );
"""
POLICY = """
    name = "visits"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 10.0
    delta = 1e-6
    [privacy_units]
    person = "id"
    [tables.town]
    public = true
    [tables.visit.columns]
    place = { domain = ["p0", "p1", "p2", "p3", "p4"], null_group = true }
    grade = { range = [0, 5] }
    cost = { range = [0, 200] }
"""
QUESTIONS = [
    "SELECT town, sum(cost) FROM visit GROUP BY town",
    "SELECT town, count(*), sum(cost) FROM visit GROUP BY town",
    "SELECT t.part, count(*) FROM visit JOIN town t ON t.name = visit.town GROUP BY t.part",
    "SELECT place, count(*), sum(cost) FROM visit GROUP BY place",
    "SELECT grade, town, sum(cost) FROM visit GROUP BY grade, town",
    "SELECT grade / 2, count(*) FROM visit GROUP BY 1",
    "SELECT place, count(DISTINCT id) FROM visit GROUP BY place",
    "SELECT town, count(DISTINCT id), count(*) FROM visit GROUP BY town",
]
"""Of public keys, of declared ones outside of which rows lie, NULL or not, and of numbers of their own values."""

Asked = tuple[Backend, Schema]


def rows() -> Iterator[tuple[object, ...]]:
    """Of people few of whom have most, some of nobody, some in no group."""
    rng = np.random.default_rng(1)
    for number in range(ROWS):
        person = int(rng.zipf(1.4)) % PEOPLE
        owner = None if rng.random() < 0.05 else person
        place = None if rng.random() < 0.1 else f"p{int(rng.integers(PLACES + 2))}"
        grade = None if rng.random() < 0.1 else int(rng.integers(-1, 8))
        yield number, owner, f"t{int(rng.integers(4))}", place, grade, int(rng.integers(-80, 230))


def filled(run: Callable[[str, list[tuple[object, ...]]], object], mark: str) -> None:
    """Insert all rows; `mark`: how the driver spells a parameter."""
    run(f"INSERT INTO person VALUES ({mark}, {mark})", [(number, "w") for number in range(PEOPLE)])
    run(f"INSERT INTO town VALUES ({mark}, {mark})", [(f"t{number}", f"part {number % 2}") for number in range(4)])
    run(f"INSERT INTO visit VALUES ({', '.join([mark] * 6)})", list(rows()))


@pytest.fixture(params=["duckdb", "postgres"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Asked:
    """The same rows in either database."""
    if request.param == "duckdb":
        with duckdb.connect(tmp_path / "visits.duckdb") as connection:
            connection.execute(TABLES)
            filled(connection.executemany, "?")
        here = DuckdbBackend(tmp_path / "visits.duckdb")
        return here, here.schema()
    url = request.getfixturevalue("scratch_url")
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(TABLES)
        filled(server.cursor().executemany, "%s")
    with connected(url, 0) as connection:
        return PostgresBackend(url), read_schema(connection)


def plan_of(sql: str, schema: Schema, mechanism: str) -> tuple[Plan, Policy]:
    policy = parse_policy(POLICY)
    delta = 1e-6 if mechanism == "l2_clip" else 0.0
    bound = bind(parse(sql), schema, policy)
    return make_plan(bound, schema, policy, epsilon=1.0, delta=delta, mechanism=mechanism), policy


def by_unit(coded: CodedJoinTuples) -> list[list[list[int]]]:
    """Per sum, every unit's vector."""
    group = np.repeat(np.arange(coded.n_groups), np.diff(coded.row_start))
    units = coded.units[coded.members[0]]
    found = np.zeros((len(coded.weights), int(units.max()) + 1, coded.n_groups), np.int64)
    for row, weights in enumerate(coded.weights):
        np.add.at(found[row], (units, group), weights)
    return [[[int(part) for part in vector] for vector in vectors] for vectors in found]


def rows_of(histogram: NormHistogram) -> list[tuple[int, ...]]:
    lengths = histogram.norms
    cells = zip(histogram.sums, histogram.group, histogram.interval, histogram.totals, histogram.shares, strict=True)
    units = zip(lengths.sums, lengths.interval, lengths.units, lengths.totals, strict=True)
    return sorted(tuple(map(int, row)) for row in (*cells, *units))


@pytest.mark.parametrize("mechanism", ["l1_clip", "l2_clip"])
def test_databases_add_up_what_people_have(asked: Asked, mechanism: str) -> None:
    """To the bit what is added up person by person; and no more than a row per group, sum and threshold is read."""
    backend, schema = asked
    for sql in QUESTIONS:
        plan, _ = plan_of(sql, schema, mechanism)
        query = rewrite(plan, dialect=backend.dialect, schema=schema)
        domain, counted = backend.read(query)
        _, read = backend.read(rewrite(plan, dialect=backend.dialect, schema=schema, contributions=False))
        assert "no unit's key leaves it" in plan.reason
        both = [counted.join, *counted.distinct], [read.join, *read.distinct]
        for place, (ours, theirs) in enumerate(zip(*both, strict=True)):
            if theirs is None:
                continue
            assert isinstance(ours, NormHistogram), sql
            assert isinstance(theirs, JoinTuples | DistinctTuples)
            coded = encode(theirs) if isinstance(theirs, JoinTuples) else _values_of_units(theirs)
            vectors, euclidean = by_unit(coded), mechanism == "l2_clip" and place == 0
            wanted = lengths_of(vectors, len(domain), query.thresholds, euclidean=euclidean)
            inside = (ours.group >= 0) & (ours.totals > 0)
            columns = ("sums", "group", "interval", "totals", "shares")
            ours = replace(ours, **{name: getattr(ours, name)[inside] for name in columns})
            found, exact = rows_of(ours), rows_of(wanted)
            assert [row[:4] for row in found] == [row[:4] for row in exact], sql
            less = [other[-1] - row[-1] for row, other in zip(found, exact, strict=True) if len(row) > 4]
            assert set(less) <= ({0} if euclidean else {*range(ROWS)}), "rows of one group are rounded one by one"
            cells = (len(domain) + 1) * len(vectors) * (len(query.thresholds) + 1)
            assert len(ours.group) + len(ours.norms.units) <= cells


def test_sums_over_both_signs_are_read_person_by_person(asked: Asked) -> None:
    """Whose length is that of what is left, which no sum of weights says."""
    _, schema = asked
    plan, _ = plan_of("SELECT town, sum(cost - 100) FROM visit GROUP BY town", schema, "l1_clip")
    assert plan.releases[0].less is not None
    query = rewrite(plan)
    assert query.contributions is None and not query.by_norm and query.thresholds == ()


def test_answers_are_the_plain_ones_where_noise_is_nothing(asked: Asked) -> None:
    """Laplace noise is beyond forty scales with a chance of 1e-16 in 4 groups.

    What epsilon buys of Gaussian noise with this delta ends sooner: the test of every sum says more there.
    """
    backend, schema = asked
    plan, policy = plan_of("SELECT town, count(*) FROM visit GROUP BY town", schema, "l1_clip")
    plan = replace(plan, releases=tuple(replace(one, epsilon=1e6) for one in plan.releases))
    query = rewrite(plan, dialect=backend.dialect, schema=schema)
    domain, (noisy,) = measure(backend, query, plan_measurements(plan, policy))
    wanted = dict.fromkeys(domain.keys[0], 0)
    for _, person, town, *_ in rows():
        wanted[town] += person is not None
    assert noisy.noise_scale.max() < 0.01
    assert noisy.values == pytest.approx(list(wanted.values()), abs=0.4)
