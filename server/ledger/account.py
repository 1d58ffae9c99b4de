"""Accounts: who pays for a query, how much each account may spend, and what privacy guarantee that gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from server.errors import UnknownAccount
from server.query import privacy_text

Accounting = Literal["basic", "zcdp", "renyi"]
"""How an account composes its charges; fixed when the account is made."""

Renewal = Literal["day", "week", "month", "quarter", "year"]
"""The length of a calendar period, in UTC; weeks begin on Monday."""

UNLIMITED = math.inf
"""The total over all periods has no bound."""

DATASET = "dataset"
"""The account that pays for every release. It bounds what all analysts learn together."""


def analyst_account(analyst: str) -> str:
    """The name of an analyst's own account."""
    return f"analyst:{analyst}"


def group_account(group: str) -> str:
    """The account name of a group of analysts who may pool their answers."""
    return f"group:{group}"


@dataclass(frozen=True)
class Grant:
    """How much an account may spend.

    Attributes:
      epsilon: above 0, rounded down to whole nano-epsilon.
      delta: in [0, 1), rounded down to whole atto-delta.
      accounting: how charges compose.
      event_delta: zCDP and Renyi only: the part of delta reserved for events that have a delta of their own.
      window_s: the account is reset after this many seconds; None: never. With windows, nothing bounds the total
        over time: k windows are k budgets.
      per_query_epsilon: the most that one query may spend, or None.
      renew: the account is reset at the start of each calendar period, or None. Excludes a window.
      most_in_total: with `renew`, the epsilon that all periods may spend together, or UNLIMITED; otherwise None. The
        total delta is bounded by the same number of grants.
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
    """The epsilon and delta that basic composition would leave of an account with zCDP or Renyi accounting.

    Attributes:
      epsilon_left, delta_left: the grant minus the sums over all charges since the account was opened or renewed; at
        least 0.0.
    """

    epsilon_left: float
    delta_left: float


@dataclass(frozen=True)
class PeriodsSoFar:
    """The guarantee of an account with calendar renewal: for this period, and over all periods.

    Attributes:
      name: the current period, such as `2026-11`; empty if the account no longer renews.
      epsilon, delta: the most that this period may spend: the grant, or the rest of the total.
      past_epsilon, past_delta: the sum over the ended periods.
      most_in_total: the epsilon that all periods may spend together, or UNLIMITED.
      most_delta_in_total: the same for delta.
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
        """The most that all periods have spent when this one ends."""
        return self.past_epsilon + self.epsilon

    @property
    def total_delta(self) -> float:
        """The most delta that all periods have spent when this one ends."""
        return self.past_delta + self.delta


@dataclass(frozen=True)
class AccountBalance:
    """An account as users see it.

    Attributes:
      name: `analyst:NAME`, `group:NAME` or `dataset`.
      epsilon_left: the largest epsilon of one more pure-DP query that fits; per-query caps are ignored.
      delta_left: the delta that is left for events with a delta of their own.
      renews_at_ms: when the window or period ends, in milliseconds since the epoch. None: no renewal, or the total
        leaves nothing for another period.
      basic: for zCDP and Renyi only.
      periods: for accounts that renew by the calendar, or did.
      spent_epsilon: the charges by basic composition: of this window, or of this period and all before it.
      tuning_epsilon: what `noisegate tune` released and this account has not paid for.
      overspent: what was spent, as (epsilon, delta), if the grant was lowered below it: the guarantee is no better.
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
    overspent: tuple[float, float] | None = None


GRANT_WORDS: Mapping[str, str] = {
    "delta": "The delta to spend. For a new group it is the policy's delta of an analyst, for the dataset 0.",
    "accounting": "How charges compose. Fixed when the account is made, basic for a new one.",
    "event_delta": "With zcdp or renyi: the part of delta for events that have a delta of their own.",
    "window": "Reset the account after this long. Nothing bounds the total over time then: k windows are k budgets.",
    "per_query_epsilon": "The most that one query may spend, or `unlimited`.",
    "renew": "Reset the account at the start of each calendar period, instead of a window; `never` ends both.",
    "most_in_total": "The epsilon that all periods may spend together, where renewal stops, or `unlimited`. Required"
    " with a renewal.",
}
"""The descriptions of a grant's fields, for HTTP and the command line."""

UNSAID = " If left out, it stays as it is."
"""Follows the description where an existing grant is changed."""


@dataclass(frozen=True)
class GrantChange:
    """A change of a grant, with the fields of `Grant`. None keeps a value, so raising epsilon ends no renewal.

    Attributes:
      per_query_epsilon: UNLIMITED removes the cap.
      renew: replaces a window; `never` ends both.
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
        """The new grant. The ledger refuses fields that exclude each other."""
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
    """The grant to start from when an account's grant is changed.

    For a new account: basic composition, and for a group the policy's delta of one analyst (`usual_delta`), because
    partition selection needs a delta. The dataset's delta starts at 0: it bounds what all analysts learn together, so
    an administrator must state it.
    """
    new = Grant(0.0, 0.0 if account == DATASET else usual_delta)
    return next((one.grant for one in accounts if one.name == account), new)


_DAY_S = 86_400


def guarantee(account: AccountBalance) -> str:
    """The privacy guarantee of an account for a person with rows in the whole data, as a sentence.

    Returns: for example `epsilon 10 per month; at most epsilon 23 in all periods together until the end of
      2026-11; at most epsilon 50 in total, where renewal stops`. The epsilon of tunings follows, since it adds to all
      of that.
    """
    answers, tuning = _of_answers(account), account.tuning_epsilon
    return f"{answers}; and {privacy_text(tuning, 0.0)} of tuning, once, in addition" if tuning else answers


def _of_answers(account: AccountBalance) -> str:
    grant, periods = account.grant, account.periods
    whole = privacy_text(grant.epsilon, grant.delta)
    if account.overspent is not None and periods is None:
        whole = f"{privacy_text(*account.overspent)}, which was spent before the grant was lowered to {whole}"
        if grant.window_s is None:
            return whole
    if grant.window_s is not None:
        every = f"{grant.window_s / _DAY_S:.6g} days" if grant.window_s >= _DAY_S else f"{grant.window_s} seconds"
        return f"{whole} in every {every}; in total nothing bounds it: k windows are k budgets"
    if periods is None:
        return f"{whole} in total"
    if grant.renew is None:
        now, past = (
            privacy_text(periods.epsilon, periods.delta),
            privacy_text(periods.past_epsilon, periods.past_delta),
        )
        return f"{now} from now on, and {past} before it"
    total = privacy_text(periods.total_epsilon, periods.total_delta)
    so_far = f"at most {total} in all periods together until the end of {periods.name}"
    if math.isinf(periods.most_in_total):
        return f"{whole} per {grant.renew}; {so_far}; in total nothing bounds it: k periods are k budgets"
    most = privacy_text(periods.most_in_total, periods.most_delta_in_total)
    return f"{whole} per {grant.renew}; {so_far}; at most {most} in total, where renewal stops"


LOW = 0.1
"""At this share of the grant or less, an account counts as nearly spent."""


def is_low(account: AccountBalance) -> bool:
    """Whether at most a tenth of epsilon or delta is left: of the window, the period, or the total of all periods.

    For zCDP and Renyi, the epsilon of one more question is compared.
    """
    grant, periods = account.grant, account.periods
    spent = account.epsilon_left <= LOW * grant.epsilon or _delta_is_low(account)
    if periods is None or grant.renew is None:
        return spent
    left_in_total = periods.most_in_total - periods.past_epsilon
    return spent or left_in_total <= LOW * periods.most_in_total


def _delta_is_low(account: AccountBalance) -> bool:
    """Under zCDP and Renyi only the events' part of delta is spent on its own."""
    granted = account.grant.delta if account.grant.accounting == "basic" else account.grant.event_delta
    return granted > 0 and account.delta_left <= LOW * granted


def named_account(accounts: Iterable[AccountBalance], name: str) -> str:
    """Resolve `dataset`, `analyst:NAME`, `group:NAME` or NAME to an account name. `dataset` always means the dataset.

    Raises: UnknownAccount if nobody has the name, or both an analyst and a group have it.
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
