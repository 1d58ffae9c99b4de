"""What a database counts of loads is what its people have, and one person moves each truncated sum by tau at most."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.join_tuples import JoinTuples
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import ContributionHistogram
from privacy.truncation.truncated_answer import TruncatedAnswer
from server.backends.duckdb import DuckdbBackend
from tests.support.seeds import sampled
from tests.support.truncated import truncated

AT_ONE = Thresholds(0, 0)
"""What groups are selected at."""

PEOPLE, WARDS = 12, 3

TABLES = """
    CREATE TABLE ward (id bigint PRIMARY KEY, name varchar);
    CREATE TABLE patient (id bigint PRIMARY KEY, ward bigint REFERENCES ward, age integer NOT NULL, home double,
        town varchar);
    CREATE TABLE place (id bigint PRIMARY KEY);
    INSERT INTO place SELECT 9007199254740984 + i FROM range(16) AS t(i);
    CREATE TABLE visit (patient_id bigint REFERENCES patient, cost decimal(8, 2), days integer NOT NULL,
        number bigint PRIMARY KEY);
"""
POLICY = """
    name = "wards"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 4.0
    delta = 0.0
    [privacy_units]
    patient = "id"
    [tables.ward]
    public = true
    [tables.place]
    public = true
    [tables.visit.columns]
    cost = { range = [-50, 200] }
    days = { range = [0, 9] }
    [tables.patient.columns]
    age = { range = [0, 100] }
"""
ATTACHED = "visit v JOIN patient p ON v.patient_id = p.id JOIN ward w ON p.ward = w.id"
QUESTIONS = [
    f"SELECT w.name, count(*), sum(v.cost) FROM {ATTACHED} GROUP BY w.name",
    "SELECT w.name, sum(v.days) FROM ward w, patient p, visit v WHERE v.patient_id = p.id AND p.ward = w.id"
    " GROUP BY w.name",
    f"SELECT sum(v.cost) FROM {ATTACHED}",
    f"SELECT w.name, count(*) FROM {ATTACHED} WHERE p.age > 30 GROUP BY w.name",
    f"SELECT w.name, v.days, count(*) FROM {ATTACHED} GROUP BY w.name, v.days",
    f"SELECT w.name, sum(v.days) FILTER (WHERE v.cost > 0) FROM {ATTACHED} JOIN ward x ON x.id = p.ward"
    " GROUP BY w.name",
    "SELECT count(*), sum(cost) FROM visit",
    "SELECT count(*) FROM visit v JOIN patient p ON v.patient_id = p.id JOIN place q ON q.id = p.home",
    "SELECT w.name, count(*) FROM patient p JOIN ward w ON w.id = p.ward WHERE EXISTS (SELECT 1 FROM visit v WHERE"
    " v.patient_id = p.id AND v.days > 3) GROUP BY w.name",
]


@cache
def schema_of(backend: DuckdbBackend) -> Schema:
    """Its catalog, which is read once: it takes longer than the rows."""
    return backend.schema()


class Clinic:
    """Generated rows in a DuckDB file, with or without one of the people."""

    def __init__(self, folder: Path, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._folder = folder
        self._patients = [
            (
                person,
                None if rng.random() < 0.2 else int(rng.integers(WARDS)),
                int(rng.integers(0, 110)),
                ("Aalen", "Berne", None)[person % 3],
            )
            for person in range(PEOPLE)
        ]
        self._visits = [
            (
                None if rng.random() < 0.1 else int(rng.zipf(1.4) % PEOPLE),
                None if rng.random() < 0.1 else round(float(rng.normal(40, 90)), 2),
                int(rng.integers(0, 12)),
                number,
            )
            for number in range(60)
        ]

    def without(self, person: int | None) -> DuckdbBackend:
        path = self._folder / f"{person}.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute("CREATE SCHEMA public; USE public")
            connection.execute(TABLES)
            connection.executemany("INSERT INTO ward VALUES (?, ?)", [(0, "north"), (1, "south"), (2, None)])
            patients = [row for row in self._patients if row[0] != person]
            connection.executemany("INSERT INTO patient VALUES (?, ?, ?, 9007199254740992, ?)", patients)
            visits = [row for row in self._visits if row[0] is None or row[0] != person]
            connection.executemany("INSERT INTO visit VALUES (?, ?, ?, ?)", visits)
        return DuckdbBackend(path, "public")


def values(
    backend: DuckdbBackend, sql: str, policy: Policy, *, contributions: bool
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Per sum, (groups, thresholds) truncated, and the thresholds, in units."""
    schema = schema_of(backend)
    validate(policy, schema)
    plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism="group_lp")
    query = rewrite(plan, dialect="duckdb", schema=schema, contributions=contributions)
    _, found = backend.read(query)
    assert isinstance(found.join, ContributionHistogram if contributions else JoinTuples)
    threshold_sets = [plan.thresholds(release) for release in plan.releases]
    if plan.selection is not None:
        threshold_sets.append(AT_ONE)
    return [
        solved(truncated(found.join, row, thresholds, 0.0), thresholds)
        for row, thresholds in enumerate(threshold_sets)
    ]


def solved(answer: TruncatedAnswer, thresholds: Thresholds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(groups, thresholds) truncated, and the thresholds, in units."""
    levels = range(len(thresholds))
    found = np.array([[answer.solve(group, level) for level in levels] for group in range(answer.n_groups)], np.int64)
    return found.reshape(answer.n_groups, len(thresholds)), thresholds.units


@pytest.mark.parametrize("seed", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_loads_say_what_people_have_and_one_person_moves_them_by_tau(tmp_path: Path, seed: int) -> None:
    """Of one seed beside the weight that groups are selected by."""
    selecting = "delta = 0.0\n    minimum_frequency = 3" if seed else "delta = 0.0"
    policy, clinic = parse_policy(POLICY.replace("delta = 0.0", selecting)), Clinic(tmp_path, seed)
    everybody = clinic.without(None)
    others = [clinic.without(person) for person in sampled(range(0, PEOPLE, 3), 2)]
    for sql in sampled(QUESTIONS, 5):
        whole = values(everybody, sql, policy, contributions=True)
        units = values(everybody, sql, policy, contributions=False)
        assert all((one == other).all() for (one, _), (other, _) in zip(whole, units, strict=True)), sql
        for other in others:
            for (more, taus), (fewer, _) in zip(whole, values(other, sql, policy, contributions=True), strict=True):
                assert (more >= fewer).all() and (more - fewer <= taus).all(), sql
