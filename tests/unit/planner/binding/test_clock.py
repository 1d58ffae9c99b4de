from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from planner.binding.bind import bind
from planner.binding.placeholders import snapped
from planner.errors import PolicyInvalid, UnsupportedSQL
from planner.parsing.parse import parse
from planner.policy.policy import GRAINS, parse_policy
from tests.support.planning import DEMO_POLICY, demo_policy
from tests.support.tpch_schema import tpch_schema

NOW = datetime(2024, 5, 17, 13, 30, 59, 999, tzinfo=UTC)


def _condition(condition: str, now: datetime | None = NOW, grain: str = "day") -> str:
    select = parse(f"SELECT count(*) FROM orders WHERE {condition}")
    before = select.sql()
    query = bind(select, tpch_schema(), replace(demo_policy(), time_grain=grain), now)
    assert select.sql() == before
    return query.predicates[0].sql("postgres").removeprefix('"orders_0"."o_orderdate" ')


def test_the_clock_is_a_literal() -> None:
    for written, literal in [
        ("current_date", "CAST('2024-05-17' AS DATE)"), ("now()", "CAST('2024-05-17' AS DATE)"),
        ("CURRENT_TIMESTAMP", "CAST('2024-05-17' AS DATE)"), ("localtimestamp", "CAST('2024-05-17' AS DATE)"),
        ("now() - INTERVAL '1' MONTH", "CAST('2024-04-17' AS DATE)"), ("now()::date", "CAST('2024-05-17' AS DATE)"),
    ]:  # fmt: skip
        assert _condition(f"o_orderdate > {written}") == f"> {literal}"


def test_all_day_it_is_one_question() -> None:
    moments = [NOW + timedelta(hours=hours) for hours in (-13, 0, 10)]
    assert len({_condition("o_orderdate > now()", moment) for moment in moments}) == 1
    assert len({_condition("o_orderdate > now()", moment, "hour") for moment in moments}) == 3


def test_the_zone_of_the_clock_does_not_matter() -> None:
    assert snapped(NOW.astimezone(timezone(timedelta(hours=14))), "day") == datetime(2024, 5, 17)


def test_snapping_is_idempotent_and_never_ahead() -> None:
    for grain in GRAINS:
        once = snapped(NOW, grain)
        assert once <= NOW.replace(tzinfo=None)
        assert snapped(once.replace(tzinfo=UTC), grain) == once


def test_without_a_clock_it_is_refused() -> None:
    with pytest.raises(UnsupportedSQL, match="clock"):
        _condition("o_orderdate > now()", None)


def test_other_clocks_are_refused() -> None:
    for written in [
        "clock_timestamp()", "statement_timestamp()", "transaction_timestamp()", "timeofday()", "current_time",
        "localtime", "DATE 'epoch'", "'allballs'::timestamp", "current_timestamp(3)",
    ]:  # fmt: skip
        with pytest.raises(Exception, match=r"supported|read"):
            _condition(f"o_orderdate > {written}")


def test_the_policy_says_the_grain() -> None:
    text = DEMO_POLICY.read_text()
    assert parse_policy(text).time_grain == "day"
    assert parse_policy(text.replace("[privacy]", '[privacy]\ntime_grain = "hour"')).time_grain == "hour"
    with pytest.raises(PolicyInvalid, match=r"privacy\.time_grain"):
        parse_policy(text.replace("[privacy]", '[privacy]\ntime_grain = "second"'))
