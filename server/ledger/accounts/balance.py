"""The balance of an account: what it may spend, what it has spent, and the rules between the two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.errors import InvalidSetting
from privacy.accounting.saved_spending import Spent
from server.ledger.account import AccountBalance
from server.ledger.accounts import currency
from server.ledger.accounts.amounts import delta_of
from server.ledger.accounts.terms import Terms


@dataclass(frozen=True)
class Balance:
    """An account at a time.

    Attributes:
      name: `analyst:NAME`, `group:NAME` or `dataset`.
      terms: what it may spend.
      started_ms: when its window began, in milliseconds since the epoch.
      spent: what it has spent since.
    """

    name: str
    terms: Terms
    started_ms: int
    spent: Spent

    @classmethod
    def opened(cls, name: str, terms: Terms, at_ms: int) -> Balance:
        """A new account, of which nothing is spent."""
        return cls(name, terms, at_ms, currency.nothing(terms.accounting))

    def regranted(self, terms: Terms, at_ms: int) -> Balance:
        """Under new terms; what was spent stays. A window that is given or changed begins now.

        Raises: InvalidSetting for another accounting, in which nothing is known of what was spent.
        """
        if terms.accounting != self.terms.accounting:
            raise InvalidSetting(f"The account {self.name} counts in {self.terms.accounting} and has to go on so.")
        now = self.at(at_ms)
        same = terms.window_ms == self.terms.window_ms
        return replace(now, terms=terms, started_ms=now.started_ms if same else at_ms)

    def at(self, at_ms: int) -> Balance:
        """As it stands at a time: with windows, spending starts again at the beginning of each."""
        window = self.terms.window_ms
        if window is None or at_ms < self.started_ms + window:
            return self
        started = self.started_ms + (at_ms - self.started_ms) // window * window
        return replace(self, started_ms=started, spent=currency.nothing(self.terms.accounting))

    def delayed(self, by_ms: int) -> Balance:
        """With a window in progress that ends later, at most by its own length; without windows as it is."""
        window = self.terms.window_ms
        return self if window is None else replace(self, started_ms=self.started_ms + min(by_ms, window))

    def admits(self, amount: Spent) -> bool:
        """Whether an amount fits beside what is spent."""
        return currency.admits(self.terms.accounting, self._granted, self.spent, amount)

    def charged(self, amount: Spent) -> Balance:
        """After one more amount."""
        return replace(self, spent=currency.plus(self.spent, amount))

    def refunded(self, amount: Spent, started_ms: int) -> Balance:
        """After an amount is given back that was taken in the window that began at `started_ms`.

        In another window there is nothing to give back: it never paid.
        """
        return replace(self, spent=currency.less(self.spent, amount)) if started_ms == self.started_ms else self

    def epsilon_left(self, delta: float = 0.0) -> float:
        """The largest epsilon of one more query with a delta that fits, rounded down; 0.0 for none.

        Cost: microseconds by basic composition, else up to some ten milliseconds unless it was asked lately.
        """
        return currency.epsilon_left(self.terms.accounting, self._granted, self.spent, delta)

    @property
    def delta_left(self) -> float:
        """What is left of the delta that events may have of their own, rounded down."""
        granted = self.terms.atto_delta if self.terms.accounting == "basic" else self.terms.event_atto
        return delta_of(max(0, granted - self.spent.atto_delta))

    @property
    def shown(self) -> AccountBalance:
        """The balance as the ledger shows it: epsilon and delta rounded down, and when the window ends."""
        renews = None if self.terms.window_ms is None else self.started_ms + self.terms.window_ms
        return AccountBalance(self.name, self.terms.grant, self.epsilon_left(), self.delta_left, renews)

    @property
    def _granted(self) -> tuple[int, int, int]:
        return self.terms.nano_epsilon, self.terms.atto_delta, self.terms.event_atto
