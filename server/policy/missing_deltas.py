"""Accounts in which no query's delta fits: for the custodian who checks a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from planner.policy.lint import delta_uses, discovered_columns
from planner.policy.policy import Policy
from server.ledger.account import AccountBalance, analyst_account
from server.ledger.analyst import Analyst
from server.policy.finding import Finding


class Payers(Protocol):
    """The part of the ledger that knows who pays."""

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """The accounts that pay for an analyst's questions; all accounts for None."""
        ...

    def analysts(self) -> tuple[Analyst, ...]:
        """All who hold or held keys."""
        ...


def missing_deltas(policy: Policy, ledger: Payers) -> Iterator[Finding]:
    """A warning for each account that pays for questions and was granted less delta than one may take."""
    idle = {analyst_account(one.name) for one in ledger.analysts() if one.role != "analyst" or not one.enabled}
    for account in ledger.accounts():
        if account.name not in idle and account.grant.delta < policy.delta:
            granted = f"was granted a delta of {account.grant.delta:g}, and one query may take {policy.delta:g}"
            refused = f"questions that ask for it are refused, {delta_uses(discovered_columns(policy))}"
            yield Finding(
                "warning", account.name, f"{granted}: {refused}; `noisegate admin top-up --delta` adds to it"
            )
