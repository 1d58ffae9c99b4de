"""A small hospital in three schemas, with tables of one name in all of them, and what no answer can be about."""

from __future__ import annotations

import psycopg

from planner.policy.policy import Policy, parse_policy

TABLES = """
    CREATE SCHEMA clinic;
    CREATE SCHEMA ref;
    CREATE SCHEMA "Lab.1";
    CREATE SCHEMA closed;
    CREATE TABLE ref.ward (id int PRIMARY KEY, name text NOT NULL);
    CREATE TABLE ref.visit (id int PRIMARY KEY, name text NOT NULL);
    CREATE TABLE ref.code (id int PRIMARY KEY, name text NOT NULL);
    CREATE TABLE clinic.patient (id int PRIMARY KEY, born int NOT NULL);
    CREATE TABLE clinic.visit (
        id int PRIMARY KEY, patient int NOT NULL REFERENCES clinic.patient, ward int REFERENCES ref.ward, cost int);
    CREATE TABLE public.visit (id int PRIMARY KEY, of int NOT NULL REFERENCES clinic.visit, note int);
    CREATE TABLE public.ward (id int PRIMARY KEY, patient int NOT NULL REFERENCES clinic.patient);
    CREATE TABLE "Lab.1"."Result.2" (id int PRIMARY KEY, patient int REFERENCES clinic.patient, "Value" int);
    CREATE TABLE public."a.b" (id int PRIMARY KEY, name text);
    CREATE VIEW clinic.code AS SELECT id, ward AS name FROM clinic.visit;
    CREATE MATERIALIZED VIEW clinic.costs AS SELECT ward, sum(cost) FROM clinic.visit GROUP BY 1;
    CREATE TABLE clinic.event (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE clinic.event_2023 PARTITION OF clinic.event FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
    CREATE TABLE clinic.event_2024 PARTITION OF clinic.event FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    CREATE TABLE clinic.secret (id int PRIMARY KEY);
    CREATE TABLE clinic.log (line text);
    CREATE TABLE closed.person (id int PRIMARY KEY);
    INSERT INTO ref.ward SELECT n, 'ward ' || n FROM generate_series(1, 4) n;
    INSERT INTO ref.visit SELECT n, 'visit ' || n FROM generate_series(1, 3) n;
    INSERT INTO ref.code SELECT n, 'code ' || n FROM generate_series(1, 5) n;
    INSERT INTO clinic.patient SELECT n, 1900 + n FROM generate_series(1, 40) n;
    INSERT INTO clinic.visit SELECT n, 1 + n % 40, 1 + n % 4, n % 7 FROM generate_series(1, 200) n;
    INSERT INTO public.visit SELECT n, n, n % 5 FROM generate_series(1, 90) n;
    INSERT INTO public.ward SELECT n, 1 + n % 40 FROM generate_series(1, 30) n;
    INSERT INTO "Lab.1"."Result.2" SELECT n, 1 + n % 40, n % 9 FROM generate_series(1, 60) n;
"""

POLICY = """
name = "hospital"
schemas = ["clinic", "ref"]
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 2.0
[privacy_units]
patient = "id"
[tables.patient.columns]
born = { range = [1900, 2000] }
[tables.visit.columns]
cost = { range = [0, 6] }
[tables."public.visit".columns]
note = { range = [0, 4] }
[tables."public.ward"]
[tables.'"Lab.1"."Result.2"'.columns]
Value = { range = [0, 8] }
[tables."ref.ward"]
public = true
[tables."ref.visit"]
public = true
[tables."ref.code"]
public = true
"""


def hospital_policy() -> Policy:
    """Tables of clinic, of ref and of two other schemas that are on no path."""
    return parse_policy(POLICY)


def load_hospital(url: str) -> None:
    """Fill an empty database."""
    with psycopg.connect(url) as connection:
        connection.execute(TABLES.encode())
