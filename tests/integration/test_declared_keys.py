"""Keys that no constraint enforces: declared, counted for one version of the data, and nothing answered otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from planner.errors import PolicyInvalid
from planner.policy.declared import believed_keys, with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.schema import Schema
from server.answers.work import Measure
from server.backends.postgres import connected
from server.backends.postgres_catalog import read_schema
from server.backends.postgres_custody import PostgresCustody
from server.errors import DataUnchecked
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.policy.check_data import check_policy
from server.policy.verified_keys import verify_keys
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.support.backends import FailingBackend
from tests.support.hospital import write_hospital
from tests.support.hospital_policy import with_settings

ACT = Act("grace", "a test")
BY_VISIT = '[[foreign_keys]]\ntable = "lab_result"\ncolumns = ["visit_id"]\nreferences = "visit"\nkey = ["id"]'
POLICY = with_settings(results="accepted_orphans = 9\n" + BY_VISIT, visits='keys = ["id"]')
QUESTION = QueryRequest("ada", "SELECT count(*) FROM visit", epsilon=1.0, request_id="request-1")


@pytest.fixture
def owner(scratch_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(scratch_url) as connection:
        write_hospital(connection, 100, schemas=False)
        yield connection


ANALYSTS = {"ada": (2.0, 0.0)}


def structure(url: str) -> Schema:
    with connected(url, 0) as connection:
        return read_schema(connection)


@pytest.mark.usefixtures("owner")
def test_a_partitioned_table_has_no_key_of_its_own_until_one_is_declared(scratch_url: str) -> None:
    schema = structure(scratch_url)
    undeclared = POLICY.replace('keys = ["id"]', "")
    with pytest.raises(PolicyInvalid, match=r"declare `keys = \[\"id\"\]` in \[tables.visit\]"):
        validate(parse_policy(undeclared), schema)
    validate(parse_policy(POLICY), schema)
    with pytest.raises(PolicyInvalid, match=r"tables.visit.keys: no column idd; did you mean id\?"):
        validate(parse_policy(POLICY.replace('keys = ["id"]', 'keys = ["id", "idd"]')), schema)
    believed = with_declared_keys(schema, parse_policy(POLICY))
    assert believed.fingerprint == schema.fingerprint, "the database has no such key"
    assert believed_keys(believed) == ("visit (id)",)
    enforced = POLICY.replace('keys = ["id"]', 'keys = [["id", "admitted_at"]]')
    assert believed_keys(with_declared_keys(schema, parse_policy(enforced))) == ()


def test_a_shared_key_is_found_and_stops_only_what_rests_on_it(
    owner: psycopg.Connection[Any], scratch_url: str, ledger: Ledger, tmp_path: Path
) -> None:
    """Questions over patients rest on no key of visits, but results are owned through their visits."""
    policy = parse_policy(POLICY.replace("[tables.icd]", '[tables.icd]\nkeys = ["title"]'))
    owner.execute(
        "INSERT INTO visit SELECT id, admitted_at + interval '1 second', discharged_at, patient_id, ward_id, "
        'doctor_id, kind, "order", cost, details FROM visit WHERE id IN (3, 4)'
    )
    owner.commit()
    schema = with_declared_keys(structure(scratch_url), policy)
    with connected(scratch_url, 0) as connection:
        findings = check_policy(PostgresCustody(connection), policy, structure(scratch_url))
        assert verify_keys(PostgresCustody(connection), schema, ledger, ACT) == ("visit.id",)
    (finding,) = [one for one in findings if one.subject == "visit.id"]
    assert (finding.severity, finding.rows) == ("error", 4)
    assert ledger.checked_keys(schema.fingerprint) == {"icd (title)"}
    pipeline = Pipeline(policy, schema, FailingBackend(tmp_path / "reads"), ledger, cast("WorkerPool", None))
    for table in ("patient", "prescription"):
        assert isinstance(pipeline.find(replace(QUESTION, sql=f"SELECT count(*) FROM {table}")), Measure)
    for sql in (
        "SELECT count(*) FROM visit",
        "SELECT count(*) FROM lab_result",
        "SELECT count(*) FROM patient WHERE EXISTS (SELECT FROM visit WHERE patient_id = patient.id)",
    ):
        with pytest.raises(DataUnchecked, match=r"The key visit \(id\)"):
            pipeline.find(replace(QUESTION, sql=sql))


@pytest.mark.usefixtures("owner")
def test_questions_are_refused_free_until_this_version_is_checked(
    scratch_url: str, ledger: Ledger, tmp_path: Path
) -> None:
    policy = parse_policy(POLICY)
    schema = with_declared_keys(structure(scratch_url), policy)
    backend = FailingBackend(tmp_path / "reads")
    pipeline = Pipeline(policy, schema, backend, ledger, cast("WorkerPool", None))
    with pytest.raises(DataUnchecked):
        pipeline.find(QUESTION)
    with connected(scratch_url, 0) as connection:
        assert verify_keys(PostgresCustody(connection), schema, ledger, ACT) == ()
    found = pipeline.find(QUESTION)
    ledger.bump_data(ACT)
    with pytest.raises(DataUnchecked):
        pipeline.find(QUESTION)
    with pytest.raises(DataUnchecked):  # it waited while the data changed
        pipeline.finish(found, QUESTION)
    assert ledger.charges() == () and not (tmp_path / "reads").exists(), "nothing charged, nothing read"


@pytest.mark.usefixtures("owner")
def test_a_check_is_written_once_per_version(scratch_url: str, ledger: Ledger) -> None:
    schema = with_declared_keys(structure(scratch_url), parse_policy(POLICY))
    with connected(scratch_url, 0) as connection:
        for _ in range(2):
            verify_keys(PostgresCustody(connection), schema, ledger, ACT)
        assert [entry.kind for entry in ledger.entries(acts_only=True)][3:] == ["checked"]
        ledger.bump_data(ACT)
        verify_keys(PostgresCustody(connection), schema, ledger, ACT)
    assert [entry.kind for entry in ledger.entries(acts_only=True)][3:] == ["checked", "data", "checked"]
