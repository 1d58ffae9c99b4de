"""A policy compared with real rows: every false declaration is found and counted, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from planner.policy.policy import Policy, parse_policy
from server.backends.postgres import connected
from server.backends.postgres_catalog import read_schema
from server.backends.postgres_custody import PostgresCustody
from server.errors import BackendFailed
from server.policy.check_data import check_policy
from server.policy.verified_keys import Finding

TABLES = """
    CREATE TABLE person (id bigint PRIMARY KEY, email text);
    CREATE TABLE purchase (
        id bigint PRIMARY KEY, person_id bigint, price numeric(10, 2), weight float8,
        colour char(5), paid boolean, day date, sent timestamp, at timestamptz
    );
    INSERT INTO person SELECT n, 'p' || n FROM generate_series(1, 3) n;
    INSERT INTO purchase VALUES
        (1, 1, 10.00, 0.5, 'red', true, '2024-01-01'),
        (2, 2, 99.99, 1.0, 'blue', false, '2024-01-02'),
        (3, NULL, NULL, NULL, NULL, NULL, NULL);
"""

POLICY = """
name = "shop"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 2.0
[privacy_units]
person = "id"
[[foreign_keys]]
table = "purchase"
columns = ["person_id"]
references = "person"
key = ["id"]
[tables.person]
rows = 3
[tables.purchase]
accepted_null_owners = 1
[tables.purchase.columns]
price = { range = [0, 99.99] }
weight = { range = [0.5, 1] }
colour = { domain = ["red", "blue"] }
paid = { domain = [true, false] }
day = { domain = [2024-01-01, 2024-01-02] }
sent = { range = [2024-01-01, 2024-01-31] }
at = { range = [2024-01-01, 2024-01-31], step = "day" }
"""


@pytest.fixture
def owner(scratch_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(scratch_url, autocommit=True) as connection:
        connection.execute(TABLES.encode())
        yield connection


def check(url: str, policy: str = POLICY) -> tuple[Finding, ...]:
    """What is found beside the purchases of nobody, which the policy acknowledges."""
    with connected(url, 0) as connection:
        found = check_policy(PostgresCustody(connection), parse_policy(policy), read_schema(connection))
    return tuple(finding for finding in found if finding.severity != "accepted")


def test_false_declarations_are_found_and_counted_and_true_ones_are_none(scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as owner:
        owner.execute(TABLES.encode())
        owner.commit()

        def found() -> list[Finding]:
            everything = check_policy(PostgresCustody(owner), parse_policy(POLICY), read_schema(owner))
            return [finding for finding in everything if finding.severity != "accepted"]

        assert found() == []
        for change, severity, subject, rows, words in (
            ("UPDATE purchase SET price = 100 WHERE id < 3", "warning", "purchase.price", 2, "outside the range"),
            (
                "UPDATE purchase SET price = -0.01 WHERE id = 1",
                "warning",
                "purchase.price",
                1,
                "outside the range",
            ),
            (
                "UPDATE purchase SET price = 'NaN' WHERE id = 1",
                "warning",
                "purchase.price",
                1,
                "outside the range",
            ),
            (
                "UPDATE purchase SET weight = 'NaN' WHERE id = 1",
                "warning",
                "purchase.weight",
                1,
                "outside the range",
            ),
            ("UPDATE purchase SET weight = 'Infinity'", "warning", "purchase.weight", 3, "outside the range"),
            ("UPDATE purchase SET colour = 'green' WHERE id = 1", "warning", "purchase.colour", 1, "domain"),
            ("UPDATE purchase SET day = '2025-01-01' WHERE id = 1", "warning", "purchase.day", 1, "domain"),
            ("UPDATE purchase SET at = '2024-02-01 00:00+01' WHERE id = 2", "warning", "purchase.at", 0, ""),
            (
                "UPDATE purchase SET at = '2024-01-01 00:00+01' WHERE id = 2",
                "warning",
                "purchase.at",
                1,
                "leave the rows out",
            ),
            ("UPDATE purchase SET at = 'infinity' WHERE id < 3", "warning", "purchase.at", 2, "leave the rows out"),
            ("UPDATE purchase SET sent = '2024-01-31 23:59:59' WHERE id < 3", "warning", "purchase.sent", 0, ""),
            (
                "UPDATE purchase SET sent = '2024-02-01' WHERE id < 3",
                "warning",
                "purchase.sent",
                2,
                "leave the rows out",
            ),
            (
                "UPDATE purchase SET person_id = 77 WHERE id < 3",
                "error",
                "purchase.person_id",
                2,
                "have no row",
            ),
            ("INSERT INTO person VALUES (4), (5)", "error", "person", 2, "exceed the declared 3 rows"),
            ("DELETE FROM person WHERE id = 2", "error", "purchase.person_id", 1, "have no row"),
        ):
            owner.execute(change.encode())
            findings = found()
            counted = [(finding.severity, finding.subject, finding.rows) for finding in findings]
            assert counted == ([(severity, subject, rows)] if rows else []), change
            assert all(words in finding.message for finding in findings), change
            owner.rollback()


def test_what_becomes_of_misfits_is_said_as_it_is(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    """Values outside a domain with `other` are counted in its group, and NaN is missing: no sum clamps it."""
    owner.execute("UPDATE purchase SET weight = 'NaN', colour = 'green' WHERE id = 1")
    kept = POLICY.replace('domain = ["red", "blue"]', 'domain = ["red", "blue"], other = "rest"')
    found = {finding.subject: finding.message for finding in check(scratch_url)}
    assert "or NaN: sums use its nearest end, or leave NaN out, and" in found["purchase.weight"]
    assert found["purchase.colour"] == "outside the declared domain: answers grouped by it leave the rows out"
    assert [finding.subject for finding in check(scratch_url, kept)] == ["purchase.weight"], "it is as declared"
    with connected(scratch_url, 0) as connection:
        accepted = check_policy(PostgresCustody(connection), parse_policy(kept), read_schema(connection))
    said = {finding.subject: finding.message for finding in accepted if finding.severity == "accepted"}
    assert said["purchase.colour"].endswith("answers grouped by it count them in the group for other values")


def test_a_count_is_in_no_repr() -> None:
    assert "4711" not in repr(Finding("error", "t.c", "outside", 4711))


def test_keys_that_no_constraint_enforces_are_counted(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    owner.execute("ALTER TABLE person DROP CONSTRAINT person_pkey, ALTER COLUMN id DROP NOT NULL")
    owner.execute("INSERT INTO person VALUES (1, 'again'), (1, 'and again'), (NULL, 'nobody'), (NULL, 'nobody')")
    findings = check(scratch_url)
    assert findings[-1].severity == "warning" and findings[-1].rows == 2, "two rows without a key"
    duplicates = [finding for finding in findings if "share a privacy unit's key" in finding.message]
    assert [finding.rows for finding in duplicates] == [3]
    structure = [finding.message for finding in findings if finding.rows is None]
    assert any("not an enforced" in message for message in structure)


def test_an_enforced_foreign_key_is_not_counted_again(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    asked: list[str] = []
    owner.execute("ALTER TABLE purchase ADD FOREIGN KEY (person_id) REFERENCES person (id)")
    with connected(scratch_url, 0) as connection:
        check_policy(PostgresCustody(connection), parse_policy(POLICY), read_schema(connection), asked.append)
    assert asked and not any("have no row" in subject for subject in asked)


def test_orphans_of_a_key_that_is_not_valid_are_counted_and_acknowledged(
    owner: psycopg.Connection[Any], scratch_url: str
) -> None:
    """Whatever the catalog has, a key that was never held against the old rows proves nothing of them."""
    owner.execute("INSERT INTO purchase (id, person_id) VALUES (4, 77), (5, 78)")
    owner.execute("ALTER TABLE purchase ADD FOREIGN KEY (person_id) REFERENCES person (id) NOT VALID")
    block = POLICY[POLICY.index("[[foreign_keys]]") : POLICY.index("[tables.person]")]
    (undeclared,) = check(scratch_url, POLICY.replace(block, ""))
    assert (undeclared.severity, undeclared.subject, undeclared.rows) == ("error", "purchase.person_id", 2)
    assert "although the database has the key, not enforced over every row" in undeclared.message
    assert undeclared.next_step is not None and undeclared.next_step.startswith(
        "write the [[foreign_keys]] of purchase"
    )
    (declared,) = check(scratch_url)
    assert declared.next_step is not None and declared.next_step.startswith("add `accepted_orphans = 2` to the [[")
    assert check(scratch_url, POLICY.replace(block, f"{block}accepted_orphans = 2\n")) == ()


def test_rows_that_a_public_table_does_not_list_are_counted(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    """Grouped by the key they are in no group, as they are in none where a declared domain leaves them out."""
    owner.execute("CREATE TABLE shade (name char(5) PRIMARY KEY)")
    owner.execute("INSERT INTO shade VALUES ('red')")
    owner.execute("ALTER TABLE purchase ADD FOREIGN KEY (colour) REFERENCES shade NOT VALID")
    (finding,) = check(scratch_url, f"{POLICY}[tables.shade]\npublic = true\n")
    assert (finding.severity, finding.subject, finding.rows) == ("warning", "purchase.colour", 1)
    assert "group by its key, leave the rows out" in finding.message


def test_a_key_that_does_not_own_may_have_orphans(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    owner.execute(b"ALTER TABLE purchase ADD seller bigint; UPDATE purchase SET seller = 77")
    key = """
[[foreign_keys]]
table = "purchase"
columns = ["seller"]
references = "person"
key = ["id"]
owning = false
"""
    assert check(scratch_url, POLICY.replace("[tables.person]", key + "[tables.person]")) == ()
    owning = key.replace("owning = false\n", "")
    (finding,) = check(scratch_url, POLICY.replace("[tables.person]", owning + "[tables.person]"))
    assert (finding.subject, finding.rows) == ("purchase.seller", 3)


@pytest.mark.usefixtures("owner")
def test_a_domain_of_another_type_is_one_finding_and_the_rest_is_still_counted(scratch_url: str) -> None:
    findings = check(
        scratch_url, POLICY.replace('["red", "blue"]', '["red"]').replace("[2024-01-01, 2024-01-02]", '["x"]')
    )
    fits = {finding.subject: finding for finding in findings if not finding.subject.startswith("tables.")}
    assert set(fits) == {"purchase.day", "purchase.colour"}
    assert "does not fit" in fits["purchase.day"].message
    assert fits["purchase.colour"].rows == 1


@pytest.mark.usefixtures("owner")
def test_what_the_catalog_lacks_is_an_error_of_structure(scratch_url: str) -> None:
    (finding,) = check(scratch_url, POLICY.replace("price =", "prise ="))
    assert (finding.severity, finding.subject, finding.rows) == ("error", "tables.purchase.columns.prise", None)
    assert "no such column" in finding.message


def test_a_cycle_of_ownership_is_an_error_of_structure(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    owner.execute("ALTER TABLE purchase ADD replaces bigint REFERENCES purchase (id)")
    (finding,) = check(scratch_url)
    assert (finding.severity, finding.subject) == ("error", "tables.purchase")
    assert "circle" in finding.message


def test_names_that_need_quotes_and_values_that_need_escapes(
    owner: psycopg.Connection[Any], scratch_url: str
) -> None:
    owner.execute(b'ALTER TABLE purchase ADD "the ""%s"" {x}" text DEFAULT \'a"b\\c,{}\'')
    column = """'the "%s" {x}' = { domain = ['a"b\\c,{}', "%s"] }\n"""
    assert check(scratch_url, POLICY + column) == ()
    owner.execute(b'UPDATE purchase SET "the ""%s"" {x}" = \'b\' WHERE id = 1')
    (finding,) = check(scratch_url, POLICY + column)
    assert finding.rows == 1


def test_a_table_that_the_role_may_not_read_is_said_without_the_databases_words(
    owner: psycopg.Connection[Any], scratch_url: str
) -> None:
    with connected(scratch_url, 0) as connection:
        schema = read_schema(connection)
    owner.execute("DROP TABLE purchase")
    policy: Policy = parse_policy(POLICY)
    with connected(scratch_url, 0) as connection, pytest.raises(BackendFailed) as raised:
        check_policy(PostgresCustody(connection), policy, schema)
    assert "does not exist" not in raised.value.message


def test_a_reference_to_a_key_of_one_partition_is_refused(owner: psycopg.Connection[Any], scratch_url: str) -> None:
    """Two partitions may hold the same key: a row that references one of them would find two parents."""
    owner.execute(
        b"CREATE TABLE visit (id bigint, person bigint REFERENCES person (id)) PARTITION BY RANGE (person);"
        b"CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM (1) TO (2);"
        b"CREATE TABLE visit_2 PARTITION OF visit FOR VALUES FROM (2) TO (9);"
        b"ALTER TABLE visit_1 ADD UNIQUE (id);"
        b"CREATE TABLE note (visit bigint REFERENCES visit_1 (id))"
    )
    findings = check(scratch_url, POLICY + "[tables.visit]\n[tables.note]\n")
    assert [(finding.severity, finding.subject) for finding in findings] == [("error", "tables.note")]
    assert "not an enforced primary or unique key of the whole table" in findings[0].message
