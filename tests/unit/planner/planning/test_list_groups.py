"""Questions that only name groups: no release, no charge, no private row."""

from __future__ import annotations

from functools import cache

import pytest

from planner.errors import RowsNotShown, SensitivityUnbounded, UnsupportedSQL
from planner.plan import Plan
from planner.policy.policy import Policy, parse_policy
from planner.released_expression import KeyValue
from planner.rewriting.rewrite import rewrite
from tests.support.planning import DEMO_POLICY, planned

ORDERS = """[tables.orders.columns]
o_orderstatus = { domain = ["F", "O", "P"] }
o_orderdate = { range = [1995-01-01, 1996-12-31] }
o_clerk = { discover = true }
"""
NATIONS = "FROM customer JOIN nation ON c_nationkey = n_nationkey"


@cache
def policy() -> Policy:
    text = DEMO_POLICY.read_text().replace("[tables.orders]\n", ORDERS).replace("delta = 0.0", "delta = 1e-6")
    return parse_policy(text)


def listed(sql: str, delta: float = 0.0) -> Plan:
    return planned(sql, policy=policy(), delta=delta)


def test_reads_and_charges_nothing() -> None:
    for sql in [
        "SELECT o_orderstatus FROM orders GROUP BY o_orderstatus", "SELECT DISTINCT o_orderstatus FROM orders",
        "SELECT DISTINCT date_trunc('year', o_orderdate) AS year, o_orderstatus FROM orders WHERE o_totalprice > 5",
        f"SELECT n_name {NATIONS} GROUP BY 1 HAVING n_name <> 'PERU' ORDER BY 1 LIMIT 5",
        f"SELECT * FROM (SELECT n_name AS nation {NATIONS} GROUP BY n_name) AS t WHERE nation > 'C'",
    ]:  # fmt: skip
        plan = listed(sql)
        assert plan.releases == ()
        assert (plan.epsilon, plan.delta) == (0.0, 0.0)
        query = rewrite(plan)
        assert query.join is None
        assert query.distinct == ()
        assert not any(statement and '"orders"' in statement for statement in query.domains)
        assert all(isinstance(output.expression, KeyValue) for output in plan.display.outputs)


def test_selects_what_private_rows_or_public_tables_hold_as_if_rows_were_counted() -> None:
    for keys, rows in [("o_clerk", "orders"), ("o_clerk, o_orderstatus", "orders"), ("n_name", NATIONS[5:]),
                       ("n_name, n_regionkey", NATIONS[5:]), ("upper(n_name)", NATIONS[5:])]:  # fmt: skip
        for sql in (f"SELECT DISTINCT {keys} FROM {rows}", f"SELECT {keys} FROM {rows} GROUP BY {keys}"):
            plan = listed(sql, 1e-7)
            assert (plan.epsilon, plan.delta, len(plan.releases)) == (1.0, 1e-7, 1)
            assert plan.selection is not None
            assert any(domain.selects_partitions for domain in plan.domains)
            assert all(isinstance(output.expression, KeyValue) for output in plan.display.outputs)
    assert listed("SELECT DISTINCT o_orderstatus FROM orders", 1e-7).epsilon == 0  # declared values are public


def test_a_computed_key_keeps_to_the_declared_values_of_its_columns() -> None:
    plan = listed("SELECT o_orderstatus || o_clerk, count(*) FROM orders GROUP BY 1", 1e-7)
    assert plan.domains[0].selects_partitions
    assert """o_orderstatus" IN ('F', 'O', 'P')""" in (rewrite(plan).join or "")


def test_has_the_groups_of_the_same_count() -> None:
    clause = "FROM orders WHERE o_orderstatus IN ('F', 'P') GROUP BY o_orderstatus"
    assert (
        listed(f"SELECT o_orderstatus {clause}").domains == listed(f"SELECT o_orderstatus, count(*) {clause}").domains
    )


def test_refuses_what_only_private_rows_know() -> None:
    for sql, error, words in [
        ("SELECT o_orderkey FROM orders GROUP BY 1", SensitivityUnbounded, "o_orderkey"),
        ("SELECT o_clerk FROM orders GROUP BY 1", SensitivityUnbounded, "partition selection needs a delta"),
        ("SELECT DISTINCT * FROM orders", RowsNotShown, "would show rows"),
        ("SELECT DISTINCT o_orderstatus, 1 FROM orders", RowsNotShown, "would show rows"),
        ("SELECT o_orderkey FROM orders GROUP BY o_orderstatus", UnsupportedSQL, "neither in GROUP BY"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            listed(sql)
