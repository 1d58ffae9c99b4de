"""What every client of PostgreSQL must be able to do, whatever language it is written in."""

from __future__ import annotations

import importlib.util
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pytest

from server.demo.demonstration import QUERIES
from tests.support.wire_proxy import WireProxy

COUNT = "SELECT count(*) FROM orders"
COUNT_ABOVE = "SELECT count(*) FROM orders WHERE o_totalprice > {}"
NEVER_ENDS = (
    "SELECT count(*) FROM lineitem a JOIN lineitem b USING (l_orderkey) JOIN lineitem c USING (l_orderkey) "
    "CROSS JOIN part WHERE a.l_quantity + b.l_quantity + c.l_quantity + p_size < 9"
)
"""Lines that meet at an order, with every part: it would run for minutes."""

RUNNING_S = 3.0
"""How long a client lets `NEVER_ENDS` run before it cancels it."""

PROXY_LIMIT_S = 45.0
"""Below the minute after which the proxy ends it itself, with the same SQLSTATE."""

BUDGET = "SHOW noisegate.budget"
TABLES = {"customer", "orders", "lineitem", "supplier", "nation", "region", "part", "partsupp", "knows"}

_LEFT = 2


class Client(ABC):
    """A client of one analyst; each method connects with TLS, verified, and with SCRAM, in one session of its own.

    Args:
      proxy: where to connect.
      epsilon: budget of the analyst.
    """

    def __init__(self, proxy: WireProxy, epsilon: float) -> None:
        self.proxy = proxy
        self.name, self.key = proxy.analyst(epsilon)

    @abstractmethod
    def tables(self) -> set[str]:
        """The tables that the client's own way of listing them shows."""

    @abstractmethod
    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        """The rows of each statement."""

    @abstractmethod
    def prepared(self, values: Sequence[float]) -> list[object]:
        """The counts of `COUNT_ABOVE`, prepared once and executed with each value."""

    @abstractmethod
    def refusal(self, sql: str) -> str:
        """The SQLSTATE of a statement that fails."""

    @abstractmethod
    def cancelled(self) -> str:
        """The SQLSTATE of `NEVER_ENDS`, cancelled after `RUNNING_S`; the session must answer afterwards."""

    def left(self) -> float:
        """Epsilon that is left."""
        ((shown,),) = self.rows([BUDGET])
        return float(str(shown[_LEFT]))

    def refused_with(self) -> list[str]:
        """The SQLSTATEs that the proxy's log has for this analyst, oldest first."""
        return [event["code"] for event in self.logged("refused")]

    def logged(self, kind: str) -> list[dict[str, str]]:
        """What the proxy's log has of a kind for this analyst, oldest first."""
        log = (self.proxy.demonstration.folder / "proxy.log").read_text().splitlines()
        events = [json.loads(line) for line in log if line.startswith("{")]
        return [event for event in events if event["event"] == kind and event["analyst"] == self.name]


class Contract:
    """Tests that every client passes; a file per client names the client."""

    client: ClassVar[type[Client]]
    cancellations: ClassVar[tuple[str, ...]] = ("57014",)

    def test_lists_the_policys_tables(self, wire: WireProxy) -> None:
        client = self.client(wire, 1.0)
        assert client.tables() >= TABLES
        assert client.left() == 1.0

    def test_asks_the_demonstrations_questions(self, wire: WireProxy) -> None:
        client = self.client(wire, len(QUERIES) + 0.5)
        answers = client.rows([query.sql for query in QUERIES])
        assert [len(rows) for rows in answers] == [1] * (len(QUERIES) - 1) + [25]
        assert all(float(str(row[-1])) == float(str(row[-1])) for rows in answers for row in rows)
        assert client.left() == 0.5

    def test_prepares_and_pays_once(self, wire: WireProxy) -> None:
        client = self.client(wire, 2.5)
        first, second, other = client.prepared([1000, 1000, 200_000])
        assert first == second != other
        assert client.left() == 0.5

    def test_sees_why_a_query_is_refused(self, wire: WireProxy) -> None:
        client = self.client(wire, 1.0)
        assert client.refusal("SELECT o_orderkey FROM orders") == "0A000"
        assert client.refusal("SELECT count(*) FROM nowhere") == "42P01"
        assert client.refusal("DELETE FROM orders") == "25006"
        assert client.left() == 1.0

    def test_sees_an_exhausted_budget(self, wire: WireProxy) -> None:
        assert self.client(wire, 0.25).refusal(COUNT) == "PD001"

    @pytest.mark.clients
    def test_cancels_what_runs(self, wire: WireProxy) -> None:
        start = time.monotonic()
        assert self.client(wire, 2.0).cancelled() in self.cancellations
        assert time.monotonic() - start < PROXY_LIMIT_S, "it ended because the proxy let it run no longer"


def installed(module: str, package: str = "") -> pytest.MarkDecorator:
    """Skip where a Python client is not installed."""
    absent = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(absent, reason=f"{package or module} is not installed (make clients)")
