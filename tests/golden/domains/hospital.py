"""A hospital whose rows fall into every group that there can be, and whose columns are NULL now and then."""

from __future__ import annotations

TABLES = (
    "CREATE TABLE drug (id int PRIMARY KEY, name text NOT NULL, atc char(5) NOT NULL)",
    "CREATE TABLE diagnosis (code text PRIMARY KEY, title text NOT NULL, chapter int NOT NULL, severity text)",
    "CREATE TABLE patient (id int PRIMARY KEY, sex char(1) NOT NULL, birth date NOT NULL, city varchar(30), "
    "smoker boolean)",
    "CREATE TABLE visit (id bigint PRIMARY KEY, patient int NOT NULL REFERENCES patient, came timestamptz NOT NULL, "
    "ward text NOT NULL, kind text, emergency boolean NOT NULL, days smallint NOT NULL, "
    "diagnosis text REFERENCES diagnosis, drug int NOT NULL REFERENCES drug, "
    "cost numeric(4, 1) NOT NULL)",
)

ROWS = (
    "INSERT INTO drug SELECT i, 'drug' || i, 'N0' || (i % 5) || 'AB' FROM generate_series(1, 40) AS s(i)",
    "INSERT INTO diagnosis SELECT 'D' || i, 'disease ' || i, 1 + i % 8, "
    "CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN 'mild' WHEN 2 THEN 'moderate' ELSE 'severe' END "
    "FROM generate_series(1, 60) AS s(i)",
    "INSERT INTO patient SELECT i, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, "
    "DATE '1930-01-01' + CAST(i * 82 % 32800 AS int), "
    "CASE i % 5 WHEN 0 THEN 'Graz' WHEN 1 THEN 'Linz' WHEN 2 THEN 'Wels' WHEN 3 THEN 'Wien' END, "
    "CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END FROM generate_series(1, 400) AS s(i)",
    "INSERT INTO visit SELECT i, 1 + i % 400, "
    "CAST('2022-01-01 00:30:00+00' AS timestamptz) + (i * 13 % 26304) * INTERVAL '1 hour', "
    "CASE WHEN i % 11 < 3 THEN 'A' WHEN i % 11 < 6 THEN 'B' WHEN i % 11 < 9 THEN 'C' ELSE 'ICU' END, "
    "CASE WHEN i % 13 < 4 THEN 'inpatient' WHEN i % 13 < 8 THEN 'outpatient' WHEN i % 13 < 11 THEN 'tele' END, "
    "i % 5 = 0, i % 15, CASE WHEN i % 7 > 0 THEN 'D' || (1 + i % 60) END, 1 + i % 40, "
    "CAST(i % 101 AS numeric(4, 1)) / 10 "
    "FROM generate_series(1, 6000) AS s(i)",
)
"""In both databases the same; times are half past the hour, so none is at midnight."""
