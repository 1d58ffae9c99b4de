"""The database is stopped while clients go on asking: the ledger does not grow, and afterwards it is as before."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path

import httpx

from server.backends.embedded import EmbeddedPostgres
from server.demo.asking import client
from server.demo.workplace import Demonstration, add_analyst, proxy
from tests.support.proxies import tpch_demonstration

CLIENTS = 8
OUTAGE_S = 3.0
GROWTH_BYTES = 32_768
"""What eight questions that were under way leave behind, and some room."""


def _ledger_bytes(demonstration: Demonstration) -> int:
    """What its entries take: their contents, and some 250 bytes for the rest of each."""
    (path,) = demonstration.folder.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT sum(length(content) + 250) FROM entries").fetchone()[0])


def test_an_outage_leaves_next_to_nothing_in_the_ledger(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path is short
        Path(folder).chmod(0o755)
        socket = Path(folder) / "s"
        socket.symlink_to(embedded_postgres.socket.absolute())
        made = tpch_demonstration(tmp_path, embedded_postgres, tpch_url)
        made = Demonstration(
            made.folder,
            made.server,
            made.owner_url,
            tpch_url.replace(embedded_postgres.url().partition("host=")[2], str(socket).replace("/", "%2F")),
        )
        keys = [add_analyst(made, 1000.0) for _ in range(CLIENTS)]
        numbers = count(1)

        def ask(http: httpx.Client) -> httpx.Response:
            sql = f"SELECT count(*) FROM orders WHERE o_orderkey < {next(numbers)}"
            return http.post("/v1/query", json={"sql": sql, "epsilon": 0.01}, timeout=60)

        def hammer(http: httpx.Client) -> Counter[int]:
            end, told = time.monotonic() + OUTAGE_S, Counter[int]()
            while time.monotonic() < end:
                told[ask(http).status_code] += 1
            return told

        with proxy(made, port=0) as address:
            clients = [client(address, key) for key in keys]
            try:
                assert [ask(http).status_code for http in clients] == [200] * CLIENTS
                before = _ledger_bytes(made)
                socket.rename(socket.with_name("away"))
                with ThreadPoolExecutor(CLIENTS) as threads:
                    told = sum(threads.map(hammer, clients), Counter[int]())
                grown = _ledger_bytes(made) - before
                socket.with_name("away").rename(socket)
                assert set(told) == {503}
                assert told.total() > 2 * CLIENTS
                assert grown < GROWTH_BYTES, f"{grown} bytes for {json.dumps(told)}"
                started = time.monotonic()
                assert [ask(http).status_code for http in clients] == [200] * CLIENTS
                assert time.monotonic() - started < 10
            finally:
                for http in clients:
                    http.close()
