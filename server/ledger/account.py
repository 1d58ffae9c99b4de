"""Accounts: who pays for a query, and how much each may spend; what a grant leaves out stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Accounting = Literal["basic", "zcdp", "renyi"]
"""In which currency an account counts; fixed when the account is made."""

DATASET = "dataset"
"""The account that every release pays from: what all analysts together may learn."""


def analyst_account(analyst: str) -> str:
    """The name of an analyst's own account."""
    return f"analyst:{analyst}"


def group_account(group: str) -> str:
    """The name of the account of a group of analysts who may pool what they learn."""
    return f"group:{group}"


@dataclass(frozen=True)
class Grant:
    """How much an account may spend.

    Attributes:
      epsilon: above 0, rounded down to whole nano-epsilon.
      delta: in [0, 1), rounded down to whole atto-delta.
      accounting: how charges add up.
      event_delta: zCDP and Renyi: the part of delta that is kept for events that have a delta themselves.
      window_s: after so many seconds the account starts again from nothing, or None: never. With windows nothing
        bounds what is learned over all time: k windows are k budgets.
      per_query_epsilon: the most that one query may spend, or None.
    """

    epsilon: float
    delta: float = 0.0
    accounting: Accounting = "basic"
    event_delta: float = 0.0
    window_s: int | None = None
    per_query_epsilon: float | None = None


@dataclass(frozen=True)
class AccountBalance:
    """An account as the ledger shows it.

    Attributes:
      name: `analyst:NAME`, `group:NAME` or `dataset`.
      grant: as it is in force, rounded.
      epsilon_left: the largest epsilon of one more pure query that fits; per-query caps aside.
      delta_left: what is left of the delta that events may have of their own.
      renews_at_ms: when the window ends, in milliseconds since the epoch; None without windows.
    """

    name: str
    grant: Grant
    epsilon_left: float
    delta_left: float
    renews_at_ms: int | None


class Accounts(Protocol):
    """The part of the ledger that knows accounts."""

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """All accounts, or those that pay for an analyst."""
        ...


def delta_of_grant(ledger: Accounts, account: str, delta: float | None) -> float:
    """The delta that a grant gives: what it says, else what the account has; 0 for a new account."""
    if delta is not None:
        return delta
    return next((one.grant.delta for one in ledger.accounts() if one.name == account), 0.0)
