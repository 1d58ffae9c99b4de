"""The file of a mirror: the copy that it holds, whether the copy is current, and how a worker reads it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from planner.errors import SchemaChanged, UnsupportedSQL
from planner.kept_contributions import contributions_alone
from planner.plan import BackendQuery, Plan
from planner.policy.policy import Policy
from planner.rewriting.dialects.mirror import folded, mirrored
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema, Table
from server.backends.backend import Backend, MirrorFirst, Source, literal
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.duckdb_catalog import CATALOG, DuckdbFile
from server.errors import BackendUnavailable, ConfigurationInvalid

_STAMP = f'{CATALOG}.main."noisegate mirror"'
_CRYPTOGRAPHY = "LOAD httpfs"
"""The extension that DuckDB needs to write an encrypted file; reading works without it."""

Columns = Mapping[str, Mapping[str, str]]
"""Column types in PostgreSQL's words, by table."""


@dataclass(frozen=True)
class Stamp:
    """The identity of a copy.

    Attributes:
      id: its name, which the ledger entry of the data version also holds.
      fingerprint: of the copied database's structure.
      rows: row counts by table.
      copied_at: seconds since 1970.
      kept: the contributions that it holds: per table, the statement of each column alone
        (`planner.kept_contributions`).
    """

    id: str
    fingerprint: str
    columns: Columns
    rows: Mapping[str, int]
    copied_at: float
    kept: Sequence[Sequence[str]] = ()

    def contributions(self, alone: Sequence[str]) -> str | None:
        """A statement for the contributions to sums, which are given by their statements; None if they are not kept.

        One row per person, numbered. The file holds no key of a person.
        """
        for place, kept in enumerate(self.kept):
            if alone and not set(alone) - set(kept):
                columns = ", ".join(f'"w{kept.index(one)}" AS "w{sum_}"' for sum_, one in enumerate(alone))
                return f'SELECT rowid AS "o0", {columns} FROM {contributions_place(place)}'
        return None


def contributions_place(place: int) -> str:
    """Where a mirror holds the contributions at a place of `Stamp.kept`."""
    return f'{CATALOG}.main."noisegate contributions {place}"'


@dataclass(frozen=True)
class MirrorFile(DuckdbFile):
    """A file that is always replaced as a whole. Open connections keep reading the old file.

    Attributes:
      path: holds a complete copy, or does not exist.
      key: the encryption key; empty: not encrypted.
    """

    key: str = field(default="", repr=False)

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """Attach the file for reading. Returns: statements that restrict the session to it."""
        connection.execute(f"ATTACH {literal(str(self.path))} AS {CATALOG} (READ_ONLY{self._encrypted})")
        return (*self._spilled, f"USE {CATALOG}")

    def create(self, connection: DuckDBPyConnection) -> None:
        """Attach a new file for writing. Raises: ConfigurationInvalid if DuckDB cannot encrypt."""
        try:
            if self.key:
                connection.execute(_CRYPTOGRAPHY)
            connection.execute(f"ATTACH {literal(str(self.path))} AS {CATALOG} (READ_WRITE{self._encrypted})")
            for statement in self._spilled:
                connection.execute(statement)
        except duckdb.Error:
            hint = "with `mirror.key` DuckDB needs its extension httpfs: INSTALL httpfs, once, as the proxy's user"
            raise ConfigurationInvalid("the mirror's file cannot be written", hint=hint) from None

    def stamp(self) -> Stamp | None:
        """The stamp of the copy; None without a file. Raises: BackendUnavailable if the key does not open it."""
        if not self.path.exists():
            return None
        try:
            with duckdb.connect(":memory:") as connection:
                self.attach(connection)
                return read_stamp(connection)
        except duckdb.Error:
            raise BackendUnavailable(
                "the mirror cannot be opened", hint="use the key that it was created with"
            ) from None

    @contextmanager
    def replacement(self) -> Iterator[MirrorFile]:
        """A new file in a private folder beside this one; the folder is deleted at the end.

        Raises: ConfigurationInvalid while another process copies, and if the folder cannot be written.
        """
        folder = self.path.with_name(f".{self.path.name}.new")
        with ExitStack() as at_end:
            try:
                lock = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
                at_end.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                hint = "wait until it is done"
                raise ConfigurationInvalid("another process is copying this mirror", hint=hint) from None
            except OSError as error:
                hint = "check mirror.path and its permissions"
                raise ConfigurationInvalid("the mirror's folder cannot be written", hint=hint) from error
            shutil.rmtree(folder, ignore_errors=True)  # left by a process that died
            folder.mkdir(mode=0o700)
            at_end.callback(shutil.rmtree, folder, ignore_errors=True)
            yield MirrorFile(folder / "copy", key=self.key)

    def close_as_own(self) -> None:
        """Make the finished file readable by its owner only, and flush it to disk."""
        self.path.chmod(0o600)
        _sync(self.path)

    def take_over(self, new: MirrorFile) -> None:
        """Replace this file by a complete copy, atomically."""
        new.path.replace(self.path)
        _sync(self.path.parent)

    @property
    def _encrypted(self) -> str:
        return f", ENCRYPTION_KEY {literal(self.key)}" if self.key else ""

    @property
    def _spilled(self) -> tuple[str, ...]:
        return ("SET temp_file_encryption = true",) if self.key else ()


def write_stamp(connection: DuckDBPyConnection, stamp: Stamp) -> None:
    """Write the stamp into a new file."""
    connection.execute(f"CREATE TABLE {_STAMP} AS SELECT $1::VARCHAR AS stamp", [json.dumps(asdict(stamp))])


def read_stamp(connection: DuckDBPyConnection) -> Stamp:
    """The stamp of an attached file."""
    row = connection.execute(f"SELECT stamp FROM {_STAMP}").fetchone()
    assert row is not None, "it was written with the file"
    return Stamp(**json.loads(row[0]))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class MirrorBackend(DuckdbBackend):
    """Reads from one copy, identified by its name; refuses a later copy.

    Attributes:
      key: the encryption key; empty: not encrypted.
      id: the copy's name.
    """

    key: str = field(default="", repr=False)
    id: str = ""

    @property
    def _source(self) -> MirrorFile:
        return MirrorFile(self.path, self.namespace, self.key)

    def _fingerprint(self, connection: DuckDBPyConnection) -> str:
        """The fingerprint of the copied database, on which plans rest."""
        stamp = read_stamp(connection)
        if stamp.id != self.id:
            raise SchemaChanged("the mirror's copy was replaced", hint="ask again")
        return stamp.fingerprint


@dataclass(frozen=True)
class CurrentMirror:
    """The mirror of a policy.

    Attributes:
      schema: of the database, as plans use it.
      load: returns the data version and the name of its copy (`Ledger.mirrored_load`).
      _seen: the last stamp read, by the file's state.
    """

    file: MirrorFile
    schema: Schema
    tables: tuple[Table, ...]
    load: Callable[[], tuple[int, str | None]]
    limits: DuckdbLimits = field(default_factory=DuckdbLimits)
    _seen: dict[tuple[int, ...], Stamp | None] = field(default_factory=dict, compare=False, repr=False)

    def query(self, plan: Plan, schema: Schema) -> BackendQuery | None:
        """Rewrite a question for the mirror; None if only PostgreSQL can answer it.

        `schema`: that of the plan, which may have tables of released values.
        """
        try:
            released = (table for table in schema.tables.values() if table.is_released)
            tables = {table.name: table for table in (*self.tables, *released)}
            return rewrite(plan, dialect="mirror", schema=replace(self.schema, tables=tables, views={}))
        except UnsupportedSQL:
            return None

    def source(self, plan: Plan, query: BackendQuery | None, data_version: int, database: Backend) -> Source:
        """The place to read a question from: the mirror while it is current and has what is asked, else the database.

        `query`: as of `query`, over the mirror's rows.
        """
        version, name = self.load()
        stamp = self._stamp()
        if stamp is None or stamp.id != name or version != data_version or self._lack(stamp):
            return database
        kept = stamp.contributions(contributions_alone(plan, self.schema)) if stamp.kept else None
        if kept is not None:
            query = rewrite(plan, dialect="mirror", schema=self.schema, kept=kept)
        copy = MirrorBackend(self.file.path, limits=self.limits, key=self.file.key, id=stamp.id)
        return database if query is None else MirrorFirst(copy, query, database)

    def why_not(self) -> str | None:
        """Why the copy is not current, for administrators; None if it is."""
        _, name = self.load()
        stamp = self._stamp()
        if stamp is None:
            there = self.file.path.exists()
            return "its file cannot be opened; check mirror.key" if there else "there is no copy yet"
        if stamp.id != name:
            return "the data version is newer than the copy"
        return self._lack(stamp)

    def copied_at(self) -> float | None:
        """When the copy was made, in seconds since 1970; None without a copy."""
        stamp = self._stamp()
        return None if stamp is None else stamp.copied_at

    def _lack(self, stamp: Stamp) -> str | None:
        if stamp.fingerprint != self.schema.fingerprint:
            return "the database's columns have changed since the copy was made"
        for table, columns in columns_of(self.tables).items():
            if columns.items() - stamp.columns.get(table, {}).items():
                return f"it lacks columns of {table}, which the policy names"
        return None

    def _stamp(self) -> Stamp | None:
        """The stamp, read again only if the file changed."""
        try:
            found = self.file.path.stat()
            state = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
            if state in (seen := self._seen.copy()):
                return seen[state]
            stamp = self.file.stamp()
            self._seen.clear()
            self._seen[state] = stamp
            return stamp
        except (OSError, BackendUnavailable):
            return None


def copied_tables(schema: Schema, policy: Policy) -> tuple[Table, ...]:
    """The tables that a mirror of rows holds: those that the policy names, and those through which units own rows.

    Views are left out, because their rows may change during the copy. So are tables without a copied column, and
    names that DuckDB cannot tell apart.
    """
    if policy.mirror is not None and policy.mirror.holds == "contributions":
        return ()
    owners = [name for key in policy.foreign_keys if key.owning for name in (key.table, key.references)]
    names = sorted({*policy.tables, *policy.privacy_units, *owners} & (schema.tables.keys() - schema.views.keys()))
    alike = Counter(folded(f"{schema.tables[name].namespace}.{schema.tables[name].relation}") for name in names)
    tables = [schema.tables[name] for name in names]
    return tuple(
        table
        for table in tables
        if mirrored(table).columns and alike[folded(f"{table.namespace}.{table.relation}")] == 1
    )


def columns_of(tables: Sequence[Table]) -> Columns:
    """The copied columns of tables."""
    return {table.name: {column.name: column.type for column in mirrored(table).columns} for table in tables}
