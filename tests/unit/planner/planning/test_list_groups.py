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


def listed(sql: str) -> Plan:
    return planned(sql, policy=policy(), delta=1e-7)


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


def test_has_the_groups_of_the_same_count() -> None:
    clause = "FROM orders WHERE o_orderstatus IN ('F', 'P') GROUP BY o_orderstatus"
    assert (
        listed(f"SELECT o_orderstatus {clause}").domains == listed(f"SELECT o_orderstatus, count(*) {clause}").domains
    )


def test_refuses_what_only_private_rows_know() -> None:
    for sql, error, words in [
        ("SELECT o_orderkey FROM orders GROUP BY 1", SensitivityUnbounded, "o_orderkey"),
        ("SELECT o_clerk FROM orders GROUP BY 1", RowsNotShown, "partition selection"),
        ("SELECT DISTINCT * FROM orders", RowsNotShown, "would show rows"),
        ("SELECT DISTINCT o_orderstatus, 1 FROM orders", RowsNotShown, "would show rows"),
        ("SELECT o_orderkey FROM orders GROUP BY o_orderstatus", UnsupportedSQL, "neither in GROUP BY"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            listed(sql)
