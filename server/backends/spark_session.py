"""A session of Spark Connect: its tables, what a statement means in it, and errors without a word of Spark.

Loads pyspark's client, which is an extra: `noisegate[spark]`.
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
)

if TYPE_CHECKING:
    import pyarrow


NAMESPACE = "main"
"""As of the tables of a folder on DuckDB; Spark knows them without it."""

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
"""In PostgreSQL's words, which the planner speaks; others stay as they are, and nothing is asked of them."""

MILLIS = "timestamp of milliseconds"
"""Such a column is not read: a moment beyond 64 bits of microseconds would fail the statement, and so tell of the row
that has it."""

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_EVERY_DIGIT = Context(prec=38)
_WHOLE_DIGITS = 18
_GLOBS = re.compile(r"[{}\\,]")


@dataclass(frozen=True)
class FileTable:
    """A table of files.

    Attributes:
      files: absolute paths.
      columns: names in lower case, and Spark's types; MILLIS of those that are not read.
    """

    name: str
    files: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def columns_sql(self) -> str:
        """The columns as Spark is told them.

        >>> FileTable("visit", (), (("id", "bigint"), ("at", MILLIS))).columns_sql
        '`id` bigint'
        """
        return ", ".join(f"{_quoted(name)} {_read_as(kind)}" for name, kind in self._read)

    @property
    def values_sql(self) -> tuple[str, ...]:
        """What a session's view shows of each column."""
        return tuple(_value_sql(_quoted(name), kind) for name, kind in self._read)

    @property
    def _read(self) -> Sequence[tuple[str, str]]:
        return [(name, kind) for name, kind in self.columns if kind != MILLIS]


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _read_as(kind: str) -> str:
    """A decimal of more digits than 64 bits have is read with all that there are: too many fail it as it is read.

    >>> _read_as("decimal(20,2)"), _read_as("decimal(18,2)"), _read_as("bigint")
    ('decimal(38,2)', 'decimal(18,2)', 'bigint')
    """
    digits = _DECIMAL.fullmatch(kind)
    long = digits is not None and int(digits[1]) > _WHOLE_DIGITS
    return f"decimal({_EVERY_DIGIT.prec},{digits[2]})" if digits is not None and long else kind


def _value_sql(name: str, kind: str) -> str:
    """Of a text its bytes that are no UTF-8 as U+FFFD; of a decimal NULL for what has more digits than its type.

    Spark's functions of texts trust the first byte of a character to say how many follow. Of a text that ends too
    early they read on, in the memory behind it: what they return then holds bytes of another row, so that what one
    person has in a group would hang on whose row lies next to theirs. And a decimal that a file holds as a whole
    number may have any digits that fit there: computed with, it would fail the statement, and so tell of its row.

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
      folder: of files.
      columns_of: Spark's names and types of the columns of one file.
    Raises: BackendUnavailable; ConfigurationInvalid for files of one table that differ in their columns, and for
      what Spark would read otherwise.
    Cost: reads the head of every file.
    """
    found = []
    for name, table in folder.tables().items():
        if table.columns:
            hint = "name files that lie in no such folder, or use parquet:///"
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
            hint = "of these are uuid, time and timestamps of nanoseconds; or use parquet:///"
            raise ConfigurationInvalid(
                f"{name} has a column of a type that Spark does not read", hint=hint
            ) from error
        names = [column.lower() for column, _ in columns]
        if len(set(names)) < len(names):
            raise ConfigurationInvalid(f"{name} has two columns whose names differ in the case of letters alone")
        millis = _in_millis(table.files[0])
        folded = tuple((fold(column), MILLIS if column in millis else kind) for column, kind in columns)
        if all(kind == MILLIS for _, kind in folded):
            hint = "write timestamps in microseconds"
            raise ConfigurationInvalid(f"{name} has no columns but timestamps of milliseconds", hint=hint)
        found.append(FileTable(name, tuple(map(str, table.files)), folded))
    return tuple(found)


def file_schema(tables: Sequence[FileTable], version: str) -> Schema:
    """Their structure: no constraint holds, any value may be NULL."""
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
    """Refuse what a value of one row could make a question fail by: files that differ in their columns, and moments
    of nanoseconds, or of 96 bits, which leave the 64 bits that Spark has for them."""
    known = None
    for file in files:
        try:
            opened = pyarrow.parquet.ParquetFile(file)
            found, types = opened.schema, opened.schema_arrow.types
        except (ArrowException, OSError) as error:
            raise ConfigurationInvalid(f"{file.name} of {name} is no Parquet file") from error
        if known is not None and not found.equals(known):
            hint = "write all files of a table with the same columns, in one order and of the same types"
            raise ConfigurationInvalid(f"{file.name} of {name} has other columns than {files[0].name}", hint=hint)
        known = found
        if any(pyarrow.types.is_timestamp(kind) and kind.unit == "ns" for kind in types):
            hint = "write timestamps of microseconds, or use parquet:///"
            raise ConfigurationInvalid(f"{name} has timestamps of nanoseconds, or of 96 bits", hint=hint)


def _in_millis(file: Path) -> set[str]:
    """The columns of timestamps that are stored in milliseconds, which Spark multiplies as it reads them."""
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
    # Statistics of a group of rows leave NaN out, so that whether somebody's NaN counts would hang on others' rows.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.session.timeZone": "UTC",
    # A part of a condition behind an AND is not computed ahead of what guards it.
    "spark.sql.subexpressionElimination.skipForShortcutExpr": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variable.substitute": "false",
}
"""Whatever could make the same statement mean something else."""

_RETRIES, _BACKOFF_MS = 2, 100
"""A lost connection is tried again by the pipeline, which knows what was charged."""

_SILENCED = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def opened_session(address: str, limit_ms: int | None) -> Iterator[SparkSession]:
    """A session of one's own, whose statements together may take so long; None: any time.

    Raises: BackendUnavailable, ConfigurationInvalid.
    """
    session = SparkSession(_connected(address), threading.Event())
    timer = None
    if limit_ms is not None:
        timer = threading.Timer(limit_ms / 1000, session.interrupt)
        timer.daemon = True
        timer.start()
    try:
        yield session
    finally:
        if timer is not None:
            timer.cancel()
        with suppress(Exception):  # what is not released now is when the server finds it unused
            session.client.stop()


@dataclass(frozen=True, eq=False)
class SparkSession:
    """What statements are run by."""

    client: Any
    expired: threading.Event

    def interrupt(self) -> None:
        """End the statements of this session that still run; a server that does not hear it is left alone."""
        self.expired.set()
        with suppress(Exception):
            self.client.interruptAll()

    def tables(self, statement: str) -> Iterator[pyarrow.Table]:
        """The rows of a statement in Arrow's tables as they come, none of which is waited for by the next.

        Raises: QueryCancelled, BackendConnectionLost, BackendFailed.
        """
        with self._translated():
            seeds = {SEED: secrets.randbits(63)} if f":{SEED}" in statement else None
            frame = self.client.sql(statement, args=seeds)
            # What `toArrow` does, but for joining everything together: a read has a limit of rows.
            plan = frame._plan
            client = self.client.client
            for found in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
                if hasattr(found, "num_rows"):  # else it is the schema, which the tables have too
                    yield found

    def with_files(self, tables: Iterable[FileTable]) -> None:
        """Make views of this session over files. Raises: as `tables`."""
        with self._translated():
            for table in tables:
                files = [f"file:{file}" for file in table.files]
                table_frame = self.client.read.schema(table.columns_sql).parquet(*files)
                table_frame.selectExpr(*table.values_sql).createOrReplaceTempView(table.name)

    def columns_of(self, file: str) -> tuple[tuple[str, str], ...]:
        """Names and Spark's types of the columns of a Parquet file; reads its head. Raises: as `tables`."""
        with self._translated():
            found = self.client.read.parquet(f"file:{file}").schema
            return tuple((column.name, column.dataType.simpleString()) for column in found.fields)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn Spark's errors into ours, none of whose words are Spark's: they may hold a value of a row."""
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
        return BackendFailed("Spark refused the rewritten query")


def _connected(address: str) -> Any:
    """A session with its settings, each of which the server has taken.

    Raises: BackendUnavailable where none answers; ConfigurationInvalid where pyspark is absent.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas' version, which nothing here uses, and of settings' names
        try:
            import grpc
            from pyspark.errors import PySparkException
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession as Client
        except ImportError as error:
            raise ConfigurationInvalid("this database needs pyspark", hint="install noisegate[spark]") from error
        for name in _SILENCED:  # they write values of rows to the standard error
            logging.getLogger(name).disabled = True
        hint = "is Spark Connect up, and is the address right? nothing was charged"
        try:
            client = Client(address)
            client.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, initial_backoff=_BACKOFF_MS)])
            client.conf._set_all(configs=dict(SETTINGS), silent=False)
            taken = client.client.get_config_dict(*SETTINGS)
        except (PySparkException, grpc.RpcError) as error:
            raise BackendUnavailable("Spark does not answer", hint=hint) from error
    if dict(taken) != dict(SETTINGS):
        client.stop()
        raise ConfigurationInvalid("Spark does not take the settings that its statements are written for")
    return client
