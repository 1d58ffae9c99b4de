"""Numbers as sums over days, load after load: what is kept, what is charged; and every row is counted once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from server.answers.proposals.by_accuracy import AIM
from server.errors import NotDerivable
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.growing_clinic import MONTHLY, Engine, GrowingClinic, growing_clinic

TOTAL = "SELECT count(*) FROM visit WHERE admitted_at >= DATE '2026-01-01'"
BY_WARD = "SELECT ward, count(*) FROM visit WHERE admitted_at >= DATE '2026-01-01' GROUP BY ward ORDER BY 1"
COST = "SELECT sum(cost), count(*) FROM visit WHERE admitted_at >= DATE '2026-01-01'"
SHARES = (
    "SELECT ward, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS share FROM visit "
    "WHERE admitted_at >= DATE '2026-01-01' GROUP BY ward ORDER BY 1"
)
RECENT = "FROM visit WHERE admitted_at >= DATE '2025-10-01' AND admitted_at < DATE '2026-07-01'"
EPSILON = 40.0


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.slow)])
def clinic(
    request: pytest.FixtureRequest, tmp_path: Path, workers: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GrowingClinic]:
    """Visits of every day of three years but the last weeks, each patient once in ten days."""
    engine: Engine = request.param
    url = request.getfixturevalue("scratch_url") if engine == "postgres" else ""
    monkeypatch.setenv("CLINIC_URL", url)
    with growing_clinic(tmp_path, engine, workers, url, range_from="2023-01-01") as made:
        _fill(made)
        yield made


def _fill(clinic: GrowingClinic) -> None:
    clinic.run(
        "INSERT INTO visit SELECT 1000 * b + p, p, CASE WHEN p % 2 = 0 THEN 'A' ELSE 'B' END, "
        "TIMESTAMP '2023-01-03 09:00:00' + CAST(10 * b AS integer) * INTERVAL '1' DAY, p % 100 "
        "FROM generate_series(0, 119) AS a(b) CROSS JOIN generate_series(0, 39) AS c(p)"
    )
    assert clinic.note("2026-04-20")


def _load(clinic: GrowingClinic, number: int) -> None:
    day = date(2026, 4, 20) + timedelta(days=number)
    clinic.admit(str(day), 1, start=1_000_000 + 1000 * number)
    assert clinic.bump(str(day + timedelta(days=1))).version == number + 2


def _total(text: str) -> str:
    return text.replace("2026-01-01", "2023-01-01")


def _value(answer: QueryResponse) -> float:
    return float(str(next(iter(answer.rows))[0]))


def test_a_number_asked_again_is_in_two_parts_and_then_what_is_open_is_charged_alone(clinic: GrowingClinic) -> None:
    first = clinic.ask(_total(TOTAL), EPSILON)
    assert first.epsilon == EPSILON and first.cached_periods == ()
    _load(clinic, 0)
    left = clinic.left()
    second = clinic.ask(_total(TOTAL), EPSILON)
    assert second.epsilon <= EPSILON and left - clinic.left() == pytest.approx(second.epsilon, abs=1e-9)
    assert any("measured in two parts" in note for note in second.notes)
    again = clinic.ask(_total(TOTAL), EPSILON)
    assert again.epsilon == 0.0 and _value(again) == _value(second)
    for number in (1, 2):
        _load(clinic, number)
        left = clinic.left()
        later = clinic.ask(_total(TOTAL), EPSILON)
        assert 0 < later.epsilon < EPSILON / 2 and left - clinic.left() == pytest.approx(later.epsilon, abs=1e-9)
        assert [one.version for one in later.cached_periods] == [2] and later.cached_periods[0].last == "2026-04-13"
        assert abs(_value(later) - (4800 + 40 * (number + 1))) < 400, "every row once"


def test_averages_around_their_own_centres_are_not_added_up(clinic: GrowingClinic) -> None:
    """The truth is 19.5; centres of two answers would add up to twice that."""
    series = f"SELECT date_trunc('month', admitted_at) AS month, avg(cost) {RECENT} GROUP BY 1"
    clinic.ask(series, EPSILON)
    _load(clinic, 0)
    measured = clinic.ask(series, EPSILON)
    assert {one.version for one in measured.cached_periods} == {1}, "months that stand are kept"
    months = [float(str(row[1])) for row in measured.rows if "2025-10" <= str(row[0]) < "2026-05"]
    assert len(months) == 7 and all(abs(month - 19.5) < 8 for month in months)
    closed = f"SELECT avg(cost) {RECENT}".replace("2026-07-01", "2026-04-01")
    total = QueryRequest("ada", closed, epsilon=EPSILON, request_id="r")
    with pytest.raises(NotDerivable):
        ask(clinic.pipeline(), replace(total, reuse="only"))
    assert abs(_value(ask(clinic.pipeline(), total)) - 19.5) < 4


@pytest.mark.slow
def test_what_is_kept_of_a_month_stays_once_all_of_it_is_closed(clinic: GrowingClinic) -> None:
    clinic.ask(_total(TOTAL), EPSILON)
    _load(clinic, 0)
    clinic.ask(_total(TOTAL), EPSILON)
    assert clinic.bump("2026-05-12").version == 3
    later = clinic.ask(_total(TOTAL), EPSILON)
    assert 0 < later.epsilon < EPSILON / 2
    assert [(one.version, one.last) for one in later.cached_periods] == [(2, "2026-04-13")]


@pytest.mark.slow
def test_what_is_kept_of_many_days_stays_after_many_loads(tmp_path: Path, workers: WorkerPool) -> None:
    """Each of them leaves an answer about a few days, more than are looked at."""
    with growing_clinic(tmp_path, "duckdb", workers, range_from="2023-01-01") as clinic:
        _fill(clinic)
        clinic.ask(_total(TOTAL), EPSILON)
        for number in range(22):
            assert clinic.bump(str(date(2026, 4, 21) + timedelta(days=number))).version == number + 2
            answer = clinic.ask(_total(TOTAL), EPSILON)
        assert (2, "2026-04-13") in [(one.version, one.last) for one in answer.cached_periods], answer.cached_periods


@pytest.mark.slow
@pytest.mark.parametrize("text", [BY_WARD, COST, SHARES], ids=["wards", "two sums", "shares"])
def test_groups_sums_and_shares_are_kept_in_part_as_well(clinic: GrowingClinic, text: str) -> None:
    sql = _total(text)
    clinic.ask(sql, EPSILON)
    _load(clinic, 0)
    clinic.ask(sql, EPSILON)
    _load(clinic, 1)
    third = clinic.ask(sql, EPSILON)
    assert 0 < third.epsilon < EPSILON / 2, third.notes
    n = 1 if text == COST else [column.name for column in third.columns].index("count" if text == BY_WARD else "n")
    assert abs(sum(row[n] for row in third.rows) - 4880) < 600  # type: ignore[misc]


@pytest.mark.slow
def test_a_total_follows_from_a_series_that_several_loads_have_measured(clinic: GrowingClinic) -> None:
    series = MONTHLY.replace("admitted_at <", "admitted_at >= DATE '2023-01-01' AND admitted_at <")
    clinic.ask(series, EPSILON)
    _load(clinic, 0)
    measured = clinic.ask(series, EPSILON)
    assert 0 < measured.epsilon < EPSILON
    left = clinic.left()
    sql = "SELECT count(*) FROM visit WHERE admitted_at >= DATE '2023-01-01' AND admitted_at < DATE '2026-07-01'"
    request = QueryRequest("ada", sql, epsilon=EPSILON, request_id="r", reuse="only")
    followed = ask(clinic.pipeline(), request)
    assert followed.epsilon == 0.0 and clinic.left() == left
    released = [(str(row[0]), float(str(row[1]))) for row, _ in measured.as_released()]  # below 0 where nobody came
    assert abs(_value(followed) - sum(count for _, count in released)) <= len(released) / 2 + 1, "but for rounding"
    assert {one.version for one in followed.cached_periods} == {1, 2}
    yearly = sql.replace("SELECT", "SELECT extract(year FROM admitted_at) AS y,") + " GROUP BY 1"
    years = ask(clinic.pipeline(), replace(request, sql=yearly))
    assert years.epsilon == 0.0
    for row in years.rows:
        of_year = [count for month, count in released if month.startswith(str(row[0]))]
        assert abs(row[1] - sum(of_year)) <= len(of_year) / 2 + 1  # type: ignore[operator]


@pytest.mark.slow
def test_a_part_of_another_question_is_not_taken_for_this_one_s(clinic: GrowingClinic) -> None:
    """Of another ward, of another table beside, of another analyst: nothing is kept."""
    clinic.ask(_total(TOTAL), EPSILON)
    _load(clinic, 0)
    clinic.ask(_total(TOTAL), EPSILON)
    _load(clinic, 1)
    for sql in (
        f"{_total(TOTAL)} AND ward = 'A'",
        "SELECT count(*) FROM visit v JOIN patient p ON p.id = v.patient_id WHERE admitted_at >= DATE '2023-01-01'",
        "SELECT count(*) FROM visit WHERE admitted_at >= DATE '2023-02-05'",
        "SELECT sum(cost) FROM visit WHERE admitted_at >= DATE '2023-01-01'",
    ):
        answer = clinic.ask(sql, EPSILON)
        assert answer.epsilon == EPSILON and answer.cached_periods == (), sql
    assert clinic.ask(_total(TOTAL), EPSILON, analyst="bob").epsilon == EPSILON


def test_rows_without_a_day_are_counted(clinic: GrowingClinic) -> None:
    """Without a condition on the day they are of no stretch of days, and the number is measured as a whole."""
    sql = "SELECT count(*) FROM visit"
    clinic.run("INSERT INTO visit SELECT 9000000 + i, i % 40, 'A', NULL, 1 FROM generate_series(0, 1999) AS t(i)")
    clinic.ask(sql, EPSILON)
    for number in (0, 1):
        _load(clinic, number)
        answer = clinic.ask(sql, EPSILON)
        assert answer.epsilon == EPSILON and answer.cached_periods == ()
    assert abs(_value(answer) - 6880) < 600


@pytest.mark.slow
def test_a_reopened_period_is_measured_again(clinic: GrowingClinic) -> None:
    clinic.ask(_total(TOTAL), EPSILON)
    _load(clinic, 0)
    clinic.ask(_total(TOTAL), EPSILON)
    clinic.run("DELETE FROM visit WHERE admitted_at < TIMESTAMP '2024-06-01'")
    refused = clinic.bump("2026-04-23")
    assert refused.version is None
    assert clinic.bump("2026-04-23", "changed").version == 3
    answer = clinic.ask(_total(TOTAL), EPSILON)
    assert all(one.version != 1 and one.version != 2 for one in answer.cached_periods)
    assert abs(_value(answer) - 2760) < 500


@pytest.mark.slow
def test_never_asks_for_all_anew_and_explain_says_what_is_kept(clinic: GrowingClinic) -> None:
    sql = _total(TOTAL)
    clinic.ask(sql, EPSILON)
    _load(clinic, 0)
    request = QueryRequest("ada", sql, epsilon=EPSILON, request_id="r")
    told = clinic.pipeline().explain(request)
    assert "separate parts" in str(told)
    clinic.ask(sql, EPSILON)
    _load(clinic, 1)
    told = clinic.pipeline().explain(request)
    assert "Only the other days are measured" in str(told)
    whole = ask(clinic.pipeline(), replace(request, reuse="never"))
    assert whole.epsilon == EPSILON and whole.cached_periods == ()


@pytest.mark.slow
def test_an_accuracy_that_is_asked_for_is_not_widened_by_parts(clinic: GrowingClinic) -> None:
    """Of the accuracy that epsilon 45 has, by an answer that is known at 20: parts would make it wider, unasked."""
    sql = _total(TOTAL)
    clinic.ask(sql, EPSILON)
    _load(clinic, 0)
    clinic.ask(sql, EPSILON)
    _load(clinic, 1)
    request = QueryRequest("ada", sql, request_id="r")
    known = ask(clinic.pipeline(), replace(request, epsilon=20.0, reuse="never"))
    (interval,) = next(iter(known.intervals))
    assert interval is not None and interval.high is not None and known.epsilon == 20.0
    assert "separate parts" in str(clinic.pipeline().explain(replace(request, epsilon=45.0)))
    wished = replace(request, max_absolute_error=(interval.high - _value(known)) * (20.0 / 45.0) / AIM)
    assert "separate parts" not in str(clinic.pipeline().explain(wished))
    answer = ask(clinic.pipeline(), wished)
    assert answer.epsilon == pytest.approx(45.0, rel=0.05)
    assert answer.cached_periods == () and not any("two parts" in note for note in answer.notes)


@pytest.mark.slow
def test_what_a_kept_answer_left_out_is_said_and_is_no_part_beside_what_is_measured(
    tmp_path: Path, workers: WorkerPool
) -> None:
    """Ward C is not among the declared ones: the rows of C are in no group by ward."""
    by_ward = MONTHLY.replace("AS month,", "AS month, ward,").replace("BY 1 ORDER BY 1", "BY 1, 2")
    with growing_clinic(tmp_path, "duckdb", workers) as clinic:
        clinic.run("ALTER TABLE visit ALTER ward SET NOT NULL; INSERT INTO ward VALUES ('C', 3)")
        clinic.admit("2026-01-01", 160)
        clinic.run("INSERT INTO visit SELECT 500000 + id, patient_id, 'C', admitted_at, 1 FROM visit")
        assert clinic.note("2026-06-10")
        assert any("not among" in note for note in clinic.ask(by_ward, EPSILON).notes)
        total = "SELECT count(*) FROM visit WHERE admitted_at < DATE '2026-07-01'"
        request = QueryRequest("ada", total, epsilon=1.0, request_id="r", reuse="only")
        free = ask(clinic.pipeline(), request)
        assert free.epsilon == 0.0
        assert any("lack rows with an undeclared value" in note for note in free.notes)
        before_june = total.replace("07-01", "06-01")
        with pytest.raises(NotDerivable):  # what lacks rows is no part of a sum over days
            ask(clinic.pipeline(), replace(request, sql=before_june))
        clinic.admit("2026-06-10", 1, start=1_000_000)
        assert clinic.bump("2026-06-11").version == 2
        series = clinic.ask(MONTHLY, EPSILON)
        assert series.epsilon == EPSILON and series.cached_periods == (), "all months are counted alike: with C"
        assert _value(clinic.ask(before_june, EPSILON)) > 9000
