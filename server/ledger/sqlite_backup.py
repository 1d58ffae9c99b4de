"""Backups of a SQLite ledger: consistent copies with a marker, restoring one, and what that undoes."""

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
"""At most this many names of one kind stand in a message."""

_HASH = 12
"""This many characters of a policy's hash are shown."""

_ACTS = {
    EntryKind.KEY: ("analyst", "keys rotated"),
    EntryKind.DISABLED: ("analyst", "disabled"),
    EntryKind.ENABLED: ("analyst", "enabled"),
    EntryKind.ANALYST: ("analyst", "added"),
    EntryKind.ROLE: ("analyst", "roles changed"),
    EntryKind.GROUP: ("analyst", "groups changed"),
    EntryKind.GRANT: ("account", "grants"),
    EntryKind.RENEWED: ("account", "renewals"),
    EntryKind.DATA: ("version", "data versions"),
    EntryKind.POLICY: ("policy_hash", "policies accepted"),
    EntryKind.TUNING: ("tuning", "tunings"),
}
"""By kind of act: the field that names its object, and the words for it."""


@dataclass(frozen=True)
class Undone:
    """What a ledger has and a copy of it lacks.

    Attributes:
      charges: the number of questions charged since.
      given_back: their nano-epsilon and atto-delta by account.
      acts: by kind of act, the names of its objects, each once, in order.
    """

    charges: int = 0
    given_back: dict[str, tuple[int, int]] = field(default_factory=dict)
    acts: dict[EntryKind, tuple[str, ...]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """A summary for people: each kind with at most _NAMED names; empty if nothing is undone."""
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
    """What the current ledger has after `copied_entries` entries; empty if the ledger is missing."""
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
    """The objects of acts by kind. Of an analyst who was added since, only the addition counts."""
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
    """The paths of a ledger.

    Attributes:
      marker: the high-water mark of the ledger.
    """

    ledger: Path
    marker: Path


@dataclass(frozen=True)
class Restoration:
    """The result of restoring a copy.

    Attributes:
      head: the last entry, which records who restored it, why, and how many entries were lost.
      missing: how many known entries the copy lacks; None: unknown.
      undone: what the replaced ledger has and the copy lacks.
    """

    head: Head
    missing: int | None
    undone: Undone


def back_up(source: Place, target: Place) -> Head:
    """Copy a ledger that may be in use. The copy's marker records its own last entry.

    Raises: LedgerInvalid (the copy is invalid), LedgerUnavailable (also: the target exists).
    Cost: reading, writing and verifying the file; writers do not wait.
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
    """Replace a ledger with a copy. The replaced file stays beside it under another name.

    Args:
      source: the copy, from `back_up` or a plain copy; it may be the current file.
      forget: accept a copy that lacks known entries. Their charges can be spent again, and rotated keys and disabled
        analysts work again.
    Raises: LedgerInvalid (invalid, another ledger, or entries are missing), LedgerUnavailable (also: in use).
    """
    _check_unused(target.ledger)
    if not source.is_file():
        raise LedgerUnavailable(f"There is no ledger {source}.", hint="Name the folder of a backup.")
    try:
        with _copied(source, target.ledger) as copied:
            last, identity = _checked(copied)
            missing = _lacking(copied, last, identity, target, forget)
            with _aside(target.ledger) as old:
                # Charges made while the copy was verified: from now on nobody can open the renamed file.
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
    """As `_missing`. Raises: LedgerInvalid for missing entries, unless `forget`."""
    missing = _missing(copied, identity, there)
    if missing != 0 and not forget:
        lacks = (
            "The number of entries that the copy lacks is unknown"
            if missing is None
            else (f"The copy lacks {missing} known entries")
        )
        summary = undone_by(last.number, there.ledger).summary
        if summary:
            undoes = f"restoring it undoes {summary}"
        else:
            undoes = "restoring it may give back spent budgets and accept revoked keys again"
        raise LedgerInvalid(
            f"{lacks}: {undoes}.",
            hint="Restore a newer copy. If there is none, --forget-charges restores this one: its charges can be"
            " spent again on the same people, and revocations must be repeated.",
        )
    return missing


@contextmanager
def _aside(ledger: Path) -> Iterator[Path]:
    """Move the ledger and SQLite's side files to another name; move them back if anything fails.

    A process that opened the ledger before is detected, or has already written what it charged.
    Raises: LedgerUnavailable (in use).
    """
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    old = ledger.with_name(f"{ledger.name}.replaced-{stamp}")
    moved = [(ledger.with_name(ledger.name + end), old.with_name(old.name + end)) for end in ("", "-wal", "-shm")]
    moved = [(path, other) for path, other in moved if path.exists()]
    for path, other in moved:  # the ledger first, so that nobody opens it without its log
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
    """A consistent copy in one file without a log, under a temporary name. It is removed unless renamed."""
    copied = beside.with_name(f".{beside.name}.{uuid.uuid4()}")
    os.close(os.open(copied, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        whole = sqlite3.connect(copied, isolation_level=None)
        with closing(connect(source)) as reading, closing(whole) as writing, translated():
            reading.backup(writing)  # in one step: in pieces it would begin again with every write
            writing.execute("PRAGMA journal_mode = DELETE")
            check_version(writing)
        with copied.open("rb") as file:
            os.fsync(file.fileno())
        yield copied
    finally:
        copied.unlink(missing_ok=True)


def _checked(path: Path) -> tuple[Head, str]:
    """The last entry and id of a copy. Raises LedgerInvalid for an invalid copy."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, read_transaction(connection):
        view = SqliteView(connection)
        if (fault := verify(view).fault) is not None:
            raise LedgerInvalid(f"The copy is invalid. {fault}", hint="Take another copy: noisegate ledger backup")
        return view.head, str(view.rows("SELECT id FROM identity")[0][0])


def _missing(copied: Path, identity: str, target: Place) -> int | None:
    """How many entries a copy lacks that the marker or the current ledger has; None: both are gone."""
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
