"""Rows without an owner, or whose owner is gone: what the check says of them is what answers count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from planner.sensitivity.own_rows import rows_without_owner
from planner.sensitivity.provenance import provenance
from privacy.join_tuples import JoinTuples
from privacy.units import ONE
from server.backends.postgres import PostgresBackend, connected
from server.backends.postgres_catalog import read_schema
from server.backends.postgres_custody import PostgresCustody
from server.policy.check_data import check_policy
from server.policy.verified_keys import Finding
from tests.support.hospital import Hospital, write_hospital
from tests.support.hospital_policy import with_settings
from tests.support.planning import bound, planned


@dataclass(frozen=True)
class Clinic:
    url: str
    connection: psycopg.Connection[Any]
    written: Hospital

    @property
    def schema(self) -> Schema:
        with connected(self.url, 0) as connection:
            return read_schema(connection)

    def findings(self, policy: str) -> dict[str, Finding]:
        """By subject; the doctors, public though nobody owns them, and other structure aside."""
        with connected(self.url, 0) as connection:
            found = check_policy(PostgresCustody(connection), parse_policy(policy), read_schema(connection))
        return {finding.subject: finding for finding in found}

    def counted(self, sql: str, policy: str) -> int:
        """What an answer counts before truncation and noise: whole rows that somebody owns."""
        contract = parse_policy(policy)
        schema = with_declared_keys(self.schema, contract)
        plan = planned(sql, schema, contract)
        _, tuples = PostgresBackend(self.url).read(rewrite(plan, schema=schema, contributions=False))
        assert isinstance(tuples.join, JoinTuples)
        owned = ~tuples.join.owners[0].missing
        for owner in tuples.join.owners[1:]:
            owned |= ~owner.missing
        return int(tuples.join.weights[0][owned].sum()) // ONE

    def number(self, sql: str) -> int:
        row = self.connection.execute(sql.encode()).fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture
def clinic(scratch_url: str) -> Iterator[Clinic]:
    with psycopg.connect(scratch_url) as connection:
        written = write_hospital(connection, 150, schemas=False)
        yield Clinic(scratch_url, connection, written)


def test_lost_rows_are_counted_per_table_and_each_finding_names_the_line_to_add(clinic: Clinic) -> None:
    findings = clinic.findings(with_settings())
    written = clinic.written
    below = clinic.number(
        "SELECT count(*) FROM diagnosis JOIN visit v ON (v.id, v.admitted_at) = (visit_id, diagnosis.admitted_at) "
        "WHERE v.patient_id IS NULL"
    )
    assert {name: (one.severity, one.rows) for name, one in findings.items()} == {
        "lab_result.patient_id": ("error", written.orphans["lab_result"]),
        "visit": ("warning", written.null_owners["visit"]),
        "lab_result": ("warning", written.null_owners["lab_result"]),
        "diagnosis": ("warning", below),
        "monthly_visits": ("warning", None),  # views that nobody can ask
        "ward_load": ("warning", None),
    }
    assert "no answer counts them" in findings["visit"].message
    steps = {name: one.next_step or "" for name, one in findings.items()}
    assert f"`accepted_orphans = {written.orphans['lab_result']}`" in steps["lab_result.patient_id"]
    assert f"`accepted_null_owners = {written.null_owners['visit']}` to [tables.visit]" in steps["visit"]
    assert str(written.null_owners["visit"]) not in repr(findings["visit"])


def test_the_lines_that_the_check_names_are_what_makes_it_pass(clinic: Clinic) -> None:
    steps = clinic.findings(with_settings())

    def line(subject: str) -> str:
        return (steps[subject].next_step or "").split("`")[1]

    policy = with_settings(
        results=line("lab_result.patient_id"),
        nobodys=line("lab_result"),
        visits=line("visit"),
        diagnoses=line("diagnosis"),
    )
    findings = clinic.findings(policy)
    assert {name: one.severity for name, one in findings.items() if one.severity != "accepted"} == {
        "monthly_visits": "warning",
        "ward_load": "warning",
    }
    assert parse_policy(policy).acknowledged == (
        f"diagnosis: {steps['diagnosis'].rows} rows without an owner",
        f"lab_result (patient_id): {steps['lab_result.patient_id'].rows} rows without their patient",
        f"lab_result: {steps['lab_result'].rows} rows without an owner",
        f"visit: {steps['visit'].rows} rows without an owner",
    )
    clinic.connection.execute("UPDATE visit SET patient_id = NULL WHERE id < 9")
    clinic.connection.execute("UPDATE lab_result SET patient_id = gen_random_uuid() WHERE id < 9")
    clinic.connection.commit()
    findings = clinic.findings(policy)
    assert findings["visit"].severity == "warning" and "only" in findings["visit"].message
    assert findings["lab_result.patient_id"].severity == "error"


def test_answers_count_what_the_check_says(clinic: Clinic) -> None:
    """Each sentence of the findings, held against the rewritten SQL."""
    policy, written = with_settings(), clinic.written
    nobodys, orphans = written.null_owners, written.orphans["lab_result"]
    assert clinic.counted("SELECT count(*) FROM visit", policy) == written.rows["visit"] - nobodys["visit"]
    results = written.rows["lab_result"] - nobodys["lab_result"]
    assert clinic.counted("SELECT count(*) FROM lab_result", policy) == results, "orphans are people of their own"
    joined = "SELECT count(*) FROM lab_result r JOIN patient p ON p.id = r.patient_id"
    assert clinic.counted(joined, policy) == results - orphans
    below = clinic.findings(policy)["diagnosis"].rows
    assert below is not None
    assert clinic.counted("SELECT count(*) FROM diagnosis", policy) == written.rows["diagnosis"] - below
    assert (
        "as separate people, and only without patient in the join"
        in clinic.findings(policy)["lab_result.patient_id"].message
    )


@pytest.mark.slow
def test_orphans_of_a_table_between_are_in_no_answer(clinic: Clinic) -> None:
    """A reference to a row that leads on to the owner: without that row nobody knows the owner."""
    text = with_settings(
        results='[[foreign_keys]]\ntable = "lab_result"\ncolumns = ["visit_id"]\nreferences = "visit"\nkey = ["id"]',
        visits='keys = ["id"]',
    ).replace('["patient_id"]', '["patient_id"]\nowning = false')
    clinic.connection.execute("UPDATE lab_result SET visit_id = -id WHERE id <= 5")
    clinic.connection.commit()
    finding = clinic.findings(text)["lab_result.visit_id"]
    assert (finding.rows, finding.severity) == (5, "error") and finding.message.endswith("no answer counts them")
    nobodys = clinic.findings(text)["lab_result"].rows
    assert nobodys is not None
    counted = clinic.counted("SELECT count(*) FROM lab_result", text)
    assert counted == clinic.written.rows["lab_result"] - 5 - nobodys


def test_an_answer_says_which_rows_belong_to_nobody(clinic: Clinic) -> None:
    policy = parse_policy(with_settings())
    schema = clinic.schema

    def said(sql: str) -> tuple[str, ...]:
        query = bound(sql, schema, policy)
        return rows_without_owner(query, provenance(query, schema, policy))

    of_visits = ("Rows whose visit.patient_id is NULL have no owner and are not counted.",)
    assert said("SELECT count(*) FROM visit") == said("SELECT count(*) FROM diagnosis") == of_visits
    assert said("SELECT count(*) FROM visit v JOIN patient p ON p.id = v.patient_id") == ()
    assert said("SELECT count(*) FROM prescription") == ()
