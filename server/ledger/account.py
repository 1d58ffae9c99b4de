"""Accounts: who pays for a query, how much each may spend, at what it protects people, and which one a name means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from server.errors import UnknownAccount
from server.query import privacy_text

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
      spent_epsilon: what its charges come to by basic composition: in this window, or in this period and all before.
      tuning_epsilon: what was told to everybody beside its charges (`noisegate tune`), and it has not paid for.
    """

    name: str
    grant: Grant
    epsilon_left: float
    delta_left: float
    renews_at_ms: int | None
    basic: BasicLeft | None = None
    periods: PeriodsSoFar | None = None
    spent_epsilon: float = 0.0
    tuning_epsilon: float = 0.0


GRANT_WORDS: Mapping[str, str] = {
    "delta": "What may be spent of delta. Of a new group it is what the policy gives an analyst, the dataset's is 0.",
    "accounting": "How charges add up. Fixed when the account is made, basic for a new one.",
    "event_delta": "With zcdp or renyi: the part of delta for events that have one themselves.",
    "window": "Start again from nothing after so long. Nothing bounds what is learned over all time then: k windows"
    " are k budgets.",
    "per_query_epsilon": "The most that one query may spend, or `unlimited`.",
    "renew": "Start again with each such period of the calendar, in the place of a window; `never` ends either.",
    "most_in_total": "Where it renews, and there it must be said: the epsilon that all periods may come to, where"
    " renewal stops, or `unlimited`.",
}
"""What the parts of a grant are for, in HTTP bodies and on the command line."""

UNSAID = " Left out, it stays as it is."
"""Behind the words of a part, where a grant is changed."""


@dataclass(frozen=True)
class GrantChange:
    """What a custodian says of a grant; None: it stays as it is, so that raising an epsilon ends no renewal.

    Attributes:
      epsilon, delta, accounting, event_delta, window_s: as of `Grant`.
      per_query_epsilon: UNLIMITED ends the cap.
      renew: takes a window's place; `never` ends either.
      most_in_total: as of `Grant`.
    """

    epsilon: float
    delta: float | None = None
    accounting: Accounting | None = None
    event_delta: float | None = None
    window_s: int | None = None
    per_query_epsilon: float | None = None
    renew: Renewal | Literal["never"] | None = None
    most_in_total: float | None = None

    def of(self, before: Grant) -> Grant:
        """The grant that this makes of the one before; the ledger refuses it where its parts do not go together."""
        window_s, renew, most = self.window_s, self.renew, self.most_in_total
        if renew is None and window_s is None:
            window_s, renew = before.window_s, before.renew
        if renew == "never":
            renew = None
        elif renew is not None and most is None:
            most = before.most_in_total
        cap = before.per_query_epsilon if self.per_query_epsilon is None else self.per_query_epsilon
        return Grant(
            self.epsilon,
            before.delta if self.delta is None else self.delta,
            before.accounting if self.accounting is None else self.accounting,
            before.event_delta if self.event_delta is None else self.event_delta,
            window_s,
            None if cap == UNLIMITED else cap,
            renew,
            most,
        )


def grant_before(accounts: Iterable[AccountBalance], account: str, usual_delta: float) -> Grant:
    """What a new grant leaves as it is where it says nothing: all but its epsilon (`GrantChange`).

    Of a new account: basic composition, and of a group what the policy gives an analyst of delta (`usual_delta`),
    since without any no member could ask for groups that are found. The dataset's delta bounds what all learn
    together, and is given by nobody but who names it.
    """
    new = Grant(0.0, 0.0 if account == DATASET else usual_delta)
    return next((one.grant for one in accounts if one.name == account), new)


_DAY_S = 86_400


def guarantee(account: AccountBalance) -> str:
    """At which epsilon, and delta, answers that the account has paid for protect a person who is in all of the data.

    Returns: a sentence; `epsilon 10 per month; by the end of 2026-11 epsilon 23 over all periods; at most epsilon 50
      in total`. What `noisegate tune` has told everybody stands behind it, as it adds to all of that.
    """
    answers, tuning = _of_answers(account), account.tuning_epsilon
    return f"{answers}; and {privacy_text(tuning, 0.0)} of tuning, once, in addition" if tuning else answers


def _of_answers(account: AccountBalance) -> str:
    grant, periods = account.grant, account.periods
    whole = privacy_text(grant.epsilon, grant.delta)
    if grant.window_s is not None:
        every = f"{grant.window_s / _DAY_S:.6g} days" if grant.window_s >= _DAY_S else f"{grant.window_s} seconds"
        return f"{whole} in every {every}; in total nothing bounds it: k windows are k budgets"
    if periods is None:
        return f"{whole} in total"
    if grant.renew is None:
        return f"{whole} from now on, and {privacy_text(periods.past_epsilon, periods.past_delta)} before it"
    total = privacy_text(periods.total_epsilon, periods.total_delta)
    so_far = f"by the end of {periods.name} at most {total} over all periods"
    if math.isinf(periods.most_in_total):
        return f"{whole} per {grant.renew}; {so_far}; in total nothing bounds it: k periods are k budgets"
    most = privacy_text(periods.most_in_total, periods.most_delta_in_total)
    return f"{whole} per {grant.renew}; {so_far}; at most {most} in total, where renewal stops"


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


def named_account(accounts: Iterable[AccountBalance], name: str) -> str:
    """The whole name of `dataset`, which is the dataset's whoever else is called so, `analyst:NAME`, `group:NAME` or
    NAME.

    Raises: UnknownAccount where nobody has the name, or an analyst as well as a group.
    """
    if name == DATASET or ":" in name:
        return name
    known = {one.name for one in accounts}
    found = [one for one in (analyst_account(name), group_account(name)) if one in known]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownAccount(f"{name} is an analyst and a group", hint=f"write {found[0]} or {found[1]}")
    hint = f"write group:{name} to make the account of a new group" if name else None
    raise UnknownAccount(f"there is no analyst and no group {name!r}", hint=hint)
