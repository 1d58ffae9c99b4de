"""The ledger in one SQLite file: the default, for one machine."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from server.errors import AnalystExists, InvalidRequest, LedgerInvalid, UnknownAnalyst
from server.ledger.amounts import charged_delta, charged_epsilon, delta_of, epsilon_of, granted_delta, granted_epsilon
from server.ledger.connection import connect, transaction, translated
from server.ledger.exhausted import exhausted
from server.ledger.charge import Charge, Reservation
from server.ledger.marker import INTERVAL, Marker, write_marker
from server.ledger.presence import Presence
from server.query import Budget

_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_ACCOUNT = "SELECT nano_epsilon, atto_delta, spent_nano_epsilon, spent_atto_delta FROM analysts WHERE name = ?"


class SqliteLedger:
    """A Ledger (see the Protocol for what each method promises); made by `create_ledger` or `open_ledger`.

    One connection writes and one reads, each behind its lock: with WAL a lookup of a key never waits for a writer.
    Not to be carried across a fork.

    Args:
      path: an existing, verified ledger file.
      marker: the marker file beside the policy.
      clock: seconds since the epoch, for the time stamps.
    """

    def __init__(self, path: Path, marker: Path, clock: Callable[[], float] = time.time) -> None:
        self._marker = marker
        self._clock = clock
        self._presence = Presence(path)
        self._write_lock = threading.Lock()
        self._writer = connect(path)
        self._read_lock = threading.Lock()
        self._reader = connect(path)
        self._reader.execute("PRAGMA query_only = ON")
        self.id: str = self._reader.execute("SELECT id FROM identity").fetchone()[0]
        self._closed = False

    def add_analyst(self, name: str, key_hash: str, epsilon: float, delta: float) -> None:
        """Grant a new analyst a budget."""
        if not _NAME.fullmatch(name):
            raise InvalidRequest("An analyst's name is 1 to 64 letters, digits and any of `_.@-`.")
        row = (name, key_hash, granted_epsilon(epsilon), granted_delta(delta), self._now_ms())
        with self._write_lock, transaction(self._writer):
            known = "SELECT 1 FROM analysts WHERE name = ? OR key_hash = ?"
            if self._writer.execute(known, (name, key_hash)).fetchone():
                raise AnalystExists(f"There is an analyst {name}, or one with that key, already.")
            columns = "name, key_hash, nano_epsilon, atto_delta, added_at_ms"
            self._writer.execute(f"INSERT INTO analysts ({columns}) VALUES (?, ?, ?, ?, ?)", row)

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The analyst who holds the key, or None."""
        with self._read_lock, translated():
            row = self._reader.execute("SELECT name FROM analysts WHERE key_hash = ?", (key_hash,)).fetchone()
        return None if row is None else str(row[0])

    def budget(self, analyst: str) -> Budget:
        """What was granted and what is left."""
        with self._read_lock, translated():
            return _budget(_account(self._reader, analyst))

    def reserve(self, charge: Charge) -> Reservation:
        """Take the charge from the budget, or refuse."""
        nano, atto = charged_epsilon(charge.epsilon), charged_delta(charge.delta)
        with self._write_lock, transaction(self._writer):
            granted_nano, granted_atto, spent_nano, spent_atto = _account(self._writer, charge.analyst)
            if nano > granted_nano - spent_nano or atto > granted_atto - spent_atto:
                raise exhausted(charge, granted_nano - spent_nano, granted_atto - spent_atto)
            before = _highest(self._writer)
            if before % INTERVAL == 0:
                # Only what is already durable may be marked; this transaction is not yet.
                write_marker(self._marker, Marker(self.id, before))
            self._insert(before + 1, charge, nano, atto)
        return Reservation(before + 1, charge)

    def commit(self, reservation: Reservation) -> Budget:
        """The query was answered."""
        return self._settle(reservation, "committed")

    def fail(self, reservation: Reservation) -> None:
        """The query was not answered; the charge stands."""
        self._settle(reservation, "failed")

    def release(self, reservation: Reservation) -> None:
        """Give the charge back: no private row was read."""
        self._settle(reservation, "released")

    def recover(self) -> tuple[Reservation, ...]:
        """Mark as crashed what a dead process left reserved."""
        with self._write_lock, self._presence.alone() as alone:
            if not alone:
                return ()
            with transaction(self._writer):
                crashed = _open_reservations(self._writer)
                self._writer.execute(
                    "UPDATE charges SET state = 'crashed', settled_at_ms = ? WHERE state = 'reserved'",
                    (self._now_ms(),),
                )
        return crashed

    def close(self) -> None:
        """Write the marker, then let go of the file."""
        with self._write_lock, self._read_lock:
            if self._closed:
                return
            self._closed = True
            with transaction(self._writer):
                write_marker(self._marker, Marker(self.id, _highest(self._writer)))
            self._reader.close()
            self._writer.close()
            self._presence.close()

    def _insert(self, number: int, charge: Charge, nano: int, atto: int) -> None:
        origin = (charge.request_id, charge.policy_hash, charge.plan_hash, charge.mechanism)
        self._writer.execute(
            "INSERT INTO charges (number, analyst, nano_epsilon, atto_delta, state, request_id, policy_hash,"
            " plan_hash, mechanism, reserved_at_ms) VALUES (?, ?, ?, ?, 'reserved', ?, ?, ?, ?, ?)",
            (number, charge.analyst, nano, atto, *origin, self._now_ms()),
        )

    def _settle(self, reservation: Reservation, state: Literal["committed", "failed", "released"]) -> Budget:
        with self._write_lock, transaction(self._writer):
            settled = self._writer.execute(
                "UPDATE charges SET state = ?, settled_at_ms = ? WHERE number = ? AND state = 'reserved'",
                (state, self._now_ms(), reservation.id),
            )
            if settled.rowcount != 1:
                raise LedgerInvalid(f"Charge {reservation.id} is not reserved, so it cannot be {state}.")
            return _budget(_account(self._writer, reservation.charge.analyst))

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _account(connection: sqlite3.Connection, analyst: str) -> tuple[int, int, int, int]:
    """Granted nano-epsilon and atto-delta, then spent ones. Raises UnknownAnalyst."""
    row: tuple[int, int, int, int] | None = connection.execute(_ACCOUNT, (analyst,)).fetchone()
    if row is None:
        raise UnknownAnalyst("There is no analyst of that name.", hint="noisegate analyst add")
    return row


def _budget(account: tuple[int, int, int, int]) -> Budget:
    granted_nano, granted_atto, spent_nano, spent_atto = account
    left = epsilon_of(granted_nano - spent_nano), delta_of(granted_atto - spent_atto)
    return Budget(epsilon_of(granted_nano), delta_of(granted_atto), *left)


def _highest(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM charges").fetchone()[0])


def _open_reservations(connection: sqlite3.Connection) -> tuple[Reservation, ...]:
    rows = connection.execute(
        "SELECT number, analyst, nano_epsilon, atto_delta, request_id, policy_hash, plan_hash, mechanism"
        " FROM charges WHERE state = 'reserved' ORDER BY number"
    )
    return tuple(
        Reservation(number, Charge(analyst, epsilon_of(nano), delta_of(atto), *rest))
        for number, analyst, nano, atto, *rest in rows
    )
