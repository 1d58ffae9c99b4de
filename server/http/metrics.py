"""Counters for Prometheus: how much was asked, how it ended. No durations: how long answers take depends on data."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

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
