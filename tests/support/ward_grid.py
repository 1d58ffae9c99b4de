"""Patients by ward, month and sex in a DuckDB file, some of whom have visits: one row each, and many."""

from __future__ import annotations

from pathlib import Path

import duckdb

from planner.policy.policy import Policy, parse_policy
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.workers.pool import WorkerPool

NAMESPACE = "public"
WARDS = tuple(f"ward {letter}" for letter in "ABCDEFGHIJ")
MONTHS = 12
SEXES = ("female", "male")

_POLICY = f"""
    name = "wards"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 10.0
    delta = 0.0
    [privacy_units]
    patient = "id"
    [tables.patient.columns]
    ward = {{ domain = [{", ".join(f'"{ward}"' for ward in WARDS)}] }}
    month = {{ range = [1, {MONTHS}] }}
    sex = {{ domain = ["female", "male"] }}
    age = {{ range = [0, 120] }}
    [tables.visit.columns]
    place = {{ domain = ["p0", "p1", "p2", "p3"] }}
    kind = {{ domain = ["a", "b", "c"] }}
"""


def ward_policy() -> Policy:
    """Patients are protected. No column need hold declared values alone."""
    return parse_policy(_POLICY)


def load_wards(path: Path, patients: int = 2_000) -> Path:
    """Write the database file: skewed over wards, even over months; one patient in forty has an undeclared value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    wards = ", ".join(f"'{ward}'" for ward in WARDS)
    with duckdb.connect(path) as connection:
        connection.execute(
            f"""
            CREATE SCHEMA {NAMESPACE}; USE {NAMESPACE};
            CREATE TABLE patient (
                id bigint PRIMARY KEY, ward varchar NOT NULL, month integer NOT NULL, sex varchar,
                age integer NOT NULL
            );
            CREATE TABLE visit (
                id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, place varchar NOT NULL,
                kind varchar NOT NULL
            );
            INSERT INTO patient SELECT i,
                CASE WHEN i % 40 = 7 THEN 'elsewhere'
                    ELSE [{wards}][1 + least(9, CAST(floor(sqrt(i * 7919 % 100)) AS integer))] END,
                CASE WHEN i % 40 = 8 THEN 13 ELSE 1 + i * 31 % {MONTHS} END,
                CASE WHEN i % 40 = 9 THEN NULL WHEN i * 17 % 5 < 3 THEN 'female' ELSE 'male' END, i % 100
                FROM range({patients}) t(i);
            INSERT INTO visit SELECT i, i * 13 % {patients}, 'p' || (i % 4), ['a', 'b', 'c'][1 + i % 3]
                FROM range({3 * patients}) t(i);
            """
        )
    return path


def exact(path: Path, sql: str) -> list[tuple[object, ...]]:
    """What the file says."""
    with duckdb.connect(path, read_only=True) as connection:
        connection.execute(f"SET enable_progress_bar = false; USE {NAMESPACE}")
        return connection.execute(sql).fetchall()


def ward_pipeline(path: Path, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    """Answers questions about the file."""
    backend = DuckdbBackend(path, NAMESPACE)
    return Pipeline(ward_policy(), backend.schema(), backend, ledger, workers)
