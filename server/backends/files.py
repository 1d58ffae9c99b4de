"""Databases that are files: their URLs, the Parquet files of each table, and the version of the files.

URLs are `duckdb:///shop.duckdb`, `parquet:///lake` and `spark+local:///lake`. A policy may name a table's files by a
pattern. Imports neither DuckDB nor Spark.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Protocol

from planner.errors import FilesChanged
from server.errors import BackendFailed, BackendUnavailable, ConfigurationInvalid

_DUCKDB, _PARQUET, _SPARK = "duckdb:///", "parquet:///", "spark+local:///"
FILE_URLS = (_DUCKDB, _PARQUET, _SPARK)
"""The beginnings of file URLs. The path after them is relative to the policy's folder unless it begins with /."""


def path_of(url: str) -> Path:
    """The path of a file URL. Raises: ConfigurationInvalid if it is missing or of the wrong kind."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    path = Path(url.removeprefix(kind))
    if kind == _DUCKDB and not path.is_file():
        if path.is_dir():
            raise ConfigurationInvalid(
                f"{path} is a folder, not a DuckDB file", hint=f"use parquet:///{path} for a folder"
            )
        raise ConfigurationInvalid(f"there is no file {path}", hint=_where(kind, "shop.duckdb", path))
    if kind in (_PARQUET, _SPARK) and not path.is_dir():
        if path.is_file():
            hint = f"{kind}{path.parent} names its folder, with a file or a folder for each table"
            raise ConfigurationInvalid(f"{path} is a file, not a folder", hint=hint)
        hint = f"the folder has a file or a folder for each table; {_where(kind, 'lake', path)}"
        raise ConfigurationInvalid(f"there is no folder {path}", hint=hint)
    return path


def _where(kind: str, name: str, path: Path) -> str:
    """How paths are read, with a suggestion if a similar path exists. `path` is the absolute path that is missing."""
    meant = [Path("/", *path.parts[first:]) for first in range(2, len(path.parts))]
    there = next((one for one in meant if (one.is_file() if kind == _DUCKDB else one.is_dir())), None)
    read = f"{kind}{name} is relative to the policy's folder, {kind}/data/{name} is absolute"
    return read if there is None else f"{read}; did you mean {kind}{there}?"


def is_folder(url: str) -> bool:
    """Whether a URL names a folder of Parquet files."""
    return url.startswith((_PARQUET, _SPARK, CONNECT))


def is_spark(url: str) -> bool:
    """Whether Spark reads the URL's files."""
    return url.startswith((_SPARK, CONNECT))


CONNECT = "sc://"
"""The beginning of Spark Connect URLs. They may hold a secret, so they are given by env:NAME or file:PATH."""

_FOLDER = ";folder="


def connect_and_folder(url: str) -> tuple[str, Path]:
    """Split a Spark Connect URL into its server and its last parameter, the folder of Parquet files.

    Raises: ConfigurationInvalid for a URL without a folder. Catalog tables have no version, so a checked key might no
      longer hold.

    >>> connect_and_folder("sc://spark:15002/;use_ssl=true;folder=/")
    ('sc://spark:15002/;use_ssl=true', PosixPath('/'))
    """
    server, named, folder = url.partition(_FOLDER)
    path = Path(folder)
    if not named or not path.is_absolute() or not path.is_dir():
        hint = "add a folder with the same path for Spark and the proxy: sc://host:15002/;folder=/mnt/lake"
        raise ConfigurationInvalid("the URL of Spark Connect names no folder of Parquet files", hint=hint)
    return server, path


def at_folder(url: str, base: Path) -> str:
    """The same file URL with its path resolved from `base`."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    return f"{kind}{(base / url.removeprefix(kind)).resolve()}"


@dataclass(frozen=True)
class TableFiles:
    """The files of one table.

    Attributes:
      files: sorted by path; not empty.
      columns: columns whose values are in folder names, in order: `year` of `year=2024/0.parquet`.
    """

    files: Sequence[Path]
    columns: tuple[str, ...] = ()


def is_hidden(name: str) -> bool:
    """Whether a file or folder is ignored, by the same rule as Spark's.

    >>> is_hidden("_delta_log"), is_hidden(".part.parquet"), is_hidden("_year=2024"), is_hidden("visit.parquet")
    (True, True, False, False)
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def named_files(folder: Path, table: str, pattern: str) -> TableFiles:
    """The files of a folder that match a table's pattern.

    Args:
      folder: resolved.
      pattern: a relative glob, as `planner.policy.toml_section.read_pattern` accepts it.
    Raises: BackendUnavailable if no file matches, or if a match is not a file, is outside of the folder, or has
      columns in folder names that the pattern lacks.
    Cost: lists the folders that the pattern reaches.
    """
    matched = sorted(folder.glob(pattern))
    files = [file for file in matched if not any(map(is_hidden, file.relative_to(folder).parts))]
    if not files:
        hint = f"tables.{table}.parquet is {pattern}, relative to the folder of database.url"
        raise BackendUnavailable(f"no file of {table} exists", hint=hint)
    columns = _columns(PurePath(pattern))
    if columns and "=" in str(folder):
        hint = "rename the folder, because = in a path marks a column"
        raise BackendUnavailable("the path of the Parquet folder contains =", hint=hint)
    for file in files:
        _check(file, folder, table, columns)
    return TableFiles(files, columns)


def refuse_shared(tables: Mapping[str, TableFiles]) -> None:
    """Refuse a file that belongs to two tables, or twice to one. Raises: BackendUnavailable."""
    owners: dict[tuple[int, int], str] = {}
    for name, table in tables.items():
        for file in table.files:
            state = file.stat()
            same = state.st_dev, state.st_ino
            if same in owners:
                of = f"{owners[same]} and of {name}" if owners[same] != name else f"{name} under two paths"
                raise BackendUnavailable(f"{file.name} is a file of {of}", hint="use patterns that share no file")
            owners[same] = name


def _check(file: Path, folder: Path, table: str, columns: tuple[str, ...]) -> None:
    if not file.resolve().is_relative_to(folder):
        hint = "keep all files of a table inside the folder of database.url"
        raise BackendUnavailable(f"{file.name} of {table} is a link to outside of the folder", hint=hint)
    if not file.is_file():
        hint = f"for a folder of files, write {file.name}/*.parquet in the pattern"
        raise BackendUnavailable(f"{file.name} of {table} is not a file", hint=hint)
    if (found := _columns(file.relative_to(folder))) != columns:
        hint = f"name each column's folder in the pattern, as in {'/'.join(f'{name}=*' for name in found)}/*.parquet"
        raise BackendUnavailable(
            f"{file.name} of {table} is in folders of other columns than the pattern names", hint=hint
        )


def _columns(path: PurePath) -> tuple[str, ...]:
    """The columns in a path's folder names (Hive partitioning)."""
    return tuple(part.partition("=")[0] for part in path.parts[:-1] if "=" in part)


_SUFFIX = ".parquet"
TablePatterns = tuple[tuple[str, str], ...]
"""Tables with the glob of their files (`planner.policy.policy.Policy.table_files`)."""


@dataclass(frozen=True)
class ParquetFiles:
    """A folder of Parquet files: `visit.parquet`, or all files of the folder `visit`, are the table visit.

    If the policy names a table's files, the table consists of those. They, and files with the table's name, form no
    other table. Files and folders whose names begin with `_` or `.` are ignored, as in Spark.

    Attributes:
      path: the folder; never written.
      patterns: of tables whose files the policy names.
    """

    path: Path
    patterns: TablePatterns = ()

    def version(self) -> str:
        """A fingerprint of all tables' files, by name, size and time of change; their contents are not read.

        Raises: BackendUnavailable.
        """
        return files_version({name: found.files for name, found in self.tables().items()})

    def changed_part(self) -> str:
        """The table whose files are newest. File names may hold personal data, so messages do not show them."""
        try:
            written = {
                name: max(max(state.st_mtime_ns, state.st_ctime_ns) for _, state in _states(found.files))
                for name, found in self.tables().items()
                if found.files
            }
        except BackendUnavailable:
            return "a file is gone"
        return f"the newest are those of {max(written, key=written.__getitem__, default='')}"

    def tables(self) -> dict[str, TableFiles]:
        """The files of each table. Raises: BackendUnavailable for files that cannot be read by their names."""
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
                    hint = "a file and a folder, or two spellings of a name, cannot share a table name"
                    raise BackendUnavailable(f"two tables of the folder have the name {name}", hint=hint)
                found[name] = TableFiles(files)
            for name, table in found.items():
                _check_names(table.files)
                if not _NAME.fullmatch(name):
                    hint = "in the policy, give this table a name in lower case, without a schema"
                    raise BackendUnavailable(f"{name} is not a valid name for a table of files", hint=hint)
        except OSError as error:
            raise BackendUnavailable(
                "the folder of Parquet files cannot be read", hint="check the path and its permissions"
            ) from error
        return found


_NAME = re.compile(r"[a-z_][a-z0-9_$ -]*")
_GLOBS = re.compile(r"[*?\[\]]")


def _check_names(files: Sequence[Path]) -> None:
    """Refuse names that DuckDB reads as patterns, and names that are not UTF-8. Raises: BackendUnavailable."""
    for file in files:
        try:
            str(file).encode()
        except UnicodeEncodeError as error:
            raise BackendUnavailable("a file of the folder has a name that is not UTF-8", hint="rename it") from error
        if _GLOBS.search(str(file)):
            raise BackendUnavailable(
                f"{file.name}: a path with *, ?, [ or ] would be read as a pattern", hint="rename it"
            )


def _files_below(entry: Path) -> Sequence[Path]:
    """The Parquet files of a folder entry: itself, or all files in it."""
    if is_hidden(entry.name):
        return ()
    if not entry.is_dir():
        return (entry,) if entry.suffix == _SUFFIX else ()
    files = sorted(entry.rglob(f"*{_SUFFIX}"))
    return [file for file in files if not any(map(is_hidden, file.relative_to(entry).parts))]


class Files(Protocol):
    """A data file, or a folder of them."""

    def version(self) -> str:
        """A fingerprint of the files' current state. Raises: BackendUnavailable."""

    def changed_part(self) -> str:
        """The changed part as messages name it: a file, or a table."""


def have_changed(files: Files, version: str | None) -> bool:
    """Whether the files differ from a version; None matches every version. Raises: BackendUnavailable."""
    return version is not None and files.version() != version


@contextmanager
def unchanged(files: Files, version: str | None) -> Iterator[None]:
    """Compare the version of the files before and after a block. Raises: FilesChanged, BackendFailed."""
    if have_changed(files, version):
        hint = "Ask the administrator to run `noisegate data bump` and to reload the proxy (SIGHUP), then ask again."
        part = files.changed_part()
        raise FilesChanged(
            f"The database files have changed since they were checked ({part}). Nothing was charged.", hint=hint
        )
    yield
    try:
        changed = have_changed(files, version)
    except BackendUnavailable:  # a missing file would report that nothing was read, and refund the charge
        changed = True
    if changed:
        raise BackendFailed("the files of the database changed while they were read")


def files_version(tables: Mapping[str, Sequence[Path]]) -> str:
    """A fingerprint of files, by table, path, size, times of change and inode. Their contents are not read.

    Returns: SHA-256 in hex.
    """
    digest = hashlib.sha256()
    for name, files in sorted(tables.items()):
        for file, state in _states(files):
            identity = state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino
            digest.update(name.encode() + b"\0" + os.fsencode(file) + f"\0{identity}\0".encode())
    return digest.hexdigest()


def _states(files: Sequence[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        for file in files:
            yield file, file.stat()
    except OSError as error:
        raise BackendUnavailable(
            "a file of the database is missing", hint="try again; nothing was charged"
        ) from error


def fold(name: str) -> str:
    """Convert ASCII letters to lower case, as DuckDB compares names."""
    return "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in name)
