"""A week of usual questions about a generated hospital, with defaults: what earlier answers determine is free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from planner.policy.policy import parse_policy
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import Cell, QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.support.asking import ask

ANALYSTS = {"ada": (10.0, 0.0)}
MOST_CHARGED = 16

_TABLES = """
    CREATE SCHEMA public; USE public;
    CREATE TABLE ward (name varchar PRIMARY KEY, floor integer NOT NULL);
    INSERT INTO ward VALUES ('cardiology', 1), ('geriatrics', 1), ('maternity', 2), ('oncology', 3), ('surgery', 3);
    CREATE TABLE patient (id integer PRIMARY KEY, sex varchar NOT NULL, born integer NOT NULL);
    INSERT INTO patient SELECT i, CASE WHEN i * 31 % 100 < 53 THEN 'f' ELSE 'm' END, 1925 + i * 17 % 95
        FROM range(4000) t(i);
    CREATE TABLE visit (
        id integer PRIMARY KEY, patient_id integer NOT NULL REFERENCES patient, ward varchar NOT NULL REFERENCES ward,
        admitted date NOT NULL, days integer NOT NULL, cost numeric(8, 2) NOT NULL
    );
    INSERT INTO visit SELECT row_number() OVER (ORDER BY p, n), p,
        ['cardiology', 'geriatrics', 'maternity', 'oncology', 'surgery'][1 + (p + n // 3) % 5],
        DATE '2023-01-01' + CAST((p * 37 + n * 91) % 731 AS integer), (p * 7 + n) % 21, 40 + (p * 13 + n * 7) % 4000
        FROM range(4000) t(p), range(12) u(n) WHERE n < CASE WHEN p % 40 = 0 THEN 12 ELSE 1 + p % 4 END;
"""

_POLICY = """
    name = "hospital"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 0.5
    [privacy_units]
    patient = "id"
    [tables.ward]
    public = true
    [tables.patient.columns]
    sex = { domain = ["f", "m"] }
    born = { range = [1920, 2024] }
    [tables.visit.columns]
    admitted = { range = [2023-01-01, 2024-12-31] }
    days = { range = [0, 60] }
    cost = { range = [0, 5000] }
"""

Rows = Mapping[Cell, float]


@dataclass(frozen=True)
class Asked:
    """One question of the week; where it follows from another, which one, and where that one's groups go."""

    sql: str
    source: int | None = None
    into: Callable[[str], object] = lambda key: key


MONTHS = "SELECT date_trunc('month', admitted)::date AS month, count(*) AS visits FROM visit GROUP BY 1"
WARDS = "SELECT ward, count(*) AS visits FROM visit GROUP BY ward"
COSTS = "SELECT ward, count(*) AS visits, sum(cost) AS cost, avg(cost) AS mean FROM visit GROUP BY ward"


def _all(_: str) -> str:
    return "all"


WEEK = (
    # Monday: how much there is
    Asked(f"{MONTHS} ORDER BY 1"),
    Asked("SELECT extract(year FROM admitted) AS year, count(*) FROM visit GROUP BY 1", 0,
          lambda month: int(month[:4])),
    Asked("SELECT date_trunc('year', admitted)::date AS year, count(*) FROM visit GROUP BY 1", 0,
          lambda month: f"{month[:4]}-01-01"),
    Asked("SELECT to_char(admitted, 'YYYY-\"Q\"Q') AS quarter, count(*) FROM visit GROUP BY 1", 0,
          lambda month: f"{month[:4]}-Q{(int(month[5:7]) + 2) // 3}"),
    Asked("SELECT count(*) FROM visit WHERE admitted BETWEEN '2024-01-01' AND '2024-06-30'", 0,
          lambda month: "all" if "2024-01" <= month < "2024-07" else None),
    Asked(COSTS),
    Asked("SELECT ward, avg(cost) AS mean FROM visit GROUP BY ward ORDER BY 2 DESC"),
    Asked("SELECT sum(cost) FROM visit"),
    # Tuesday: patients
    Asked("SELECT count(*) FROM visit", 5, _all),
    Asked(f"{WARDS} ORDER BY 2 DESC LIMIT 3", 5),
    Asked("SELECT sex, count(*) FROM patient GROUP BY sex"),
    Asked("SELECT count(*) FROM patient WHERE sex = 'f'", 10, lambda sex: "all" if sex == "f" else None),
    Asked("SELECT floor(born / 10) * 10 AS decade, count(*) FROM patient GROUP BY 1 ORDER BY 1"),
    Asked("SELECT count(*) FROM patient WHERE born < 1960"),
    Asked("SELECT ward, count(DISTINCT patient_id) AS patients FROM visit GROUP BY ward"),
    Asked("SELECT ward, count(DISTINCT patient_id) FROM visit WHERE ward IN ('oncology', 'surgery') GROUP BY 1", 14,
          lambda ward: ward if ward in ("oncology", "surgery") else None),
    Asked("SELECT ward FROM visit GROUP BY ward HAVING count(DISTINCT patient_id) > 900"),
    # Wednesday: how long they stay
    Asked("SELECT ward, avg(days) AS days FROM visit GROUP BY ward"),
    Asked("SELECT avg(days) FROM visit"),
    Asked("SELECT ward, median(days) AS days FROM visit GROUP BY ward"),
    Asked("SELECT median(days) FROM visit WHERE ward = 'surgery'", 19,
          lambda ward: "all" if ward == "surgery" else None),
    Asked("SELECT ward, sum(days) FROM visit GROUP BY ward"),
    Asked("SELECT ward, count(*) FILTER (WHERE days > 14) AS long FROM visit GROUP BY ward"),
    Asked("SELECT count(*) FROM visit WHERE NOT days <= 14", 22, _all),
    # Thursday: wards over time
    Asked("SELECT date_trunc('month', admitted)::date AS month, ward, count(*) FROM visit GROUP BY 1, 2"),
    Asked("SELECT date_trunc('month', admitted) AS month, count(*) FROM visit WHERE ward = 'surgery' GROUP BY 1"),
    Asked("SELECT date_trunc('quarter', admitted), ward, count(*) FROM visit GROUP BY 1, 2"),
    Asked("SELECT ward, count(*) FROM visit WHERE extract(year FROM admitted) = 2024 GROUP BY ward"),
    Asked("SELECT w.floor, count(*) FROM visit v JOIN ward w ON v.ward = w.name GROUP BY 1"),
    Asked("SELECT w.floor, count(*) FROM ward w, visit v WHERE w.name = v.ward GROUP BY 1", 28),
    Asked("SELECT ward, count(*) / sum(count(*)) OVER () AS share FROM visit GROUP BY ward"),
    # Friday: the report
    Asked("SELECT p.sex, sum(v.cost) FROM visit v JOIN patient p ON v.patient_id = p.id GROUP BY 1"),
    Asked("SELECT date_trunc('month', admitted)::date AS month, sum(cost) AS cost FROM visit GROUP BY 1"),
    Asked(f"SELECT month, sum(visits) OVER (ORDER BY month) AS so_far FROM ({MONTHS}) m"),
    Asked("SELECT extract(year FROM admitted) AS year, sum(cost) AS cost FROM visit GROUP BY 1", 32,
          lambda month: int(month[:4])),
    Asked(f"{MONTHS} ORDER BY 1", 0),
)  # fmt: skip


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> DuckdbBackend:
    path = tmp_path_factory.mktemp("week") / "hospital.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(_TABLES)
    return DuckdbBackend(path, "public")


def released(answer: QueryResponse) -> dict[object, float]:
    """What was released, by the first column; of an answer without a key by `all`."""
    found = [cells for cells, _ in answer.as_released()]
    return {row[0] if len(row) > 1 else "all": float(row[1 if len(row) > 1 else 0] or 0) for row in found}


def test_a_week_of_usual_questions(
    hospital: DuckdbBackend, ledger: Ledger, workers: WorkerPool, tmp_path: Path
) -> None:
    pipeline = Pipeline(parse_policy(_POLICY), hospital.schema(), hospital, ledger, workers)
    answers: list[QueryResponse] = []
    for asked in WEEK:
        answer = ask(pipeline, QueryRequest("ada", asked.sql, request_id="r"))
        answers.append(answer)
        if asked.source is None:
            continue
        expected: dict[object, float] = defaultdict(float)
        for key, value in released(answers[asked.source]).items():
            into = asked.into(str(key)) if not isinstance(key, int) else key
            expected[into] += value
        found = released(answer)
        assert answer.epsilon == 0.0, asked.sql
        assert found == pytest.approx({key: expected[key] for key in found}, abs=0.51 * 24), asked.sql
        assert set(found) <= set(expected) and all(one is not None for row in answer.intervals for one in row[-1:])
    assert len(ledger.charges("ada")) <= MOST_CHARGED and len(WEEK) == 36
