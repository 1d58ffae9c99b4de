"""Sampled answers on a real PostgreSQL: on average they are the whole answer, whatever the strategy."""

from __future__ import annotations

import math

import psycopg
import pytest

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from privacy.join_tuples import JoinTuples
from privacy.sampling.draws import SystemDraws, thin
from privacy.units import ONE
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.workers.measure import measure, plan_measurements
from tests.support.proxies import POLICY

RUNS = 12
RATE = 0.25

PUSHED = "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
TWO_PATHS = "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"
TRIANGLES = f"{TWO_PATHS} JOIN knows c ON c.src = a.src AND c.dst = b.dst"
WEIGHTED = "SELECT sum(a.l_quantity) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey"
COMPARED = f"{WEIGHTED} AND a.l_quantity <= b.l_quantity"
AS_WRITTEN = "SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (25) JOIN lineitem ON l_orderkey = o_orderkey"


def _plan(url: str, sql: str, rate: float | None) -> Plan:
    policy = parse_policy(POLICY.read_text())
    with psycopg.connect(url) as connection:
        schema = read_schema(connection)
    query = bind(parse(sql), schema, policy)
    return make_plan(query, schema, policy, epsilon=1.0, delta=0.0, mechanism="gem", sampling_rate=rate)


def _weights(url: str, query: BackendQuery) -> list[int]:
    """What one reading weighs in units, tuple by tuple or in sums."""
    join = PostgresBackend(url).read(query)[1].join
    assert isinstance(join, JoinTuples)
    if query.counted:
        assert query.sampling_rate is not None
        join = thin(join, query.sampling_rate, SystemDraws())
    return [int(weight) for weight in join.weights[0]]


@pytest.mark.statistical(3e-12)
@pytest.mark.parametrize(
    ("sql", "strategy"),
    [
        (PUSHED, "pushdown"),
        pytest.param(TWO_PATHS, "join tree", marks=pytest.mark.slow),
        pytest.param(WEIGHTED, "join tree", marks=pytest.mark.slow),
        (TRIANGLES, "thinning"),
        pytest.param(COMPARED, "join result", marks=pytest.mark.slow),
        (AS_WRITTEN, "as written"),
    ],
)
def test_the_mean_of_samples_is_the_answer(sql: str, strategy: str, tpch_url: str) -> None:
    """Mean and spread: tuples drawn together would spread further. A tuple weighs at most 1, an order has 7 lines.

    PostgreSQL draws some of them, by its own chance: seven standard errors and nine times the spread.
    """
    whole = (
        sum(
            _weights(
                tpch_url,
                rewrite(_plan(tpch_url, sql.replace("TABLESAMPLE BERNOULLI (25)", ""), None), contributions=False),
            )
        )
        / ONE
    )
    plan = _plan(tpch_url, sql, None if strategy == "as written" else RATE)
    assert plan.sampling is not None and plan.sampling.strategy == strategy
    query = rewrite(plan)
    sampled = [sum(_weights(tpch_url, query)) / ONE / plan.sampling.rate for _ in range(RUNS)]
    together = 7 if strategy == "as written" else 1
    mean = sum(sampled) / RUNS
    variance = together * whole * (1 - RATE) / RATE
    assert abs(mean - whole) < 7 * math.sqrt(variance / RUNS)  # 2.6e-12 of a normal mean
    spread = sum((value - mean) ** 2 for value in sampled) / (RUNS - 1)
    assert spread < 9 * variance  # chi-squared with 11 degrees exceeds 9 times its mean at 3e-16
    assert len(set(sampled)) > RUNS // 2  # each run draws again


@pytest.mark.slow
@pytest.mark.statistical(1e-15)  # a quarter of 60,000 rows: 40% are 57 standard deviations
@pytest.mark.parametrize("sql", [PUSHED, pytest.param(TWO_PATHS, marks=pytest.mark.slow)])
def test_the_released_answer_is_scaled_and_says_what_its_interval_covers(sql: str, tpch_url: str) -> None:
    """Interval and value of one release at epsilon 1: far closer to the answer than the sample's own count."""
    whole = sum(_weights(tpch_url, rewrite(_plan(tpch_url, sql, None), contributions=False))) / ONE
    plan = _plan(tpch_url, sql, RATE)
    measurements = plan_measurements(plan, parse_policy(POLICY.read_text()))
    _, (noisy,) = measure(PostgresBackend(tpch_url), rewrite(plan), measurements)
    assert noisy.covers == "released_sample"
    assert noisy.epsilon == plan.epsilon == 1.0
    assert noisy.low[0] < noisy.values[0] < noisy.high[0]
    assert 0.6 * whole < noisy.values[0] < 1.4 * whole
