"""Databases that are files: a DuckDB file, or a folder of Parquet files; which state of them is being read."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from duckdb import DuckDBPyConnection

from planner.schema import Schema
from server.backends.duckdb_catalog import fold, read_duckdb_schema, read_view_tables
from server.backends.parquet.table_files import TableFiles, is_hidden, named_files, refuse_shared
from server.errors import BackendUnavailable, ConfigurationInvalid

_CATALOG = "noisegate_data"
_SUFFIX = ".parquet"
TablePatterns = tuple[tuple[str, str], ...]
"""Tables whose files a policy names, each with their glob (`planner.policy.policy.Policy.table_files`)."""


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
        return _version({"": [self.path, *([log] if log.exists() else [])]})


@dataclass(frozen=True)
class ParquetFolder:
    """A folder of Parquet files: `visit.parquet`, or all files of the folder `visit`, are the table visit.

    A table whose files the policy names is made of those instead; what it takes a file of, or what is called as it
    is, is no table of its own then. Files and folders whose names begin with `_` or `.` are left out, as Spark leaves
    them out: the log of a Delta table holds no rows.

    Attributes:
      path: the folder; never written.
      patterns: of the tables whose files the policy names.
    """

    path: Path
    patterns: TablePatterns = ()

    def attach(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """One view per table, over the files that are there now.

        Values in the names of folders (`year=2024`) are text, whichever of them there are.
        Raises: BackendUnavailable for two tables of one name or over one file, and for a pattern without a file.
        """
        tables = self._tables()
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
        for name, table in self._tables().items():
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

    def version(self) -> str:
        """Which state of the files this is: whose they are, names, sizes, times. Raises: BackendUnavailable."""
        return _version({name: found.files for name, found in self._tables().items()})

    def _tables(self) -> dict[str, TableFiles]:
        try:
            folder = self.path.resolve()
            found = {name: named_files(folder, name, pattern) for name, pattern in self.patterns}
            refuse_shared(found)
            taken = {file.relative_to(folder).parts[0] for table in found.values() for file in table.files}
            named = set(found)
            for entry in sorted(folder.iterdir()):
                files = _files_below(entry)
                name = fold(entry.name if entry.is_dir() else entry.stem)
                if not files or not _NAME.fullmatch(name) or entry.name in taken or name in named:
                    continue
                if name in found:
                    hint = "the file and the folder, or two spellings of a name, are one table"
                    raise BackendUnavailable(f"two tables of the folder are called {name}", hint=hint)
                found[name] = TableFiles(files)
            for name, table in found.items():
                _check_names(table.files)
                if not _NAME.fullmatch(name):
                    hint = "name the table in lower case and without a schema; files have none"
                    raise BackendUnavailable(f"{name}: is no name of a table that is made of files", hint=hint)
        except OSError as error:
            raise BackendUnavailable(
                "the folder of Parquet files cannot be read", hint="is the path right?"
            ) from error
        return found


DataFiles = DuckdbFile | ParquetFolder

_NAME = re.compile(r"[a-z_][a-z0-9_$ -]*")
_GLOBS = re.compile(r"[*?\[\]]")


def _check_names(files: Sequence[Path]) -> None:
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


def data_files(path: Path, namespace: str = "main", patterns: TablePatterns = ()) -> DataFiles:
    """What stands at a path.

    Args:
      namespace: the schema of a DuckDB file that holds the tables.
      patterns: of the tables of a folder whose files the policy names.
    """
    return ParquetFolder(path, patterns) if path.is_dir() else DuckdbFile(path, namespace)


def _files_below(entry: Path) -> Sequence[Path]:
    """The Parquet files that are, or are in, what a folder holds."""
    if is_hidden(entry.name):
        return ()
    if not entry.is_dir():
        return (entry,) if entry.suffix == _SUFFIX else ()
    files = sorted(entry.rglob(f"*{_SUFFIX}"))
    return [file for file in files if not any(map(is_hidden, file.relative_to(entry).parts))]


def _version(tables: Mapping[str, Sequence[Path]]) -> str:
    """SHA-256 of what tells a changed file from an unchanged one without reading it, and whose rows it holds."""
    digest = hashlib.sha256()
    for name, files in sorted(tables.items()):
        for file, state in _states(files):
            told = state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino
            digest.update(name.encode() + b"\0" + os.fsencode(file) + f"\0{told}\0".encode())
    return digest.hexdigest()


def _states(files: Sequence[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        for file in files:
            yield file, file.stat()
    except OSError as error:
        raise BackendUnavailable("a file of the database is gone", hint="try again; nothing was charged") from error


def _text(path: Path) -> str:
    escaped = str(path).replace("'", "''")
    return f"'{escaped}'"
