"""The terms of an account: its grant in whole numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from planner.errors import InvalidSetting
from privacy.errors import InvalidParameter
from server.ledger.account import Accounting, Grant
from server.ledger.accounts.amounts import delta_of, epsilon_of, granted_delta, granted_epsilon
from server.ledger.accounts.currency import check_filter

MAX_WINDOW_MS = 100 * 366 * 86_400_000
"""Keeps every time of a window within a signed 64-bit column."""


@dataclass(frozen=True)
class Terms:
    """A grant, rounded down.

    Attributes:
      accounting: how charges add up.
      nano_epsilon, atto_delta: what is granted.
      event_atto: the part of atto_delta kept for events that have a delta themselves.
      window_ms: the account starts again after so many milliseconds, or None.
      nano_cap: the most nano-epsilon of one query, or None.
    """

    accounting: Accounting
    nano_epsilon: int
    atto_delta: int
    event_atto: int = 0
    window_ms: int | None = None
    nano_cap: int | None = None

    @classmethod
    def of(cls, grant: Grant) -> Terms:
        """The terms of a grant. Raises InvalidSetting for one that no filter can keep."""
        window_ms = None if grant.window_s is None else grant.window_s * 1000
        if window_ms is not None and not 0 < window_ms <= MAX_WINDOW_MS:
            raise InvalidSetting("A window lasts at least a second and at most a hundred years.")
        cap = None if grant.per_query_epsilon is None else granted_epsilon(grant.per_query_epsilon)
        amounts = granted_epsilon(grant.epsilon), granted_delta(grant.delta), granted_delta(grant.event_delta)
        return cls(grant.accounting, *amounts, window_ms, cap).checked()

    def topped_up(self, epsilon: float, delta: float) -> Terms:
        """With more to spend; both rounded down. Raises InvalidSetting, also beyond the largest budget there is."""
        nano = granted_epsilon(epsilon) if epsilon else 0
        more = replace(self, nano_epsilon=self.nano_epsilon + nano, atto_delta=self.atto_delta + granted_delta(delta))
        if more == self:
            raise InvalidSetting("A top-up is above 0.")
        granted_epsilon(epsilon_of(more.nano_epsilon))
        granted_delta(delta_of(more.atto_delta))
        return more.checked()

    def checked(self) -> Terms:
        """These terms. Raises InvalidSetting when no filter can keep them."""
        try:
            check_filter(self.accounting, self.nano_epsilon, self.atto_delta, self.event_atto)
        except InvalidParameter as error:
            raise InvalidSetting(f"No budget can be kept like this: {error}.") from error
        return self

    @property
    def content(self) -> dict[str, object]:
        """The terms as an entry says them."""
        return asdict(self)

    @property
    def grant(self) -> Grant:
        """The terms as floats, none of them above what is granted."""
        window_s = None if self.window_ms is None else self.window_ms // 1000
        cap = None if self.nano_cap is None else epsilon_of(self.nano_cap)
        epsilon, delta = epsilon_of(self.nano_epsilon), delta_of(self.atto_delta)
        return Grant(epsilon, delta, self.accounting, delta_of(self.event_atto), window_s, cap)
