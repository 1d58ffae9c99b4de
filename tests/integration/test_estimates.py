"""A draft from PostgreSQL's statistics, over the generated hospital."""

from __future__ import annotations

from datetime import date

import psycopg

from planner.policy.draft import draft
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from server.backends.postgres import connected
from server.backends.postgres_catalog import read_schema
from server.backends.postgres_custody import PostgresCustody
from tests.support.hospital import DRUGS, TESTS, write_hospital

TODAY = date(2026, 11, 22)


def test_statistics_propose_ranges_domains_and_lookup_tables(scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as owner:
        written = write_hospital(owner, 200, schemas=False)
    with connected(scratch_url, 0) as connection:
        schema = read_schema(connection)
        estimates = PostgresCustody(connection).estimates(schema, TODAY)
    assert estimates.rows["visit"] == written.rows["visit"], "of a partitioned table, too"
    domains = {place: words for place, words in estimates.columns.items() if words.startswith("domain")}
    assert all(f'"{name}"' in domains["lab_result", "test"] for name in TESTS)
    assert all(f'"{name}"' in domains["prescription", "drug"] for name in DRUGS)
    assert not {("doctor", "fullName"), ("patient", "id")} & domains.keys()
    assert estimates.columns["visit", "order"] == "range = [0, 6]"
    low, high = estimates.columns["visit", "cost"].removeprefix("range = [").removesuffix("]").split(", ")
    with psycopg.connect(scratch_url) as owner:
        row = owner.execute("SELECT min(cost), max(cost) FROM visit").fetchone()
    assert row is not None and float(low) <= row[0] and row[1] <= float(high)

    text = draft(schema, "hospital", estimates)
    policy = parse_policy(text)
    assert {"ward", "icd"} <= schema.tables.keys() - policy.tables.keys()
    assert "schema_migrations" not in policy.tables and not any(name.startswith("visit_2") for name in schema.tables)
    assert [(key.table, key.references) for key in policy.foreign_keys] == [("lab_result", "patient")]
    chosen = parse_policy(draft(schema, "hospital", estimates, {"patient": ("id",)}))
    validate(chosen, schema)


def test_without_statistics_nothing_is_known(scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as owner:
        owner.execute("CREATE TABLE thing (id bigint PRIMARY KEY, size integer)")
        owner.execute("INSERT INTO thing VALUES (1, 2)")
    with connected(scratch_url, 0) as connection:
        estimates = PostgresCustody(connection).estimates(read_schema(connection), TODAY)
    assert (dict(estimates.rows), dict(estimates.columns)) == ({}, {})
