"""A folder of Parquet files that Spark reads, in its custodian's hands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

from sqlglot import exp, parse_one

from planner.policy.database_limits import DatabaseLimits
from planner.policy.draft import Estimates
from planner.rewriting.dialects.spark.statement import FILES, written
from planner.schema import Schema
from server.backends.custody.custody import Misfit, Statement
from server.backends.custody.file_urls import CONNECT, connect_and_folder, path_of
from server.backends.parquet.folder import ParquetFiles, TablePatterns
from server.backends.room import refuse_memory_below
from server.backends.spark.arrow_columns import arrow_columns
from server.backends.spark.backend import SparkBackend, SparkLimits
from server.backends.spark.local_server import LEAST_MEMORY_MB, SparkMemory, local_spark
from server.backends.spark.session import SparkAddress, SparkSession, opened_session
from server.errors import BackendFailed


@contextmanager
def opened_spark_files(
    url: str, limits: DatabaseLimits = DatabaseLimits(), patterns: TablePatterns = ()
) -> Iterator[SparkCustody]:
    """Open what a URL names, in the state that it has now, by the Spark that it names, or by one of this process.

    Args:
      limits: of a question; memory and processors are those of this process's Spark, for all questions together.
      patterns: of the tables of the folder whose files the policy names.
    Raises: ConfigurationInvalid, BackendUnavailable.
    """
    if url.startswith(CONNECT):
        server, path = connect_and_folder(url)
        address = SparkAddress(server)
    else:
        path = path_of(url)
        refuse_memory_below(limits.memory_mb, LEAST_MEMORY_MB, "Spark")
        address = local_spark(SparkMemory(limits.memory_mb or SparkMemory.memory_mb, limits.processes))
    backend = SparkBackend.of_folder(address, ParquetFiles(path, patterns), SparkLimits.of_policy(limits))
    with opened_session(backend.address, None) as session:
        session.with_files(backend.tables)
        yield SparkCustody(session, backend)


@dataclass(frozen=True)
class SparkCustody:
    """One state of the files.

    Attributes:
      session: whose views are the files.
      backend: which answers from this state of them alone.
    """

    session: SparkSession
    backend: SparkBackend

    @property
    def name(self) -> str:
        """That of the folder."""
        return self.backend.path.stem

    def namespaces(self) -> Sequence[str]:
        """One, which is called as PostgreSQL calls its own."""
        return ("public",)

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure, whatever the schemas are called."""
        return self.backend.schema()

    def left_out(self, namespaces: Sequence[str]) -> Iterable[tuple[str, str]]:
        """Nothing: every table of the files is in the structure."""
        return ()

    def estimates(self, schema: Schema, today: date) -> Estimates:
        """None: files have no statistics that are not a look at the rows."""
        return Estimates(today=today)

    def refuse_unsafe_role(self) -> None:
        """Files have no role; nothing writes them, and a session sees no others."""

    def check_readable(self, schema: Schema) -> None:
        """What a file may hold and Spark cannot read is guarded where it is read (`FileTable.values_sql`)."""

    def count(self, statement: Statement) -> int:
        """The number that a statement selects. Raises: Misfit where Spark does not take it; BackendFailed."""
        text = statement.decode() if isinstance(statement, bytes) else statement.as_string(None)
        tree = parse_one(text, read="postgres")
        for table in tree.find_all(exp.Table):
            if table.text("db") == FILES:
                table.set("db", None)
        try:
            tables = list(self.session.tables(written(tree)))
        except BackendFailed as error:
            raise Misfit from error
        if self.backend.changed():
            raise BackendFailed("the files changed while they were counted", hint="try again")
        ((value,),) = zip(*arrow_columns(tables, 1), strict=True)
        return int(str(value))

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """Rows are not compared by Spark yet. Raises: BackendFailed."""
        raise BackendFailed("rows of closed periods are not compared by Spark", hint="leave append_only out")
