"""Accounts: who pays for a query, and how much each may spend; what a grant leaves out stays as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

Accounting = Literal["basic", "zcdp", "renyi"]
"""In which currency an account counts; fixed when the account is made."""

Renewal = Literal["day", "week", "month", "quarter", "year"]
"""How long a period of the calendar lasts, in UTC; weeks begin on Monday."""

UNLIMITED = math.inf
"""Of what all periods of an account may come to: nothing bounds it."""

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
      renew: it starts again from nothing with each such period of the calendar, or None. Not beside a window.
      most_in_total: with `renew`: the epsilon that all its periods may come to together, or UNLIMITED; None without.
        Their deltas come to no more than as many grants as that epsilon has.
    """

    epsilon: float
    delta: float = 0.0
    accounting: Accounting = "basic"
    event_delta: float = 0.0
    window_s: int | None = None
    per_query_epsilon: float | None = None
    renew: Renewal | None = None
    most_in_total: float | None = None


@dataclass(frozen=True)
class BasicLeft:
    """What basic composition would have left of an account that counts otherwise.

    Attributes:
      epsilon_left, delta_left: the grant less the epsilons and deltas of all charges since it began or was renewed;
        0.0 where they exceed it.
    """

    epsilon_left: float
    delta_left: float


@dataclass(frozen=True)
class PeriodsSoFar:
    """What an account that renews by the calendar protects people at: in this period, and over all of them.

    Attributes:
      name: of the period that is being spent, such as `2026-11`; empty for an account that does not renew any more.
      epsilon, delta: the most that this period may spend: the grant, or what the total leaves of it.
      past_epsilon, past_delta: what the ended periods come to together.
      most_in_total: the epsilon that all periods may come to; UNLIMITED where nothing bounds it.
      most_delta_in_total: the same of delta.
    """

    name: str
    epsilon: float
    delta: float
    past_epsilon: float
    past_delta: float
    most_in_total: float
    most_delta_in_total: float

    @property
    def total_epsilon(self) -> float:
        """What all periods come to at the end of this one, at most."""
        return self.past_epsilon + self.epsilon

    @property
    def total_delta(self) -> float:
        """The same of delta."""
        return self.past_delta + self.delta


@dataclass(frozen=True)
class AccountBalance:
    """An account as the ledger shows it.

    Attributes:
      name: `analyst:NAME`, `group:NAME` or `dataset`.
      grant: as it is in force, rounded.
      epsilon_left: the largest epsilon of one more pure query that fits; per-query caps aside.
      delta_left: what is left of the delta that events may have of their own.
      renews_at_ms: when the window or the period ends, in milliseconds since the epoch; None without, and where the
        total of all periods leaves nothing for another one.
      basic: beside zCDP and Renyi; None for an account that counts so itself.
      periods: of an account that renews by the calendar, or did.
    """

    name: str
    grant: Grant
    epsilon_left: float
    delta_left: float
    renews_at_ms: int | None
    basic: BasicLeft | None = None
    periods: PeriodsSoFar | None = None


class Accounts(Protocol):
    """The part of the ledger that knows accounts."""

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """All accounts, or those that pay for an analyst."""
        ...


def grant_before(ledger: Accounts, account: str, usual_delta: float) -> Grant:
    """What a new grant leaves as it is where it says nothing: its delta, how it counts, what events' deltas have.

    Of a new account: basic composition, and of a group what the policy gives an analyst of delta, since without any
    no member could ask for groups that are found; its epsilon means nothing. The dataset's delta bounds what all
    learn together, and is given by nobody but who names it.

    Args:
      ledger: knows the accounts.
      account: its whole name.
      usual_delta: what the policy gives somebody new where no delta is named.
    """
    new = Grant(0.0, 0.0 if account == DATASET else usual_delta)
    return next((one.grant for one in ledger.accounts() if one.name == account), new)
