"""Two kinds of people behind a row, of which one is in one group each: real rows, real workers, a real ledger."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from privacy.join_tuples import JoinTuples
from privacy.mechanisms.group_lp import GroupLp
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from server.backends.duckdb import DuckdbBackend
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.measure import groups_of_kinds, measure, plan_measurements
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.seeds import examples

TOWNS, CUSTOMERS, LINES = 8, 400, 32
"""Every customer has so many lines, each of another supplier, who has no other."""

TRUTH = CUSTOMERS * LINES // TOWNS

TABLES = f"""
    CREATE TABLE customer (id bigint PRIMARY KEY, town bigint NOT NULL);
    CREATE TABLE supplier (id bigint PRIMARY KEY, region bigint NOT NULL);
    CREATE TABLE line (
        id bigint PRIMARY KEY, customer bigint NOT NULL REFERENCES customer,
        supplier bigint NOT NULL REFERENCES supplier, quarter bigint NOT NULL
    );
    INSERT INTO customer SELECT i, i % {TOWNS} FROM range({CUSTOMERS}) t(i);
    INSERT INTO supplier SELECT i, i % 5 FROM range({CUSTOMERS * LINES}) t(i);
    INSERT INTO line SELECT i, i % {CUSTOMERS}, i, i // {CUSTOMERS} % 4 FROM range({CUSTOMERS * LINES}) t(i);
"""

POLICY = f"""
name = "lines"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 10.0
delta = 1e-6
[privacy_units]
customer = "id"
supplier = "id"
[tables.customer.columns]
town = {{ domain = [{", ".join(map(str, range(TOWNS)))}] }}
[tables.supplier.columns]
region = {{ domain = [0, 1, 2, 3, 4] }}
[tables.line.columns]
quarter = {{ domain = [0, 1, 2, 3] }}
"""

FROM = "FROM line JOIN customer c ON line.customer = c.id JOIN supplier s ON line.supplier = s.id"
BY_TOWN = f"SELECT town, count(*) AS n {FROM} GROUP BY town"
BY_BOTH = f"SELECT town, region, count(*) AS n {FROM} GROUP BY town, region"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> DuckdbBackend:
    path = Path(tmp_path_factory.mktemp("lines")) / "lines.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(TABLES)
    return DuckdbBackend(path)


@pytest.fixture
def pipeline(tmp_path: Path, backend: DuckdbBackend, workers: WorkerPool) -> Iterator[Pipeline]:
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    ledger.add_analyst("ada", "0" * 64, epsilon=100.0, delta=1e-5)
    policy = parse_policy(POLICY)
    validate(policy, backend.schema())
    yield Pipeline(policy, backend.schema(), backend, ledger, workers)
    ledger.close()


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-6, marks=pytest.mark.slow)])
def test_customers_count_in_full_where_suppliers_set_the_noise(backend: DuckdbBackend, delta: float) -> None:
    """With one capacity the noise is for 32 lines in each of 8 towns, else for a supplier's few in each."""
    policy, schema = parse_policy(POLICY), backend.schema()
    plan = make_plan(bind(parse(BY_TOWN), schema, policy), schema, policy, epsilon=4.0, delta=delta, mechanism=None)
    query = rewrite(plan, dialect="duckdb", schema=schema)

    def error(measured: bool) -> float:
        measuring = plan_measurements(
            plan if measured else replace(plan, bounds=replace(plan.bounds, kinds=())), policy
        )
        errors = []
        for _ in range(examples(3, 9)):
            _, (noisy,) = measure(backend, query, measuring)
            errors.append(statistics.fmean(abs(value - TRUTH) for value in noisy.values.tolist()) / TRUTH)
        return statistics.median(errors)

    apart, alike = error(measured=True), error(measured=False)
    assert apart < 0.02
    assert apart < alike / 2


@pytest.mark.parametrize(("sql", "of_customer", "of_supplier"), [(BY_TOWN, 1, 8), (BY_BOTH, 5, 8)])
def test_a_person_who_goes_moves_no_more_than_the_noise_hides(
    backend: DuckdbBackend, tmp_path: Path, sql: str, of_customer: int, of_supplier: int
) -> None:
    """On real rows: the groups that it was in, and in each its capacity."""
    policy, schema = parse_policy(POLICY), backend.schema()
    plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=4.0, delta=0.0, mechanism=None)
    query = rewrite(plan, dialect="duckdb", schema=schema)
    domain, read = backend.read(query)
    reached = groups_of_kinds(plan.bounds.kinds, domain)
    assert dict(reached) == {"customer": of_customer, "supplier": of_supplier}
    (told,) = plan_measurements(plan, policy).of_groups(domain).releases
    assert isinstance(told, GroupLp)
    capacities, thresholds = told.capacities(len(domain)), Thresholds(0, 8)

    def values(tuples: JoinTuples) -> NDArray[np.int64]:
        answer = truncate(encode(tuples), 0, thresholds, 0.0, capacities=capacities)
        return np.array([[answer.solve(group, j) for j in range(len(thresholds))] for group in range(len(domain))])

    assert isinstance(read.join, JoinTuples)
    every = values(read.join)
    for relation in ("customer", "supplier"):
        path = tmp_path / f"{relation}.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(TABLES)
            connection.execute(f"DELETE FROM line WHERE {relation} = 7")
        _, less = DuckdbBackend(path).read(query)
        assert isinstance(less.join, JoinTuples)
        move = every - values(less.join)
        capacity = thresholds.units * dict(capacities.factors)[relation] // 1024
        assert (move >= 0).all() and move.any()
        assert (move <= capacity).all()
        assert (move.any(axis=1).sum()) <= dict(reached)[relation]


@pytest.mark.slow
def test_it_is_asked_and_explained(pipeline: Pipeline) -> None:
    answer = ask(pipeline, QueryRequest("ada", BY_TOWN, epsilon=4.0, delta=0.0, request_id="1"))
    assert (answer.mechanism, len(answer.rows)) == ("group_lp", TOWNS)
    told = pipeline.explain(QueryRequest("ada", BY_TOWN, epsilon=4.0, delta=0.0, request_id="2"))
    assert told.groups_per_unit is None
    assert "a unit reaches at most 1 for one of customer and 8 for one of supplier" in told.groups_reason
    assert "one of customer 8 times the contribution bound may count in each" in told.groups_reason
    assert "1/8 of its release's epsilon" in told.groups_reason
    either = pipeline.explain(QueryRequest("ada", BY_TOWN, epsilon=4.0, request_id="3"))
    assert "8 times (2.828 times if noise is Gaussian) the contribution bound" in either.groups_reason


@pytest.mark.slow
def test_where_each_kind_has_a_key_of_its_own_there_is_noise_for_fewer_groups(pipeline: Pipeline) -> None:
    """A customer is in its town's 5 groups, a supplier in its region's 8: not in all 40."""
    told = pipeline.explain(QueryRequest("ada", BY_BOTH, epsilon=4.0, delta=0.0, request_id="1"))
    assert told.groups_per_unit == 8
    assert "5 for one of customer and 8 for one of supplier" in told.groups_reason
    alone = pipeline.explain(QueryRequest("ada", BY_TOWN, epsilon=4.0, delta=0.0, request_id="2"))
    assert told.expected_noise[0][1][0] == alone.expected_noise[0][1][0]  # of 8 groups, in both
    answer = ask(pipeline, QueryRequest("ada", BY_BOTH, epsilon=4.0, delta=0.0, request_id="3"))
    assert len(answer.rows) == 40


@pytest.mark.slow
def test_one_kind_alone_has_noise_for_the_groups_that_share_its_keys(pipeline: Pipeline) -> None:
    sql = "SELECT town, quarter, count(*) AS n FROM line JOIN customer c ON line.customer = c.id GROUP BY 1, 2"
    sql = sql.replace("GROUP", "JOIN supplier s ON line.supplier = s.id GROUP")
    told = pipeline.explain(QueryRequest("ada", sql, epsilon=4.0, delta=0.0, request_id="1"))
    assert "4 for one of customer and 32 for one of supplier" in told.groups_reason
    owned = "SELECT region, count(*) AS n FROM supplier GROUP BY region"
    assert pipeline.explain(QueryRequest("ada", owned, epsilon=4.0, request_id="2")).groups_per_unit == 1
