"""Files in their custodian's hands: a DuckDB file, or a folder of Parquet files."""

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
"""Counting takes as long as the files are large."""

_MISFIT = (duckdb.ConversionException, duckdb.BinderException, duckdb.OutOfRangeException)


@contextmanager
def opened_files(
    url: str, limits: DatabaseLimits = DatabaseLimits(), patterns: TablePatterns = ()
) -> Iterator[FilesCustody]:
    """Open what a URL names, in the state that it has now. Raises: ConfigurationInvalid, BackendUnavailable."""
    path = path_of(url)
    backend = DuckdbBackend(path, limits=DuckdbLimits.of_policy(limits), patterns=patterns).at_this_version()
    with backend.opened(_UNLIMITED) as connection:
        yield FilesCustody(connection, backend)


@dataclass(frozen=True)
class FilesCustody(Custody):
    """One state of the files.

    Attributes:
      backend: which answers from this state of them alone.
    """

    connection: duckdb.DuckDBPyConnection
    backend: DuckdbBackend

    @property
    def name(self) -> str:
        """That of the file or folder."""
        return self.backend.path.stem

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure, whatever the schemas are called."""
        return self.backend.schema()

    def check_readable(self, schema: Schema) -> None:
        """Read every value of a folder's files once: a text that is no UTF-8, a moment beyond what DuckDB counts to.

        A DuckDB file was checked as it was written.
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
                hint = (
                    "write the file anew: a text is no UTF-8, or a moment is beyond what 64 bits of microseconds hold"
                )
                raise ConfigurationInvalid(f"{table.name} holds values that cannot be read", hint=hint) from None

    def count(self, statement: Statement) -> int:
        """The number that a statement selects. Raises: Misfit; BackendFailed."""
        text = statement.decode() if isinstance(statement, bytes) else statement.as_string(None)
        (written,) = transpile(text, read="postgres", write="duckdb")
        try:
            row = self.connection.execute(written).fetchone()
        except _MISFIT as error:
            raise Misfit from error
        except duckdb.Error as error:
            raise BackendFailed("the database refused to count", hint="is the file readable?") from error
        if self.backend.changed():
            raise BackendFailed("the files changed while they were counted", hint="try again")
        assert row is not None, "an aggregate without GROUP BY returns one row"
        return int(row[0])

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """The rows of a statement that selects whole numbers. Raises: BackendFailed."""
        try:
            found = self.connection.execute(statement).fetchall()
        except duckdb.Error as error:
            raise BackendFailed("the database refused to compare rows", hint="is the file readable?") from error
        if self.backend.changed():
            raise BackendFailed("the files changed while they were compared", hint="try again")
        return [tuple(map(int, row)) for row in found]
