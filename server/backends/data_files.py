"""Databases that are files: a DuckDB file, or a folder of Parquet files; which state of them is being read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from planner.schema import Schema
from server.backends.duckdb_catalog import read_duckdb_schema, read_view_tables
from server.backends.parquet.folder import ParquetFiles, TablePatterns, files_version, fold
from server.errors import BackendUnavailable, ConfigurationInvalid

_CATALOG = "noisegate_data"


_DUCKDB_MARK = b"DUCK"
_PARQUET_MARK = b"PAR1"
_OTHER_MARKS = (
    (b"SQLite format 3", ("a SQLite file", "in DuckDB: ATTACH it, and COPY FROM DATABASE it into a new file")),
    (_PARQUET_MARK, ("a Parquet file", "parquet:///lake names the folder that it lies in")),
    (b"PGDMP", ("a dump of PostgreSQL", "restore it, and name that database: postgresql://...")),
)
"""How files begin that are given for DuckDB's, what they are, and how their rows are served."""


@dataclass(frozen=True)
class DuckdbFile:
    """A DuckDB file.

    Attributes:
      path: never written.
      namespace: the schema that holds the tables.
    """

    path: Path
    namespace: str = "main"

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """Open it for reading. Returns: what lets a statement read it and nothing else of the machine."""
        connection.execute(f"ATTACH {_text(self.path)} AS {_CATALOG} (READ_ONLY)")
        return (f"USE {_CATALOG}",)

    def schema(self, connection: DuckDBPyConnection) -> Schema:
        """Tables, columns and enforced constraints of the namespace."""
        return read_duckdb_schema(connection, self.namespace)

    def changed_part(self) -> str:
        """What has changed, in a word for clients."""
        return self.path.name

    def why_not_opened(self) -> tuple[str, str]:
        """What keeps the file from being opened as its first bytes say, and what to do."""
        try:
            with self.path.open("rb") as file:
                head = file.read(16)
        except OSError:
            return f"{self.path.name} cannot be read", "may the proxy's user read it?"
        if head[8:12] == _DUCKDB_MARK:
            hint = (
                "does another process write it, or was it made by a newer DuckDB? close it there, or write a copy by "
                "this version; nothing was charged"
            )
            return f"{self.path.name} is a DuckDB file that cannot be opened", hint
        kind = next((kind for mark, kind in _OTHER_MARKS if head.startswith(mark)), None)
        found = "it is no database" if kind is None else f"it is {kind[0]}"
        hint = "duckdb:///shop.duckdb names a file that DuckDB has made" + ("" if kind is None else f"; {kind[1]}")
        return f"{self.path.name} is no DuckDB file: {found}", hint

    def version(self) -> str:
        """Which state of the file this is, with what a writer has not yet put into it. Raises: BackendUnavailable."""
        log = self.path.with_name(f"{self.path.name}.wal")
        return files_version({"": [self.path, *([log] if log.exists() else [])]})


@dataclass(frozen=True)
class ParquetFolder(ParquetFiles):
    """A folder of Parquet files, read by DuckDB."""

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """One view per table, over the files that are there now.

        Values in the names of folders (`year=2024`) are text, whichever of them there are.
        Raises: BackendUnavailable for two tables of one name or over one file, and for a pattern without a file.
        """
        tables = self.tables()
        for name, found in tables.items():
            listed = ", ".join(map(_text, found.files))
            hive = "true, hive_types_autocast = false" if found.columns else "false"
            connection.execute(
                f'CREATE VIEW "{name}" AS SELECT * FROM read_parquet([{listed}], hive_partitioning = {hive})'
            )
        every = ", ".join(_text(file) for found in tables.values() for file in found.files)
        return (f"SET allowed_paths = [{every}]",)

    def changed_part(self) -> str:
        """What has changed, in a word for clients: most likely the table that was written last."""
        try:
            return f"the newest are those of {self.newest()}"
        except BackendUnavailable:
            return "a file is gone"

    def why_not_opened(self) -> tuple[str, str]:
        """Which file is none of Parquet, and what to do."""
        for name, table in self.tables().items():
            for file in table.files:
                try:
                    with file.open("rb") as opened:
                        head = opened.read(4)
                        opened.seek(-min(4, file.stat().st_size), 2)
                        tail = opened.read(4)
                except OSError:
                    return f"{file.name} of {name} cannot be read", "may the proxy's user read it?"
                if {head, tail} != {_PARQUET_MARK}:
                    hint = "write it anew, or move it out of the folder; one that is still written has no end yet"
                    return f"{file.name} of {name} is no whole Parquet file", hint
        return "a file of the folder cannot be opened", "are all files of a table written with the same columns?"

    def check_files(self, connection: DuckDBPyConnection) -> None:
        """Refuse a table whose files differ in their columns: a value that fits no type would fail a question.

        Raises: ConfigurationInvalid; BackendUnavailable for a file that is none of Parquet.
        Cost: reads the head of every file.
        """
        for name, table in self.tables().items():
            known = None
            for file in table.files:
                read = f"DESCRIBE SELECT * FROM read_parquet({_text(file)}, hive_partitioning = false)"
                try:
                    found = [(str(column[0]), str(column[1])) for column in connection.execute(read).fetchall()]
                except duckdb.Error as error:
                    message, hint = self.why_not_opened()
                    raise BackendUnavailable(message, hint=hint) from error
                if known is not None and found != known:
                    hint = "write all files of a table with the same columns, in one order and of the same types"
                    raise ConfigurationInvalid(
                        f"{file.name} of {name} has other columns than {table.files[0].name}", hint=hint
                    )
                known = found
            twice = {fold(column) for column, _ in known or ()} & set(map(fold, table.columns))
            if twice:
                hint = "a column is in the files or in the names of their folders"
                raise ConfigurationInvalid(f"{', '.join(sorted(twice))} of {name} is in both", hint=hint)

    def schema(self, connection: DuckDBPyConnection) -> Schema:
        """Its structure: no constraint holds, any value may be NULL."""
        return read_view_tables(connection)


DataFiles = DuckdbFile | ParquetFolder


def data_files(path: Path, namespace: str = "main", patterns: TablePatterns = ()) -> DataFiles:
    """What stands at a path.

    Args:
      namespace: the schema of a DuckDB file that holds the tables.
      patterns: of the tables of a folder whose files the policy names.
    """
    return ParquetFolder(path, patterns) if path.is_dir() else DuckdbFile(path, namespace)


def _text(path: Path) -> str:
    escaped = str(path).replace("'", "''")
    return f"'{escaped}'"
