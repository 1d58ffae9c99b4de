"""What Prometheus reads: counts of what was asked and how it ended, and gauges of the ledger.

Nothing here is of one question: a charge is seen as what it takes of an account, which custodians see at
/v1/admin/accounts, and times are whole hours. There are no durations: they depend on data.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from server.ledger.account import AccountBalance, is_low
from server.ledger.writes.journal import Vitals

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "noisegate_requests", "Requests by route and outcome.", ("route", "code"), registry=self.registry
        )
        self._open = Gauge("noisegate_requests_open", "Requests under way.", registry=self.registry)

    def begun(self) -> None:
        """A request came in."""
        self._open.inc()

    def ended(self, route: str | None, code: str) -> None:
        """A request was answered.

        Args:
          route: its path with names for what varies; None where there is none.
          code: the SQLSTATE, 00000 for success.
        """
        self._open.dec()
        self._requests.labels(route or "none", code).inc()

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)


MAX_ACCOUNTS = 500
"""So many accounts have a line of their own, those with the least left first."""


def ledger_metrics(accounts: Sequence[AccountBalance], found: Vitals, workers: int) -> bytes:
    """All of them, as Prometheus reads them.

    Cost: that of what each account in zCDP or Renyi has left, some ten milliseconds where it has changed.
    """
    registry = CollectorRegistry()
    left, granted, delta = (
        Gauge(f"noisegate_account_{name}", about, ("account",), registry=registry)
        for name, about in (
            ("epsilon_left", "The largest epsilon of one more query that fits the account."),
            ("epsilon_granted", "What the account may spend, in its window or period."),
            ("delta_left", "What is left of the account's delta for queries."),
        )
    )
    for one in sorted(accounts, key=lambda one: one.epsilon_left / one.grant.epsilon)[:MAX_ACCOUNTS]:
        left.labels(one.name).set(one.epsilon_left)
        granted.labels(one.name).set(one.grant.epsilon if one.periods is None else one.periods.epsilon)
        delta.labels(one.name).set(one.delta_left)
    for name, about, count in (
        ("accounts", "Accounts of the ledger.", len(accounts)),
        ("accounts_low", "Accounts that are about to run out: a tenth is left, or less.", sum(map(is_low, accounts))),
        ("ledger_entries", "Entries of the ledger.", found.entries),
        ("charges_crashed", "Charges that a crash of a proxy cut off; they stand.", found.crashed),
        ("charges_failed", "Charges of questions that failed, and count against the limits.", found.failed),
        ("workers", "Worker processes for questions about private rows.", workers),
        ("ledger_head_age_hours", "How long ago the last entry was written, in whole hours.", found.head_age_hours),
    ):
        Gauge(f"noisegate_{name}", about, registry=registry).set(count)
    return generate_latest(registry)
