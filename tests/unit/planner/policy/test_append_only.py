"""The promise that a table only grows: read, validated, and no part of older policies."""

from __future__ import annotations

import pytest

from planner.errors import PolicyInvalid
from planner.policy.policy import parse_policy
from planner.policy.sections import AppendOnly
from planner.policy.validate import validate
from planner.policy.weakening import weakenings
from tests.support.growing_clinic import POLICY
from tests.unit.planner.reuse.test_time_keys import clinic

TEXT = POLICY.format(url="env:UNUSED", privacy="")
PROMISE = 'append_only = { column = "admitted_at", closed_after_days = 7 }'


def test_it_says_by_which_column_and_when() -> None:
    assert parse_policy(TEXT).tables["visit"].append_only == AppendOnly("admitted_at", 7)


def test_without_it_a_policy_is_what_it_was() -> None:
    without = parse_policy(TEXT.replace(PROMISE, ""))
    assert without.tables["visit"].append_only is None
    assert without.hash != parse_policy(TEXT).hash
    assert weakenings(without, parse_policy(TEXT)) == () == weakenings(parse_policy(TEXT), without)


def test_what_is_no_promise_is_refused() -> None:
    for written, said in [
        ('append_only = "admitted_at"', "needs a column and a number of days"),
        ('append_only = { column = "admitted_at" }', "closed_after_days: must be a whole number"),
        ('append_only = { column = "admitted_at", closed_after_days = 0 }', "closed_after_days: must be"),
        ('append_only = { column = "admitted_at", closed_after_days = 40000 }', "closed_after_days: must be"),
        ('append_only = { column = "admitted_at", closed_after_days = 7, zone = "CET" }', "unknown settings"),
    ]:  # fmt: skip
        with pytest.raises(PolicyInvalid, match=said):
            parse_policy(TEXT.replace(PROMISE, written))


def test_it_fits_the_catalog() -> None:
    for before, after, said in [
        ('"admitted_at", closed', '"admitted", closed',
         r"append_only: no column admitted; did you mean admitted_at"),
        ('"admitted_at", closed', '"cost", closed', r"append_only: cost is of type integer; use a date"),
        ("[tables.holiday]\npublic = true",
         '[tables.holiday]\npublic = true\nappend_only = { column = "day", closed_after_days = 7 }',
         r"tables.holiday.append_only: needs a private table"),
    ]:  # fmt: skip
        schema, _ = clinic("date")
        assert before in TEXT
        with pytest.raises(PolicyInvalid, match=said):
            validate(parse_policy(TEXT.replace(before, after)), schema)
