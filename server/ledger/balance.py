"""The balance of an account: grant, spending, renewal, and how many more questions fit.

Each ended calendar period is (epsilon, delta)-DP. By basic composition these are the amounts that it spent. Under
zCDP and Renyi they are the amounts that its filter was granted, or 0 if it spent nothing. They add up even if a later
grant depends on earlier answers (docs/mathematics.md, section 8.5). So a period that is granted at most the rest of
the total keeps the total.
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
    """An account at one point in time.

    Attributes:
      name: `analyst:NAME`, `group:NAME` or `dataset`.
      started_ms: the start of the window or period, in milliseconds since the epoch by the ledger's time. It is
        unique among the periods of an account.
      spent: in the account's own accounting.
      basic: the sum of epsilons and deltas of the same charges.
      periods: the calendar periods, once the account renews by the calendar; never dropped again.
    """

    name: str
    terms: Terms
    started_ms: int
    spent: Spent
    basic: Amount
    periods: Periods | None = None

    @classmethod
    def opened(cls, name: str, terms: Terms, at_ms: int, utc_ms: int) -> Balance:
        """A new account without spending. The clock's time (`utc_ms`) determines its first period."""
        periods = None if terms.renew is None else Periods.beginning(period_at(terms.renew, utc_ms))
        return cls(name, terms, at_ms, currency.nothing(terms.accounting), Amount(0), periods)

    def regranted(self, terms: Terms, at_ms: int, utc_ms: int) -> Balance:
        """The account with new terms. Spending stays; a new or changed window or period begins now.

        Raises: InvalidSetting for another accounting, in which past spending is unknown, and for windows after
          calendar periods, whose total would be lost.
        """
        if terms.accounting != self.terms.accounting:
            raise InvalidSetting(
                f"The account {self.name} uses {self.terms.accounting} accounting, which cannot change."
            )
        if terms.window_ms is not None and self.periods is not None:
            raise InvalidSetting(
                f"The account {self.name} renews by the calendar and cannot have windows.",
                hint="Give it a calendar period, or a budget that does not renew.",
            )
        now = self.at(at_ms)
        same = terms.window_ms == self.terms.window_ms
        started = now.started_ms if same else at_ms
        return replace(now, terms=terms, started_ms=started, periods=now._regranted_periods(terms, utc_ms))

    def _regranted_periods(self, terms: Terms, utc_ms: int) -> Periods | None:
        """The periods with new terms. Under zCDP and Renyi a period counts for the larger of two grants."""
        periods, same = self.periods, terms.renew == self.terms.renew
        if terms.renew is not None and not (same and periods is not None):
            begun = Periods.beginning(period_at(terms.renew, utc_ms))
            periods = begun if periods is None else replace(periods, current=begun.current, previous=begun.previous)
        if periods is None or not self._has_spent:
            return periods
        nano, atto, _ = self._granted
        return replace(periods, peak_nano=max(periods.peak_nano, nano), peak_atto=max(periods.peak_atto, atto))

    def at(self, at_ms: int) -> Balance:
        """The account at a time: each window starts with nothing spent.

        A calendar period ends only by the entry `renewed`.
        """
        window = self.terms.window_ms
        if window is None or at_ms < self.started_ms + window:
            return self
        started = self.started_ms + (at_ms - self.started_ms) // window * window
        return replace(self, started_ms=started, spent=currency.nothing(self.terms.accounting), basic=Amount(0))

    def is_due(self, utc_ms: int) -> bool:
        """Whether a later calendar period has begun, so that the account must renew."""
        renew, periods = self.terms.renew, self.periods
        return renew is not None and periods is not None and period_at(renew, utc_ms) > periods.current

    def renewed(self, at_ms: int, utc_ms: int) -> Balance:
        """The account in the current period with nothing spent. The ended period is added to the past total."""
        periods, renew = self.periods, self.terms.renew
        assert renew is not None and periods is not None, "it is due"
        nano, atto = self._period_comes_to
        past = periods.past_nano + nano, periods.past_atto + atto
        begun = Periods(period_at(renew, utc_ms), periods.current, *past)
        nothing = currency.nothing(self.terms.accounting)
        return replace(self, started_ms=at_ms, spent=nothing, basic=Amount(0), periods=begun)

    def as_of(self, at_ms: int, utc_ms: int) -> Balance:
        """The account as a charge would find it now, for readers."""
        now = self.at(at_ms)
        return now.renewed(at_ms, utc_ms) if now.is_due(utc_ms) else now

    def delayed(self, by_ms: int, utc_ms: int) -> Balance:
        """The account after the clock was found to be ahead.

        A window in progress ends later, by at most its own length. A period that began too early is followed by one
        without a budget.
        """
        window, periods, renew = self.terms.window_ms, self.periods, self.terms.renew
        if window is not None:
            return replace(self, started_ms=self.started_ms + min(by_ms, window))
        if renew is None or periods is None:
            return self
        return replace(self, periods=periods.set_back(period_at(renew, utc_ms)))

    def admits(self, amount: Spent) -> bool:
        """Whether the account can pay an amount on top of what it has spent."""
        granted = self._granted
        try:
            return granted[0] > 0 and currency.admits(self.terms.accounting, granted, self.spent, amount)
        except InvalidParameter:  # of what the total leaves no filter can be made
            return False

    def charged(self, amount: Spent, basic: Amount) -> Balance:
        """The account after one more charge.

        Args:
          amount: the charge's cost in the account's own accounting.
          basic: the same cost by basic composition: epsilon and delta.
        """
        return replace(self, spent=currency.plus(self.spent, amount), basic=self.basic + basic)

    def refunded(self, amount: Spent, basic: Amount, started_ms: int) -> Balance:
        """The account after an amount is given back that was taken in the window that began at `started_ms`.

        A later window never paid for it, so nothing changes there.
        """
        if started_ms != self.started_ms:
            return self
        left = Amount(self.basic.nano_epsilon - basic.nano_epsilon, self.basic.atto_delta - basic.atto_delta)
        return replace(self, spent=currency.less(self.spent, amount), basic=left)

    def epsilon_left(self, delta: float = 0.0) -> float:
        """The largest epsilon of one more query with this delta that fits, rounded down; 0.0 for none.

        Cost: microseconds for basic composition, else tens of milliseconds unless cached.
        """
        granted = self._granted
        try:
            return currency.epsilon_left(self.terms.accounting, granted, self.spent, delta) if granted[0] > 0 else 0.0
        except InvalidParameter:
            return 0.0

    @property
    def delta_left(self) -> float:
        """The delta that is left for events with a delta of their own, rounded down."""
        _, atto, event = self._granted
        granted = atto if self.terms.accounting == "basic" else event
        return delta_of(max(0, granted - self.spent.atto_delta))

    @property
    def shown(self) -> AccountBalance:
        """The balance for users: amounts rounded down, with the end of the window or period."""
        grant = self.terms.grant
        left = self.epsilon_left(), self.delta_left
        past = 0 if self.periods is None else self.periods.past_nano
        spent = epsilon_of(self.basic.nano_epsilon + past)
        over = None if self.admits(currency.nothing(self.terms.accounting)) else self._spent_at_most
        return AccountBalance(
            self.name, grant, *left, self.renews_at_ms, self._basic_left, self._so_far, spent, overspent=over
        )

    @property
    def _spent_at_most(self) -> tuple[float, float]:
        """(epsilon, delta) of all charges by basic composition, but no less than the grant."""
        nano, atto, _ = self._granted
        return epsilon_of(max(nano, self.basic.nano_epsilon)), delta_of(max(atto, self.basic.atto_delta))

    @property
    def is_clipped_by_total(self) -> bool:
        """Whether the bound on the total of all periods leaves this period less than its grant."""
        return self._granted[:2] != (self.terms.nano_epsilon, self.terms.atto_delta)

    @property
    def renews_at_ms(self) -> int | None:
        """The end of the window or period in milliseconds since the epoch; None if no other follows."""
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
            most_in_total=_total(terms.most_nano, periods.past_nano + so_far[0], epsilon_of),
            most_delta_in_total=_total(terms.most_atto, periods.past_atto + so_far[1], delta_of),
        )

    @property
    def _has_spent(self) -> bool:
        return self.spent != currency.nothing(self.terms.accounting)

    @property
    def _period_comes_to(self) -> tuple[int, int]:
        """The epsilon and delta of the current period so far, in nano and atto."""
        if isinstance(self.spent, Amount):
            return self.spent.nano_epsilon, self.spent.atto_delta
        if not self._has_spent:
            return 0, 0
        nano, atto, _ = self._granted
        peaks = (0, 0) if self.periods is None else (self.periods.peak_nano, self.periods.peak_atto)
        return max(nano, peaks[0]), max(atto, peaks[1])

    @property
    def _granted(self) -> tuple[int, int, int]:
        """The effective grant: the grant, or the rest of the total of all periods. May be 0 or negative."""
        terms, periods = self.terms, self.periods
        nano, atto, event = terms.nano_epsilon, terms.atto_delta, terms.event_atto
        if terms.renew is None or periods is None:
            return nano, atto, event
        if terms.most_nano is not None:
            nano = min(nano, terms.most_nano - periods.past_nano)
        if terms.most_atto is not None:
            atto = max(0, min(atto, terms.most_atto - periods.past_atto))
        return nano, atto, min(event, atto)


def _total(granted: int | None, spent: int, shown: Callable[[int], float]) -> float:
    """What all periods may come to: what is granted, or what is spent if the grant was lowered below it."""
    return UNLIMITED if granted is None else shown(max(granted, spent))


RECENT_CHARGES = 10
"""The price of a question is estimated from this many of the newest charges."""

MOST_QUESTIONS = 1_000_000
"""The count of remaining questions stops here."""


@dataclass(frozen=True)
class RemainingQuestions:
    """The accounts that pay for an analyst, and how many questions they can still pay for.

    Attributes:
      accounts: by name.
      questions_left: the remaining questions at the mean price of the newest charges, at most MOST_QUESTIONS; None
        before the first charge.
      like: how many charges the mean is over.
      limited_by: the account that runs out first, or None.
    """

    accounts: tuple[AccountBalance, ...]
    questions_left: int | None
    like: int
    limited_by: str | None


def remaining_questions(paying: Sequence[Balance], charges: Sequence[Charge]) -> RemainingQuestions:
    """Estimate the remaining questions in this window or period, rounded down.

    Args:
      charges: the analyst's, newest first, without those that were given back.
    """
    shown = tuple(one.shown for one in paying)
    if not charges:
        return RemainingQuestions(shown, None, 0, None)
    fits = [(_fitting(one, charges), one.name) for one in paying]
    questions, short = min(fits, default=(MOST_QUESTIONS, ""))
    return RemainingQuestions(shown, questions, len(charges), short if questions < MOST_QUESTIONS else None)


def _fitting(account: Balance, charges: Sequence[Charge]) -> int:
    """How many questions an account pays for. Cached answers cost the dataset nothing."""
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
