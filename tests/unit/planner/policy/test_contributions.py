"""`clip` and `at_most` of a table: read, validated, and no part of older policies."""

from __future__ import annotations

import pytest

from planner.errors import PolicyInvalid
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.policy.weakening import weakenings
from tests.support.growing_clinic import POLICY
from tests.unit.planner.reuse.test_time_keys import clinic

OTHER = 'append_only = { column = "admitted_at", closed_after_days = 7 }'
TEXT = POLICY.format(url="env:UNUSED", privacy="")


def said(settings: str) -> str:
    """The policy, with settings of the visits."""
    assert OTHER in TEXT
    return TEXT.replace(OTHER, f"{OTHER}\n{settings}", 1)


def test_they_name_rows_and_columns() -> None:
    table = parse_policy(said("clip = {rows = 40, cost = 9000}\nat_most = {rows = 400}")).tables["visit"]
    assert table.clip == {"rows": 40.0, "cost": 9000.0}
    assert table.at_most == {"rows": 400.0}
    validate(parse_policy(said("clip = {rows = 40, cost = 9000}")), clinic("date")[0])


def test_they_change_the_hash_and_weaken_nothing() -> None:
    old = parse_policy(TEXT)
    for settings in ("clip = {rows = 40}", "at_most = {rows = 40}"):
        new = parse_policy(said(settings))
        assert new.hash != old.hash
        assert weakenings(old, new) == () == weakenings(new, old)
    assert parse_policy(said("clip = {}")).hash == old.hash


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("clip = 40", r"clip: must be a table of amounts"),
        ("clip = {rows = 0}", "rows: must be a whole number"),
        ("clip = {rows = 1.5}", "rows: must be a whole number"),
        ("clip = {cost = 0}", "cost: must be above 0"),
        ('at_most = {cost = "9"}', "cost: must be a finite number"),
        ("clip = {cost = inf}", "cost: must be a finite number"),
        ("clip = {rows_per_month = 2.5}", "rows_per_month: must be a whole number"),
        ("clip = {rows = 41}\nat_most = {rows = 40}", "rows must not exceed that of at_most"),
    ],
)
def test_what_is_no_amount_is_refused(settings: str, told: str) -> None:
    with pytest.raises(PolicyInvalid, match=told):
        parse_policy(said(settings))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("clip = {costs = 1}", "tables.visit.clip: no column costs; did you mean cost"),
        ("at_most = {admitted_at = 1}", "at_most: admitted_at is of type date; use `rows`"),
    ],
)
def test_they_fit_the_catalog(settings: str, told: str) -> None:
    with pytest.raises(PolicyInvalid, match=told):
        validate(parse_policy(said(settings)), clinic("date")[0])


def test_rows_per_month_need_a_time() -> None:
    text = said("clip = {rows_per_month = 6}")
    validate(parse_policy(text), clinic("date")[0])
    with pytest.raises(PolicyInvalid, match="rows_per_month needs append_only"):
        validate(parse_policy(text.replace(OTHER, "")), clinic("date")[0])


def test_public_tables_have_none() -> None:
    text = TEXT.replace("[tables.holiday]\npublic = true", "[tables.holiday]\npublic = true\nclip = {rows = 3}")
    with pytest.raises(PolicyInvalid, match=r"tables.holiday.clip: needs a private table"):
        validate(parse_policy(text), clinic("date")[0])
