"""A clinic whose visits come load by load, on DuckDB, PostgreSQL or in Parquet files, with a ledger of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import duckdb
import psycopg

from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from server.backends.open_custody import open_policy_custody
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.policy.data_versions import Bumped, Reopen, bump_version, note_first
from server.policy.verified_keys import verify_keys
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.support.asking import ask

Engine = Literal["duckdb", "postgres", "parquet"]

ACT = Act("grace", "a load")

POLICY = """
name = "clinic"
[database]
url = "{url}"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 50.0
{privacy}
[privacy_units]
patient = "id"
[[foreign_keys]]
table = "visit"
columns = ["patient_id"]
references = "patient"
key = ["id"]
[[foreign_keys]]
table = "visit"
columns = ["ward"]
references = "ward"
key = ["name"]
owning = false
[tables.patient]
keys = ["id"]
[tables.patient.columns]
town = {{ domain = ["Aalen", "Berne"] }}
[tables.ward]
public = true
keys = ["name"]
[tables.holiday]
public = true
[tables.visit]
append_only = {{ column = "admitted_at", closed_after_days = 7 }}
[tables.visit.columns]
admitted_at = {{ range = [2026-01-01, 2026-12-31] }}
ward = {{ domain = ["A", "B"] }}
cost = {{ range = [0, 100] }}
"""

TABLES = """
CREATE TABLE patient (id bigint PRIMARY KEY, town varchar(20));
CREATE TABLE ward (name varchar(20) PRIMARY KEY, floor integer);
CREATE TABLE holiday (day date);
CREATE TABLE visit (
    id bigint NOT NULL, patient_id bigint REFERENCES patient, ward varchar(20), admitted_at {moment}, cost integer
);
INSERT INTO ward VALUES ('A', 1), ('B', 2);
INSERT INTO holiday VALUES ('2026-05-01');
"""

MONTHLY = (
    "SELECT date_trunc('month', admitted_at) AS month, count(*) AS n FROM visit "
    "WHERE admitted_at < DATE '2026-07-01' GROUP BY 1 ORDER BY 1"
)


@dataclass(frozen=True)
class GrowingClinic:
    """A folder with a policy, a ledger and a database.

    Attributes:
      url: of the PostgreSQL; empty for files.
      range_from: the first day that the policy declares.
    """

    folder: Path
    engine: Engine
    ledger: Ledger
    workers: WorkerPool
    url: str = ""
    privacy: str = ""
    range_from: str = "2026-01-01"

    @property
    def policy(self) -> Policy:
        """As it is now."""
        where = {"duckdb": "duckdb:///clinic.duckdb", "parquet": "parquet:///lake", "postgres": "env:CLINIC_URL"}
        text = POLICY.format(url=where[self.engine], privacy=self.privacy).replace(
            "[2026-01-01", f"[{self.range_from}"
        )
        (self.folder / "policy.toml").write_text(text)
        return parse_policy(text)

    @property
    def policy_path(self) -> Path:
        """Where it is."""
        return self.folder / "policy.toml"

    def run(self, sql: str) -> None:
        """Change the rows, by one or more statements that both databases know."""
        if self.engine == "postgres":
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(sql.encode())
            return
        with duckdb.connect(self.folder / "clinic.duckdb") as connection:
            connection.execute(sql)
            if self.engine == "parquet":
                for table in ("patient", "ward", "holiday", "visit"):
                    (self.folder / "lake").mkdir(exist_ok=True)
                    connection.execute(f"COPY {table} TO '{self.folder}/lake/{table}.parquet'")

    def admit(self, first: str, days: int, patients: int = 40, start: int = 0) -> None:
        """Visits of so many patients on so many days from one on, each patient once a day."""
        self.run(
            f"INSERT INTO visit SELECT {start} + d * {patients} + p, p, CASE WHEN p % 2 = 0 THEN 'A' ELSE 'B' END, "
            f"CAST(DATE '{first}' + CAST(d AS integer) AS timestamp) + INTERVAL '9' HOUR, p % 100 "
            f"FROM generate_series(0, {days - 1}) AS a(d) CROSS JOIN generate_series(0, {patients - 1}) AS b(p)"
        )

    def pipeline(self) -> Pipeline:
        """Under the policy and the files as they are now."""
        policy = self.policy
        with open_policy_custody(policy, self._database, 0) as custody:
            schema = with_declared_keys(custody.schema(policy.namespaces), policy)
            validate(policy, schema)
            assert not verify_keys(custody, schema, self.ledger, ACT)
            backend = custody.backend
        return Pipeline(policy, schema, backend, self.ledger, self.workers)

    def ask(self, sql: str, epsilon: float = 6.0, analyst: str = "ada") -> QueryResponse:
        """The answer of a proxy that has read the policy and the files again."""
        return ask(self.pipeline(), QueryRequest(analyst, sql, epsilon=epsilon, request_id="r"))

    def note(self, at: str) -> bool:
        """As a proxy's start on a day."""
        return note_first(self.policy, self.policy_path, self.ledger, ACT, _day(at))

    def bump(self, at: str, reopen: Reopen | None = None) -> Bumped:
        """As `noisegate data bump` on a day."""
        return bump_version(self.policy, self.policy_path, self.ledger, ACT, reopen, _day(at))

    def left(self, analyst: str = "ada") -> float:
        """What the analyst has left."""
        return self.ledger.budget(analyst).epsilon_left

    @property
    def _database(self) -> str:
        files = {"duckdb": f"duckdb:///{self.folder}/clinic.duckdb", "parquet": f"parquet:///{self.folder}/lake"}
        return files.get(self.engine, self.url)


@contextmanager
def growing_clinic(
    folder: Path,
    engine: Engine,
    workers: WorkerPool,
    url: str = "",
    privacy: str = "",
    moment: str = "timestamp",
    range_from: str = "2026-01-01",
) -> Iterator[GrowingClinic]:
    """A clinic with forty patients and no visits; `url` of a PostgreSQL must also stand in CLINIC_URL."""
    ledger = create_ledger(folder / "ledger.sqlite", folder / "marker.json")
    try:
        for analyst in ("ada", "bob"):
            ledger.add_analyst(analyst, analyst.encode().hex().ljust(64, "0"), epsilon=1000.0, delta=1e-3)
        clinic = GrowingClinic(folder, engine, ledger, workers, url, privacy, range_from)
        clinic.run(TABLES.format(moment=moment))
        clinic.run(
            "INSERT INTO patient SELECT p, CASE WHEN p % 3 = 0 THEN 'Aalen' ELSE 'Berne' END "
            "FROM generate_series(0, 39) AS t(p)"
        )
        yield clinic
    finally:
        ledger.close()


def _day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
