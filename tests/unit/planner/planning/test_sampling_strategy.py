from __future__ import annotations

import pytest
from sqlglot import exp

from planner.errors import InvalidSetting, InvalidSyntax, UnsupportedSQL
from planner.plan import Plan, SamplingPlan
from planner.rewriting.compact_tuples import bernoulli_percent
from planner.rewriting.rewrite import rewrite
from tests.support.planning import planned, unbounded


def sampled(sql: str, rate: float | None = 0.125) -> SamplingPlan:
    sampling = planned(sql, sampling_rate=rate).sampling
    assert sampling is not None
    return sampling


def sampled_tables(plan: Plan) -> list[str]:
    return [table.name for table in plan.source.find_all(exp.Table) if table.args.get("sample")]


def test_rows_are_sampled_where_one_row_determines_the_tuple() -> None:
    for sql in [
        "SELECT count(*) FROM lineitem", "SELECT sum(l_quantity) FROM lineitem",
        "SELECT count(*) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey",
        ("SELECT n_name, sum(l_extendedprice) FROM lineitem, orders, customer, nation WHERE l_orderkey = o_orderkey "
         "AND o_custkey = c_custkey AND c_nationkey = n_nationkey GROUP BY n_name"),
    ]:  # fmt: skip
        plan = planned(sql, sampling_rate=0.125)
        assert plan.sampling is not None
        assert (plan.sampling.strategy, plan.sampling.relation, plan.sampling.amplifies) == (
            "pushdown",
            "lineitem",
            True,
        )
        assert plan.sampling.rate == 0.125
        assert sampled_tables(plan) == ["lineitem"]
        query = rewrite(plan)
        assert query.join is not None and "TABLESAMPLE BERNOULLI (12.5)" in query.join
        assert (query.sampling_rate, query.counted) == (0.125, False)


def test_the_proxy_draws_where_no_row_determines_the_tuple() -> None:
    for sql, strategy in [
        ("SELECT count(*) FROM knows a, knows b, knows c WHERE a.dst = b.src AND c.src = a.src AND c.dst = b.dst",
         "thinning"),
        ("SELECT count(*) FROM orders a JOIN orders b ON a.o_orderdate = b.o_orderdate", "thinning"),
        ("SELECT sum(a.l_quantity) FROM lineitem a, lineitem b WHERE a.l_orderkey = b.l_orderkey "
         "AND a.l_quantity < b.l_quantity", "join result"),
    ]:  # fmt: skip
        plan = planned(sql, policy=unbounded(), sampling_rate=0.125)
        assert plan.sampling is not None
        assert (plan.sampling.strategy, plan.sampling.relation, plan.sampling.amplifies) == (strategy, None, True)
        assert sampled_tables(plan) == []
        query = rewrite(plan)
        assert query.join is not None and "COUNT(*)" in query.join and "SUM(" not in query.join
        assert (query.sampling_rate, query.counted) == (0.125, True)
        assert query.n_releases == len(plan.releases) + 1


def test_an_analysts_own_sample_is_the_sampling_rate() -> None:
    written = sampled("SELECT count(*) FROM lineitem TABLESAMPLE BERNOULLI (12.5)", None)
    assert written == sampled("SELECT count(*) FROM lineitem")
    aliased = sampled(
        "SELECT count(*) FROM orders o JOIN lineitem AS l TABLESAMPLE BERNOULLI (5) ON l_orderkey = o_orderkey", None
    )
    assert (aliased.strategy, aliased.relation) == ("pushdown", "lineitem")


def test_a_sample_of_a_table_that_fans_out_claims_no_amplification() -> None:
    plan = planned("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (50) JOIN lineitem ON l_orderkey = o_orderkey")
    assert plan.sampling is not None
    assert (plan.sampling.strategy, plan.sampling.relation, plan.sampling.amplifies) == (
        "as written",
        "orders",
        False,
    )
    assert sampled_tables(plan) == ["orders"]
    both = sampled("SELECT count(*) FROM knows a TABLESAMPLE BERNOULLI (50), knows b WHERE a.dst = b.src", None)
    assert not both.amplifies


def test_everything_is_no_sample() -> None:
    for sql in ("SELECT count(*) FROM lineitem", "SELECT count(*) FROM lineitem TABLESAMPLE BERNOULLI (100)"):
        assert planned(sql).sampling is None
        assert planned("SELECT count(*) FROM lineitem", sampling_rate=1.0).sampling is None


def test_every_plan_says_what_is_charged() -> None:
    plan = planned("SELECT count(*) FROM lineitem", sampling_rate=0.01)
    assert plan.epsilon == planned("SELECT count(*) FROM lineitem").epsilon
    assert plan.sampling is not None and "the whole epsilon is charged" in plan.sampling.reason


def test_a_rate_or_a_statement_that_cannot_be_sampled_is_refused() -> None:
    for sql, rate, error in [
        ("SELECT count(DISTINCT o_custkey) FROM orders", 0.5, UnsupportedSQL),
        ("SELECT count(*), count(DISTINCT o_custkey) FROM orders", 0.5, UnsupportedSQL),
        ("SELECT count(DISTINCT o_custkey) FROM orders TABLESAMPLE BERNOULLI (5)", None, UnsupportedSQL),
        ("SELECT count(*) FROM orders", 0.0, InvalidSetting), ("SELECT count(*) FROM orders", 1e-7, InvalidSetting),
        ("SELECT count(*) FROM orders", 1.5, InvalidSetting),
        ("SELECT count(*) FROM orders", float("nan"), InvalidSetting),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (101)", None, InvalidSetting),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (5)", 0.5, InvalidSetting),
        ("SELECT count(*) FROM orders TABLESAMPLE SYSTEM (5)", None, UnsupportedSQL),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (5) REPEATABLE (1)", None, UnsupportedSQL),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI ('5')", None, UnsupportedSQL),
        ("SELECT count(*) FROM orders TABLESAMPLE (5)", None, UnsupportedSQL),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (1e)", None, InvalidSyntax),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (1e400)", None, InvalidSetting),
        ("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (NULL)", None, UnsupportedSQL),
        ("WITH o AS (SELECT * FROM orders) SELECT count(*) FROM o TABLESAMPLE BERNOULLI (5)", None, UnsupportedSQL),
        ("SELECT count(*) FROM (SELECT * FROM orders) o TABLESAMPLE BERNOULLI (5)", None, UnsupportedSQL),
        ("SELECT count(*) FROM orders a TABLESAMPLE BERNOULLI (5), orders b TABLESAMPLE BERNOULLI (5) "
         "WHERE a.o_custkey = b.o_custkey", None, UnsupportedSQL),
        ("SELECT count(*) FROM customer LEFT JOIN nation TABLESAMPLE BERNOULLI (5) ON c_nationkey = n_nationkey",
         None, UnsupportedSQL),
    ]:  # fmt: skip
        with pytest.raises(error):
            planned(sql, sampling_rate=rate)


def test_the_rate_is_the_one_that_the_database_samples_with() -> None:
    for rate in (1e-6, 3.3e-5, 0.001, 0.0019, 0.0025, 0.01, 0.1, 1 / 3, 0.5, 0.999):
        percent, exact = bernoulli_percent(rate)
        assert exact == pytest.approx(rate, abs=2.0**-33 + rate * 2.0**-24)
        assert (exact * 2**32).is_integer()
        assert "e" not in percent
