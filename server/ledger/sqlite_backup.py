"""Backups of a ledger in SQLite: copies that are whole and marked as such, the way back to one, what that undoes."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from server.errors import LedgerInvalid, LedgerUnavailable
from server.ledger.account import analyst_account
from server.ledger.analyst import Act
from server.ledger.currency import delta_of, epsilon_of
from server.ledger.entry import EntryKind, Reserved
from server.ledger.high_water_mark import (
    HighWaterMark,
    read_marker,
    refused,
    sync_directory,
    sync_marker,
    write_marker,
)
from server.ledger.sqlite import (
    SqliteView,
    check_version,
    connect,
    is_open,
    open_ledger,
    read_transaction,
    translated,
)
from server.ledger.store import CHARGE_KINDS, Head
from server.ledger.verify import holds, verify
from server.query import privacy_text

_NAMED = 10
"""Names of one kind in a message."""

_HASH = 12
"""Characters of a policy's hash, which tell it from others."""

_ACTS = {
    EntryKind.KEY: ("analyst", "keys rotated"),
    EntryKind.DISABLED: ("analyst", "disabled"),
    EntryKind.ENABLED: ("analyst", "enabled"),
    EntryKind.ANALYST: ("analyst", "added"),
    EntryKind.ROLE: ("analyst", "roles changed"),
    EntryKind.GROUP: ("analyst", "groups changed"),
    EntryKind.GRANT: ("account", "grants"),
    EntryKind.RENEWED: ("account", "renewals"),
    EntryKind.DATA: ("version", "loads of the data"),
    EntryKind.POLICY: ("policy_hash", "policies accepted"),
    EntryKind.TUNING: ("tuning", "tunings"),
}
"""By kind of act: the field that names what it was done to, and what it is called."""


@dataclass(frozen=True)
class Undone:
    """What a ledger holds and a copy of it lacks.

    Attributes:
      charges: how many questions were charged since.
      given_back: by account, nano-epsilon and atto-delta of those charges.
      acts: by kind of act, what it was done to, each once, in order.
    """

    charges: int = 0
    given_back: dict[str, tuple[int, int]] = field(default_factory=dict)
    acts: dict[EntryKind, tuple[str, ...]] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """For people: each kind that occurs, with at most so many names; empty where nothing is undone."""
        parts = []
        if self.charges:
            amounts = [
                f"{account} {privacy_text(epsilon_of(nano), delta_of(atto))}"
                for account, (nano, atto) in sorted(self.given_back.items())
            ]
            parts.append(f"{self.charges} charge{'s' * (self.charges > 1)} ({_listed(amounts)})")
        parts += [f"{called}: {_listed(self.acts[kind])}" for kind, (_, called) in _ACTS.items() if kind in self.acts]
        return "; ".join(parts)


def undone_by(copied_entries: int, ledger: Path) -> Undone:
    """What the ledger in place has after so many entries; nothing where it has no more, or is not there to tell."""
    if not ledger.exists():
        return Undone()
    with closing(connect(ledger)) as connection, read_transaction(connection):
        view = SqliteView(connection)
        charged = view.rows(
            "SELECT e.content FROM charges c JOIN entries e ON e.number = c.entry"
            " WHERE e.number > ? AND c.state <> 'released'",
            copied_entries,
        )
        acts = view.rows(
            f"SELECT kind, content FROM entries WHERE number > ? AND kind NOT IN {CHARGE_KINDS} ORDER BY number",
            copied_entries,
        )
    given_back: dict[str, tuple[int, int]] = {}
    for (content,) in charged:
        charge = Reserved.read(content)
        for account in charge.accounts:
            nano, atto = given_back.get(account, (0, 0))
            given_back[account] = nano + charge.nano_epsilon, atto + charge.atto_delta
    return Undone(len(charged), given_back, _by_kind([(EntryKind(kind), json.loads(said)) for kind, said in acts]))


def _by_kind(acts: list[tuple[EntryKind, dict[str, object]]]) -> dict[EntryKind, tuple[str, ...]]:
    """What acts were done to; of somebody who was added since, only that."""
    added = {str(said["analyst"]) for kind, said in acts if kind is EntryKind.ANALYST}
    whole = added | {analyst_account(name) for name in added}
    found: dict[EntryKind, dict[str, None]] = {}
    for kind, said in acts:
        if kind is EntryKind.ENABLED and not said["enabled"]:
            kind = EntryKind.DISABLED  # as older ledgers write it
        if kind not in _ACTS:
            continue
        names_what, _ = _ACTS[kind]
        name = str(said[names_what])
        if kind is EntryKind.ANALYST or names_what not in ("analyst", "account") or name not in whole:
            found.setdefault(kind, {})[name[:_HASH] if kind is EntryKind.POLICY else name] = None
    return {kind: tuple(names) for kind, names in found.items()}


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


@dataclass(frozen=True)
class Place:
    """Where a ledger lies.

    Attributes:
      marker: the file that knows how far it had come.
    """

    ledger: Path
    marker: Path


@dataclass(frozen=True)
class Restoration:
    """A ledger that a copy has taken the place of.

    Attributes:
      head: its last entry, which says who restored it, why, and how many entries were forgotten.
      missing: how many entries are known that the copy lacks; None: nothing there told.
      undone: what the ledger that was there held and the copy lacks.
    """

    head: Head
    missing: int | None
    undone: Undone


def back_up(source: Place, target: Place) -> Head:
    """Copy a ledger that may be in use, and mark the copy as what it is: its own last entry, never a later one.

    Raises: LedgerInvalid (the copy does not hold), LedgerUnavailable (also: there is a file already).
    Cost: that of reading and writing the file, and of verifying it; writers do not wait.
    """
    if target.ledger.exists() or target.marker.exists():
        raise LedgerUnavailable(f"There is a backup in {target.ledger.parent} already.", hint="Name a new folder.")
    try:
        for path in (target.ledger, target.marker):
            path.parent.mkdir(parents=True, exist_ok=True)
        with _copied(source.ledger, target.ledger) as copied:
            last, identity = _checked(copied)
            copied.rename(target.ledger)
        sync_directory(target.ledger.parent)
    except OSError as error:
        raise refused(error, "The backup could not be written.") from error
    write_marker(target.marker, HighWaterMark(identity, last.number, last.hash.hex()))
    sync_marker(target.marker)
    return last


def restore(source: Path, target: Place, act: Act, *, forget: bool = False) -> Restoration:
    """Put a copy in a ledger's place; the ledger that was there is kept beside it under another name.

    Args:
      source: the copy's file, by `back_up` or plainly copied; it may be the file in place itself.
      forget: take a copy that lacks entries which are known: what charges spent is given back, although it was
        spent, and keys that were rotated and analysts who were disabled since are as they were.
    Raises: LedgerInvalid (it does not hold, is of another ledger, or lacks charges), LedgerUnavailable (also: a
      proxy has the ledger open).
    """
    _check_unused(target.ledger)
    if not source.is_file():
        raise LedgerUnavailable(f"There is no ledger {source}.", hint="Name the folder of a backup.")
    try:
        with _copied(source, target.ledger) as copied:
            last, identity = _checked(copied)
            missing = _lacking(copied, last, identity, target, forget)
            with _aside(target.ledger) as old:
                # What was charged while the copy was made and verified: nobody can open what has another name.
                missing = _lacking(copied, last, identity, Place(old, target.marker), forget)
                undone = undone_by(last.number, old)
                copied.rename(target.ledger)
        sync_directory(target.ledger.parent)
    except OSError as error:
        raise refused(error, "The ledger could not be restored.") from error
    write_marker(target.marker, HighWaterMark(identity, last.number, last.hash.hex()))
    with closing(open_ledger(target.ledger, target.marker)) as ledger:
        ledger.note_restored(missing, act)
        found = ledger.verify()
    return Restoration(Head(found.entries, 0, bytes.fromhex(found.head)), missing, undone)


def _check_unused(ledger: Path) -> None:
    if is_open(ledger):
        raise LedgerUnavailable("The ledger is in use.", hint="Stop the proxy first.")


def _lacking(copied: Path, last: Head, identity: str, there: Place, forget: bool) -> int | None:
    """`_missing`, which has to be nothing unless it may be forgotten. Raises: LedgerInvalid."""
    missing = _missing(copied, identity, there)
    if missing != 0 and not forget:
        lacks = (
            "Nothing here tells how many entries the copy lacks"
            if missing is None
            else (f"The copy lacks {missing} entries that are known")
        )
        told = undone_by(last.number, there.ledger).told
        if told:
            undoes = f"to restore it undoes {told}"
        else:
            undoes = "to restore it undoes what they say: it may give spent budgets back, and open ended keys again"
        raise LedgerInvalid(
            f"{lacks}: {undoes}.",
            hint="Restore a newer copy. If there is none, --forget-charges restores this one: who asked since can"
            " spend the same budget again, on the same people, and what was ended since has to be ended again.",
        )
    return missing


@contextmanager
def _aside(ledger: Path) -> Iterator[Path]:
    """The ledger in place, and what SQLite keeps beside it, under another name; back again if anything fails.

    Whoever has opened it before that has it open still, which is looked at again, or has written what it charged.
    Raises: LedgerUnavailable (it is in use).
    """
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    old = ledger.with_name(f"{ledger.name}.replaced-{stamp}")
    moved = [(ledger.with_name(ledger.name + end), old.with_name(old.name + end)) for end in ("", "-wal", "-shm")]
    moved = [(path, other) for path, other in moved if path.exists()]
    for path, other in moved:  # the ledger first: nobody may open it without its log
        path.rename(other)
    try:
        _check_unused(ledger)
        yield old
    except BaseException:
        for path, other in reversed(moved):
            if other.exists():
                other.rename(path)
        raise


@contextmanager
def _copied(source: Path, beside: Path) -> Iterator[Path]:
    """A whole copy of a ledger's file, one file without a log, under a name of its own; gone unless it is renamed."""
    copied = beside.with_name(f".{beside.name}.{uuid.uuid4()}")
    os.close(os.open(copied, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        whole = sqlite3.connect(copied, isolation_level=None)
        with closing(connect(source)) as reading, closing(whole) as writing, translated():
            reading.backup(writing)  # in one step: in pieces it would begin anew with every write
            writing.execute("PRAGMA journal_mode = DELETE")
            check_version(writing)
        with copied.open("rb") as file:
            os.fsync(file.fileno())
        yield copied
    finally:
        copied.unlink(missing_ok=True)


def _checked(path: Path) -> tuple[Head, str]:
    """The last entry and the id of a copy. Raises LedgerInvalid for one that does not hold."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, read_transaction(connection):
        view = SqliteView(connection)
        if (fault := verify(view).fault) is not None:
            raise LedgerInvalid(f"The copy does not hold. {fault}", hint="Take another copy: noisegate ledger backup")
        return view.head, str(view.rows("SELECT id FROM identity")[0][0])


def _missing(copied: Path, identity: str, target: Place) -> int | None:
    """How many entries are known, by the marker or the ledger in place, that a copy lacks; None: both are gone."""
    known = [read_marker(target.marker)]
    if target.ledger.exists():
        with closing(connect(target.ledger)) as connection, read_transaction(connection):
            view = SqliteView(connection)
            (there,) = view.rows("SELECT id FROM identity")[0]
            known.append(HighWaterMark(there, view.head.number, view.head.hash.hex()))
    if not any(known):
        return None
    with closing(sqlite3.connect(copied, isolation_level=None)) as connection, read_transaction(connection):
        view = SqliteView(connection)
        lacking = [one for one in known if one is not None and (one.ledger != identity or not holds(view, one))]
        if any(one.ledger != identity for one in lacking):
            raise LedgerInvalid("The copy is of another ledger.", hint="Restore a copy of this policy's ledger.")
        return max((max(1, one.entries - view.head.number) for one in lacking), default=0)
