"""Keys whose declared values are not all that rows have: a group means the declared step.

And its answer stands for no more rows than it has counted.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from planner.policy.policy import parse_policy
from server.backends.duckdb import DuckdbBackend
from server.ledger.account import DATASET, Grant
from server.ledger.analyst import ADMINISTRATOR
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse, Reuse
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.seeds import sampled

ANALYSTS = {"ada": (1e9, 0.0)}
EPSILON = 1000.0
"""So much that the noise is a row or two."""

PEOPLE, DAYS = 300, 91
ROWS = 40 * PEOPLE

TABLES = f"""
    CREATE TABLE person (id bigint PRIMARY KEY);
    CREATE TABLE event (
        id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, ts timestamp NOT NULL, made date NOT NULL,
        name varchar NOT NULL
    );
    INSERT INTO person SELECT i FROM range({PEOPLE}) t(i);
    INSERT INTO event SELECT i, i % {PEOPLE}, TIMESTAMP '2024-01-01' + to_minutes(i * 37 % ({DAYS} * 1440)),
        DATE '2024-01-01' + CAST(i % {DAYS} AS integer), ['ANN', 'BEA', 'CEM'][1 + i % 3]
        FROM range({ROWS}) t(i);
"""

POLICY = """
    name = "log"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 1000.0
    delta = 0.0
    [privacy_units]
    person = "id"
    [tables.person]
    [tables.event]
    at_most = { rows = 40 }
    [tables.event.columns]
    ts = { range = [2024-01-01, 2024-03-31], step = "day" }
    made = { range = [2024-01-01, 2024-03-31], step = "month" }
    name = { domain = ["BEA", "CEM"] }
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> DuckdbBackend:
    path = tmp_path_factory.mktemp("log") / "log.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(TABLES)
    return DuckdbBackend(path)


@pytest.fixture
def pipeline(log: DuckdbBackend, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    ledger.grant(DATASET, Grant(epsilon=1e9, delta=0.0), ADMINISTRATOR)
    return Pipeline(parse_policy(POLICY), log.schema(), log, ledger, workers)


NARROW = POLICY.replace("[2024-01-01, 2024-03-31]", "[2024-02-10, 2024-03-10]")
"""Half of all rows lie beyond these ranges."""


@pytest.fixture
def narrow(log: DuckdbBackend, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    ledger.grant(DATASET, Grant(epsilon=1e9, delta=0.0), ADMINISTRATOR)
    return Pipeline(parse_policy(NARROW), log.schema(), log, ledger, workers)


def asked(pipeline: Pipeline, sql: str, reuse: Reuse = "auto") -> QueryResponse:
    return ask(pipeline, QueryRequest("ada", sql, epsilon=EPSILON, request_id="r", reuse=reuse))


def truth(log: DuckdbBackend, sql: str) -> dict[object, int]:
    with duckdb.connect(Path(log.path), read_only=True) as connection:
        return {row[0]: row[-1] for row in connection.execute(sql).fetchall()}


def test_a_stepped_column_is_grouped_by_its_step(pipeline: Pipeline, log: DuckdbBackend) -> None:
    """A row at noon is in the group of its day, one of the 14th in that of its month."""
    for column, step in (("ts", "day"), ("made", "month")):
        begun = f"strftime(date_trunc('{step}', {column}), '%Y-%m-%d')"
        expected = truth(log, f"SELECT {begun}, count(*) FROM event GROUP BY 1")
        answer = asked(pipeline, f"SELECT {column}, count(*) FROM event GROUP BY {column}")
        found: dict[object, int] = {str(row[0])[:10]: round(float(row[1] or 0)) for row in answer.rows}
        assert found.keys() == expected.keys(), column
        assert all(abs(found[day] - count) <= 5 for day, count in expected.items()), column


def test_a_group_stands_for_a_condition_only_where_it_holds_all_of_its_rows(
    pipeline: Pipeline, log: DuckdbBackend
) -> None:
    by_day = asked(pipeline, "SELECT ts, count(*) FROM event GROUP BY ts")
    for condition in (
        "ts >= '2024-03-30' AND ts < '2024-03-31'",
        "date_trunc('day', ts) = '2024-02-03'",
        "ts::date = '2024-02-03'",
    ):
        sql = f"SELECT count(*) FROM event WHERE {condition}"
        ((value,),) = asked(pipeline, sql).rows
        assert round(float(value or 0)) == next(iter(truth(log, sql).values())), condition
    assert by_day.epsilon == EPSILON


@pytest.mark.parametrize("condition", ["name = 'ANN'", "name LIKE 'A%'", "name <> 'BEA'", "name >= 'A'", "1 = 1"])
def test_names_that_nobody_declared_are_measured(pipeline: Pipeline, log: DuckdbBackend, condition: str) -> None:
    """A third of all rows have the name that the policy lacks: their answer follows from no group."""
    asked(pipeline, "SELECT name, count(*) FROM event GROUP BY name")
    sql = f"SELECT count(*) FROM event WHERE {condition}"
    answer = asked(pipeline, sql)
    ((value,),) = answer.rows
    assert answer.epsilon == EPSILON and not answer.derived_from
    assert round(float(value or 0)) == next(iter(truth(log, sql).values()))


def test_what_is_asked_for_free_says_what_it_may_lack(pipeline: Pipeline) -> None:
    asked(pipeline, "SELECT name, count(*) FROM event GROUP BY name")
    answer = asked(pipeline, "SELECT count(*) FROM event", reuse="only")
    assert answer.derived_from and any("rows with an undeclared value" in note for note in answer.notes)
    one = asked(pipeline, "SELECT count(*) FROM event WHERE name = 'BEA'")
    assert one.derived_from, "of a declared value every row is there"


KEYS = {
    "made": "date_trunc('month', made)",
    "date_trunc('month', made)": "date_trunc('month', made)",
    "date_trunc('month', ts)": "date_trunc('month', ts)",
    "ts::date": "ts::date",
    "ts": "date_trunc('day', ts)",
    "extract(month FROM ts)": "extract(month FROM ts)",
}
"""Keys, and what they mean in the database."""

CONDITIONS = [
    "ts < '2024-02-01'", "ts::date < '2024-02-01'", "date_trunc('month', ts) < '2024-02-01'",
    "extract(month FROM ts) = 1", "ts >= '2024-03-11'", "ts::date > '2024-03-10'",
    "date_trunc('month', ts) = '2024-03-01'",
    "made < '2024-02-01'", "date_trunc('day', made) < '2024-02-01'", "made + 1 < '2024-02-02'",
    "made BETWEEN '2024-02-12' AND '2024-02-14'", "made::timestamp < '2024-03-01'",
    "date_trunc('month', made) = '2024-03-01'", "1 = 1",
]  # fmt: skip


def test_rows_beyond_a_declared_range_are_in_no_group_however_a_key_is_spelled(
    narrow: Pipeline, log: DuckdbBackend
) -> None:
    for key, meant in KEYS.items():
        column = "made" if "made" in key else "ts"
        within = f"{column}::date BETWEEN '2024-02-10' AND '2024-03-10'"
        moment = f"CAST({meant} AS varchar)" if "extract" in key else f"strftime({meant}, '%Y-%m-%d')"
        expected = truth(log, f"SELECT {moment}, count(*) FROM event WHERE {within} GROUP BY 1")
        answer = asked(narrow, f"SELECT {key}, count(*) FROM event GROUP BY 1")
        found = {str(row[0])[:10]: round(float(row[1] or 0)) for row in answer.rows}
        assert {day: count for day, count in found.items() if count > 5}.keys() == expected.keys(), key
        assert all(abs(found[str(day)] - count) <= 5 for day, count in expected.items()), key
        assert any("not from 2024-02-10 to 2024-03-10" in note for note in answer.notes), key


def test_a_condition_sees_what_is_there_however_it_is_spelled_with_and_without_kept_answers(
    narrow: Pipeline, log: DuckdbBackend
) -> None:
    for key in KEYS:
        asked(narrow, f"SELECT {key}, count(*) FROM event GROUP BY 1")
    for condition in sampled(CONDITIONS, 6):
        sql = f"SELECT count(*) FROM event WHERE {condition}"
        for reuse in ("auto", "never"):
            ((value,),) = asked(narrow, sql, reuse).rows
            assert abs(round(float(value or 0)) - next(iter(truth(log, sql).values()))) <= 3, (condition, reuse)


def test_no_total_follows_from_groups_that_lack_rows(narrow: Pipeline, log: DuckdbBackend) -> None:
    """A key that is computed from a day has no group of the days beyond the range, whatever it makes of them."""
    kept = ("extract(month FROM made)", "to_char(made, 'YYYY-MM')", "made + 1", "extract(dow FROM ts)")
    for key in kept:
        asked(narrow, f"SELECT {key}, count(*) FROM event GROUP BY 1")
    for sql in ("SELECT count(*) FROM event", "SELECT count(*) FROM event WHERE extract(month FROM made) = 2"):
        ((value,),) = asked(narrow, sql).rows
        assert abs(round(float(value or 0)) - next(iter(truth(log, sql).values()))) <= 3, sql


def test_a_condition_as_a_key_sees_what_is_there(narrow: Pipeline, log: DuckdbBackend) -> None:
    for key in ("extract(month FROM made) > 1", "date_trunc('month', ts) < '2024-02-01'"):
        for select in (f"{key}, count(*)", f"1, sum(CAST({key} AS integer))"):
            sql = (
                f"SELECT {select} FROM event GROUP BY 1" if select.startswith(key) else f"SELECT {select} FROM event"
            )
            expected = truth(log, sql)
            found: dict[object, int] = {row[0]: round(float(row[-1] or 0)) for row in asked(narrow, sql).rows}
            assert found.keys() == expected.keys()
            assert all(abs(found[group] - count) <= 3 for group, count in expected.items()), sql
