"""The terms of an account: its grant in whole numbers, and its calendar periods (UTC).

Periods are consecutive whole numbers. A person with data in k periods is protected at the sum of their budgets, so an
account reports the total of its ended periods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta

from planner.errors import InvalidSetting
from privacy.errors import InvalidParameter
from server.ledger.account import UNLIMITED, Accounting, Grant, Renewal
from server.ledger.currency import check_filter, delta_of, epsilon_of, granted_delta, granted_epsilon

_DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_MONDAY = date(1969, 12, 29).toordinal()  # of the week of the epoch
_LAST_YEAR = 9998
"""The last whole year of Python's calendar but one, so that every period has a next one."""


_PERIODS: dict[Renewal, tuple[Callable[[date], int], Callable[[int], date], Callable[[date], str]]] = {
    "day": (
        lambda day: day.toordinal() - _EPOCH,
        lambda period: date.fromordinal(period + _EPOCH),
        date.isoformat,
    ),
    "week": (
        lambda day: (day.toordinal() - _MONDAY) // 7,
        lambda period: date.fromordinal(7 * period + _MONDAY),
        lambda day: "{:04}-W{:02}".format(*day.isocalendar()[:2]),
    ),
    "month": (
        lambda day: 12 * day.year + day.month - 1,
        lambda period: date(period // 12, period % 12 + 1, 1),
        lambda day: f"{day.year:04}-{day.month:02}",
    ),
    "quarter": (
        lambda day: 4 * day.year + (day.month - 1) // 3,
        lambda period: date(period // 4, 3 * (period % 4) + 1, 1),
        lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    ),
    "year": (lambda day: day.year, lambda period: date(period, 1, 1), lambda day: f"{day.year:04}"),
}
"""By renewal: the number of the period of a day, the first day of a period, and its name by that day."""


@dataclass(frozen=True)
class Periods:
    """The calendar periods of an account, in whole amounts.

    Attributes:
      current: the period that is being spent.
      previous: the period before the last renewal; at first the one before `current`.
      past_nano, past_atto: the sum of epsilon and delta over all ended periods.
      peak_nano, peak_atto: zCDP and Renyi: the largest grant of this period before its grant was changed; else 0.
    """

    current: int
    previous: int
    past_nano: int = 0
    past_atto: int = 0
    peak_nano: int = 0
    peak_atto: int = 0

    @classmethod
    def beginning(cls, period: int) -> Periods:
        """The periods of a new account."""
        return cls(period, period - 1)

    def set_back(self, now: int) -> Periods:
        """Correct the current period after the clock was found ahead; `now` is the actual period.

        A period that had not begun was lent. It is paid back by one period without a budget: the next period follows
        both the actual one and the one before the loan. The wait is at most that one period, however far the clock
        was ahead.
        """
        if self.current <= now:
            return self
        current = min(self.current, max(now, self.previous) + 1)
        return replace(self, current=current)


def period_at(renew: Renewal, utc_ms: int) -> int:
    """The number of the period of a time.

    >>> period_at("month", 0), period_at("quarter", 0), period_at("week", 4 * 86_400_000)
    (23640, 7880, 1)
    """
    day = utc_ms // _DAY_MS + _EPOCH
    at = date.fromordinal(min(max(day, 1), date(_LAST_YEAR, 12, 31).toordinal()))
    return _PERIODS[renew][0](at)


def period_start_ms(renew: Renewal, period: int) -> int:
    """The start of a period in milliseconds since the epoch."""
    return (_PERIODS[renew][1](period).toordinal() - _EPOCH) * _DAY_MS


def period_name(renew: Renewal, period: int) -> str:
    """The name of a period.

    >>> period_name("month", 23640), period_name("quarter", 7880), period_name("week", 0)
    ('1970-01', '1970-Q1', '1970-W01')
    """
    _, first_day, name = _PERIODS[renew]
    return name(first_day(period))


def day_of(utc_ms: int) -> str:
    """The date of a time, as text."""
    return (datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=utc_ms)).strftime("%Y-%m-%d")


_LATER = ("renew", "most_nano", "most_atto")
"""Fields that older entries lack; left out if None."""

_MOST_ATTO = 10**18 - 1
"""Delta is below 1, also in total."""

MAX_WINDOW_MS = 100 * 366 * 86_400_000
"""Keeps every time of a window within a signed 64-bit column."""


@dataclass(frozen=True)
class Terms:
    """A grant, rounded down to whole numbers.

    Attributes:
      accounting: how charges compose.
      nano_epsilon, atto_delta: the grant.
      event_atto: the part of atto_delta for events that have a delta of their own.
      window_ms: the account is reset after this many milliseconds, or None.
      nano_cap: the most nano-epsilon of one query, or None.
      renew: the account is reset at the start of each calendar period, or None.
      most_nano, most_atto: with `renew`: the total over all periods, or None: unlimited.
    """

    accounting: Accounting
    nano_epsilon: int
    atto_delta: int
    event_atto: int = 0
    window_ms: int | None = None
    nano_cap: int | None = None
    renew: Renewal | None = None
    most_nano: int | None = None
    most_atto: int | None = None

    @classmethod
    def of(cls, grant: Grant) -> Terms:
        """The terms of a grant. Raises InvalidSetting if no privacy filter can enforce it."""
        window_ms = None if grant.window_s is None else grant.window_s * 1000
        if window_ms is not None and not 0 < window_ms <= MAX_WINDOW_MS:
            raise InvalidSetting("A window must last at least a second and at most a hundred years.")
        cap = None if grant.per_query_epsilon is None else granted_epsilon(grant.per_query_epsilon)
        amounts = granted_epsilon(grant.epsilon), granted_delta(grant.delta), granted_delta(grant.event_delta)
        _check_renewal(grant)
        most = _total(grant, *amounts[:2])
        return cls(grant.accounting, *amounts, window_ms, cap, grant.renew, *most).checked()

    def topped_up(self, epsilon: float, delta: float) -> Terms:
        """Larger terms; both amounts are rounded down. Raises InvalidSetting, also above the largest budget."""
        nano = granted_epsilon(epsilon) if epsilon else 0
        more = replace(self, nano_epsilon=self.nano_epsilon + nano, atto_delta=self.atto_delta + granted_delta(delta))
        if more == self:
            raise InvalidSetting("A top-up must be above 0.")
        if self.most_atto is not None and self.most_nano is not None:
            most = _delta_in_total(self.most_nano, more.nano_epsilon, more.atto_delta)
            more = replace(more, most_atto=max(self.most_atto, most))
        granted_epsilon(epsilon_of(more.nano_epsilon))
        granted_delta(delta_of(more.atto_delta))
        return more.checked()

    def checked(self) -> Terms:
        """These terms. Raises InvalidSetting if no privacy filter can enforce them."""
        try:
            check_filter(self.accounting, self.nano_epsilon, self.atto_delta, self.event_atto)
        except InvalidParameter as error:
            raise InvalidSetting(
                f"This kind of budget cannot be enforced: {error}. Choose another epsilon, delta or accounting."
            ) from error
        return self

    @property
    def content(self) -> dict[str, object]:
        """The terms as an entry stores them."""
        said = asdict(self)
        return {name: value for name, value in said.items() if value is not None or name not in _LATER}

    @property
    def grant(self) -> Grant:
        """The terms as floats, rounded down."""
        window_s = None if self.window_ms is None else self.window_ms // 1000
        cap = None if self.nano_cap is None else epsilon_of(self.nano_cap)
        epsilon, delta = epsilon_of(self.nano_epsilon), delta_of(self.atto_delta)
        most = None if self.renew is None else UNLIMITED if self.most_nano is None else epsilon_of(self.most_nano)
        return Grant(epsilon, delta, self.accounting, delta_of(self.event_atto), window_s, cap, self.renew, most)


def _check_renewal(grant: Grant) -> None:
    if grant.renew is None and grant.most_in_total is not None:
        raise InvalidSetting("A total of all periods needs a calendar renewal.")
    if grant.renew is not None and grant.window_s is not None:
        raise InvalidSetting("An account renews by the calendar or has windows, not both.")
    if grant.renew is not None and grant.most_in_total is None:
        raise InvalidSetting(
            "A renewing budget protects per period. State the epsilon that all periods may spend together.",
            hint="Give a number, or `unlimited` for no bound over all time.",
        )
    if grant.most_in_total is not None and not grant.most_in_total >= grant.epsilon:
        raise InvalidSetting(
            "The total of all periods must be at least the epsilon of one period.",
            hint="Give a larger total or a smaller epsilon.",
        )


def _total(grant: Grant, nano: int, atto: int) -> tuple[int | None, int | None]:
    """The total of all periods, rounded down. Delta is bounded by the number of grants that the epsilon has."""
    if grant.most_in_total is None or grant.most_in_total == UNLIMITED:
        return None, None
    most = granted_epsilon(grant.most_in_total)
    return most, _delta_in_total(most, nano, atto)


def _delta_in_total(most_nano: int, nano: int, atto: int) -> int:
    return min(atto * -(-most_nano // nano), _MOST_ATTO)
