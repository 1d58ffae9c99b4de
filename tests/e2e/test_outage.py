"""The database is away while clients go on asking: the ledger does not grow, and afterwards it is as before."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import count

import httpx

from server.demo.workplace import Demonstration
from tests.e2e.administrator import Administrator

CLIENTS = 8
ASKED = 3
"""By each, while it lasts."""

GROWTH_BYTES = 32_768
"""What eight questions that were under way leave behind, and some room."""


def _ledger_bytes(demonstration: Demonstration) -> int:
    """What its entries take: their contents, and some 250 bytes for the rest of each."""
    (path,) = demonstration.folder.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT sum(length(content) + 250) FROM entries").fetchone()[0])


def test_an_outage_leaves_next_to_nothing_in_the_ledger(own: Administrator) -> None:
    numbers = count(1)

    def ask(http: httpx.Client) -> int:
        sql = f"SELECT count(*) FROM orders WHERE o_orderkey < {next(numbers)}"
        return http.post("/v1/query", json={"sql": sql, "epsilon": 0.01}).status_code

    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as threads:
        clients = [stack.enter_context(own.wire.client(1000.0)) for _ in range(CLIENTS)]
        assert [ask(http) for http in clients] == [200] * CLIENTS
        before = _ledger_bytes(own.demonstration)
        away = own.socket.rename(own.socket.with_name("away"))
        try:
            told = Counter(threads.map(ask, clients * ASKED))
        finally:
            away.rename(own.socket)
        grown = _ledger_bytes(own.demonstration) - before
        assert told == {503: CLIENTS * ASKED}
        assert grown < GROWTH_BYTES, f"{grown} bytes for {json.dumps(told)}"
        assert [ask(http) for http in clients] == [200] * CLIENTS
