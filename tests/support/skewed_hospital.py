"""A generated hospital in a DuckDB file: few patients have most visits, and costs are as skewed as costs are.

Everything follows from a seed: two files of one size hold the same rows.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from planner.policy.policy import Policy, parse_policy

NAMESPACE = "public"
WARDS = ("Cardiology", "Geriatrics", "Maternity", "Neurology", "Oncology", "Paediatrics", "Surgery", "Urology")
MOST_VISITS, HIGHEST_COST, MOST_DAYS = 200, 20_000, 90
FIRST_DAY, LAST_DAY = "2020-01-01", "2023-12-31"
_VISITS_FALL_BY = 1.7  # the chance of n visits is as (n + 1) to the power of minus this
_SEED = 20240531

_TABLES = f"""
    CREATE SCHEMA {NAMESPACE}; USE {NAMESPACE};
    CREATE TABLE patient (patient_id bigint PRIMARY KEY, ward varchar NOT NULL, born date NOT NULL);
    CREATE TABLE visit (
        visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patient, cost numeric(8, 2) NOT NULL,
        admitted_at timestamp NOT NULL, days integer NOT NULL
    );
"""

_POLICY = f"""
    name = "hospital"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 10.0
    delta = 0.0
    [privacy_units]
    patient = "patient_id"
    [[foreign_keys]]
    table = "visit"
    columns = ["patient_id"]
    references = "patient"
    key = ["patient_id"]
    fanout = {MOST_VISITS}
    [tables.patient.columns]
    ward = {{ domain = [{", ".join(f'"{ward}"' for ward in WARDS)}] }}
    born = {{ range = [1920-01-01, 2023-12-31] }}
    [tables.visit.columns]
    cost = {{ range = [0, {HIGHEST_COST}] }}
    admitted_at = {{ range = [{FIRST_DAY}, {LAST_DAY}] }}
    days = {{ range = [0, {MOST_DAYS}] }}
"""


def skewed_hospital_policy() -> Policy:
    """Patients are protected, with the ranges that the tables keep."""
    return parse_policy(_POLICY)


def load_skewed_hospital(path: Path, patients: int) -> None:
    """Write the database file; a half-written one is left under another name. Cost: a second for 60,000 patients."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    people, visits = _rows(patients, np.random.default_rng(_SEED))
    with duckdb.connect(unfinished) as connection:
        connection.execute(_TABLES)
        connection.register("people", people)
        connection.register("visits", visits)
        connection.execute("INSERT INTO patient SELECT i, ward, DATE '1920-01-01' + born FROM people")
        connection.execute(
            "INSERT INTO visit SELECT i, patient, cents / 100, "
            f"TIMESTAMP '{FIRST_DAY}' + to_seconds(second), days FROM visits"
        )
    unfinished.rename(path)


def _rows(patients: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """People, and their visits: a patient whose visits cost much has long ones, too."""
    chances = np.arange(1, MOST_VISITS + 2) ** -_VISITS_FALL_BY
    counts = rng.choice(MOST_VISITS + 1, size=patients, p=chances / chances.sum())
    owner = np.repeat(np.arange(patients), counts)
    dear, severe = rng.normal(size=patients)[owner], rng.normal(size=len(owner))
    cents = np.minimum(100 * np.exp(6 + 0.5 * dear + severe), 100 * HIGHEST_COST).round().astype(np.int64)
    days = np.exp(0.7 + 0.2 * dear + 0.5 * severe + 0.8 * rng.normal(size=len(owner)))
    days = np.clip(days.round() - 1, 0, MOST_DAYS).astype(np.int64)
    seconds = np.datetime64(LAST_DAY, "s") - np.datetime64(FIRST_DAY, "s")
    people = pa.table(
        {
            "i": np.arange(patients),
            "ward": np.array(WARDS)[np.minimum(rng.geometric(0.3, size=patients) - 1, len(WARDS) - 1)],
            "born": rng.integers(0, 37_000, size=patients).astype(np.int32),
        }
    )
    visits = pa.table(
        {
            "i": np.arange(len(owner)),
            "patient": owner,
            "cents": cents,
            "second": rng.integers(0, seconds.astype(np.int64), size=len(owner)),
            "days": days,
        }
    )
    return people, visits
