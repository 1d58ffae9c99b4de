"""DuckDB over files, opened read-only for each question, without access to anything else on the machine."""

from __future__ import annotations

import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from planner.policy.sections import DatabaseLimits
from planner.schema import Dialect, Schema
from planner.sql.sql_types import ResultType
from server.backends.backend import Limits, SnapshotBackend, check_planned, literal
from server.backends.columns import Column, Integers
from server.backends.duckdb_catalog import DataFiles, ParquetFolder, data_files
from server.backends.files import TablePatterns, have_changed, unchanged
from server.backends.public_rows import computed_type
from server.backends.query_tuples import KEPT, TOO_MUCH, Blocks, Room, refuse_memory_below, refused, too_long
from server.errors import BackendUnavailable, QueryCancelled
from server.lru_cache import LruCache

_FETCH_ROWS = 65_536
_LEAST_MEMORY_MB = 64
"""With less, joins of a few hundred thousand rows fail although they may spill: each thread has its own blocks."""
_SHORT_TEXT = 96
"""Bytes of a short text with its entries in two columns."""
_WHOLE, _TEXT = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}, "VARCHAR"

_CATALOGS: LruCache[tuple[Path, str, TablePatterns, str | None], Schema] = LruCache(16, 64 << 20)
"""Catalogs by the version of their files."""

# Settings that fix the meaning of statements and confine them to the files. Whole numbers divide as in PostgreSQL,
# also in SQL around answers. The last one makes them final.
_SESSION = (
    "SET TimeZone = 'UTC'",
    "SET Calendar = 'gregorian'",
    "SET default_collation = ''",
    "SET integer_division = true",
    "SET default_null_order = 'NULLS_LAST'",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


@dataclass(frozen=True)
class DuckdbLimits(Limits):
    """Public bounds of one read.

    Attributes:
      memory_mb: memory that DuckDB may use before it spills to a temporary folder.
      public_memory_mb: the same for queries over public tables.
      spill_mb: the most that a query may spill; beyond it the query exceeds its memory limit.
      threads: processors per question; a query over public tables has one.
    """

    memory_mb: int = 4_096
    public_memory_mb: int = 1_024
    spill_mb: int = 16_384
    threads: int = 2

    @classmethod
    def of_policy(cls, limits: DatabaseLimits) -> DuckdbLimits:
        """The limits of a policy. Raises: ConfigurationInvalid for too little memory for any question."""
        refuse_memory_below(limits.memory_mb, _LEAST_MEMORY_MB, "DuckDB")
        return cls(
            statement_ms=limits.seconds * 1_000,
            rows=limits.rows,
            memory_mb=limits.memory_mb or cls.memory_mb,
            threads=limits.processes or cls.threads,
        )

    @property
    def public(self) -> DuckdbLimits:
        """The limits of a query over public tables."""
        memory_mb = min(self.memory_mb, self.public_memory_mb)
        spill_mb = min(self.spill_mb, self.public_memory_mb)
        return replace(self, statement_ms=self.public_ms, memory_mb=memory_mb, spill_mb=spill_mb, threads=1)


@dataclass(frozen=True)
class DuckdbBackend(SnapshotBackend[DuckDBPyConnection]):
    """Reads join tuples from files, with a new DuckDB instance for each question.

    Attributes:
      path: a DuckDB file, or a folder of Parquet files; never written.
      namespace: the schema with the tables.
      version: the checked state of the files; other states are refused; None: any state.
      patterns: the files of tables, where the policy names them.
    """

    dialect: ClassVar[Dialect] = "duckdb"
    unanswering: ClassVar = (
        "the database file does not answer",
        "check that the file is complete, and that memory_mb in [database] is large enough",
    )
    valueless: ClassVar = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
    unreadable: ClassVar = (
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.ParserException,
        duckdb.NotImplementedException,
    )

    path: Path
    namespace: str = "main"
    limits: DuckdbLimits = DuckdbLimits()
    version: str | None = None
    patterns: TablePatterns = ()

    def at_this_version(self) -> DuckdbBackend:
        """The same backend, fixed to the current state of the files. Raises: BackendUnavailable."""
        return replace(self, version=self._source.version())

    @contextmanager
    def opened(self, limits: DuckdbLimits) -> Iterator[DuckDBPyConnection]:
        """An instance for administrator commands, without a time limit.

        Raises: BackendUnavailable; ConfigurationInvalid for a table whose files differ in their columns.
        """
        with self._connected(limits) as connection:
            source = self._source
            if isinstance(source, ParquetFolder):
                source.check_files(connection)
            yield connection

    def schema(self) -> Schema:
        """Read the catalog. Raises: BackendUnavailable."""
        with self._connected(self.limits) as connection, _translated(threading.Event()):
            return self._schema(connection)

    def _room(self) -> Room:
        return Room.of_process(self.limits.rows, self.limits.memory_mb << 20)

    def _groups(self, connection: DuckDBPyConnection, statement: str) -> list[tuple[Any, ...]]:
        return connection.execute(statement).fetchall()

    @contextmanager
    def _streamed(self, connection: DuckDBPyConnection, sql: str) -> Iterator[Iterable[tuple[Any, ...]]]:
        yield iter(connection.execute(sql).fetchone, None)

    def _described(self, connection: DuckDBPyConnection, sql: str) -> tuple[tuple[str, ResultType], ...]:
        described = connection.execute(sql).description or []
        return tuple((column[0], computed_type(str(column[1]))) for column in described)

    @contextmanager
    def _snapshot(self, fingerprint: str, *, free: bool = False) -> Iterator[DuckDBPyConnection]:
        limits = self.limits.public if free else self.limits
        with unchanged(self._source, self.version), self._connected(limits, spare=_SPARE) as connection:
            expired = threading.Event()
            timer = threading.Timer(limits.statement_ms / 1000, _interrupt, (connection, expired))
            timer.start()
            try:
                with _translated(expired):
                    connection.begin()
                    check_planned(self._fingerprint(connection), fingerprint)
                    yield connection
            finally:
                timer.cancel()
                timer.join()

    def _fingerprint(self, connection: DuckDBPyConnection) -> str:
        return self._schema(connection).fingerprint

    def _schema(self, connection: DuckDBPyConnection) -> Schema:
        """The catalog, cached per state of the files. The state is compared before and after each read."""
        key = (self.path, self.namespace, self.patterns, self.version)
        known = None if self.version is None else _CATALOGS.get(key)
        if known is None or self.changed():
            known = replace(self._source.schema(connection), version=self.version or "")
            if self.version is not None and not self.changed():
                _CATALOGS.put(key, known)
        return known

    @property
    def _source(self) -> DataFiles:
        return data_files(self.path, self.namespace, self.patterns)

    def changed(self) -> bool:
        """Whether the files changed since they were checked. Raises: BackendUnavailable."""
        return have_changed(self._source, self.version)

    @contextmanager
    def _connected(self, limits: DuckdbLimits, spare: Spare | None = None) -> Iterator[DuckDBPyConnection]:
        """An instance that can read the file and nothing else; its spilled data is deleted at the end.

        Args:
          spare: where it comes from; None: it is made now.
        """
        with (
            tempfile.TemporaryDirectory(prefix="noisegate-") as spill,
            spare.taken() if spare else closing(_instance()) as connection,
        ):
            try:
                for name, value in _config(limits, spill).items():
                    connection.execute(f"SET {name} = {literal(value)}")
                for statement in (*self._source.attach(connection), *_SESSION):
                    connection.execute(statement)
            except duckdb.Error as error:
                message, hint = self._source.why_not_opened()
                raise BackendUnavailable(message, hint=hint) from error
            yield connection

    def _columns(self, connection: DuckDBPyConnection, room: Room, statement: str, width: int) -> list[Column]:
        """A statement's columns: whole numbers and texts as arrays, other types in blocks of rows.

        The length of texts is unknown before they arrive, so the memory limit assumes short ones.
        """
        kinds = self._kinds(connection, statement)
        if all(kind in {*_WHOLE, _TEXT} for kind in kinds):
            row_bytes = sum(_SHORT_TEXT if kind == _TEXT else KEPT for kind in kinds)
            most = room.most(row_bytes)
            found = connection.execute(f"SELECT * FROM ({statement}) q LIMIT {most + 1}").fetchnumpy()
            room.take(max(map(len, found.values()), default=0), row_bytes)
            return [_column(values) for values in found.values()]
        blocks = Blocks(room, width)
        result = connection.execute(f"SELECT * FROM ({statement}) q LIMIT {blocks.most + 1}")
        while block := result.fetchmany(_FETCH_ROWS):
            blocks.take(block)
        return list(blocks.columns())

    def _kinds(self, connection: DuckDBPyConnection, statement: str) -> list[str]:
        """The types of a statement's columns. Reads no row."""
        described = connection.execute(f"SELECT * FROM ({statement}) q LIMIT 0").description or []
        return [str(column[1]) for column in described]


def _column(values: NDArray[np.generic]) -> Column:
    missing = np.ma.getmaskarray(values)
    data = np.ma.getdata(values)
    if data.dtype == object:
        return tuple(np.where(missing, np.array(None, object), data).tolist())
    return Integers(data.astype(np.int64), missing)


def _config(limits: DuckdbLimits, spill: str) -> dict[str, str]:
    return {
        "threads": str(limits.threads),
        "memory_limit": f"{limits.memory_mb}MB",
        "temp_directory": spill,
        "max_temp_directory_size": f"{limits.spill_mb}MB",
    }


def _instance() -> DuckDBPyConnection:
    """An empty instance, with one thread and without extensions."""
    return duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
        },
    )


class Spare:
    """An empty instance for the next question, made in the background: it takes longer than many questions."""

    def __init__(self) -> None:
        self._made: deque[DuckDBPyConnection] = deque(maxlen=1)

    @contextmanager
    def taken(self) -> Iterator[DuckDBPyConnection]:
        """The spare instance, or a new one. Each serves one question."""
        try:
            connection = self._made.pop()
        except IndexError:
            connection = _instance()
        try:
            with closing(connection):
                yield connection
        finally:
            threading.Thread(target=self._make).start()

    def _make(self) -> None:
        if not self._made:
            self._made.append(_instance())


_SPARE = Spare()


def _interrupt(connection: DuckDBPyConnection, expired: threading.Event) -> None:
    expired.set()
    connection.interrupt()


@contextmanager
def _translated(expired: threading.Event) -> Iterator[None]:
    """Replace the database's errors by ours, without any of the database's words."""
    try:
        yield
        if expired.is_set():
            raise duckdb.InterruptException
    except duckdb.InterruptException as error:
        raise too_long() from error
    except duckdb.OutOfMemoryException as error:
        raise QueryCancelled("the query needs more memory than its limit", hint=TOO_MUCH) from error
    except duckdb.Error as error:
        raise refused() from error
