"""Open the mirror of a policy, copy it with a new data version, and copy it again when it is too old.

A process of its own makes a new copy, and no question waits for it. A copy is current if the ledger's newest data
version names it. So the order is: count the declared keys and copy, in one snapshot; have the whole file on the disk;
record the data version in the ledger; replace the old file. A failure before the record changes nothing. A failure
after it leaves an old copy that is not current, and questions go to the database. If somebody else records a data
version in between, the copy may lack it, and is dropped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from planner.kept_contributions import kept_contributions
from planner.policy.declared import believed_keys
from planner.policy.policy import Policy
from planner.policy.sections import MirrorPolicy
from planner.schema import Schema
from server.backends.custody import Custody
from server.backends.open_custody import open_custody
from server.backends.postgres_custody import PostgresCustody
from server.errors import BackendUnavailable, ConfigurationInvalid
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.policy.secrets import resolve
from server.policy.verified_keys import key_probes

if TYPE_CHECKING:
    from server.backends.mirror import CurrentMirror, MirrorFile, Stamp


_LOOK_S = 30.0
_AFTER_FAILURE_S = 300.0
_REASON = "the mirror's schedule"

_log = structlog.get_logger("noisegate.mirror")


def refreshing(policy_path: Path) -> list[str]:
    """The command that copies the mirror of a policy."""
    command = ["mirror", "refresh", "--policy", str(policy_path), "--reason", _REASON]
    return [sys.executable, "-m", "server.cli.main", *command]


class MirrorSchedule:
    """A thread that checks every half minute whether the mirror is due.

    It is due at the age that the policy sets, and at the start also if it is not current. After a failure it waits
    five minutes.

    Args:
      mirror: the one at the start.
      command: copies it.
    """

    def __init__(self, policy: Callable[[], Policy], mirror: CurrentMirror, command: list[str]) -> None:
        self._policy = policy
        self._mirror = mirror
        self._command = command
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._copying: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the thread; a first copy that is due does not wait half a minute."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and a running copy; the old copy stays."""
        self._stopped.set()
        if self._copying is not None:
            self._copying.terminate()
        if self._thread.is_alive():
            self._thread.join()

    def due(self, now: float) -> bool:
        """Whether the copy is too old. Never if the policy says `manual`."""
        settings = self._policy().mirror
        if settings is None or settings.refresh_s is None:
            return False
        copied_at = self._mirror.copied_at()
        return copied_at is None or now - copied_at >= settings.refresh_s

    def _run(self) -> None:
        settings = self._policy().mirror
        scheduled = settings is not None and settings.refresh_s is not None
        wanted = scheduled and self._mirror.why_not() is not None
        while not self._stopped.is_set():
            copied = self._copy() if wanted or self.due(time.time()) else True
            wanted = False
            self._stopped.wait(_LOOK_S if copied else _AFTER_FAILURE_S)

    def _copy(self) -> bool:
        self._copying = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if self._stopped.is_set():
            self._copying.terminate()
        _, said = self._copying.communicate()
        done = self._copying.returncode == 0
        self._copying = None
        if done:
            _log.info("mirror copied")
        elif not self._stopped.is_set():
            _log.error("mirror not copied", message=said.decode(errors="replace").strip()[-500:])
        return done


_NO_TIMEOUT_MS = 0
_MEMORY_MB = 1_024
_EXTRA = "install noisegate[duckdb]"

Report = Callable[[str, int], None]
"""Is called for each batch with the table and the number of its copied rows; may raise to stop."""


def open_mirror(policy: Policy, schema: Schema, url: str, folder: Path, ledger: Ledger) -> CurrentMirror | None:
    """The mirror that a policy names; None without one. Opens no file.

    Raises: ConfigurationInvalid if the database is files, a key is not set, or DuckDB is missing.
    """
    if policy.mirror is None:
        return None
    with open_custody(url, policy.namespaces, _NO_TIMEOUT_MS) as custody:
        _of_postgres(custody)
    try:
        from server.backends.duckdb import DuckdbLimits
        from server.backends.mirror import CurrentMirror, copied_tables
    except ModuleNotFoundError:
        raise ConfigurationInvalid("a mirror needs DuckDB, which is not installed", hint=_EXTRA) from None
    limits = DuckdbLimits.of_policy(policy.database_limits)
    return CurrentMirror(
        _file(policy.mirror, folder), schema, copied_tables(schema, policy), ledger.mirrored_load, limits
    )


def refresh_mirror(
    mirror: CurrentMirror, policy: Policy, url: str, ledger: Ledger, act: Act, report: Report = lambda _, __: None
) -> int:
    """Copy the tables again; the old copy answers until the new one is complete. Returns its data version.

    Raises: ConfigurationInvalid for a file that is too large, or is being made by another process; BackendFailed and
      BackendUnavailable; LedgerUnavailable. The old copy stays in each case.
    """
    assert policy.mirror is not None, "a mirror is one that the policy names"
    before = ledger.data_version()
    with mirror.file.replacement() as new:
        stamp = _copied(mirror, policy, url, new, report)
        _check_size(new, policy.mirror)
        new.close_as_own()
        version = ledger.bump_data(act, stamp.id)
        if version != before + 1:
            hint = "run `noisegate mirror refresh` again: rows loaded during the copy may be missing"
            raise BackendUnavailable("a new data version was recorded during the copy", hint=hint)
        believed = believed_keys(mirror.schema)
        if believed:
            ledger.note_checked(version, mirror.schema.fingerprint, believed, act)
        mirror.file.take_over(new)
    return version


def _copied(mirror: CurrentMirror, policy: Policy, url: str, new: MirrorFile, report: Report) -> Stamp:
    """Copy the structure, the declared keys and the rows in one snapshot."""
    import duckdb

    from server.backends.mirror import Stamp, columns_of, write_stamp
    from server.backends.mirror_copy import copy_contributions, copy_tables

    settings = policy.mirror
    assert settings is not None, "as of `refresh_mirror`"

    def watch(table: str, rows: int) -> None:
        _check_size(new, settings)
        report(table, rows)

    with open_custody(url, policy.namespaces, _NO_TIMEOUT_MS) as custody:
        postgres = _of_postgres(custody)
        found = postgres.schema(policy.namespaces).declaring(policy.tables)
        if found.fingerprint != mirror.schema.fingerprint:
            hint = "reload the policy or restart the proxy, then make the mirror again by `noisegate mirror refresh`"
            raise BackendUnavailable("the tables of the database have changed", hint=hint)
        shared = [probe.subject for probe in key_probes(mirror.schema) if postgres.count(probe.count)]
        if shared:
            raise BackendUnavailable(f"several rows share {', '.join(shared)}, which the policy declares as a key")
        copied_at = time.time()
        with tempfile.TemporaryDirectory(prefix="noisegate-") as spill:
            config = {"memory_limit": f"{_MEMORY_MB}MB", "temp_directory": spill}
            with duckdb.connect(":memory:", config={**config}) as connection:
                connection.execute("SET TimeZone = 'UTC'")
                new.create(connection)
                rows = copy_tables(postgres.connection, mirror.tables, connection, watch)
                kept = tuple(kept_contributions(mirror.schema, policy))
                copy_contributions(postgres.connection, kept, connection, watch)
                columns, alone = columns_of(mirror.tables), [one.alone for one in kept]
                stamp = Stamp(str(uuid.uuid4()), mirror.schema.fingerprint, columns, rows, copied_at, alone)
                write_stamp(connection, stamp)
                connection.execute("DETACH noisegate_data")
    return stamp


def _check_size(new: MirrorFile, settings: MirrorPolicy) -> None:
    used = sum(file.stat().st_size for file in new.path.parent.iterdir())
    if used > settings.max_mb << 20:
        hint = "raise mirror.max_mb, or remove tables from the policy"
        raise ConfigurationInvalid(f"the mirror would be larger than {settings.max_mb} MB", hint=hint)


def _file(settings: MirrorPolicy, folder: Path) -> MirrorFile:
    from server.backends.mirror import MirrorFile

    key = "" if settings.key is None else resolve(settings.key, folder)
    return MirrorFile((folder / settings.path).absolute(), key=key)


def _of_postgres(custody: Custody) -> PostgresCustody:
    if not isinstance(custody, PostgresCustody):
        raise ConfigurationInvalid("only a PostgreSQL database can have a mirror")
    return custody
