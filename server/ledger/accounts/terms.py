"""The terms of an account: its grant in whole numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from planner.errors import InvalidSetting
from privacy.errors import InvalidParameter
from server.ledger.account import UNLIMITED, Accounting, Grant, Renewal
from server.ledger.accounts.amounts import delta_of, epsilon_of, granted_delta, granted_epsilon
from server.ledger.accounts.currency import check_filter

_LATER = ("renew", "most_nano", "most_atto")
"""What older entries do not say; left out where it is None."""

_MOST_ATTO = 10**18 - 1
"""Delta is below 1, in total, too."""

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
      renew: the account starts again with each such period of the calendar, or None.
      most_nano, most_atto: with `renew`: what all periods may come to, or None: unlimited.
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
        """The terms of a grant. Raises InvalidSetting for one that no filter can keep."""
        window_ms = None if grant.window_s is None else grant.window_s * 1000
        if window_ms is not None and not 0 < window_ms <= MAX_WINDOW_MS:
            raise InvalidSetting("A window lasts at least a second and at most a hundred years.")
        cap = None if grant.per_query_epsilon is None else granted_epsilon(grant.per_query_epsilon)
        amounts = granted_epsilon(grant.epsilon), granted_delta(grant.delta), granted_delta(grant.event_delta)
        _check_renewal(grant)
        most = _total(grant, *amounts[:2])
        return cls(grant.accounting, *amounts, window_ms, cap, grant.renew, *most).checked()

    def topped_up(self, epsilon: float, delta: float) -> Terms:
        """With more to spend; both rounded down. Raises InvalidSetting, also beyond the largest budget there is."""
        nano = granted_epsilon(epsilon) if epsilon else 0
        more = replace(self, nano_epsilon=self.nano_epsilon + nano, atto_delta=self.atto_delta + granted_delta(delta))
        if more == self:
            raise InvalidSetting("A top-up is above 0.")
        if self.most_atto is not None and self.most_nano is not None:
            most = _delta_in_total(self.most_nano, more.nano_epsilon, more.atto_delta)
            more = replace(more, most_atto=max(self.most_atto, most))
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
        said = asdict(self)
        return {name: value for name, value in said.items() if value is not None or name not in _LATER}

    @property
    def grant(self) -> Grant:
        """The terms as floats, none of them above what is granted."""
        window_s = None if self.window_ms is None else self.window_ms // 1000
        cap = None if self.nano_cap is None else epsilon_of(self.nano_cap)
        epsilon, delta = epsilon_of(self.nano_epsilon), delta_of(self.atto_delta)
        most = None if self.renew is None else UNLIMITED if self.most_nano is None else epsilon_of(self.most_nano)
        return Grant(epsilon, delta, self.accounting, delta_of(self.event_atto), window_s, cap, self.renew, most)


def _check_renewal(grant: Grant) -> None:
    if grant.renew is None and grant.most_in_total is not None:
        raise InvalidSetting("What all periods may come to is said of an account that renews.")
    if grant.renew is not None and grant.window_s is not None:
        raise InvalidSetting("An account renews by the calendar or has windows, not both.")
    if grant.renew is not None and grant.most_in_total is None:
        raise InvalidSetting(
            "A renewed budget protects per period: say what epsilon all periods may come to.",
            hint="Give a number, or `unlimited` where nothing is to bound what is learned over all time.",
        )
    if grant.most_in_total is not None and not grant.most_in_total >= grant.epsilon:
        raise InvalidSetting(
            "What all periods may come to is at least what one of them may spend.",
            hint="Say a larger total with it, or a smaller epsilon.",
        )


def _total(grant: Grant, nano: int, atto: int) -> tuple[int | None, int | None]:
    """What all periods may come to, rounded down; of delta as many grants as the epsilon has."""
    if grant.most_in_total is None or grant.most_in_total == UNLIMITED:
        return None, None
    most = granted_epsilon(grant.most_in_total)
    return most, _delta_in_total(most, nano, atto)


def _delta_in_total(most_nano: int, nano: int, atto: int) -> int:
    return min(atto * -(-most_nano // nano), _MOST_ATTO)
