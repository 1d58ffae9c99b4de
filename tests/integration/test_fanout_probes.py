"""Declared fan-outs and rows per unit, against real rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from planner.policy.policy import parse_policy
from server.backends.postgres import connected
from server.backends.postgres_catalog import read_schema
from server.backends.postgres_custody import PostgresCustody
from server.policy.check_data import check_policy

TABLES = """
    CREATE TABLE person (id bigint PRIMARY KEY);
    CREATE TABLE purchase (id bigint PRIMARY KEY, buyer bigint REFERENCES person (id));
    CREATE TABLE knows (src bigint REFERENCES person (id), dst bigint REFERENCES person (id));
    CREATE TABLE line (purchase bigint NOT NULL REFERENCES purchase (id));
    INSERT INTO person SELECT n FROM generate_series(1, 4) n;
    INSERT INTO purchase VALUES (1, 1), (2, 1), (3, 2), (4, NULL), (5, NULL), (6, NULL);
    INSERT INTO line VALUES (1), (1), (1), (2), (3);
    INSERT INTO knows VALUES (1, 2), (1, 3), (4, 1), (1, 1), (2, 3), (NULL, 2), (NULL, 3), (NULL, 4);
"""

POLICY = """
name = "shop"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[[foreign_keys]]
table = "purchase"
columns = ["buyer"]
references = "person"
key = ["id"]
fanout = {buyer}
[[foreign_keys]]
table = "line"
columns = ["purchase"]
references = "purchase"
key = ["id"]
fanout = {lines}
[tables.person]
[tables.purchase]
accepted_null_owners = 3
[tables.line.rows_per_unit]
person = {line}
[tables.knows.rows_per_unit]
person = {knows}
"""


@pytest.fixture
def connection(scratch_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        owner.execute(TABLES.encode())
    with connected(scratch_url, 10_000) as connection:
        yield connection


def found(connection: psycopg.Connection[Any], **declared: int) -> dict[str, int | None]:
    policy = parse_policy(POLICY.format(**declared))
    findings = check_policy(PostgresCustody(connection), policy, read_schema(connection))
    return {finding.subject: finding.rows for finding in findings if finding.severity != "accepted"}


def test_promises_that_the_rows_keep_are_no_finding(connection: psycopg.Connection[Any]) -> None:
    assert found(connection, buyer=2, lines=3, line=4, knows=4) == {}


def test_rows_beyond_a_promise_are_counted(connection: psycopg.Connection[Any]) -> None:
    """Person 1 has purchases of three lines and one; four rows of `knows` are of 1, three of 2 and three of 3."""
    beyond = found(connection, buyer=1, lines=1, line=2, knows=2)
    assert beyond == {"purchase.buyer": 1, "line.purchase": 2, "line": 2, "knows": 4}


def test_people_who_have_more_than_nobody_is_said_to_have_are_counted(connection: psycopg.Connection[Any]) -> None:
    """Person 1 has four lines, whose purchases add up to five; beyond a range its end counts."""
    ranged = "columns = {{ purchase = {{ range = [0, 1] }} }}"
    for said, more, people in (
        ("rows = 4", "", 0),
        ("rows = 3", "", 1),
        ("purchase = 5", "", 0),
        ("purchase = 4", "", 1),
        ("purchase = 4", ranged, 0),
        ("purchase = 3", ranged, 1),
    ):
        settings = f"[tables.line]\nat_most = {{{{ {said} }}}}\n{more}\n[tables.line.rows_per_unit]"
        text = POLICY.replace("[tables.line.rows_per_unit]", settings)
        policy = parse_policy(text.format(buyer=2, lines=3, line=4, knows=4))
        findings = check_policy(PostgresCustody(connection), policy, read_schema(connection))
        (amount, _, _) = said.partition(" ")
        told = {one.subject: (one.severity, one.rows) for one in findings if "at_most" in one.subject}
        assert told == ({f"line.at_most.{amount}": ("warning", people)} if people else {}), said


def test_rows_that_share_a_key_of_one_owner_with_others_are_counted(scratch_url: str) -> None:
    """Rows 1 and 2 are person 1's, row 3 is person 2's, and the others have no owner."""
    declared = 'accepted_null_owners = 3\none_owner = ["half", "third", "id"]'
    keys = "UPDATE purchase SET half = (id + 1) / 2, third = (id + 2) / 3"
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        owner.execute(f"{TABLES} ALTER TABLE purchase ADD half bigint, ADD third bigint; {keys}".encode())
    text = POLICY.replace("accepted_null_owners = 3", declared).format(buyer=2, lines=3, line=4, knows=4)
    with connected(scratch_url, 10_000) as connection:
        findings = check_policy(PostgresCustody(connection), parse_policy(text), read_schema(connection))
    told = {one.subject: (one.severity, one.rows) for one in findings if "share it" in one.message}
    assert told == {"purchase.half": ("warning", 4), "purchase.third": ("warning", 6)}


PERIODS = """
    CREATE TABLE visit (owner bigint REFERENCES person (id), at {kind});
    INSERT INTO visit VALUES
        (1, '2024-01-01 23:30Z'), (1, '2024-01-02 00:30Z'), (1, '2024-01-07'), (1, '2024-01-08'), (1, '2024-02-01'),
        (2, '2024-12-30'), (2, '2024-12-31'), (2, '2025-01-01'), (2, NULL), (2, NULL), (2, NULL), (2, NULL);
"""


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp", "date"])
def test_people_who_have_more_in_one_period_are_counted_once(scratch_url: str, kind: str) -> None:
    """Person 1 has at most 1 visit a day, 3 a week and 4 a month; person 2 has 3 a week, and 2 in one year."""
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        owner.execute((TABLES + PERIODS.format(kind=kind)).encode())
    for unit, most, people in (
        ("day", 1, 0), ("week", 3, 0), ("week", 2, 2), ("week", 1, 2), ("month", 4, 0), ("month", 3, 1),
        ("year", 5, 0), ("year", 4, 1), ("year", 1, 2),
    ):  # fmt: skip
        settings = f"""
            [tables.visit]
            append_only = {{column = "at", closed_after_days = 7}}
            at_most = {{rows_per_{unit} = {most}}}
        """
        text = POLICY.format(buyer=2, lines=3, line=4, knows=4) + settings
        with connected(scratch_url, 10_000) as connection:
            findings = check_policy(PostgresCustody(connection), parse_policy(text), read_schema(connection))
        told = [(one.subject, one.rows) for one in findings if "at_most" in one.subject]
        assert told == ([(f"visit.at_most.rows_per_{unit}", people)] if people else []), (unit, most)


CHAINS = """
    CREATE TABLE post (id bigint PRIMARY KEY, parent bigint, author bigint REFERENCES person (id));
    CREATE TABLE note (post bigint REFERENCES post (id));
    INSERT INTO post VALUES (1, NULL, 1), (2, 1, NULL), (3, 1, 1), (4, 2, NULL), (5, 4, 2), (6, 6, 2), (7, 99, 2);
    INSERT INTO note VALUES (1), (2), (3), (4), (5), (6), (7);
"""

DEEP = """
name = "forum"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[[foreign_keys]]
table = "post"
columns = ["parent"]
references = "post"
key = ["id"]
depth = {depth}
[tables.person]
[tables.post.rows_per_unit]
person = {posts}
[tables.note]
"""


def test_rows_deeper_than_the_depth_are_counted_and_promises_hold_for_the_others(scratch_url: str) -> None:
    with psycopg.connect(scratch_url, autocommit=True) as owner:
        owner.execute((TABLES + CHAINS).encode())
    for depth, posts, expected in (
        (1, 3, {"post": 3, "note": 3}),  # 4 and 5 are deeper, and 6 is in a circle; 7 leads nowhere
        (2, 4, {"post": 2, "note": 2}),
        (3, 5, {"post": 1, "note": 1}),
        (1, 2, {"post": 4, "note": 3}),  # and one more post than promised: 1, 2 and 3 are person 1's
    ):
        policy = parse_policy(DEEP.format(depth=depth, posts=posts))
        with connected(scratch_url, 10_000) as connection:
            findings = check_policy(PostgresCustody(connection), policy, read_schema(connection))
        counted = [(one.subject, one.rows or 0) for one in findings if one.subject in ("post", "note")]
        totals = {subject: sum(rows for name, rows in counted if name == subject) for subject, _ in counted}
        assert totals == expected, (depth, posts)
        assert {finding.severity for finding in findings if "depth" in finding.message} == {"warning"}
        assert "post.parent" in {finding.subject for finding in findings}
