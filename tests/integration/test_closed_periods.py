"""Closed periods from load to load: kept where nothing changed, found where something did, charged for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.backends.open_custody import open_policy_custody
from server.policy.data_versions import compare_version
from server.query import CachedPeriods, QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.growing_clinic import ACT, MONTHLY, Engine, GrowingClinic, growing_clinic

WEEKLY = (
    "SELECT date_trunc('week', admitted_at)::date AS week, count(*) FROM visit "
    "WHERE admitted_at >= DATE '2026-04-06' AND admitted_at < DATE '2026-06-15' GROUP BY 1"
)
DAILY = (
    "SELECT admitted_at::date AS day, count(*) FROM visit "
    "WHERE admitted_at >= DATE '2026-05-25' AND admitted_at < DATE '2026-06-11' GROUP BY 1"
)
YEAR_AND_MONTH = (
    "SELECT extract(year from admitted_at) AS y, extract(month from admitted_at) AS m, sum(cost), avg(cost) "
    "FROM visit WHERE admitted_at < DATE '2026-07-01' GROUP BY 1, 2"
)
BY_TOWN = (
    "SELECT date_trunc('month', admitted_at) AS month, town, count(*) FROM visit v JOIN patient p "
    "ON p.id = v.patient_id WHERE admitted_at < DATE '2026-07-01' GROUP BY 1, 2"
)
BEFORE_JUNE = "SELECT count(*) FROM visit WHERE admitted_at < DATE '2026-06-01'"


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.slow)])
def clinic(
    request: pytest.FixtureRequest, tmp_path: Path, workers: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GrowingClinic]:
    """Visits from January to the ninth of June; the first load is noted on the tenth: closed until the second."""
    engine: Engine = request.param
    url = request.getfixturevalue("scratch_url") if engine == "postgres" else ""
    monkeypatch.setenv("CLINIC_URL", url)
    with growing_clinic(tmp_path, engine, workers, url) as made:
        made.admit("2026-01-01", 160)
        assert made.note("2026-06-10")
        yield made


WITHHELD = pytest.mark.parametrize(
    "privacy",
    [pytest.param("delta = 1e-6", marks=pytest.mark.slow), "minimum_frequency = 5"],
    ids=["vectors", "withheld"],
)
ON_POSTGRES = pytest.mark.parametrize("clinic", ["postgres"], indirect=True)
"""The comparison is of the database's own digests."""


def _loaded(clinic: GrowingClinic) -> None:
    """The second load: the visits of a day more."""
    clinic.admit("2026-06-10", 1, start=100_000)
    done = clinic.bump("2026-06-11")
    assert done.version == 2 and done.noted and done.found is not None and not done.found.changed


def _rows(answer: QueryResponse) -> list[tuple[object, ...]]:
    return [tuple(row) for row in answer.rows]


@pytest.mark.slow
@ON_POSTGRES
def test_closed_months_are_kept_and_the_open_one_is_charged_alone(clinic: GrowingClinic) -> None:
    first = clinic.ask(MONTHLY)
    assert first.epsilon == 6.0 and len(first.rows) == 6 and first.cached_periods == ()
    _loaded(clinic)
    left = clinic.left()
    second = clinic.ask(MONTHLY)
    assert _rows(second)[:5] == _rows(first)[:5]
    assert list(second.intervals)[:5] == list(first.intervals)[:5]
    assert second.epsilon == 1.0, "one of the six months that a patient may be in"
    assert left - clinic.left() == pytest.approx(1.0, abs=1e-9)
    assert second.cached_periods == (CachedPeriods(1, None, "2026-05-31", 5),)
    assert any(
        "5 of 6 groups are cached from earlier data versions" in note and "version 2" in note for note in second.notes
    )
    (now, rounding), (then, _) = _noise_per_tau(second, 5), _noise_per_tau(first, 5)
    assert now <= 6 * then + rounding, "as accurate as in the whole, whose threshold is for six months together"
    assert abs(_rows(second)[5][1] - 400) < 200  # type: ignore[operator]


def _noise_per_tau(answer: QueryResponse, row: int) -> tuple[float, float]:
    """How far down an interval reaches, for noise alone, and its rounding, in multiples of the chosen threshold."""
    interval, tau = answer.intervals[row][1], answer.taus[row][1]
    assert interval is not None and interval.low is not None and tau is not None
    return (float(str(_rows(answer)[row][1])) - interval.low) / tau[0], 2.0 / tau[0]


@pytest.mark.slow
def test_asked_again_within_a_load_it_is_free(clinic: GrowingClinic) -> None:
    clinic.ask(MONTHLY)
    _loaded(clinic)
    second = clinic.ask(MONTHLY)
    left = clinic.left()
    third = clinic.ask(MONTHLY)
    assert _rows(third) == _rows(second) and third.epsilon == 0.0 and third.cached and clinic.left() == left
    other = clinic.ask(f"SELECT * FROM ({MONTHLY}) s WHERE n > 0 ORDER BY n DESC LIMIT 2")
    assert other.epsilon == 0.0 and len(other.rows) == 2


def test_a_question_of_closed_days_alone_is_free_and_its_number_the_same(clinic: GrowingClinic) -> None:
    first = clinic.ask(BEFORE_JUNE)
    _loaded(clinic)
    left = clinic.left()
    again = clinic.ask(BEFORE_JUNE)
    assert _rows(again) == _rows(first) and again.epsilon == 0.0 and again.cached and clinic.left() == left
    assert again.cached_periods == (CachedPeriods(1, None, "2026-05-31", 1),)
    assert any("cached from earlier data versions" in note for note in again.notes)


@pytest.mark.slow
def test_what_one_analyst_has_is_not_another_s(clinic: GrowingClinic) -> None:
    clinic.ask(MONTHLY)
    _loaded(clinic)
    answer = clinic.ask(MONTHLY, analyst="bob")
    assert answer.epsilon == 6.0 and answer.cached_periods == () and clinic.left("bob") == pytest.approx(994.0)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "charged", "kept"), [(3.0, 0.5, 5), (6.5, 1.09, 5), (7.0, 7.0, 0)])
def test_what_is_kept_serves_another_epsilon_unless_that_asks_for_much_more(
    clinic: GrowingClinic, epsilon: float, charged: float, kept: int
) -> None:
    """A tenth wider than a fresh answer is the most; what is open is measured as is asked for now."""
    first = clinic.ask(MONTHLY)
    _loaded(clinic)
    answer = clinic.ask(MONTHLY, epsilon=epsilon)
    assert answer.epsilon == pytest.approx(charged, rel=0.01)
    assert sum(one.groups for one in answer.cached_periods) == kept
    assert (_rows(answer)[:kept] == _rows(first)[:kept]) and len(answer.rows) == 6


@pytest.mark.slow
def test_by_other_keys(clinic: GrowingClinic) -> None:
    keys = ((WEEKLY, 8, 10, "2026-05-31"), (DAILY, 9, 17, "2026-06-02"), (YEAR_AND_MONTH, 5, 6, "2026-05-31"),
            (BY_TOWN, 10, 12, "2026-05-31"))  # fmt: skip
    firsts = [clinic.ask(sql, epsilon=20.0) for sql, *_ in keys]
    _loaded(clinic)
    for first, (sql, kept, of, last) in zip(firsts, keys, strict=True):
        second = clinic.ask(sql, epsilon=20.0)
        assert (len(first.rows), len(second.rows)) == (of, of), sql
        assert [(one.version, one.last, one.groups) for one in second.cached_periods] == [(1, last, kept)], sql
        assert _rows(second)[:kept] == _rows(first)[:kept], sql
        assert 0.0 < second.epsilon < 20.0, sql


def test_a_month_that_closes_is_taken_from_the_load_that_closed_it(clinic: GrowingClinic) -> None:
    first = clinic.ask(MONTHLY)
    _loaded(clinic)
    clinic.ask(MONTHLY)
    clinic.admit("2026-06-11", 20, start=200_000)
    clinic.bump("2026-07-07")
    closing = clinic.ask(MONTHLY)
    assert closing.epsilon == 1.0 and [one.version for one in closing.cached_periods] == [1], (
        "June was open until the 30th"
    )
    clinic.bump("2026-07-08")
    closed = clinic.ask(MONTHLY)
    assert closed.epsilon == 1.0, "the 30th is closed now, but was not in the load before"
    clinic.bump("2026-07-09")
    left = clinic.left()
    kept = clinic.ask(MONTHLY)
    assert kept.epsilon == 0.0 and clinic.left() == left
    assert kept.cached_periods == (
        CachedPeriods(4, "2026-06-01", "2026-06-30", 1),
        CachedPeriods(1, None, "2026-05-31", 5),
    )
    assert _rows(kept) == [*_rows(first)[:5], _rows(closed)[5]]


@ON_POSTGRES
def test_a_changed_closed_row_is_found_and_reopened_on_the_custodian_s_word_alone(clinic: GrowingClinic) -> None:
    first = clinic.ask(MONTHLY)
    clinic.run("UPDATE visit SET cost = cost + 1 WHERE id = (SELECT min(id) FROM visit WHERE "
               "admitted_at >= DATE '2026-03-10')")  # fmt: skip
    refused = clinic.bump("2026-06-11")
    assert refused.version is None and refused.found is not None and refused.found.subjects == ("visit, 2026-03",)
    assert clinic.ledger.data_version() == 1
    assert clinic.ask(MONTHLY).epsilon == 0.0, "of the load before, all is kept"
    assert clinic.bump("2026-06-11", "changed").version == 2
    second = clinic.ask(MONTHLY)
    assert second.epsilon == 4.0, "from March on: which groups there are by two stretches of moments is not known"
    assert _rows(second)[:2] == _rows(first)[:2] and second.cached_periods == (
        CachedPeriods(1, None, "2026-02-28", 2),
    )
    assert any("2026-03 (version 2)" in note for note in second.notes)
    clinic.bump("2026-06-12")
    assert clinic.ask(MONTHLY).epsilon == 1.0, "March is kept again, of version 2"


@pytest.mark.slow
def test_late_rows_are_found_and_those_of_open_days_are_none(clinic: GrowingClinic) -> None:
    """In a closed month, in a closed day of the open one, before the declared range; the third of June was open."""
    for day, subjects in (
        ("2026-02-03", ("visit, 2026-02",)),
        ("2026-06-02", ("visit, 2026-06-02",)),
        ("1980-01-01", ("visit, <2026-01-01",)),
        ("2026-06-03", ()),
    ):
        clinic.admit(day, 1, patients=1, start=300_000)
        found = clinic.bump("2026-06-11").found
        assert found is not None and found.subjects == subjects, day
        clinic.run("DELETE FROM visit WHERE id >= 300000")


@pytest.mark.slow
def test_a_person_whose_old_rows_are_removed_is_found_and_all_may_be_reopened_alike(clinic: GrowingClinic) -> None:
    clinic.ask(MONTHLY)
    clinic.run("DELETE FROM visit WHERE patient_id = 7 AND admitted_at >= DATE '2026-05-01'")
    found = clinic.bump("2026-06-11").found
    assert found is not None
    assert found.subjects == ("visit, 2026-05", "visit, 2026-06-01", "visit, 2026-06-02")
    assert clinic.bump("2026-06-11", "all").version == 2
    answer = clinic.ask(MONTHLY)
    assert answer.epsilon == 6.0 and answer.cached_periods == (), "nothing tells which period had changed"


@pytest.mark.slow
def test_what_rows_lead_to_is_compared_where_it_is_joined(clinic: GrowingClinic) -> None:
    """Its period is reopened for every question, with towns or without: nobody is told whose rows have changed."""
    clinic.run("INSERT INTO patient VALUES (1000, 'Berne')")
    clinic.run("INSERT INTO visit VALUES (900000, 1000, 'A', TIMESTAMP '2026-03-10 09:00:00', 1)")
    assert clinic.bump("2026-06-10", "changed").version == 2
    clinic.ask(MONTHLY)
    clinic.ask(BY_TOWN, epsilon=20.0)
    clinic.run("UPDATE patient SET town = 'Aalen' WHERE id = 1000")
    clinic.run("INSERT INTO patient VALUES (1001, 'Berne')")
    found = clinic.bump("2026-06-11").found
    assert found is not None and found.subjects == ("visit, 2026-03: rows of patient (patient_id)",)
    assert clinic.bump("2026-06-11", "changed").version == 3
    for sql, epsilon, kept in ((MONTHLY, 6.0, 2), (BY_TOWN, 20.0, 4)):
        answer = clinic.ask(sql, epsilon=epsilon)
        assert answer.cached_periods == (CachedPeriods(2, None, "2026-02-28", kept),), sql


@pytest.mark.slow
def test_new_rows_of_a_dimension_change_nothing(clinic: GrowingClinic) -> None:
    clinic.ask(BY_TOWN, epsilon=20.0)
    clinic.run("INSERT INTO patient VALUES (1000, 'Berne')")
    _loaded(clinic)
    assert [one.groups for one in clinic.ask(BY_TOWN, epsilon=20.0).cached_periods] == [10]


@pytest.mark.slow
def test_a_public_table_beside_is_compared_as_a_whole(clinic: GrowingClinic) -> None:
    sql = (
        "SELECT date_trunc('month', admitted_at) AS month, count(*) FROM visit WHERE admitted_at < DATE '2026-07-01' "
        "AND admitted_at::date NOT IN (SELECT day FROM holiday WHERE day IS NOT NULL) GROUP BY 1"
    )
    clinic.ask(sql)
    _loaded(clinic)
    assert [one.groups for one in clinic.ask(sql).cached_periods] == [5]
    clinic.run("INSERT INTO holiday VALUES ('2026-03-17')")
    assert clinic.bump("2026-06-12").version == 3, "it is public: nobody's leave is asked"
    assert clinic.ask(sql).cached_periods == ()
    clinic.bump("2026-06-13")
    assert [one.groups for one in clinic.ask(sql).cached_periods] == [5]


@pytest.mark.slow
def test_a_load_that_nobody_compared_keeps_nothing_until_the_next_that_is(clinic: GrowingClinic) -> None:
    first = clinic.ask(MONTHLY)
    clinic.ledger.bump_data(ACT)
    answer = clinic.ask(MONTHLY)
    assert answer.epsilon == 6.0 and answer.cached_periods == ()
    done = clinic.bump("2026-06-12")
    assert done.version == 3 and done.found is not None and not done.found.changed
    again = clinic.ask(MONTHLY)
    assert [one.version for one in again.cached_periods] == [1], "compared with what was noted last"
    assert _rows(again)[:5] == _rows(first)[:5]


def test_with_another_key_nothing_is_compared(clinic: GrowingClinic) -> None:
    clinic.ask(MONTHLY)
    (clinic.folder / "policy.toml.periods-key").unlink()
    done = clinic.bump("2026-06-11")
    assert done.noted and done.found is not None and done.found.incomparable
    assert clinic.ask(MONTHLY).cached_periods == ()


@pytest.mark.slow
def test_the_ledger_is_proved_and_the_check_tells_its_custodian(clinic: GrowingClinic) -> None:
    clinic.ask(MONTHLY)
    _loaded(clinic)
    clinic.ask(MONTHLY)
    assert clinic.ledger.verify().fault is None
    clinic.run("DELETE FROM visit WHERE id = (SELECT min(id) FROM visit)")
    url = clinic.url or f"duckdb:///{clinic.folder}/clinic.duckdb"
    with open_policy_custody(clinic.policy, url, 0) as custody:
        found = compare_version(clinic.policy, clinic.policy_path, custody, clinic.ledger)
    assert found is not None and found.subjects == ("visit, 2026-01",)
    entry = clinic.ledger.noted_periods()
    assert entry is not None
    told = re.sub("[0-9a-f]{16,}", "", str(entry))  # digests may hold any number
    assert told != str(entry) and "6400" not in told, "no number of rows"


@pytest.mark.slow
def test_a_repeated_request_under_its_key_is_charged_once(clinic: GrowingClinic) -> None:
    clinic.ask(MONTHLY)
    _loaded(clinic)
    request = QueryRequest("ada", MONTHLY, epsilon=6.0, request_id="r", idempotency_key="once")
    first = ask(clinic.pipeline(), request)
    left = clinic.left()
    again = ask(clinic.pipeline(), request)
    assert (first.epsilon, again.epsilon, clinic.left()) == (1.0, 0.0, left)
    assert _rows(first) == _rows(again)


@pytest.mark.slow
@WITHHELD
def test_with_a_delta_and_with_groups_that_may_be_withheld(tmp_path: Path, workers: WorkerPool, privacy: str) -> None:
    with growing_clinic(tmp_path, "duckdb", workers, privacy=privacy) as clinic:
        clinic.admit("2026-01-01", 31)
        clinic.admit("2026-03-01", 101, start=50_000)
        assert clinic.note("2026-06-10")
        first = clinic.ask(MONTHLY)
        shown = {row[0]: row[1] for row in first.rows}
        assert len(shown) == (6 if "delta" in privacy else 5), "nobody came in February"
        _loaded(clinic)
        second = clinic.ask(MONTHLY)
        june = "2026-06-01 00:00:00"
        assert {row[0]: row[1] for row in second.rows if row[0] != june} == {
            month: count for month, count in shown.items() if month != june
        }
        assert 0.0 < second.epsilon < 6.0 and [one.version for one in second.cached_periods] == [1]
        assert [one.groups for one in second.cached_periods] == [5], "that nothing is shown of February is kept, too"
        assert second.delta == first.delta


@pytest.mark.slow
@WITHHELD
def test_open_months_that_are_withheld_are_charged_once_a_load(
    tmp_path: Path, workers: WorkerPool, privacy: str
) -> None:
    """Of a whole year, whose months from July on are open and nobody's."""
    whole_year = MONTHLY.replace("WHERE admitted_at < DATE '2026-07-01' ", "")
    with growing_clinic(tmp_path, "duckdb", workers, privacy=privacy) as clinic:
        clinic.admit("2026-01-01", 160)
        assert clinic.note("2026-06-10")
        first = clinic.ask(whole_year, epsilon=40.0)
        assert first.epsilon == 40.0 and len(first.rows) == (12 if "delta" in privacy else 6)
        _loaded(clinic)
        second = clinic.ask(whole_year, epsilon=40.0)
        assert 0.0 < second.epsilon < 40.0 and [one.groups for one in second.cached_periods] == [5]
        left = clinic.left()
        third = clinic.ask(whole_year, epsilon=40.0)
        assert _rows(third) == _rows(second) and third.epsilon == 0.0 and clinic.left() == left
