"""SQL text to a query over public tables of the demonstration's catalog and policy."""

from __future__ import annotations

from datetime import UTC, datetime

from planner.parsing.parse import read
from planner.policy.policy import Policy
from planner.public.bind import bind_public
from planner.public.relation import PublicQuery
from planner.public.route import check_public
from planner.rewriting.rewrite import write_public
from planner.schema import Dialect, Schema
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

NOW = datetime(2024, 5, 17, 13, 30, tzinfo=UTC)


def public(sql: str, schema: Schema | None = None, policy: Policy | None = None) -> PublicQuery:
    """Read, compare with the grammar and bind."""
    statement = read(sql)
    check_public(statement)
    return bind_public(statement.tree, schema or tpch_schema(), policy or demo_policy(), NOW)


def public_sql(sql: str, dialect: Dialect = "postgres") -> str:
    """All the way to text."""
    return write_public(public(sql), dialect=dialect).sql
