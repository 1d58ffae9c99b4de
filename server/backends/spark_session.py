"""A Spark Connect session: its views of files, its settings, and errors without Spark's words.

Needs pyspark's client, from the extra `noisegate[spark]`.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet
from pyarrow import ArrowException

from planner.rewriting.dialects.spark import SEED
from planner.schema import PUBLIC, Column, Schema, Table, table_name
from server.backends.backend import FLOATS, with_nan
from server.backends.files import ParquetFiles, fold
from server.backends.query_tuples import too_long
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    ConfigurationInvalid,
    QueryCancelled,
    WithoutValue,
)

if TYPE_CHECKING:
    import pyarrow


NAMESPACE = "main"
"""The schema of the tables, as with DuckDB; Spark itself uses none."""

_TYPES = {
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp_ntz": "timestamp without time zone",
    "timestamp": "timestamp with time zone",
}
"""Spark's types in PostgreSQL's words. Other types keep their names and cannot be queried."""

MILLIS = "timestamp of milliseconds"
"""Such a column is not read: a timestamp beyond 64 bits of microseconds would fail the statement and reveal a row."""

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_EVERY_DIGIT = Context(prec=38)
_WHOLE_DIGITS = 18
_GLOBS = re.compile(r"[{}\\,]")


@dataclass(frozen=True)
class FileTable:
    """A table of files.

    Attributes:
      files: absolute paths.
      columns: names in lower case with Spark's types; MILLIS for columns that are not read.
    """

    name: str
    files: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def columns_sql(self) -> str:
        """The columns in Spark's syntax.

        >>> FileTable("visit", (), (("id", "bigint"), ("at", MILLIS))).columns_sql
        '`id` bigint'
        """
        return ", ".join(f"{_quoted(name)} {_read_as(kind)}" for name, kind in self._read)

    @property
    def values_sql(self) -> tuple[str, ...]:
        """The expressions of the session's view."""
        return tuple(_value_sql(_quoted(name), kind) for name, kind in self._read)

    @property
    def _read(self) -> Sequence[tuple[str, str]]:
        return [(name, kind) for name, kind in self.columns if kind != MILLIS]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _read_as(kind: str) -> str:
    """The type to read a decimal as: with more than 64 bits it gets all digits, because excess digits would fail the
    read.

    >>> _read_as("decimal(20,2)"), _read_as("decimal(18,2)"), _read_as("bigint")
    ('decimal(38,2)', 'decimal(18,2)', 'bigint')
    """
    digits = _DECIMAL.fullmatch(kind)
    long = digits is not None and int(digits[1]) > _WHOLE_DIGITS
    return f"decimal({_EVERY_DIGIT.prec},{digits[2]})" if digits is not None and long else kind


def _value_sql(name: str, kind: str) -> str:
    """SQL that replaces invalid UTF-8 by U+FFFD, and a decimal with more digits than its type by NULL.

    Spark's text functions trust the first byte of a character for its length. After a truncated character they read
    on into the memory behind it, so a text could depend on another unit's row. A file may store a decimal with too
    many digits, and computing with it would fail the statement and reveal its row.

    >>> _value_sql("`id`", "bigint"), _value_sql("`note`", "string")
    ('`id`', 'make_valid_utf8(`note`) AS `note`')
    >>> _value_sql("`x`", "decimal(3,1)")
    "CASE WHEN `x` BETWEEN CAST('-99.9' AS decimal(3,1)) AND CAST('99.9' AS decimal(3,1)) THEN `x` END AS `x`"
    """
    if kind == "string":
        return f"make_valid_utf8({name}) AS {name}"
    digits = _DECIMAL.fullmatch(kind)
    if digits is None:
        return name
    most = Decimal(10 ** int(digits[1]) - 1).scaleb(-int(digits[2]), _EVERY_DIGIT)
    low, high = (f"CAST('{end:f}' AS {kind})" for end in (most.copy_negate(), most))
    known = name if _read_as(kind) == kind else f"CAST({name} AS {kind})"
    return f"CASE WHEN {name} BETWEEN {low} AND {high} THEN {known} END AS {name}"


def read_file_tables(
    folder: ParquetFiles, columns_of: Callable[[str], tuple[tuple[str, str], ...]]
) -> tuple[FileTable, ...]:
    """The tables of a folder.

    Args:
      columns_of: returns Spark's names and types of the columns of one file.
    Raises: BackendUnavailable; ConfigurationInvalid for a table whose files differ in their columns, and for types
      and names that Spark would read differently.
    Cost: reads the head of every file.
    """
    found = []
    for name, table in folder.tables().items():
        if table.columns:
            hint = "use files outside of such folders, or parquet:///"
            raise ConfigurationInvalid(
                f"{name}: columns in the names of folders are not supported on Spark", hint=hint
            )
        for file in table.files:
            if _GLOBS.search(str(file)):
                hint = "rename it"
                raise ConfigurationInvalid(f"{file.name}: a path with a brace, comma or backslash", hint=hint)
        _check_alike(name, table.files)
        try:
            columns = columns_of(str(table.files[0]))
        except BackendFailed as error:
            hint = "avoid uuid, time and timestamps of nanoseconds, or use parquet:///"
            raise ConfigurationInvalid(
                f"{name} has a column of a type that Spark does not read", hint=hint
            ) from error
        names = [column.lower() for column, _ in columns]
        if len(set(names)) < len(names):
            raise ConfigurationInvalid(f"{name} has two columns whose names differ only in case")
        millis = _in_millis(table.files[0])
        folded = tuple((fold(column), MILLIS if column in millis else kind) for column, kind in columns)
        if all(kind == MILLIS for _, kind in folded):
            hint = "write timestamps in microseconds"
            raise ConfigurationInvalid(f"{name} has no columns but timestamps of milliseconds", hint=hint)
        found.append(FileTable(name, tuple(map(str, table.files)), folded))
    return tuple(found)


def file_schema(tables: Sequence[FileTable], version: str) -> Schema:
    """The structure of the tables: no constraints, and every value may be NULL."""
    named: Mapping[str, FileTable] = {table_name(PUBLIC, table.name): table for table in tables}
    return Schema(
        {
            name: with_nan(
                Table(name, NAMESPACE, tuple(_column(*column) for column in table.columns), (), ()), FLOATS
            )
            for name, table in named.items()
        },
        version=version,
    )


def _column(name: str, kind: str) -> Column:
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        return Column(name, f"numeric({decimal[1]},{decimal[2]})", True)
    return Column(name, _TYPES.get(kind, f"spark {kind}"), True)


def _check_alike(name: str, files: Sequence[Path]) -> None:
    """Refuse files with which one row's value could fail a question: different columns, and timestamps of nanoseconds
    or 96 bits, which exceed Spark's 64 bits.
    """
    known = None
    for file in files:
        try:
            opened = pyarrow.parquet.ParquetFile(file)
            found, types = opened.schema, opened.schema_arrow.types
        except (ArrowException, OSError) as error:
            raise ConfigurationInvalid(f"{file.name} of {name} is not a Parquet file") from error
        if known is not None and not found.equals(known):
            hint = "write all files of a table with the same columns, in one order and of the same types"
            raise ConfigurationInvalid(f"{file.name} of {name} has other columns than {files[0].name}", hint=hint)
        known = found
        if any(pyarrow.types.is_timestamp(kind) and kind.unit == "ns" for kind in types):
            hint = "write timestamps of microseconds, or use parquet:///"
            raise ConfigurationInvalid(f"{name} has timestamps of nanoseconds, or of 96 bits", hint=hint)


def _in_millis(file: Path) -> set[str]:
    """The columns of timestamps in milliseconds, which Spark multiplies as it reads them."""
    schema = pyarrow.parquet.ParquetFile(file).schema
    columns = [schema.column(place) for place in range(len(schema.names))]
    return {column.path for column in columns if _unit(column) == "milliseconds"}


def _unit(column: Any) -> str:
    kind: dict[str, Any] = json.loads(column.logical_type.to_json())
    return str(kind.get("timeUnit", "")) if kind.get("Type") == "Timestamp" else ""


SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    # Row group statistics omit NaN, so whether a unit's NaN counts would depend on other units' rows.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    # An operand of AND is not computed before the condition that guards it.
    "spark.sql.subexpressionElimination.skipForShortcutExpr": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variable.substitute": "false",
}
"""Settings that fix the meaning of statements."""

_RETRIES, _BACKOFF_MS = 2, 100
"""Few retries: the pipeline retries a lost connection itself, because it knows what was charged."""

_VALUELESS = ("21", "22")
"""The classes of SQLSTATE for several rows of a scalar subquery, and for an overflow."""


_SILENCED = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def opened_session(address: str, limit_ms: int | None) -> Iterator[SparkSession]:
    """Open a session with a time limit for all its statements together; None: no limit.

    Raises: BackendUnavailable, ConfigurationInvalid.
    """
    session = SparkSession(_connected(address), threading.Event())
    try:
        with _limited(session, limit_ms):
            yield session
    finally:
        session.close()


_kept: dict[tuple[str, tuple[FileTable, ...]], Any] = {}
"""The client of this process's idle session, if there is one, by its server and its files."""


@contextmanager
def kept_session(address: str, tables: tuple[FileTable, ...], limit_ms: int) -> Iterator[SparkSession]:
    """A session with views of the files, which the process keeps for its next question.

    It is used again only if no statement failed, was stopped or took too long, and if the server still has it with
    every setting. Raises: as `opened_session`; as `SparkSession.with_files`.
    """
    client = _kept.pop((address, tables), None)
    known = client is not None and _has_settings(client)
    session = SparkSession(client if known else _connected(address), threading.Event())
    finished = False
    try:
        with _limited(session, limit_ms):
            if not known:
                session.with_files(tables)
            yield session
        finished = not session.expired.is_set()
    finally:
        if not finished:
            session.close()
        while _kept:  # of other files, or of another thread
            with suppress(KeyError):
                SparkSession(_kept.popitem()[1], threading.Event()).close()
        if finished:
            _kept[address, tables] = session.client


@contextmanager
def _limited(session: SparkSession, limit_ms: int | None) -> Iterator[None]:
    if limit_ms is None:
        yield
        return
    timer = threading.Timer(limit_ms / 1000, session.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _has_settings(client: Any) -> bool:
    """Whether the server has the session, with every setting."""
    try:
        return dict(client.client.get_config_dict(*SETTINGS)) == dict(SETTINGS)
    except Exception:
        return False


@dataclass(frozen=True, eq=False)
class SparkSession:
    """Runs statements."""

    client: Any
    expired: threading.Event

    def close(self) -> None:
        """End the session; otherwise the server releases it when it is unused."""
        with suppress(Exception):
            self.client.stop()

    def interrupt(self) -> None:
        """Stop the session's running statements; a server that does not respond is ignored."""
        self.expired.set()
        with suppress(Exception):
            self.client.interruptAll()

    def tables(self, statement: str) -> Iterator[pyarrow.Table]:
        """The rows of a statement as a stream of Arrow tables.

        Raises: QueryCancelled, BackendConnectionLost, BackendFailed.
        """
        with self._translated():
            seeds = {SEED: secrets.randbits(63)} if f":{SEED}" in statement else None
            frame = self.client.sql(statement, args=seeds)
            # As `toArrow`, without collecting all rows, because reads have a limit of rows.
            plan = frame._plan
            client = self.client.client
            for found in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
                if hasattr(found, "num_rows"):  # else it is the schema, which the tables repeat
                    yield found

    def with_files(self, tables: Iterable[FileTable]) -> None:
        """Create views over files. Raises: as `tables`."""
        with self._translated():
            for table in tables:
                files = [f"file:{file}" for file in table.files]
                table_frame = self.client.read.schema(table.columns_sql).parquet(*files)
                table_frame.selectExpr(*table.values_sql).createOrReplaceTempView(table.name)

    def columns_of(self, file: str) -> tuple[tuple[str, str], ...]:
        """Names and Spark types of the columns of a Parquet file, from its head. Raises: as `tables`."""
        with self._translated():
            found = self.client.read.parquet(f"file:{file}").schema
            return tuple((column.name, column.dataType.simpleString()) for column in found.fields)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Replace Spark's errors by ours, without Spark's words, which may hold a value."""
        try:
            yield
        except (QueryCancelled, GeneratorExit):
            raise
        except Exception as error:
            raise self._error(error) from None
        if self.expired.is_set():
            raise too_long()

    def _error(self, error: Exception) -> Exception:
        from pyspark.errors import PySparkException

        if self.expired.is_set():
            return too_long()
        if not isinstance(error, PySparkException) and type(error).__module__.partition(".")[0] != "grpc":
            return error
        lost = "Retries" in type(error).__name__ or "StatusCode.UNAVAILABLE" in str(error)
        if lost:
            return BackendConnectionLost("the connection to Spark was lost", hint="try again")
        valueless = isinstance(error, PySparkException) and (error.getSqlState() or "").startswith(_VALUELESS)
        return (WithoutValue if valueless else BackendFailed)(
            "Spark refused the query that the proxy made from yours", hint="send the administrator your statement"
        )


def _connected(address: str) -> Any:
    """Connect, and verify that the server has applied every setting.

    Raises: BackendUnavailable if no server answers; ConfigurationInvalid without pyspark.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about pandas, which is not used here, and about names of settings
        try:
            import grpc
            from pyspark.errors import PySparkException
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession as Client
        except ImportError as error:
            raise ConfigurationInvalid("this database needs pyspark", hint="install noisegate[spark]") from error
        for name in _SILENCED:  # they write values of rows to standard error
            logging.getLogger(name).disabled = True
        hint = "check that Spark Connect runs, and its address; nothing was charged"
        try:
            client = Client(address)
            client.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, initial_backoff=_BACKOFF_MS)])
            client.conf._set_all(configs=dict(SETTINGS), silent=False)
        except (PySparkException, grpc.RpcError) as error:
            raise BackendUnavailable("Spark does not answer", hint=hint) from error
    if not _has_settings(client):
        client.stop()
        raise ConfigurationInvalid("Spark rejects settings that the proxy needs")
    return client
