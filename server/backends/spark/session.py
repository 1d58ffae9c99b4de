"""A session of Spark Connect: what a statement means in it, how long it may take, and errors without a word of Spark.

Loads pyspark's client, which is an extra: `noisegate[spark]`.
"""

from __future__ import annotations

import logging
import secrets
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planner.rewriting.dialects.spark.statement import SEED
from server.backends.spark.file_tables import FileTable
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    ConfigurationInvalid,
    QueryCancelled,
)

if TYPE_CHECKING:
    import pyarrow

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


@dataclass(frozen=True)
class SparkAddress:
    """Where Spark Connect listens.

    Attributes:
      url: `sc://host:port/;token=...`, which may hold a secret.
    """

    url: str = field(repr=False)


@contextmanager
def opened_session(address: SparkAddress, limit_ms: int | None) -> Iterator[SparkSession]:
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
    """What statements are run by.

    Attributes:
      client: pyspark's session.
      expired: has its time run out?
    """

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
            raise _expired()

    def _error(self, error: Exception) -> Exception:
        from pyspark.errors import PySparkException

        if self.expired.is_set():
            return _expired()
        if not isinstance(error, PySparkException) and type(error).__module__.partition(".")[0] != "grpc":
            return error
        lost = "Retries" in type(error).__name__ or "StatusCode.UNAVAILABLE" in str(error)
        return _lost() if lost else BackendFailed("Spark refused the rewritten query")


def _expired() -> QueryCancelled:
    return QueryCancelled("the query took longer than its limit", hint="add predicates, or join less")


def _lost() -> BackendConnectionLost:
    return BackendConnectionLost("the connection to Spark was lost", hint="try again")


def _connected(address: SparkAddress) -> Any:
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
            client = Client(address.url)
            client.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, initial_backoff=_BACKOFF_MS)])
            client.conf._set_all(configs=dict(SETTINGS), silent=False)
            taken = client.client.get_config_dict(*SETTINGS)
        except (PySparkException, grpc.RpcError) as error:
            raise BackendUnavailable("Spark does not answer", hint=hint) from error
    if dict(taken) != dict(SETTINGS):
        client.stop()
        raise ConfigurationInvalid("Spark does not take the settings that its statements are written for")
    return client
