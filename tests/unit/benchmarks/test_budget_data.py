"""Data that grow: a file that was begun and appended to holds what a file of that day would."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import duckdb
import pytest

from server.ledger.account import DATASET, Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.charge import Charge
from server.ledger.sqlite import create_ledger
from server.query import Interval
from tests.benchmarks.budget import growing_data
from tests.benchmarks.budget.dashboards import Asked, Chart
from tests.benchmarks.budget.growing_data import Appended, GrowingData, rows_of
from tests.benchmarks.budget.ledger_sums import charged, spent
from tests.benchmarks.budget.truth import true_errors
from tests.benchmarks.budget.viewer import Answered
from tests.support.charging import reserve
from tests.unit.benchmarks.test_budget import answer

_FIRST = date(2024, 1, 30)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GrowingData:
    """A visit on each of ten days, by two people, one of them nobody; from the fifth day on."""
    monkeypatch.setattr(growing_data, "FOLDER", tmp_path)
    whole = tmp_path / "whole.duckdb"
    with duckdb.connect(whole) as connection:
        connection.execute("CREATE SCHEMA public; USE public")
        connection.execute("CREATE TABLE person (id integer PRIMARY KEY); INSERT INTO person VALUES (1), (2)")
        connection.execute('CREATE TABLE visit (person integer, "at" timestamp)')
        connection.execute(
            "INSERT INTO visit SELECT one, TIMESTAMP '2024-01-26 23:30:00' + to_days(day::integer) "
            "FROM range(10) d(day), (VALUES (1), (NULL)) p(one)"
        )
    tables = {
        "person": Appended("CREATE TABLE person (id integer PRIMARY KEY)"),
        "visit": Appended('CREATE TABLE visit (person integer, "at" timestamp)', "at", "person IS NOT NULL"),
    }
    found = GrowingData("clinic", whole, tables, _FIRST)
    found.prepare()
    return found


def test_a_load_appends_the_rows_of_its_day_that_are_somebodys(data: GrowingData, tmp_path: Path) -> None:
    file = tmp_path / "data.duckdb"
    data.begun(file)
    assert rows_of(file, "visit") == 5
    for load in (1, 2):
        data.append(file, data.day(load))
    assert rows_of(file, "visit") == 7
    assert rows_of(file, "person") == 2
    with duckdb.connect(file, read_only=True) as connection:
        last = connection.execute('SELECT max("at") FROM visit').fetchall()
    assert last == [(datetime(2024, 2, 1, 23, 30),)]


def test_true_errors_compare_cells_of_the_same_key(data: GrowingData, tmp_path: Path) -> None:
    file = tmp_path / "data.duckdb"
    data.begun(file)
    sql = "SELECT date_trunc('month', visit.at) AS \"time\", count(*) AS n FROM visit GROUP BY 1"
    asked = Asked(Chart("by month", "series", "visits", ("n",), (), "month"), "", sql, 1.0)
    told = answer([(6.0,), (1.0,)], [1.0], keys=("2024-01-01 00:00:00", "2024-02-01 00:00:00"), key="time")
    (error,) = true_errors(file, [Answered(asked, 0, 0.0, 0.0, 0.0, 0.1, 1, told)])
    assert error.typical == pytest.approx(1 / 2.5)  # 5 and 0 are true: each is one off, and 2.5 is their median
    assert (error.unmarked, error.held) == (2, 2)
    narrow = replace(told, intervals=((None, Interval(5.5, 6.5)), (None, Interval(0.0, 2.0))), clipped=(False, True))
    (error,) = true_errors(file, [Answered(asked, 0, 0.0, 0.0, 0.0, 0.1, 1, narrow)])
    assert (error.unmarked, error.held) == (1, 0), "5 is not within 5.5 to 6.5, and what is marked does not count"


def test_sums_of_charges_are_what_accounts_have_spent(tmp_path: Path) -> None:
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "policy.ledger.json")
    ledger.grant(DATASET, Grant(10.0), Act("test"))
    for name in ("ada", "grace"):
        ledger.add_analyst(name, key_hash(name), 1.0, 0.0, act=Act("test"))
    first = Charge("ada", 0.1, 0.0, "1", "policy", "plan", "gem", answer_key="key")
    reserved = reserve(ledger, first)
    ledger.commit(reserved, b"noisy")
    ledger.commit(reserve(ledger, Charge("grace", 0.1, 0.0, "2", "policy", "plan", "gem", None, "key", reserved.id)))
    ledger.release(reserve(ledger, Charge("grace", 0.3, 0.0, "3", "policy", "plan", "gem")))
    said = charged(ledger)
    assert said.of_releases == spent(ledger, DATASET) == 100_000_000
    assert said.of_analysts == {"ada": 100_000_000, "grace": 100_000_000}
    assert [spent(ledger, f"analyst:{name}") for name in ("ada", "grace")] == [100_000_000, 100_000_000]
    assert said.n_charges == 2
    ledger.close()
