"""Databases that are files: a DuckDB file, or a folder of Parquet files; which state of them is being read."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from planner.schema import Schema
from server.backends.duckdb_catalog import fold, read_duckdb_schema, read_view_tables
from server.errors import BackendUnavailable

_CATALOG = "noisegate_data"
_SUFFIX = ".parquet"


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
        """Which state of the file this is. Raises: BackendUnavailable."""
        return _version([self.path])


@dataclass(frozen=True)
class ParquetFolder:
    """A folder of Parquet files: `visit.parquet`, or all files of the folder `visit`, are the table visit.

    Attributes:
      path: the folder; never written.
    """

    path: Path

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """One view per table, over the files that are there now. Raises: BackendUnavailable for two of one name."""
        for name, files in self._tables().items():
            listed = ", ".join(map(_text, files))
            connection.execute(
                f'CREATE VIEW "{name}" AS SELECT * FROM read_parquet([{listed}], hive_partitioning = false)'
            )
        return (f"SET allowed_directories = [{_text(self.path.resolve())}]",)

    def schema(self, connection: DuckDBPyConnection) -> Schema:
        """Its structure: no constraint holds, any value may be NULL."""
        return read_view_tables(connection)

    def version(self) -> str:
        """Which state of the files this is: their names, sizes and times. Raises: BackendUnavailable."""
        return _version([file for files in self._tables().values() for file in files])

    def _tables(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        try:
            for entry in sorted(self.path.resolve().iterdir()):
                files = sorted(entry.rglob(f"*{_SUFFIX}")) if entry.is_dir() else [entry]
                name = fold(entry.name if entry.is_dir() else entry.stem)
                if not files or files[0].suffix != _SUFFIX or not _NAME.fullmatch(name):
                    continue
                if name in found:
                    hint = "the file and the folder, or two spellings of a name, are one table"
                    raise BackendUnavailable(f"two tables of the folder are called {name}", hint=hint)
                found[name] = files
        except OSError as error:
            raise BackendUnavailable(
                "the folder of Parquet files cannot be read", hint="is the path right?"
            ) from error
        return found


DataFiles = DuckdbFile | ParquetFolder

_NAME = re.compile(r"[a-z_][a-z0-9_$ -]*")


def data_files(path: Path, namespace: str = "main") -> DataFiles:
    """What stands at a path.

    Args:
      namespace: the schema of a DuckDB file that holds the tables.
    """
    return ParquetFolder(path) if path.is_dir() else DuckdbFile(path, namespace)


def _version(files: list[Path]) -> str:
    """SHA-256 of what tells a changed file from an unchanged one without reading it."""
    digest = hashlib.sha256()
    for file, state in _states(files):
        digest.update(f"{file}\0{state.st_size}\0{state.st_mtime_ns}\0{state.st_ino}\0".encode())
    return digest.hexdigest()


def _states(files: list[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        for file in files:
            yield file, file.stat()
    except OSError as error:
        raise BackendUnavailable("a file of the database is gone", hint="try again; nothing was charged") from error


def _text(path: Path) -> str:
    escaped = str(path).replace("'", "''")
    return f"'{escaped}'"
