"""SQL text to a plan over the demonstration's catalog and policy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from planner.binding.bind import bind
from planner.binding.bound_query import BoundQuery
from planner.parsing.parse import parse
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from tests.support.tpch_schema import tpch_schema

DEMO_POLICY = Path(__file__).parents[2] / "server" / "demo" / "policy.toml"


@cache
def demo_policy() -> Policy:
    """server/demo/policy.toml."""
    return parse_policy(DEMO_POLICY.read_text())


def people_policy(tables: str) -> Policy:
    """The policy of a small database whose privacy unit is `person`, with these sections of tables."""
    return parse_policy(f"""
        name = "people"
        database = {{ url = "env:UNUSED" }}
        ledger = {{ path = "ledger.sqlite" }}
        privacy = {{ epsilon = 1.0, max_epsilon = 10.0, delta = 0.0 }}
        privacy_units = {{ person = "id" }}
        {tables}
    """)


def unbounded(policy: Policy | None = None) -> Policy:
    """The policy, with joins allowed that no key bounds, at no higher price than its default epsilon."""
    policy = policy or demo_policy()
    channels = replace(policy.side_channels, unbounded_joins=True)
    return replace(policy, max_epsilon=policy.epsilon, side_channels=channels)


def bound(sql: str, schema: Schema | None = None, policy: Policy | None = None) -> BoundQuery:
    """Parse and bind."""
    return bind(parse(sql), schema or tpch_schema(), policy or demo_policy())


def planned(
    sql: str,
    schema: Schema | None = None,
    policy: Policy | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mechanism: str | None = None,
    sampling_rate: float | None = None,
) -> Plan:
    """Parse, bind and plan."""
    schema, policy = schema or tpch_schema(), policy or demo_policy()
    query = bind(parse(sql), schema, policy)
    return make_plan(
        query, schema, policy, epsilon=epsilon, delta=delta, mechanism=mechanism, sampling_rate=sampling_rate
    )


def join_sql(sql: str, schema: Schema | None = None, policy: Policy | None = None) -> str:
    """The statement that reads the join; the question must have one."""
    join = rewritten(sql, schema, policy).join
    assert join is not None, "only counts of distinct values have no join"
    return join


def rewritten(
    sql: str, schema: Schema | None = None, policy: Policy | None = None, mechanism: str | None = None
) -> BackendQuery:
    """All the way to SQL."""
    return rewrite(planned(sql, schema, policy, mechanism=mechanism))
