"""The file of a mirror: which copy it holds, and how another one takes its place."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from server.errors import BackendUnavailable, ConfigurationInvalid

CATALOG = "noisegate_data"
_STAMP = f'{CATALOG}.main."noisegate mirror"'
_CRYPTOGRAPHY = "LOAD httpfs"
"""Brings DuckDB what it encrypts with; without it a file can be read, and none can be written."""

Columns = Mapping[str, Mapping[str, str]]
"""By table, the types of its columns in PostgreSQL's words."""


@dataclass(frozen=True)
class Stamp:
    """What a copy is of.

    Attributes:
      id: its name, which the ledger's entry about the load has, too.
      fingerprint: of the structure of the database that was copied.
      columns: what was copied.
      rows: how many of each table.
      copied_at: when, in seconds since 1970.
    """

    id: str
    fingerprint: str
    columns: Columns
    rows: Mapping[str, int]
    copied_at: float


@dataclass(frozen=True)
class MirrorFile:
    """A file that is replaced as a whole: whoever has opened it goes on reading what it was.

    Attributes:
      path: what is there is a whole copy, or nothing.
      key: what it is encrypted with; empty: it is not.
    """

    path: Path
    key: str = field(default="", repr=False)

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """Open it for reading. Returns: what lets a statement read it and nothing else of the machine."""
        connection.execute(f"ATTACH {_text(str(self.path))} AS {CATALOG} (READ_ONLY{self._encrypted})")
        return (*self._spilled, f"USE {CATALOG}")

    def create(self, connection: DuckDBPyConnection) -> None:
        """Open a new file for writing. Raises: ConfigurationInvalid where DuckDB has nothing to encrypt with."""
        try:
            if self.key:
                connection.execute(_CRYPTOGRAPHY)
            connection.execute(f"ATTACH {_text(str(self.path))} AS {CATALOG} (READ_WRITE{self._encrypted})")
            for statement in self._spilled:
                connection.execute(statement)
        except duckdb.Error:
            hint = "with `mirror.key` DuckDB needs its extension httpfs: INSTALL httpfs, once, as the proxy's user"
            raise ConfigurationInvalid("the mirror's file cannot be written", hint=hint) from None

    def stamp(self) -> Stamp | None:
        """Which copy is there; None for none. Raises: BackendUnavailable where it cannot be opened with the key."""
        if not self.path.exists():
            return None
        try:
            with duckdb.connect(":memory:") as connection:
                self.attach(connection)
                return read_stamp(connection)
        except duckdb.Error:
            raise BackendUnavailable(
                "the mirror cannot be opened", hint="is it the key that it was made with?"
            ) from None

    @contextmanager
    def replacement(self) -> Iterator[MirrorFile]:
        """A new file beside it, in a folder that nobody else may enter; what is left of it at the end is deleted.

        Raises: ConfigurationInvalid while another process makes one, and where the folder cannot be written.
        """
        folder = self.path.with_name(f".{self.path.name}.new")
        try:
            lock = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise ConfigurationInvalid(
                "the mirror's folder cannot be written", hint="mirror.path names it"
            ) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigurationInvalid(
                    "another process copies this mirror", hint="wait until it is done"
                ) from None
            shutil.rmtree(folder, ignore_errors=True)  # of a process that died over it
            folder.mkdir(mode=0o700)
            try:
                yield MirrorFile(folder / "copy", self.key)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)

    def close_as_own(self) -> None:
        """Let nobody but its owner read the file, and have the disk hold all of it."""
        self.path.chmod(0o600)
        _sync(self.path)

    def take_over(self, new: MirrorFile) -> None:
        """Put a whole copy in this one's place, at once."""
        new.path.replace(self.path)
        _sync(self.path.parent)

    @property
    def _encrypted(self) -> str:
        return f", ENCRYPTION_KEY {_text(self.key)}" if self.key else ""

    @property
    def _spilled(self) -> tuple[str, ...]:
        return ("SET temp_file_encryption = true",) if self.key else ()


def write_stamp(connection: DuckDBPyConnection, stamp: Stamp) -> None:
    """Say in a new file what it holds."""
    connection.execute(f"CREATE TABLE {_STAMP} AS SELECT $1::VARCHAR AS stamp", [json.dumps(asdict(stamp))])


def read_stamp(connection: DuckDBPyConnection) -> Stamp:
    """What an opened file holds."""
    row = connection.execute(f"SELECT stamp FROM {_STAMP}").fetchone()
    assert row is not None, "it was written with the file"
    return Stamp(**json.loads(row[0]))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _text(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"
