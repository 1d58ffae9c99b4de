"""The golden samples executed on both databases: whole they are the plain aggregate, and drawn they are a part."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from planner.plan import BackendQuery, Plan
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.units import ONE
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres_catalog import read_schema
from server.backends.query_tuples import Room, sampled_columns
from tests.golden.sampling.write_cases import RATE, before_files
from tests.golden.untruncated import Rows, Run, duckdb, postgres
from tests.support.planning import planned
from tests.support.seeds import sampled
from tests.support.tpch_duckdb import NAMESPACE

_DRAWN = re.compile(r"BERNOULLI \([0-9.]+")
_DEVIATIONS = 8
"""Of 60,000 rows: by Bernstein's inequality a sum leaves them once in 10^13 runs."""

Databases = list[tuple[str, Schema, Run]]


@pytest.fixture(scope="module")
def databases(tpch_url: str, tpch_owner_url: str, tpch_duckdb: Path) -> Databases:
    with psycopg.connect(tpch_url) as connection:
        schema = read_schema(connection)
    file = DuckdbBackend(tpch_duckdb, NAMESPACE).schema()
    return [("postgres", schema, postgres(tpch_owner_url)), ("duckdb", file, duckdb(tpch_duckdb, NAMESPACE))]


def _queries(before: Path, databases: Databases) -> Iterator[tuple[Plan, BackendQuery, Run]]:
    sql = before.read_text()
    for name, schema, run in databases:
        plan = planned(sql, schema, sampling_rate=None if "TABLESAMPLE" in sql else RATE)
        yield plan, rewrite(plan, dialect="duckdb", schema=schema) if name == "duckdb" else rewrite(plan), run


def _joined(query: BackendQuery) -> str:
    assert query.join is not None
    return query.join


def _everything(query: BackendQuery, run: Run) -> Rows:
    """The rows of a sample of all tuples."""
    if query.tree is None:
        return run(_DRAWN.sub("BERNOULLI (100", _joined(query)))

    def read(statement: str, width: int) -> list[tuple[object, ...]]:
        rows = run(statement)
        return list(zip(*rows, strict=True)) if rows else [()] * width

    return list(zip(*sampled_columns(replace(query, sampling_rate=1.0), read, Room(10**9)), strict=True))


def _totals(rows: Rows, plan: Plan, query: BackendQuery) -> dict[tuple[object, ...], list[Fraction]]:
    """Per group the sum of each release; rows of the counting strategies stand for as many tuples as their last."""
    first, n_keys = len(query.relations), len(plan.group_keys)
    units: dict[tuple[object, ...], list[int]] = {}
    for row in rows:
        if all(owner is None for owner in row[:first]):
            continue
        weights = row[first + n_keys :]
        times = int(weights[-1]) if query.counted else 1
        total = units.setdefault(tuple(row[first : first + n_keys]), [0] * len(plan.releases))
        for place in range(len(plan.releases)):
            total[place] += int(weights[place]) * times
    bounds = [Fraction(release.weight_bound) / ONE for release in plan.releases]
    return {
        group: [bound * unit for bound, unit in zip(bounds, total, strict=True)] for group, total in units.items()
    }


def test_a_sample_of_everything_is_the_plain_aggregate(databases: Databases) -> None:
    """Counts to the last unit, sums up to the rounding of weights; and the two databases agree row for row."""
    for before in sampled(before_files(), 4):
        written = re.sub(r"TABLESAMPLE BERNOULLI \([0-9.]+\)", "", before.read_text())
        (plan, query, run), (_, other_query, other_run) = _queries(before, databases)
        rows = _everything(query, run)
        assert Counter(map(tuple, rows)) == Counter(map(tuple, _everything(other_query, other_run))), before
        totals = _totals(rows, plan, query)
        assert totals, before
        for row in (*run(written), *other_run(written)):
            key, values = tuple(row[: len(plan.group_keys)]), row[len(plan.group_keys) :]
            for total, value in zip(totals[key], values, strict=True):
                assert abs(total - Fraction(value)) <= total * Fraction(1, 10**6), before


@pytest.mark.statistical(4e-13)  # two questions on two databases
def test_a_drawn_sample_is_a_part_of_the_rows(databases: Databases) -> None:
    for before in [path for path in before_files() if path.name.startswith("pushdown")]:
        for plan, query, run in _queries(before, databases):
            assert plan.sampling is not None
            assert plan.sampling.relation == "lineitem"
            statement, bound = _joined(query), plan.releases[0].weight_bound
            drawn, whole = (
                sum(total[0] for total in _totals(run(text), plan, query).values()) / Fraction(bound)
                for text in (statement, _DRAWN.sub("BERNOULLI (100", statement))
            )
            ((rows,),) = run("SELECT count(*) FROM lineitem")
            spread = _DEVIATIONS * math.sqrt(
                rows * RATE * (1 - RATE)
            )  # of weights in [0, 1]: at most that of a count
            assert drawn < whole
            assert abs(drawn - Fraction(plan.sampling.rate) * whole) <= spread
