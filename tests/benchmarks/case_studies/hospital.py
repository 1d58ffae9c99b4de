"""A hospital: patients, of whom few come often, their visits within two years, and diagnoses, most of them rare."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.benchmarks.case_studies.study import Study, write_tables

_SEED = 2
_WARDS = ("cardiology", "geriatrics", "maternity", "neurology", "oncology", "surgery")
_CHAPTERS, _CODES, _PHYSICIANS = 12, 300, 120
_DAYS = 731
_DDL = """
CREATE TABLE physician (id integer PRIMARY KEY, specialty varchar NOT NULL);
CREATE TABLE icd (code varchar PRIMARY KEY, chapter varchar NOT NULL);
CREATE TABLE patient (id integer PRIMARY KEY, sex varchar NOT NULL, born integer NOT NULL);
CREATE TABLE visit (
    id integer PRIMARY KEY, patient_id integer NOT NULL REFERENCES patient,
    physician_id integer NOT NULL REFERENCES physician, ward varchar NOT NULL, admitted date NOT NULL,
    days integer NOT NULL, cost double NOT NULL
);
CREATE TABLE diagnosis (
    visit_id integer NOT NULL REFERENCES visit, code varchar NOT NULL REFERENCES icd, PRIMARY KEY (visit_id, code)
);
"""


def write(file: Path, people: int) -> str:
    """So many patients, of whom most come once or twice, and one in a thousand about every week."""
    rng = np.random.default_rng(_SEED)
    often = np.where(rng.random(people) < 0.001, rng.integers(60, 110, people), rng.geometric(0.45, people))
    patient = np.repeat(np.arange(people), often)
    count = len(patient)
    home = rng.choice(len(_WARDS), size=people, p=(0.2, 0.15, 0.15, 0.1, 0.15, 0.25))
    ward = np.where(rng.random(count) < 0.75, home[patient], rng.integers(0, len(_WARDS), count))
    first = rng.integers(0, _DAYS, size=people)[patient]
    soon, any_day = (first + rng.integers(1, 60, count)) % _DAYS, rng.integers(0, _DAYS, count)
    admitted = np.where(rng.random(count) < 0.3, soon, any_day)
    days = rng.geometric(1 / (2.0 + ward), size=count)
    cost = np.minimum(rng.gamma(2.0, 350.0, count) * (1 + days / 3), 60_000)
    chances = np.arange(1, _CODES + 1) ** -1.1
    code = rng.choice(_CODES, size=(count, 2), p=chances / chances.sum())
    pairs = np.unique(np.stack([np.repeat(np.arange(count), 2), code.ravel()], 1), axis=0)
    names = np.array([f"{chr(65 + n % _CHAPTERS)}{n:03}" for n in range(_CODES)])
    begun = np.datetime64(date(2023, 1, 1))
    tables = {
        "physician": pa.table({"id": np.arange(_PHYSICIANS), "specialty": np.resize(_WARDS, _PHYSICIANS)}),
        "icd": pa.table({"code": names, "chapter": [f"chapter {name[0]}" for name in names]}),
        "patient": pa.table(
            {
                "id": np.arange(people),
                "sex": np.where(rng.random(people) < 0.53, "f", "m"),
                "born": np.clip(rng.normal(1972, 22, people), 1920, 2024).astype(np.int64),
            }
        ),
        "visit": pa.table(
            {
                "id": np.arange(count),
                "patient_id": patient,
                "physician_id": rng.integers(0, _PHYSICIANS, count),
                "ward": np.array(_WARDS)[ward],
                "admitted": pa.array(begun + admitted.astype("timedelta64[D]")),
                "days": days,
                "cost": cost.round(2),
            }
        ),
        "diagnosis": pa.table({"visit_id": pairs[:, 0], "code": names[pairs[:, 1]]}),
    }
    write_tables(file, _DDL, tables)
    return f"{people:,} patients with {count:,} visits and {len(pairs):,} diagnoses, made from a seed"


STUDY = Study("hospital", 40_000, write)
