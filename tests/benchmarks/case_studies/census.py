"""Cross tables of a census: households of one to a hundred people, of which a few are homes and residences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.benchmarks.case_studies.study import Study, write_tables

_SEED = 1
_REGIONS = 16
_SIZES = (0.36, 0.30, 0.14, 0.13, 0.05, 0.02)
_TENURES = ("owned", "rented", "social", "institution")
_SCHOOLS = ("none", "primary", "secondary", "vocational", "tertiary")
_DDL = """
CREATE TABLE region (id integer PRIMARY KEY, name varchar NOT NULL);
CREATE TABLE household (
    id integer PRIMARY KEY, region_id integer NOT NULL REFERENCES region, tenure varchar NOT NULL,
    rooms integer NOT NULL
);
CREATE TABLE person (
    id integer PRIMARY KEY, household_id integer NOT NULL REFERENCES household, age integer NOT NULL,
    sex varchar NOT NULL, education varchar NOT NULL, employed boolean NOT NULL, income double NOT NULL
);
"""


def write(file: Path, people: int) -> str:
    """About so many people. One household in a thousand is a home or a residence of 30 to 100 people."""
    rng = np.random.default_rng(_SEED)
    households = round(people / 2.3)
    sizes = rng.choice(np.arange(1, 7), size=households, p=_SIZES)
    homes = rng.random(households) < 0.001
    sizes[homes] = rng.integers(30, 101, size=int(homes.sum()))
    tenure = rng.choice(3, size=households, p=(0.5, 0.38, 0.12))
    tenure[homes] = 3
    shares = rng.dirichlet(np.full(_REGIONS, 2.0))
    region = rng.choice(_REGIONS, size=households, p=shares)
    rooms = np.clip(sizes + rng.integers(0, 3, size=households), 1, 12)
    owner = np.repeat(np.arange(households), sizes)
    count = len(owner)
    first = np.r_[True, owner[1:] != owner[:-1]]
    adult = first | (rng.random(count) < 0.45) | homes[owner]
    age = np.where(adult, np.clip(rng.normal(50, 18, count), 18, 99), rng.integers(0, 18, count)).astype(np.int64)
    school = np.where(age < 18, (age > 10).astype(np.int64), rng.choice(5, count, p=(0.02, 0.08, 0.3, 0.35, 0.25)))
    employed = (age >= 18) & (age < 66) & (rng.random(count) < 0.55 + 0.08 * school)
    income = np.where(employed, np.exp(rng.normal(9.9 + 0.15 * school, 0.6)), 0.0)
    tables = {
        "region": pa.table({"id": np.arange(_REGIONS), "name": [f"region {n + 1:02}" for n in range(_REGIONS)]}),
        "household": pa.table(
            {"id": np.arange(households), "region": region, "tenure": np.array(_TENURES)[tenure], "rooms": rooms}
        ),
        "person": pa.table(
            {
                "id": np.arange(count),
                "household_id": owner,
                "age": age,
                "sex": np.where(rng.random(count) < 0.51, "f", "m"),
                "education": np.array(_SCHOOLS)[school],
                "employed": employed,
                "income": income.round(2),
            }
        ),
    }
    write_tables(file, _DDL, tables)
    return f"{count:,} people in {households:,} households of {_REGIONS} regions, made from a seed"


STUDY = Study("census", 200_000, write)
