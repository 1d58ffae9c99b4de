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
from server.errors import BackendUnavailable, ConfigurationInvalid

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
        """Which state of the file this is, with what a writer has not yet put into it. Raises: BackendUnavailable."""
        log = self.path.with_name(f"{self.path.name}.wal")
        return _version([self.path, *([log] if log.exists() else [])])


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
        every = ", ".join(_text(file) for files in self._tables().values() for file in files)
        return (f"SET allowed_paths = [{every}]",)

    def check_files(self, connection: DuckDBPyConnection) -> None:
        """Refuse a table whose files differ in their columns: a value that fits no type would fail a question.

        Raises: ConfigurationInvalid.
        Cost: reads the head of every file.
        """
        for name, files in self._tables().items():
            known = None
            for file in files:
                columns = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({_text(file)})").fetchall()
                found = [(str(column[0]), str(column[1])) for column in columns]
                if known is not None and found != known:
                    hint = "write all files of a table with the same columns, in one order and of the same types"
                    raise ConfigurationInvalid(
                        f"{file.name} of {name} has other columns than {files[0].name}", hint=hint
                    )
                known = found

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
                _check_names(files)
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
_GLOBS = re.compile(r"[*?\[\]]")


def _check_names(files: list[Path]) -> None:
    """Refuse names that DuckDB takes for patterns of names, or that are no text. Raises: BackendUnavailable."""
    for file in files:
        try:
            str(file).encode()
        except UnicodeEncodeError as error:
            raise BackendUnavailable("a file of the folder has a name that is no UTF-8", hint="rename it") from error
        if _GLOBS.search(str(file)):
            raise BackendUnavailable(
                f"{file.name}: a path with *, ?, [ or ] would be read as a pattern", hint="rename it"
            )


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
        told = state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino
        digest.update(os.fsencode(file) + f"\0{told}\0".encode())
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
