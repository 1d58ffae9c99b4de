"""A sum per person is added up whole, however many rows one person has."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.rewriting.rewrite import rewrite
from server.backends.duckdb import DuckdbBackend
from tests.golden.databases import in_file
from tests.golden.untruncated import assert_same, duckdb, untruncated
from tests.support.planning import people_policy, planned

TABLES = (
    "CREATE TABLE person (id bigint PRIMARY KEY)",
    "CREATE TABLE call (person bigint NOT NULL REFERENCES person, cost decimal(6, 2) NOT NULL, roaming boolean)",
    "INSERT INTO person SELECT i FROM range(20) AS s(i)",
    "INSERT INTO call SELECT CASE WHEN i < 4000 THEN 1 ELSE i % 20 END, 2 - (i % 3) * 0.25, i % 2 = 0"
    " FROM range(9000) AS s(i)",
)
POLICY = people_policy("""
    [tables.person]
    [tables.call.columns]
    cost = { range = [0, 2] }
""")
SUMS = ("sum(1)", "sum(CASE WHEN roaming THEN 1 ELSE 0 END)", "sum(cost)", "sum(cost * 2 - 1)")


@pytest.mark.parametrize("added", SUMS)
def test_one_person_of_four_thousand_rows_counts_whole(tmp_path: Path, added: str) -> None:
    """Ranks of such sums, and groups of them, have a shorter range: the plan bounds them at 1024 rows."""
    path = in_file(tmp_path / "calls.duckdb", TABLES)
    schema = DuckdbBackend(path, "public").schema()
    sql = f"SELECT sum(x), avg(x), count(*) FROM (SELECT person, {added} AS x FROM call GROUP BY person) AS p"
    plan = planned(sql, schema, POLICY)
    run = duckdb(path, "public")
    assert_same(untruncated(plan, run, rewrite(plan, dialect="duckdb", schema=schema)), plan, run(sql))
