"""Since when rows of some days are what they are: as a look at every day of every period would say."""

from __future__ import annotations

import itertools
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from planner.group_domains.day_conditions import Run
from planner.reuse.period_scope import PeriodScope
from server.answers.periods.noted_periods import NotedPeriods
from server.ledger.entry import PeriodsNoted
from server.policy.calendar import closed_periods, days_of

BEFORE = date(2026, 3, 10)
PERIODS = list(closed_periods(BEFORE, date(2025, 11, 20)))


def scope(ways: tuple[str, ...] = ("",), whole: tuple[str, ...] = ()) -> PeriodScope:
    return PeriodScope("visit", "visit", "admitted_at", ways, whole, None, None, None, ())


def noted(
    since: dict[str, int], other: dict[str, int] | None = None, column: str | None = "admitted_at"
) -> NotedPeriods:
    def way(versions: dict[str, int]) -> dict[str, object]:
        return {"shape": "s", "periods": {period: [version, "d"] for period, version in versions.items()}}

    ways = {"": way(since)} | ({} if other is None else {"/patient (patient_id)": way(other)})
    return NotedPeriods.of(
        PeriodsNoted(
            version=9,
            fingerprint="f",
            key="k",
            loads=[[1, "f"], [9, "f"]],
            tables={"visit": {"before": BEFORE.isoformat(), "ways": ways} | ({"column": column} if column else {})},
            whole={"holiday": {"shape": "s", "since": 4, "digest": "d"}},
            reopened=[["visit", "2026-01", 5], ["visit", "2026-03-02", 6]],
            by="grace",
            reason="a load",
        )
    )


def test_periods_tile_all_days_before_the_first_open_one() -> None:
    days = [days_of(period) for period in PERIODS]
    assert PERIODS[0] == "<2025-11-01" and PERIODS[-1] == "2026-03-09"
    assert days[0][0] == date.min and days[-1][1] == BEFORE - timedelta(days=1)
    assert all(before[1] + timedelta(days=1) == after[0] for before, after in itertools.pairwise(days))


versions = st.lists(st.integers(1, 9), min_size=len(PERIODS), max_size=len(PERIODS))
some_day = st.dates(date(2025, 9, 1), date(2026, 3, 20))


@given(versions, versions, st.lists(st.tuples(some_day, some_day), min_size=1, max_size=3))
def test_it_is_the_newest_version_of_every_day_of_every_way(
    own: list[int], reached: list[int], drawn: list[tuple[date, date]]
) -> None:
    runs: list[Run] = [(min(pair), max(pair)) for pair in drawn]
    told = noted(dict(zip(PERIODS, own, strict=True)), dict(zip(PERIODS, reached, strict=True)))
    asked = scope(("", "/patient (patient_id)"))
    days = {
        first + timedelta(days=number)
        for first, last in runs
        if first is not None and last is not None
        for number in range((last - first).days + 1)
    }
    expected = None
    if max(days) < BEFORE:
        expected = max(
            version
            for period, *both in zip(PERIODS, own, reached, strict=True)
            for version in both
            if any(days_of(period)[0] <= day <= days_of(period)[1] for day in days)
        )
    assert told.since(asked, runs) == expected


def test_what_is_not_vouched_for_is_kept_of_no_version() -> None:
    told = noted(dict.fromkeys(PERIODS, 2))
    closed: list[Run] = [(None, date(2026, 1, 31))]
    assert told.since(scope(), closed) == 2
    assert told.since(scope(whole=("holiday",)), closed) == 4
    assert told.since(scope(whole=("ward",)), closed) is None
    assert told.since(scope(("", "/patient (patient_id)")), closed) is None
    assert told.since(scope(), [(date(2026, 1, 1), None)]) is None
    assert told.since(scope(), [(date(2026, 1, 1), BEFORE)]) is None


def test_reopened_periods_of_some_days_are_told() -> None:
    told = noted(dict.fromkeys(PERIODS, 2))
    assert told.reopened_within(scope(), [(date(2026, 1, 31), date(2026, 2, 3))]) == (("2026-01", 5),)
    assert told.reopened_within(scope(), [(date(2026, 3, 3), None)]) == ()


def test_periods_of_another_day_column_vouch_for_nothing() -> None:
    """A row without that other day is in none of its periods, and may be new. Older entries do not say the column."""
    runs: list[Run] = [(date(2026, 1, 1), date(2026, 1, 31))]
    for column, since in (("admitted_at", 1), (None, 1), ("left_at", None)):
        assert noted(dict.fromkeys(PERIODS, 1), column=column).since(scope(), runs) == since, column
