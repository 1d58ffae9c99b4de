"""A DuckDB file or a folder of Parquet files for administrator commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
from sqlglot import transpile

from planner.policy.sections import DatabaseLimits
from planner.schema import Schema
from server.backends.backend import quoted
from server.backends.custody import Custody, Misfit, Statement
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.files import TablePatterns, path_of
from server.errors import BackendFailed, ConfigurationInvalid

_UNLIMITED = DuckdbLimits(memory_mb=8_192, spill_mb=1 << 20)
"""Limits for counting, which may scan all files."""

_MISFIT = (duckdb.ConversionException, duckdb.BinderException, duckdb.OutOfRangeException)


@contextmanager
def opened_files(
    url: str, limits: DatabaseLimits = DatabaseLimits(), patterns: TablePatterns = ()
) -> Iterator[FilesCustody]:
    """Open the files of a URL in their current state. Raises: ConfigurationInvalid, BackendUnavailable."""
    path = path_of(url)
    backend = DuckdbBackend(path, limits=DuckdbLimits.of_policy(limits), patterns=patterns).at_this_version()
    with backend.opened(_UNLIMITED) as connection:
        yield FilesCustody(connection, backend)


@dataclass(frozen=True)
class FilesCustody(Custody):
    """One state of the files.

    Attributes:
      backend: answers questions from this state only.
    """

    connection: duckdb.DuckDBPyConnection
    backend: DuckdbBackend

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return self.backend.path.stem

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure, for any schema names."""
        return self.backend.schema()

    def check_readable(self, schema: Schema) -> None:
        """Read every value of a Parquet folder once, to find invalid UTF-8 and timestamps out of range.

        DuckDB has checked its own files when it wrote them.
        Raises: ConfigurationInvalid.
        Cost: reads the files.
        """
        if not self.backend.path.is_dir():
            return
        for table in schema.tables.values():
            read = ", ".join(f"bit_xor(hash({quoted(column.name)}))" for column in table.columns)
            name = f"{quoted(table.namespace)}.{quoted(table.relation)}"
            try:
                self.connection.execute(f"SELECT {read} FROM {name}").fetchall()
            except duckdb.Error:
                hint = "write the file again: a text is not UTF-8, or a timestamp exceeds 64 bits of microseconds"
                raise ConfigurationInvalid(f"{table.name} holds values that cannot be read", hint=hint) from None

    def count(self, statement: Statement) -> int:
        """Run a statement that selects one number. Raises: Misfit; BackendFailed."""
        text = statement.decode() if isinstance(statement, bytes) else statement.as_string(None)
        (written,) = transpile(text, read="postgres", write="duckdb")
        try:
            row = self.connection.execute(written).fetchone()
        except _MISFIT as error:
            raise Misfit from error
        except duckdb.Error as error:
            raise BackendFailed(
                "the database could not count the rows of a table", hint="check that the proxy may read its files"
            ) from error
        if self.backend.changed():
            raise BackendFailed("the files changed during the count", hint="try again")
        assert row is not None, "an aggregate without GROUP BY returns one row"
        return int(row[0])

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """Run a statement that selects whole numbers. Raises: BackendFailed."""
        try:
            found = self.connection.execute(statement).fetchall()
        except duckdb.Error as error:
            raise BackendFailed(
                "the database could not compare the rows of a table", hint="check that the proxy may read its files"
            ) from error
        if self.backend.changed():
            raise BackendFailed("the files changed during the comparison", hint="try again")
        return [tuple(map(int, row)) for row in found]
