"""A hospital's database as one finds it: several schemas, partitions, composite and uuid keys, views, and dirt.

Everything follows from a seed: two databases of one seed and size hold the same rows. What of them is dirty is
returned, so that a test knows what a count must find.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

ROLE = "hospital_reader"
"""May SELECT everything, and nothing else."""

SCHEMAS = ("clinic", "ref", "public")

NULL_OWNERS = 0.008
"""The share of visits, and of laboratory results, whose patient is NULL."""

ORPHANS = 0.01
"""The share of laboratory results whose patient is in no table."""

FIRST_YEAR, LAST_YEAR = 2021, 2025
VISITS, RESULTS, DOCTORS, CODES = 5, 8, 0.02, 60
"""Visits per patient, laboratory results per patient, doctors per patient, diagnoses' codes."""

WARDS = ("Cardiology", "Surgery", "Paediatrics", "Neurology", "Oncology", "Intensive care", "Maternity", "Geriatrics")
SEXES = ("female", "male", "diverse")
KINDS = ("inpatient", "outpatient", "emergency")
TESTS = ("glucose", "sodium", "creatinine", "haemoglobin", "crp")
DRUGS = ("ibuprofen", "metformin", "ramipril", "amoxicillin", "heparin")

_TABLES = """
    CREATE TYPE {clinic}.sex AS ENUM ('female', 'male', 'diverse');
    CREATE TYPE {clinic}.visit_kind AS ENUM ('inpatient', 'outpatient', 'emergency');
    CREATE TABLE {ref}.ward (id smallint PRIMARY KEY, "Name" text NOT NULL, beds integer NOT NULL);
    CREATE TABLE {ref}.icd (code text PRIMARY KEY, title text NOT NULL, "group" text NOT NULL);
    CREATE TABLE {clinic}.doctor (
        id uuid PRIMARY KEY, "fullName" text NOT NULL, ward_id smallint NOT NULL REFERENCES {ref}.ward (id)
    );
    CREATE TABLE {clinic}.patient (
        id uuid PRIMARY KEY, birth_date date NOT NULL, sex {clinic}.sex NOT NULL, "homeTown" text NOT NULL,
        weight_kg numeric(5, 1), allergies text[] NOT NULL, contact jsonb NOT NULL, registered_at timestamptz NOT NULL
    );
    CREATE TABLE {clinic}.visit (
        id bigint NOT NULL, admitted_at timestamptz NOT NULL, discharged_at timestamptz,
        patient_id uuid REFERENCES {clinic}.patient (id), ward_id smallint NOT NULL REFERENCES {ref}.ward (id),
        doctor_id uuid NOT NULL REFERENCES {clinic}.doctor (id), kind {clinic}.visit_kind NOT NULL,
        "order" integer NOT NULL, cost numeric(10, 2) NOT NULL, details jsonb, PRIMARY KEY (id, admitted_at)
    ) PARTITION BY RANGE (admitted_at);
    CREATE TABLE {clinic}.diagnosis (
        visit_id bigint NOT NULL, admitted_at timestamptz NOT NULL, rank smallint NOT NULL,
        icd_code text NOT NULL REFERENCES {ref}.icd (code), PRIMARY KEY (visit_id, admitted_at, rank),
        FOREIGN KEY (visit_id, admitted_at) REFERENCES {clinic}.visit (id, admitted_at)
    );
    CREATE TABLE {clinic}.prescription (
        patient_id uuid NOT NULL REFERENCES {clinic}.patient (id), number integer NOT NULL, drug text NOT NULL,
        dose_mg double precision NOT NULL, "end" date, PRIMARY KEY (patient_id, number)
    );
    CREATE TABLE {clinic}.lab_result (
        id bigint PRIMARY KEY, patient_id uuid, visit_id bigint, test text NOT NULL, value double precision,
        flags text[] NOT NULL, measured_at timestamp NOT NULL
    );
    CREATE TABLE {clinic}.access_log (at timestamptz NOT NULL, "user" text NOT NULL, action text NOT NULL, row jsonb);
    CREATE TABLE public.schema_migrations (version text PRIMARY KEY);
"""

_VIEWS = """
    CREATE VIEW {clinic}.adult AS
        SELECT id AS patient, birth_date, sex, "homeTown" AS town FROM {clinic}.patient
        WHERE birth_date < DATE '2005-01-01';
    CREATE VIEW {clinic}.stay AS
        SELECT v.id, v.admitted_at, p.id AS patient, p.sex, w."Name" AS ward, v.cost
        FROM {clinic}.visit v JOIN {clinic}.patient p ON p.id = v.patient_id JOIN {ref}.ward w ON w.id = v.ward_id
        WHERE v.kind = 'inpatient';
    CREATE VIEW {clinic}.monthly_visits AS
        SELECT date_trunc('month', admitted_at) AS month, count(*) AS visits FROM {clinic}.visit GROUP BY 1;
    CREATE MATERIALIZED VIEW {clinic}.ward_load AS
        SELECT ward_id, count(*) AS visits, sum(cost) AS cost FROM {clinic}.visit GROUP BY ward_id;
"""


@dataclass(frozen=True)
class Hospital:
    """What was written.

    Attributes:
      rows: of each table, by its name without a schema.
      null_owners: rows whose `patient_id` is NULL, by table.
      orphans: rows whose `patient_id` is in no table of patients, by table.
    """

    rows: dict[str, int]
    null_owners: dict[str, int]
    orphans: dict[str, int]


def write_hospital(
    connection: psycopg.Connection[Any], patients: int = 1000, *, seed: int = 17, schemas: bool = True
) -> Hospital:
    """Create and fill a hospital in an empty database, commit, and let `ROLE` read it.

    Args:
      connection: as the database's owner, who may create roles.
      patients: how many; all else grows with them. 1,000 take about a second.
      schemas: in `clinic`, `ref` and `public`; False puts every table into `public`.
    """
    places = {"clinic": "clinic", "ref": "ref"} if schemas else {"clinic": "public", "ref": "public"}
    names = {name: sql.Identifier(place) for name, place in places.items()}
    if schemas:
        connection.execute("CREATE SCHEMA clinic; CREATE SCHEMA ref")
    connection.execute(sql.SQL(_TABLES).format(**names))
    for year in range(FIRST_YEAR, LAST_YEAR + 1):
        statement = sql.SQL("CREATE TABLE {}.{} PARTITION OF {}.visit FOR VALUES FROM ({}) TO ({})").format(
            names["clinic"],
            sql.Identifier(f"visit_{year}"),
            names["clinic"],
            sql.Literal(f"{year}-01-01 00:00+00"),
            sql.Literal(f"{year + 1}-01-01 00:00+00"),
        )
        connection.execute(statement)
    counted = {}
    rows = _Rows(patients, np.random.default_rng(seed))
    for schema, table, values in rows.tables():
        place = sql.SQL("{}.{}").format(names.get(schema, sql.Identifier(schema)), sql.Identifier(table))
        counted[table] = _copy(connection, place, values)
    connection.execute(sql.SQL(_VIEWS).format(**names))
    _grant(connection, sorted({*places.values(), "public"}))
    connection.commit()
    _analyse(connection)
    return Hospital(counted, rows.null_owners, rows.orphans)


def _copy(connection: psycopg.Connection[Any], place: sql.Composed, rows: Iterator[Sequence[object]]) -> int:
    count = 0
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(place)) as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count


def _grant(connection: psycopg.Connection[Any], schemas: Sequence[str]) -> None:
    connection.execute(
        f"DO $$ BEGIN CREATE ROLE {ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$".encode()
    )
    for schema in schemas:
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {ROLE}".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {ROLE}".encode())


def _analyse(connection: psycopg.Connection[Any]) -> None:
    before, connection.autocommit = connection.autocommit, True
    connection.execute("ANALYZE")
    connection.autocommit = before


class _Rows:
    """The rows of each table, in the order in which foreign keys allow them; random numbers from one generator."""

    def __init__(self, patients: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._patients = [self._uuid() for _ in range(patients)]
        self._doctors = [self._uuid() for _ in range(max(2, round(patients * DOCTORS)))]
        self._codes = [f"{chr(65 + n % 20)}{n:02d}" for n in range(CODES)]
        self._visits: list[tuple[int, datetime]] = []
        self.null_owners = {"visit": 0, "lab_result": 0}
        self.orphans = {"lab_result": 0}

    def tables(self) -> Iterator[tuple[str, str, Iterator[Sequence[object]]]]:
        """Schema, table and rows; each table's rows are read before the next is asked for."""
        yield "ref", "ward", ((n + 1, name, 8 + 4 * n) for n, name in enumerate(WARDS))
        yield "ref", "icd", ((code, f"Diagnosis {code}", code[0]) for code in self._codes)
        yield "clinic", "doctor", self._doctor_rows()
        yield "clinic", "patient", self._patient_rows()
        yield "clinic", "visit", self._visit_rows()
        yield "clinic", "diagnosis", self._diagnosis_rows()
        yield "clinic", "prescription", self._prescription_rows()
        yield "clinic", "lab_result", self._result_rows()
        yield "clinic", "access_log", self._log_rows()
        yield "public", "schema_migrations", ((f"2025010100000{n}",) for n in range(4))

    def _doctor_rows(self) -> Iterator[Sequence[object]]:
        for n, key in enumerate(self._doctors):
            yield key, f"Doctor {n}", self._ward()

    def _patient_rows(self) -> Iterator[Sequence[object]]:
        for n, key in enumerate(self._patients):
            born = date(1930, 1, 1) + timedelta(days=int(self._rng.integers(0, 34_000)))
            weight = None if self._rng.random() < 0.05 else round(float(self._rng.normal(72, 14)), 1)
            allergies = [name for name in ("nuts", "penicillin", "latex") if self._rng.random() < 0.1]
            contact = Jsonb({"phone": f"+49 30 {n:07d}", "mails": []})
            sex = SEXES[int(self._rng.choice(3, p=(0.5, 0.49, 0.01)))]
            yield key, born, sex, f"Town {n % 30}", weight, allergies, contact, self._moment()

    def _visit_rows(self) -> Iterator[Sequence[object]]:
        for number in range(1, len(self._patients) * VISITS + 1):
            admitted = self._moment()
            self._visits.append((number, admitted))
            patient = self._owner("visit", NULL_OWNERS)
            doctor = self._doctors[int(self._rng.integers(len(self._doctors)))]
            kind = KINDS[int(self._rng.choice(3, p=(0.3, 0.6, 0.1)))]
            cost = round(float(self._rng.lognormal(6, 1)), 2)
            left = None if self._rng.random() < 0.02 else admitted + timedelta(hours=int(self._rng.integers(1, 240)))
            details = None if self._rng.random() < 0.5 else Jsonb({"triage": int(self._rng.integers(1, 6))})
            yield number, admitted, left, patient, self._ward(), doctor, kind, number % 7, cost, details

    def _diagnosis_rows(self) -> Iterator[Sequence[object]]:
        for number, admitted in self._visits:
            for rank in range(1, int(self._rng.integers(1, 4))):
                yield number, admitted, rank, self._codes[int(self._rng.integers(len(self._codes)))]

    def _prescription_rows(self) -> Iterator[Sequence[object]]:
        for key in self._patients:
            for number in range(1, int(self._rng.integers(1, 4))):
                drug, end = self._choice(DRUGS), self._moment().date()
                yield key, number, drug, float(self._rng.integers(1, 20)) * 50.0, None if number == 1 else end

    def _result_rows(self) -> Iterator[Sequence[object]]:
        for number in range(1, len(self._patients) * RESULTS + 1):
            if number % round(1 / ORPHANS) == 0:
                patient: uuid.UUID | None = self._uuid()
                self.orphans["lab_result"] += 1
            else:
                patient = self._owner("lab_result", NULL_OWNERS)
            visit = self._visits[int(self._rng.integers(len(self._visits)))][0]
            value = None if self._rng.random() < 0.03 else float(self._rng.gamma(3, 2))
            flags = [flag for flag in ("high", "repeat") if self._rng.random() < 0.1]
            yield number, patient, visit, self._choice(TESTS), value, flags, self._moment().replace(tzinfo=None)

    def _log_rows(self) -> Iterator[Sequence[object]]:
        for n in range(len(self._patients)):
            yield self._moment(), f"user{n % 9}", self._choice(("read", "write")), Jsonb({"n": n})

    def _owner(self, table: str, absent: float) -> uuid.UUID | None:
        """A patient; every so often none, so that even few rows hold one of none."""
        picked = self._patients[int(self._rng.integers(len(self._patients)))]
        if self._rng.random() < absent or self.null_owners[table] == 0:
            self.null_owners[table] += 1
            return None
        return picked

    def _moment(self) -> datetime:
        first = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
        seconds = (datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - first).total_seconds()
        return first + timedelta(seconds=int(self._rng.integers(0, int(seconds))))

    def _ward(self) -> int:
        return int(self._rng.integers(1, len(WARDS) + 1))

    def _choice(self, values: Sequence[str]) -> str:
        return values[int(self._rng.integers(len(values)))]

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._rng.bytes(16), version=4)
