"""Which accounts are about to run out."""

from __future__ import annotations

from server.ledger.account import AccountBalance

LOW = 0.1
"""Of what was granted: with that share left, or less, an account is about to run out."""


def is_low(account: AccountBalance) -> bool:
    """Is a tenth of epsilon or of delta left, or less: of the window or period, or of what all periods may come to?

    Where zCDP or Renyi counts, the epsilon of one more question stands for what is left.
    """
    grant, periods = account.grant, account.periods
    spent = account.epsilon_left <= LOW * grant.epsilon or _delta_is_low(account)
    if periods is None or grant.renew is None:
        return spent
    left_in_total = periods.most_in_total - periods.past_epsilon
    return spent or left_in_total <= LOW * periods.most_in_total


def _delta_is_low(account: AccountBalance) -> bool:
    """In zCDP and Renyi the grant's delta is spent with epsilon, and only the events' part on its own."""
    granted = account.grant.delta if account.grant.accounting == "basic" else account.grant.event_delta
    return granted > 0 and account.delta_left <= LOW * granted
