"""A clinic's patients and visits in a DuckDB file behind a served proxy: years, wards, and towns that are found."""

from __future__ import annotations

from pathlib import Path

import duckdb

from server.backends.embedded import EmbeddedPostgres
from server.demo.workplace import Demonstration
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create

ACT = Act("cora", "a test")
WARDS = ("Cardiology", "Geriatrics", "Maternity", "Neurology", "Oncology", "Surgery")
PATIENTS = 4_000

_POLICY = f"""
name = "clinic"
[database]
url = "duckdb:///clinic.duckdb"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 4.0
delta = 1e-6
[privacy_units]
patient = "id"
[tables.patient.columns]
sex = {{ domain = ["diverse", "female", "male"] }}
born = {{ range = [1930, 2024] }}
town = {{ discover = true }}
[tables.visit.columns]
ward = {{ domain = [{", ".join(f'"{ward}"' for ward in WARDS)}] }}
kind = {{ domain = ["emergency", "inpatient", "outpatient"] }}
admitted = {{ range = [2021-01-01, 2024-12-31], step = "day" }}
year = {{ range = [2021, 2024] }}
cost = {{ range = [0, 20000] }}
[tables.ward]
public = true
"""

_TABLES = f"""
CREATE TABLE ward (name varchar PRIMARY KEY, opened integer NOT NULL, beds integer NOT NULL);
INSERT INTO ward SELECT unnest({list(WARDS)}), 1960 + unnest(range({len(WARDS)})) * 9, 12;
CREATE TABLE patient (id bigint PRIMARY KEY, sex varchar NOT NULL, born integer NOT NULL, town varchar NOT NULL);
CREATE TABLE visit (
    id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, ward varchar NOT NULL, kind varchar NOT NULL,
    admitted date NOT NULL, year integer NOT NULL, cost double NOT NULL
);
INSERT INTO patient SELECT i, CASE WHEN i % 50 = 0 THEN 'diverse' WHEN i % 2 = 0 THEN 'female' ELSE 'male' END,
    1930 + i * 7 % 95, 'Town ' || CAST(floor(sqrt(i * 7919 % 100)) AS integer) FROM range({PATIENTS}) t(i);
INSERT INTO visit SELECT i, i * 13 % {PATIENTS}, {list(WARDS)}[1 + CAST(floor(sqrt(i * 31 % 36)) AS integer)],
    ['emergency', 'inpatient', 'outpatient'][1 + i % 3], day, year(day), 100 + i * 37 % 4900 FROM (
    SELECT i, DATE '2021-01-01' + CAST(i * 17 % 1461 AS integer) AS day FROM range({3 * PATIENTS}) t(i));
"""


def clinic_demonstration(folder: Path) -> Demonstration:
    """The clinic's file and policy in a folder; its ledger is made by who adds the first analyst."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(folder / "clinic.duckdb") as connection:
        connection.execute(_TABLES)
    place = Demonstration(folder, EmbeddedPostgres(folder, folder), "", "")  # which is not started
    place.policy.write_text(_POLICY)
    return place


def ledger_of(place: Demonstration) -> Ledger:
    """Its ledger, made where there is none; to be closed."""
    return open_or_create(read_policy(place.policy), place.policy)[0]
