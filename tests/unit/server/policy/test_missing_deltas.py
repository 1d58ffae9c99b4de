"""Accounts in which no query's delta fits."""

from __future__ import annotations

from dataclasses import replace

from server.ledger.account import AccountBalance, Grant
from server.ledger.analyst import Analyst
from server.policy.dataset_budget import missing_deltas
from tests.support.planning import demo_policy

ANALYSTS = (
    Analyst("ada", "analyst", None, True),
    Analyst("max", "analyst", None, True),
    Analyst("gone", "analyst", None, False),
    Analyst("grace", "admin", None, True),
)
DELTAS = {"dataset": 0.0, "analyst:ada": 0.0, "analyst:max": 1e-6, "analyst:gone": 0.0, "analyst:grace": 0.0}
ACCOUNTS = tuple(AccountBalance(name, Grant(1.0, delta), 1.0, delta, None) for name, delta in DELTAS.items())


def test_only_who_asks_is_told_of_and_only_where_a_query_takes_one() -> None:
    found = tuple(missing_deltas(replace(demo_policy(), delta=1e-6), ACCOUNTS, ANALYSTS))
    assert [(one.severity, one.subject) for one in found] == [("warning", "dataset"), ("warning", "analyst:ada")]
    assert "noisegate admin top-up" in found[0].message
    assert tuple(missing_deltas(demo_policy(), ACCOUNTS, ANALYSTS)) == ()
