"""Databases that are files: a DuckDB file, or a folder of Parquet files; which state of them is being read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from planner.schema import Schema
from server.backends.duckdb_catalog import read_duckdb_schema, read_view_tables
from server.backends.parquet.folder import ParquetFiles, TablePatterns, files_version, fold
from server.errors import ConfigurationInvalid

_CATALOG = "noisegate_data"


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

    def check_files(self, connection: DuckDBPyConnection) -> None:
        """Refuse a table whose files differ in their columns: a value that fits no type would fail a question.

        Raises: ConfigurationInvalid.
        Cost: reads the head of every file.
        """
        for name, table in self.tables().items():
            known = None
            for file in table.files:
                read = f"DESCRIBE SELECT * FROM read_parquet({_text(file)}, hive_partitioning = false)"
                found = [(str(column[0]), str(column[1])) for column in connection.execute(read).fetchall()]
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
