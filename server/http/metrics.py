"""Prometheus metrics: counts of requests and outcomes, and gauges of the ledger.

No metric belongs to one question. A charge shows only in its accounts, which administrators see at
/v1/admin/accounts.
Times are whole hours. There are no durations, since they depend on the data.
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
        """Count a request that starts."""
        self._open.inc()

    def ended(self, route: str | None, code: str) -> None:
        """Count a request that ends.

        Args:
          route: its path with parameter names, or None.
          code: the SQLSTATE, 00000 for success.
        """
        self._open.dec()
        self._requests.labels(route or "none", code).inc()

    def text(self) -> bytes:
        """The counters in Prometheus' text format."""
        return generate_latest(self.registry)


MAX_ACCOUNTS = 500
"""At most this many accounts have their own line, those with the least left first."""


def ledger_metrics(accounts: Sequence[AccountBalance], found: Vitals, workers: int) -> bytes:
    """The gauges of the ledger in Prometheus' text format.

    Cost: up to ten milliseconds for each zCDP or Renyi account that has changed.
    """
    registry = CollectorRegistry()
    left, granted, delta = (
        Gauge(f"noisegate_account_{name}", about, ("account",), registry=registry)
        for name, about in (
            ("epsilon_left", "The largest epsilon of one more query that fits the account."),
            ("epsilon_granted", "What the account may spend, in its window or period."),
            ("delta_left", "The delta that is left for queries."),
        )
    )
    for one in sorted(accounts, key=lambda one: one.epsilon_left / one.grant.epsilon)[:MAX_ACCOUNTS]:
        left.labels(one.name).set(one.epsilon_left)
        granted.labels(one.name).set(one.grant.epsilon if one.periods is None else one.periods.epsilon)
        delta.labels(one.name).set(one.delta_left)
    for name, about, count in (
        ("accounts", "Accounts of the ledger.", len(accounts)),
        ("accounts_low", "Accounts with at most a tenth left.", sum(map(is_low, accounts))),
        ("ledger_entries", "Entries of the ledger.", found.entries),
        ("charges_crashed", "Charges that a crash of a proxy ended; they stand.", found.crashed),
        ("charges_failed", "Failed questions that count against the limits.", found.failed),
        ("workers", "Worker processes for questions about private rows.", workers),
        ("ledger_head_age_hours", "The age of the last entry in whole hours.", found.head_age_hours),
    ):
        Gauge(f"noisegate_{name}", about, registry=registry).set(count)
    return generate_latest(registry)
