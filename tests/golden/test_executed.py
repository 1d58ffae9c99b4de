"""Every golden question on a real PostgreSQL: without truncation and noise, the rewriting is the plain aggregate."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import psycopg
import pytest

from planner.bind import bind
from planner.parse import parse
from planner.plan import Plan
from planner.planner import make_plan
from planner.policy import parse_policy
from planner.rewrite import rewrite
from privacy.ladder import Ladder
from privacy.truncation.compact import compact
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from server.backends.catalog import read_schema
from server.backends.columns import Domain
from server.backends.postgres import PostgresBackend
from tests.demo.queries import QUERIES
from tests.golden.planner.write_cases import before_files
from tests.support.proxies import POLICY

UNTRUNCATED = Ladder(low=30, high=30)  # more than anybody contributes

STATEMENTS = {path.name.split(".")[0]: path.read_text() for path in before_files()} | {
    f"demo {query.name}": query.sql for query in QUERIES
}


def _plan(url: str, statement: str) -> Plan:
    policy = parse_policy(POLICY.read_text())
    with psycopg.connect(url) as connection:
        schema = read_schema(connection)
    return make_plan(bind(parse(statement), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism="gem")


def _untruncated(url: str, plan: Plan) -> tuple[Domain, list[list[int]]]:
    """Per release and group, the whole weight in units of 2^-30, through the parts that run in production."""
    domain, tuples = PostgresBackend(url).read(rewrite(plan))
    compacted = compact(tuples)
    values = []
    for release in range(len(plan.releases)):
        answer = truncate(compacted, release, UNTRUNCATED, plan.gap)
        values.append([answer.solve(group, 0) for group in range(answer.n_groups)])
    return domain, values


def _plain(owner_url: str, statement: str) -> tuple[dict[object, list[Decimal]], int]:
    """The statement as the analyst wrote it, by group key; and how many rows the join has."""
    with psycopg.connect(owner_url) as connection:
        rows = connection.execute(statement.encode()).fetchall()
        body = statement.rstrip().rstrip(";")
        from_clause = body[body.upper().index("FROM") :].split("GROUP BY")[0]
        count = connection.execute(f"SELECT count(*) {from_clause}".encode()).fetchone()
    assert count is not None
    grouped = len(rows) > 1
    plain = {
        row[0] if grouped else None: [Decimal(value or 0) for value in (row[1:] if grouped else row)] for row in rows
    }
    return plain, int(count[0])


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_the_rewriting_is_the_plain_aggregate(name: str, tpch_url: str, tpch_owner_url: str) -> None:
    """COUNT to the last unit; SUM up to the rounding of each row's weight down to 2^-30 of its bound."""
    plan = _plan(tpch_url, STATEMENTS[name])
    domain, values = _untruncated(tpch_url, plan)
    plain, joined = _plain(tpch_owner_url, STATEMENTS[name])
    aggregates = [output for output in plan.outputs if output.group_key is None]
    assert set(plain) <= {group[0] if group else None for group in domain.groups}
    for place, group in enumerate(domain.groups):
        expected = plain.get(group[0] if group else None, [Decimal(0)] * len(aggregates))
        for output, truth in zip(aggregates, expected, strict=True):
            terms = [
                sign * Decimal(plan.releases[release].weight_bound) * values[release][place]
                for release, sign in output.terms
            ]
            rewritten = sum(terms, Decimal(0)) / ONE
            if output.type == "int8":
                assert rewritten == truth
            else:
                bounds = [Decimal(plan.releases[release].weight_bound) for release, _ in output.terms]
                bound = sum(bounds, Decimal(0))
                assert abs(rewritten - truth) <= joined * bound / ONE + abs(truth) * Decimal("1e-12")


def test_every_joined_row_keeps_its_owners(tpch_url: str, tpch_owner_url: str) -> None:
    """The triangles' owners, recomputed without the planner."""
    statement = {query.name: query.sql for query in QUERIES}["triangles"]
    _, tuples = PostgresBackend(tpch_url).read(rewrite(_plan(tpch_url, statement)))
    with psycopg.connect(tpch_owner_url) as connection:
        rows = connection.execute(
            "SELECT a.src, b.src, b.dst FROM knows a, knows b, knows c WHERE a.dst = b.src AND a.src = c.src "
            "AND b.dst = c.dst"
        ).fetchall()
    expected = {frozenset(row) for row in rows}
    owners = np.stack([column.keys for column in tuples.owners], axis=1)
    assert {frozenset(row) for row in owners.tolist()} == expected
    assert all(len(row) == 3 for row in expected)


def test_statements_are_those_of_the_golden_files() -> None:
    assert len(STATEMENTS) >= 15
    assert Path(POLICY).exists()
