"""What is left, for who asks on: how many more questions like the last ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.ledger.account import DATASET, AccountBalance
from server.ledger.accounts.balance import Balance
from server.ledger.accounts.currency import amount_of, mean_times
from server.ledger.charge import Charge

OUTLOOK_CHARGES = 10
"""So many of the newest charges say what a question costs."""

MOST_QUESTIONS = 1_000_000
"""More are not counted."""


@dataclass(frozen=True)
class Outlook:
    """The accounts that pay for an analyst, and how long they last.

    Attributes:
      accounts: by name.
      questions_left: how many more questions all of them pay for, each at the mean of the newest charges in the
        account's own currency, at most MOST_QUESTIONS; None before the first charge.
      like: how many charges that is the mean of.
      limited_by: the account that is short first; None where none is.
    """

    accounts: tuple[AccountBalance, ...]
    questions_left: int | None
    like: int
    limited_by: str | None


def outlook(paying: Sequence[Balance], charges: Sequence[Charge]) -> Outlook:
    """How many more questions fit, in this window or period: rounded down, and a forecast, no promise.

    Args:
      paying: the analyst's accounts as they are now.
      charges: what the analyst was charged, newest first; what was given back is none.
    """
    shown = tuple(one.shown for one in paying)
    if not charges:
        return Outlook(shown, None, 0, None)
    fits = [(_fitting(one, charges), one.name) for one in paying]
    questions, short = min(fits, default=(MOST_QUESTIONS, ""))
    return Outlook(shown, questions, len(charges), short if questions < MOST_QUESTIONS else None)


def _fitting(account: Balance, charges: Sequence[Charge]) -> int:
    """The most that an account pays for; a kept answer that is served again costs the dataset nothing."""
    accounting = account.terms.accounting
    paid = [one for one in charges if account.name != DATASET or one.repeats is None]
    if not paid:
        return MOST_QUESTIONS
    amounts = [amount_of(accounting, charge) for charge in paid]
    return _largest(lambda n: account.admits(mean_times(amounts, n, len(charges))))


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest whole number up to MOST_QUESTIONS that fits, by bisection."""
    low, high = 0, MOST_QUESTIONS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
