"""The balance of an account: what it may spend, what it has spent, and how many more questions fit.

Each ended period of the calendar is (epsilon, delta)-DP for what it comes to: by basic composition what it spent; in
zCDP and Renyi what its filter granted, or nothing where it spent nothing. Those add up, also where what is granted
next depends on the answers before (Rogers, Roth, Ullman, Vadhan, NIPS 2016), so that a period that is granted no more
than the total leaves keeps the total (docs/mathematics.md, section 8.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.errors import InvalidSetting
from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import Spent
from privacy.errors import InvalidParameter
from server.ledger import currency
from server.ledger.account import DATASET, UNLIMITED, AccountBalance, BasicLeft, PeriodsSoFar
from server.ledger.charge import Charge
from server.ledger.currency import amount_of, delta_of, epsilon_of, mean_times
from server.ledger.terms import Periods, Terms, period_at, period_name, period_start_ms


@dataclass(frozen=True)
class Balance:
    """An account at a time.

    Attributes:
      name: `analyst:NAME`, `group:NAME` or `dataset`.
      started_ms: when its window or its period was begun, in milliseconds since the epoch, by the ledger's time; no
        two periods of an account have the same.
      basic: the epsilons and deltas of the same charges, added up; the same as `spent` by basic composition.
      periods: of the calendar, once it renews by it; kept for good.
    """

    name: str
    terms: Terms
    started_ms: int
    spent: Spent
    basic: Amount
    periods: Periods | None = None

    @classmethod
    def opened(cls, name: str, terms: Terms, at_ms: int, utc_ms: int) -> Balance:
        """A new account, of which nothing is spent; the clock's time (`utc_ms`) says what period it is."""
        periods = None if terms.renew is None else Periods.beginning(period_at(terms.renew, utc_ms))
        return cls(name, terms, at_ms, currency.nothing(terms.accounting), Amount(0), periods)

    def regranted(self, terms: Terms, at_ms: int, utc_ms: int) -> Balance:
        """Under new terms; what was spent stays. A window or a period that is given or changed begins now.

        Raises: InvalidSetting for another accounting, in which nothing is known of what was spent; and for windows
          after periods, whose total would be forgotten.
        """
        if terms.accounting != self.terms.accounting:
            raise InvalidSetting(f"The account {self.name} counts in {self.terms.accounting} and has to go on so.")
        if terms.window_ms is not None and self.periods is not None:
            raise InvalidSetting(
                f"The account {self.name} has renewed by the calendar and is given no windows.",
                hint="Give it a calendar period, or a budget that does not renew.",
            )
        now = self.at(at_ms)
        same = terms.window_ms == self.terms.window_ms
        started = now.started_ms if same else at_ms
        return replace(now, terms=terms, started_ms=started, periods=now._regranted_periods(terms, utc_ms))

    def _regranted_periods(self, terms: Terms, utc_ms: int) -> Periods | None:
        """The periods under new terms: in zCDP and Renyi, the larger of two grants is what a period comes to."""
        periods, same = self.periods, terms.renew == self.terms.renew
        if terms.renew is not None and not (same and periods is not None):
            begun = Periods.beginning(period_at(terms.renew, utc_ms))
            periods = begun if periods is None else replace(periods, current=begun.current, previous=begun.previous)
        if periods is None or not self._has_spent:
            return periods
        nano, atto, _ = self._granted
        return replace(periods, peak_nano=max(periods.peak_nano, nano), peak_atto=max(periods.peak_atto, atto))

    def at(self, at_ms: int) -> Balance:
        """As it stands at a time: with windows, spending starts again at the beginning of each.

        A period of the calendar is over only when an entry says so (`renewed`).
        """
        window = self.terms.window_ms
        if window is None or at_ms < self.started_ms + window:
            return self
        started = self.started_ms + (at_ms - self.started_ms) // window * window
        return replace(self, started_ms=started, spent=currency.nothing(self.terms.accounting), basic=Amount(0))

    def is_due(self, utc_ms: int) -> bool:
        """Is a later period of the calendar than the one whose budget is being spent?"""
        renew, periods = self.terms.renew, self.periods
        return renew is not None and periods is not None and period_at(renew, utc_ms) > periods.current

    def renewed(self, at_ms: int, utc_ms: int) -> Balance:
        """In the period that is now, with nothing spent; what ended is added to what all periods come to."""
        periods, renew = self.periods, self.terms.renew
        assert renew is not None and periods is not None, "it is due"
        nano, atto = self._period_comes_to
        past = periods.past_nano + nano, periods.past_atto + atto
        begun = Periods(period_at(renew, utc_ms), periods.current, *past)
        nothing = currency.nothing(self.terms.accounting)
        return replace(self, started_ms=at_ms, spent=nothing, basic=Amount(0), periods=begun)

    def as_of(self, at_ms: int, utc_ms: int) -> Balance:
        """As a charge would find it now, for who only reads."""
        now = self.at(at_ms)
        return now.renewed(at_ms, utc_ms) if now.is_due(utc_ms) else now

    def delayed(self, by_ms: int, utc_ms: int) -> Balance:
        """With a window in progress that ends later, at most by its own length; a period of the calendar that was
        begun too early is spent in the next; without either as it is."""
        window, periods, renew = self.terms.window_ms, self.periods, self.terms.renew
        if window is not None:
            return replace(self, started_ms=self.started_ms + min(by_ms, window))
        if renew is None or periods is None:
            return self
        return replace(self, periods=periods.set_back(period_at(renew, utc_ms)))

    def admits(self, amount: Spent) -> bool:
        """Whether an amount fits beside what is spent."""
        granted = self._granted
        try:
            return granted[0] > 0 and currency.admits(self.terms.accounting, granted, self.spent, amount)
        except InvalidParameter:  # of what the total leaves no filter can be made
            return False

    def charged(self, amount: Spent, basic: Amount) -> Balance:
        """After one more amount, which is `basic` by basic composition."""
        return replace(self, spent=currency.plus(self.spent, amount), basic=self.basic + basic)

    def refunded(self, amount: Spent, basic: Amount, started_ms: int) -> Balance:
        """After an amount is given back that was taken in the window that began at `started_ms`.

        In another window there is nothing to give back: it never paid.
        """
        if started_ms != self.started_ms:
            return self
        left = Amount(self.basic.nano_epsilon - basic.nano_epsilon, self.basic.atto_delta - basic.atto_delta)
        return replace(self, spent=currency.less(self.spent, amount), basic=left)

    def epsilon_left(self, delta: float = 0.0) -> float:
        """The largest epsilon of one more query with a delta that fits, rounded down; 0.0 for none.

        Cost: microseconds by basic composition, else up to some ten milliseconds unless it was asked lately.
        """
        granted = self._granted
        try:
            return currency.epsilon_left(self.terms.accounting, granted, self.spent, delta) if granted[0] > 0 else 0.0
        except InvalidParameter:
            return 0.0

    @property
    def delta_left(self) -> float:
        """What is left of the delta that events may have of their own, rounded down."""
        _, atto, event = self._granted
        granted = atto if self.terms.accounting == "basic" else event
        return delta_of(max(0, granted - self.spent.atto_delta))

    @property
    def shown(self) -> AccountBalance:
        """The balance as the ledger shows it: amounts rounded down, and when the window or the period ends."""
        grant = self.terms.grant
        left = self.epsilon_left(), self.delta_left
        past = 0 if self.periods is None else self.periods.past_nano
        spent = epsilon_of(self.basic.nano_epsilon + past)
        return AccountBalance(self.name, grant, *left, self.renews_at_ms, self._basic_left, self._so_far, spent)

    @property
    def is_clipped_by_total(self) -> bool:
        """Is it the total of all periods that leaves this one less than the grant?"""
        return self._granted[:2] != (self.terms.nano_epsilon, self.terms.atto_delta)

    @property
    def renews_at_ms(self) -> int | None:
        """When the window or the period ends, in milliseconds since the epoch; None where nothing comes after it."""
        if self.terms.window_ms is not None:
            return self.started_ms + self.terms.window_ms
        renew, periods, most = self.terms.renew, self.periods, self.terms.most_nano
        if renew is None or periods is None:
            return None
        if most is not None and periods.past_nano + self._period_comes_to[0] >= most:
            return None
        return period_start_ms(renew, periods.current + 1)

    @property
    def _basic_left(self) -> BasicLeft | None:
        if self.terms.accounting == "basic":
            return None
        nano, atto, _ = self._granted
        left = max(0, nano - self.basic.nano_epsilon), max(0, atto - self.basic.atto_delta)
        return BasicLeft(epsilon_of(left[0]), delta_of(left[1]))

    @property
    def _so_far(self) -> PeriodsSoFar | None:
        renew, periods, terms = self.terms.renew, self.periods, self.terms
        if periods is None:
            return None
        nano, atto, _ = self._granted
        so_far = self._period_comes_to  # more than is granted, where the grant was lowered
        return PeriodsSoFar(
            name="" if renew is None else period_name(renew, periods.current),
            epsilon=epsilon_of(max(0, nano, so_far[0])),
            delta=delta_of(max(0, atto, so_far[1])),
            past_epsilon=epsilon_of(periods.past_nano),
            past_delta=delta_of(periods.past_atto),
            most_in_total=UNLIMITED if terms.most_nano is None else epsilon_of(terms.most_nano),
            most_delta_in_total=UNLIMITED if terms.most_atto is None else delta_of(terms.most_atto),
        )

    @property
    def _has_spent(self) -> bool:
        return self.spent != currency.nothing(self.terms.accounting)

    @property
    def _period_comes_to(self) -> tuple[int, int]:
        """Nano-epsilon and atto-delta that the present period is private at, so far."""
        if isinstance(self.spent, Amount):
            return self.spent.nano_epsilon, self.spent.atto_delta
        if not self._has_spent:
            return 0, 0
        nano, atto, _ = self._granted
        peaks = (0, 0) if self.periods is None else (self.periods.peak_nano, self.periods.peak_atto)
        return max(nano, peaks[0]), max(atto, peaks[1])

    @property
    def _granted(self) -> tuple[int, int, int]:
        """What is in force: the grant, or what the total of all periods leaves of it; not positive where nothing."""
        terms, periods = self.terms, self.periods
        nano, atto, event = terms.nano_epsilon, terms.atto_delta, terms.event_atto
        if terms.renew is None or periods is None:
            return nano, atto, event
        if terms.most_nano is not None:
            nano = min(nano, terms.most_nano - periods.past_nano)
        if terms.most_atto is not None:
            atto = max(0, min(atto, terms.most_atto - periods.past_atto))
        return nano, atto, min(event, atto)


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

    The charges are the analyst's, newest first; what was given back is none.
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
