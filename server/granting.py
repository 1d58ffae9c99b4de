"""A grant that leaves something out leaves it as it is."""

from __future__ import annotations

from typing import Protocol

from server.ledger.account import AccountBalance


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
