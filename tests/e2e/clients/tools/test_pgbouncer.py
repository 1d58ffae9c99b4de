"""PgBouncer between a client and the proxy, by session and by transaction."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

import psycopg
from psycopg import Connection

from server.demo.workplace import free_port
from tests.e2e.clients.contract import COUNT, COUNT_ABOVE, NEVER_ENDS, RUNNING_S, Client, Contract
from tests.e2e.clients.program import needs
from tests.support.wire_proxy import WireProxy

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = needs(PGBOUNCER is not None, "pgbouncer")

TABLES_SQL = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
_START_S = 20.0


class PgBouncer(Client):
    """psycopg through a pool of one connection, which was opened with the analyst's key."""

    mode: ClassVar[str]

    @contextmanager
    def pool(self) -> Iterator[str]:
        """How to connect to a pooler of this client."""
        port = free_port(0)
        with tempfile.TemporaryDirectory(prefix="pgbouncer-") as made:
            folder = Path(made)
            (folder / "users.txt").write_text(f'"{self.name}" "{self.key}"\n')
            (folder / "authority.pem").write_bytes(self.proxy.authority.read_bytes())
            (folder / "pgbouncer.ini").write_text(
                "[databases]\n"
                f"demo = host=localhost port={self.proxy.port} dbname=demo\n"
                "[pgbouncer]\n"
                f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
                f"auth_type = scram-sha-256\nauth_file = {folder}/users.txt\n"
                f"pool_mode = {self.mode}\ndefault_pool_size = 1\n"
                f"server_tls_sslmode = verify-full\nserver_tls_ca_file = {folder}/authority.pem\n"
            )
            with _running(folder):
                place = f"host=127.0.0.1 port={port} dbname=demo user={self.name} password={self.key} sslmode=disable"
                _reached(place)
                yield place

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Through a pool of its own. In one by transaction nothing lasts that psycopg would prepare by itself."""
        with self.pool() as place, psycopg.connect(place, autocommit=True, prepare_threshold=None) as connection:
            yield connection

    def tables(self) -> set[str]:
        with self.connect() as connection:
            return {name for (name,) in connection.execute(TABLES_SQL)}

    def rows(self, statements: Sequence[str]) -> list[list[Sequence[object]]]:
        with self.connect() as connection:
            return [list(connection.execute(sql.encode())) for sql in statements]

    def prepared(self, values: Sequence[float]) -> list[object]:
        """By a transaction, so that it may also be prepared in a pool by transaction."""
        sql = COUNT_ABOVE.format("%s").encode()
        with self.connect() as connection, connection.transaction():
            found = [connection.execute(sql, (value,), prepare=True).fetchone() for value in values]
        return [row[0] for row in found if row is not None]

    def refusal(self, sql: str) -> str:
        with self.connect() as connection:
            try:
                connection.execute(sql.encode())
            except psycopg.Error as error:
                return error.sqlstate or ""
        return ""

    def cancelled(self) -> str:
        with self.connect() as connection:
            threading.Timer(RUNNING_S, connection.cancel_safe).start()
            try:
                connection.execute(NEVER_ENDS)
            except psycopg.Error as error:
                assert connection.execute("SELECT 1").fetchone() == (1,)
                return error.sqlstate or ""
        return ""


@contextmanager
def _running(folder: Path) -> Iterator[None]:
    """PgBouncer, which does not run as root."""
    assert PGBOUNCER is not None, "skipped otherwise"
    user = "nobody" if os.geteuid() == 0 else None
    if user is not None:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, user)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([PGBOUNCER, str(folder / "pgbouncer.ini")], stderr=log, user=user)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def _reached(place: str) -> None:
    end = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(place).close()
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


class BySession(PgBouncer):
    """A client keeps the connection until it goes; the pooler resets it by DISCARD ALL."""

    mode = "session"


class ByTransaction(PgBouncer):
    """A client keeps the connection for a transaction."""

    mode = "transaction"


class TestBySession(Contract):
    """The contract."""

    client = BySession


class TestByTransaction(Contract):
    """The contract."""

    client = ByTransaction


def test_a_session_begins_as_new(wire: WireProxy) -> None:
    client = BySession(wire, 1.5)
    with client.pool() as place:
        with psycopg.connect(place, autocommit=True) as first:
            first.execute("SET noisegate.epsilon = 0.125")
            first.execute(COUNT)
        with psycopg.connect(place, autocommit=True) as second:
            assert second.execute("SHOW noisegate.epsilon").fetchone() == ("",)
            second.execute(COUNT)
    assert client.left() == 0.375


def test_a_transaction_keeps_its_own_settings(wire: WireProxy) -> None:
    """Two clients take turns on one connection: what one sets for a transaction is not the other's."""
    client = ByTransaction(wire, 2.0)
    with client.pool() as place, ExitStack() as both:
        one, other = (
            both.enter_context(psycopg.connect(place, autocommit=True, prepare_threshold=None)) for _ in range(2)
        )
        with one.transaction():
            one.execute("SET LOCAL noisegate.epsilon = 0.125")
            one.execute(COUNT)
        assert other.execute("SHOW noisegate.epsilon").fetchone() == ("",)
        other.execute(COUNT)
        assert one.execute("SHOW noisegate.epsilon").fetchone() == ("",)
    assert client.left() == 0.875
