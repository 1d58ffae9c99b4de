"""COUNT(DISTINCT x) through PostgreSQL: the plain count when nothing is cut, one snapshot, a private answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pytest

from planner.plan import Plan
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.join_tuples import DistinctTuples
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import ContributionHistogram
from privacy.truncation.truncate import truncate_distinct
from privacy.units import ONE
from server.backends.columns import Column
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.postgres_catalog import read_schema
from server.errors import QueryCancelled
from server.workers.measure import measure, plan_measurements
from tests.support.planning import demo_policy, planned
from tests.support.truncated import truncated

UNTRUNCATED = Thresholds(low=30, high=30)

ONE_OWNER = "SELECT count(DISTINCT o_clerk) FROM orders"
DETERMINED = "SELECT count(DISTINCT c_nationkey) FROM customer"
TWO_OWNERS = "SELECT count(DISTINCT l_partkey) FROM lineitem"
CUSTOMERS_OF_SUPPLIERS = "SELECT count(DISTINCT o_custkey) FROM orders JOIN lineitem ON l_orderkey = o_orderkey"
BY_NATION = """SELECT n_name, count(*), count(DISTINCT o_clerk) AS clerks, count(DISTINCT o_orderpriority)
    FROM orders JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"""
TYPES = """SELECT count(DISTINCT l_shipinstruct), count(DISTINCT l_shipmode), count(DISTINCT l_shipdate),
    count(DISTINCT l_orderkey), sum(l_quantity) FROM lineitem WHERE l_shipdate < DATE '1992-06-01'"""
ADD_AN_EDGE = """INSERT INTO knows SELECT a.c_custkey, b.c_custkey FROM customer a, customer b
    WHERE a.c_custkey < b.c_custkey
    AND NOT EXISTS (SELECT FROM knows WHERE (src, dst) = (a.c_custkey, b.c_custkey)) LIMIT 1 RETURNING src, dst"""
BOTH_OWN = replace(demo_policy(), foreign_keys=())
"""Here a supplier owns the lines that name it, beside the customer."""

PEOPLE_WHO_KNOW = "SELECT count(DISTINCT src) FROM knows"


@pytest.fixture(scope="module")
def schema(tpch_url: str) -> Schema:
    with psycopg.connect(tpch_url) as connection:
        return read_schema(connection)


def _counts(url: str, plan: Plan, thresholds: Thresholds = UNTRUNCATED) -> dict[int, list[int]]:
    """Per release that counts distinct values, the count of each group, through the parts that run in production."""
    _, tuples = PostgresBackend(url).read(rewrite(plan))
    counts = {}
    for release, distinct in enumerate(tuples.distinct):
        if distinct is not None:
            assert isinstance(distinct, ContributionHistogram if plan.releases[release].owned else DistinctTuples)
            one = plan.releases[release].owned and plan.releases[release].determined  # a histogram knows no more
            answer = truncated(distinct, 0, Thresholds(0, 0) if one else thresholds, plan.gap(plan.releases[release]))
            counts[release] = [answer.solve(group, 0) // ONE for group in range(answer.n_groups)]
    return counts


def _plain(owner_url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(owner_url) as connection:
        return connection.execute(statement.encode()).fetchall()


def test_without_truncation_it_is_the_plain_count(schema: Schema, tpch_url: str, tpch_owner_url: str) -> None:
    for statement in (ONE_OWNER, DETERMINED, TWO_OWNERS, CUSTOMERS_OF_SUPPLIERS, PEOPLE_WHO_KNOW):
        ((count,),) = _plain(tpch_owner_url, statement)
        for policy in (demo_policy(), BOTH_OWN):
            assert _counts(tpch_url, planned(statement, schema, policy)) == {0: [count]}, statement


def test_each_group_counts_its_own_values(schema: Schema, tpch_url: str, tpch_owner_url: str) -> None:
    plan = planned(BY_NATION, schema)
    counts = _counts(tpch_url, plan)
    domain = PostgresBackend(tpch_url).domain(rewrite(plan))
    found = {group[0]: (counts[1][i], counts[2][i]) for i, group in enumerate(domain.groups)}
    plain = {row[0]: row[2:] for row in _plain(tpch_owner_url, BY_NATION)}
    assert found == {name: plain.get(name, (0, 0)) for name in found}
    assert sum(clerks for clerks, _ in found.values()) > 1000


def test_values_of_every_type_are_equal_where_the_database_says_so(
    schema: Schema, tpch_url: str, tpch_owner_url: str
) -> None:
    counts = _counts(tpch_url, planned(TYPES, schema))
    ((*plain, _),) = _plain(tpch_owner_url, TYPES)
    assert [counts[release][0] for release in range(4)] == plain


def test_a_filter_counts_only_what_passes(schema: Schema, tpch_url: str, tpch_owner_url: str) -> None:
    statement = "SELECT count(DISTINCT o_clerk) FILTER (WHERE o_orderpriority = '1-URGENT') FROM orders"
    ((count,),) = _plain(tpch_owner_url, statement)
    assert _counts(tpch_url, planned(statement, schema)) == {0: [count]}


def test_where_one_unit_reaches_one_value_the_threshold_one_cuts_nothing(
    schema: Schema, tpch_url: str, tpch_owner_url: str
) -> None:
    ((count,),) = _plain(tpch_owner_url, DETERMINED)
    plan = planned(DETERMINED, schema)
    assert plan.releases[0].determined
    assert _counts(tpch_url, plan, Thresholds(0, 0)) == {0: [count]}


def test_a_value_that_some_owner_does_not_determine_is_not_called_determined(schema: Schema) -> None:
    assert planned(CUSTOMERS_OF_SUPPLIERS, schema).releases[0].determined
    assert not planned(CUSTOMERS_OF_SUPPLIERS, schema, BOTH_OWN).releases[0].determined
    assert not planned(TWO_OWNERS, schema, BOTH_OWN).releases[0].determined


def test_a_measured_count_is_near_the_truth(schema: Schema, tpch_url: str, tpch_owner_url: str) -> None:
    for statement, mechanisms in (
        (ONE_OWNER, ["gem"]),
        (DETERMINED, ["fixed"]),
        (TWO_OWNERS, ["gem"]),
        (BY_NATION, ["group_lp", "gem", "gem"]),
    ):
        plan = planned(statement, schema, epsilon=4.0)
        domain, noisy = measure(PostgresBackend(tpch_url), rewrite(plan), plan_measurements(plan, demo_policy()))
        assert [answer.mechanism for answer in noisy] == mechanisms
        rows = {row[0] if plan.group_keys else None: row for row in _plain(tpch_owner_url, statement)}
        for release, answer in enumerate(noisy):
            for place, group in enumerate(domain.groups):
                row = rows.get(group[0] if group else None)
                truth = 0 if row is None else row[release + len(group)]
                assert isinstance(truth, int)
                noise = 10 * float(answer.noise_scale[place])
                kept = 0.0 if plan.group_keys else 0.8  # of a small group much may be cut
                assert kept * truth - noise <= float(answer.values[place]) <= truth + noise, statement


def test_all_statements_read_one_snapshot(
    schema: Schema, tpch_url: str, tpch_owner_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are committed between two statements of a question are in neither."""
    plan = planned("SELECT count(*), count(DISTINCT src) FROM knows", schema)
    read = PostgresBackend._columns
    added: list[tuple[object, ...]] = []

    def between(*arguments: Any) -> list[Column]:
        columns = read(*arguments)
        if not added:
            with psycopg.connect(tpch_owner_url) as connection:
                added.extend(connection.execute(ADD_AN_EDGE).fetchall())
        return columns

    monkeypatch.setattr(PostgresBackend, "_columns", between)
    try:
        _, tuples = PostgresBackend(tpch_url).read(rewrite(plan))
    finally:
        with psycopg.connect(tpch_owner_url) as connection:
            connection.execute("DELETE FROM knows WHERE (src, dst) = (%s, %s)", added[0])
    (_, distinct), join = tuples.distinct, tuples.join
    assert added and join is not None and distinct is not None
    assert len(join.group) == len(distinct.group)


def test_too_many_distinct_rows_are_refused_in_any_statement(schema: Schema, tpch_url: str) -> None:
    backend = PostgresBackend(tpch_url, ReadLimits(rows=100))
    with pytest.raises(QueryCancelled):
        backend.read(rewrite(planned(ONE_OWNER, schema)))


def test_counts_move_by_no_more_than_the_threshold_when_a_supplier_leaves(schema: Schema, tpch_url: str) -> None:
    """From the tuples that PostgreSQL returned, a supplier's removed."""
    plan = planned(CUSTOMERS_OF_SUPPLIERS, schema, BOTH_OWN)
    _, tuples = PostgresBackend(tpch_url).read(rewrite(plan))
    (distinct,) = tuples.distinct
    assert isinstance(distinct, DistinctTuples)
    suppliers = next(column for column in distinct.owners if column.relation == "supplier")
    stays = suppliers.keys != suppliers.keys[0]
    owners = tuple(
        replace(column, keys=column.keys[stays], missing=column.missing[stays]) for column in distinct.owners
    )
    fewer = replace(distinct, owners=owners, group=distinct.group[stays], value=distinct.value[stays], weight=None)
    thresholds, gap = Thresholds(-2, 12), plan.gap(plan.releases[0])
    full, without = (truncate_distinct(table, thresholds, gap) for table in (distinct, fewer))
    moves = np.array([full.solve(0, j) - without.solve(0, j) for j in range(len(thresholds))]) / ONE
    assert np.all(moves <= (1 + gap) * thresholds.taus)
    assert np.all(moves >= -gap * thresholds.taus)
