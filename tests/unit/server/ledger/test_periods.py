from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from server.ledger.account import Renewal
from server.ledger.terms import Periods, day_of, period_at, period_name, period_start_ms

RENEWALS: tuple[Renewal, ...] = get_args(Renewal)
TIMES = st.integers(-62_135_596_800_000, 253_370_764_799_999)


@given(renew=st.sampled_from(RENEWALS), at_ms=TIMES)
def test_a_time_lies_in_its_period_and_in_no_other(renew: Renewal, at_ms: int) -> None:
    period = period_at(renew, at_ms)
    if period_name(renew, period) == "0001-01" or at_ms < period_start_ms(renew, period_at(renew, -(10**13))):
        return  # before the calendar's second week
    assert period_start_ms(renew, period) <= at_ms < period_start_ms(renew, period + 1)


def test_periods_are_those_of_the_calendar_in_utc() -> None:
    cases: list[tuple[Renewal, tuple[int, ...], str, str]] = [
        ("day", (2024, 2, 28, 23, 59, 59), "2024-02-28", "2024-02-29"),
        ("week", (2024, 12, 31), "2025-W01", "2025-01-06"),
        ("month", (2023, 12, 31, 23, 59, 59, 999999), "2023-12", "2024-01-01"),
        ("quarter", (2024, 3, 31, 12), "2024-Q1", "2024-04-01"),
        ("year", (2024, 1, 1), "2024", "2025-01-01"),
    ]
    for renew, moment, name, next_day in cases:
        at = datetime(*moment, tzinfo=UTC)  # type: ignore[misc, arg-type]
        period = period_at(renew, (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))
        assert period_name(renew, period) == name, renew
        assert day_of(period_start_ms(renew, period + 1)) == next_day, renew


def test_a_clock_far_beyond_the_calendar_is_at_its_end() -> None:
    for renew in RENEWALS:
        last = period_at(renew, 10**18)
        assert day_of(period_start_ms(renew, last + 1)) > "9998-12-01"


@given(current=st.integers(-5, 5), previous=st.integers(-9, 4), now=st.integers(-9, 9))
def test_what_is_set_back_is_still_later_than_the_period_before(current: int, previous: int, now: int) -> None:
    if previous >= current:
        return
    back = Periods(current, previous, 3, 4, 5, 6).set_back(now)
    assert previous < back.current <= current
    assert back.current <= max(now, previous) + 1 or back.current == current <= now
    assert (back.past_nano, back.past_atto, back.peak_nano, back.peak_atto) == (3, 4, 5, 6)
