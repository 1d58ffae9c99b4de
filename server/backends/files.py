"""Databases that are files: their URLs, the Parquet files of each table, and which state of them there is.

URLs are `duckdb:///shop.duckdb`, `parquet:///lake` and `spark+local:///lake`. A policy may say by a pattern which
files inside the folder a table is made of. Loads nothing of DuckDB, and nothing of Spark.
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
"""How URLs of files begin; what follows is a path, which starts at the policy's folder unless it begins with /."""


def path_of(url: str) -> Path:
    """What a URL of files names. Raises: ConfigurationInvalid where nothing of the kind is."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    path = Path(url.removeprefix(kind))
    if kind == _DUCKDB and not path.is_file():
        if path.is_dir():
            raise ConfigurationInvalid(
                f"{path} is a folder, not a DuckDB file", hint=f"parquet:///{path} names folders"
            )
        raise ConfigurationInvalid(f"there is no file {path}", hint=_where(kind, "shop.duckdb", path))
    if kind in (_PARQUET, _SPARK) and not path.is_dir():
        if path.is_file():
            hint = f"{kind}{path.parent} names the folder that it lies in, with a file or a folder for each table"
            raise ConfigurationInvalid(f"{path} is a file, not a folder", hint=hint)
        hint = f"{_where(kind, 'lake', path)}; it has a file or a folder for each table"
        raise ConfigurationInvalid(f"there is no folder {path}", hint=hint)
    return path


def _where(kind: str, name: str, path: Path) -> str:
    """How paths are read, and the path that is there and may be meant; `path` is the absolute one that was looked
    for.
    """
    meant = [Path("/", *path.parts[first:]) for first in range(2, len(path.parts))]
    there = next((one for one in meant if (one.is_file() if kind == _DUCKDB else one.is_dir())), None)
    read = f"{kind}{name} starts at the policy's folder, {kind}/data/{name} at /"
    return read if there is None else f"{read}: is it {kind}{there}?"


def is_folder(url: str) -> bool:
    """Does a URL name a folder of Parquet files?"""
    return url.startswith((_PARQUET, _SPARK, CONNECT))


def is_spark(url: str) -> bool:
    """Is what a URL names read by Spark?"""
    return url.startswith((_SPARK, CONNECT))


CONNECT = "sc://"
"""How URLs of Spark Connect begin; they may hold a secret, so that they stand in env:NAME or file:PATH."""

_FOLDER = ";folder="


def connect_and_folder(url: str) -> tuple[str, Path]:
    """The server of a URL of Spark Connect, and the folder of Parquet files that it reads, which is its last
    parameter.

    Raises: ConfigurationInvalid for one without a folder: tables of a catalog have no state that could be told
      from
      another, so that a key that was counted might not be one any more.

    >>> connect_and_folder("sc://spark:15002/;use_ssl=true;folder=/")
    ('sc://spark:15002/;use_ssl=true', PosixPath('/'))
    """
    server, named, folder = url.partition(_FOLDER)
    path = Path(folder)
    if not named or not path.is_absolute() or not path.is_dir():
        hint = "sc://host:15002/;folder=/mnt/lake names a folder that Spark and the proxy see under one path"
        raise ConfigurationInvalid("the URL of Spark Connect names no folder of Parquet files", hint=hint)
    return server, path


def at_folder(url: str, base: Path) -> str:
    """A URL of files whose path starts at `base`."""
    kind = next(kind for kind in FILE_URLS if url.startswith(kind))
    return f"{kind}{(base / url.removeprefix(kind)).resolve()}"


@dataclass(frozen=True)
class TableFiles:
    """The files of one table.

    Attributes:
      files: sorted by path; never none.
      columns: those whose values stand in the names of folders: `year` of `year=2024/0.parquet`, in their order.
    """

    files: Sequence[Path]
    columns: tuple[str, ...] = ()


def is_hidden(name: str) -> bool:
    """Is a file or folder of this name left out, as Spark leaves it out?

    >>> is_hidden("_delta_log"), is_hidden(".part.parquet"), is_hidden("_year=2024"), is_hidden("visit.parquet")
    (True, True, False, False)
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def named_files(folder: Path, table: str, pattern: str) -> TableFiles:
    """The files of a folder that a table's pattern matches.

    Args:
      folder: resolved.
      pattern: relative, as `planner.policy.toml_section.read_pattern` lets it through.
    Raises: BackendUnavailable where there is none, where one is reached by a link to outside of the folder or is no
      file, and where folders hold columns that the pattern does not name.
    Cost: lists the folders that the pattern reaches.
    """
    matched = sorted(folder.glob(pattern))
    files = [file for file in matched if not any(map(is_hidden, file.relative_to(folder).parts))]
    if not files:
        hint = f"tables.{table}.parquet is {pattern}, from the folder of database.url on"
        raise BackendUnavailable(f"no file of {table} is there", hint=hint)
    columns = _columns(PurePath(pattern))
    if columns and "=" in str(folder):
        hint = "rename it: the parts of a path that have one are read as columns"
        raise BackendUnavailable("the folder of Parquet files has a = in its path", hint=hint)
    for file in files:
        _check(file, folder, table, columns)
    return TableFiles(files, columns)


def refuse_shared(tables: Mapping[str, TableFiles]) -> None:
    """Refuse a file whose rows would count twice, in two tables or by a link in one. Raises: BackendUnavailable."""
    owners: dict[tuple[int, int], str] = {}
    for name, table in tables.items():
        for file in table.files:
            state = file.stat()
            same = state.st_dev, state.st_ino
            if same in owners:
                of = f"{owners[same]} and of {name}" if owners[same] != name else f"{name} under two paths"
                raise BackendUnavailable(f"{file.name} is a file of {of}", hint="name patterns that share no file")
            owners[same] = name


def _check(file: Path, folder: Path, table: str, columns: tuple[str, ...]) -> None:
    if not file.resolve().is_relative_to(folder):
        hint = "no table leaves the folder of database.url"
        raise BackendUnavailable(f"{file.name} of {table} is a link to outside of the folder", hint=hint)
    if not file.is_file():
        hint = f"where it is a folder of files, write {file.name}/*.parquet in the pattern"
        raise BackendUnavailable(f"{file.name} of {table} is no file", hint=hint)
    if (found := _columns(file.relative_to(folder))) != columns:
        hint = f"the pattern names each folder of a column, as in {'/'.join(f'{name}=*' for name in found)}/*.parquet"
        raise BackendUnavailable(f"{file.name} of {table} lies in folders of other columns than it should", hint=hint)


def _columns(path: PurePath) -> tuple[str, ...]:
    """The columns whose values the names of a path's folders are: Hive's way to partition a table."""
    return tuple(part.partition("=")[0] for part in path.parts[:-1] if "=" in part)


_SUFFIX = ".parquet"
TablePatterns = tuple[tuple[str, str], ...]
"""Tables whose files a policy names, each with their glob (`planner.policy.policy.Policy.table_files`)."""


@dataclass(frozen=True)
class ParquetFiles:
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

    def version(self) -> str:
        """Which state of the files this is: whose they are, names, sizes, times. Raises: BackendUnavailable."""
        return files_version({name: found.files for name, found in self.tables().items()})

    def changed_part(self) -> str:
        """What has most likely changed: the table whose files were written last. Files may be called after people."""
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
        """The files of each table. Raises: BackendUnavailable for what cannot be read, or not by its name."""
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


def _files_below(entry: Path) -> Sequence[Path]:
    """The Parquet files that are, or are in, what a folder holds."""
    if is_hidden(entry.name):
        return ()
    if not entry.is_dir():
        return (entry,) if entry.suffix == _SUFFIX else ()
    files = sorted(entry.rglob(f"*{_SUFFIX}"))
    return [file for file in files if not any(map(is_hidden, file.relative_to(entry).parts))]


class Files(Protocol):
    """A file, or a folder of them."""

    def version(self) -> str:
        """Which state they are in. Raises: BackendUnavailable."""

    def changed_part(self) -> str:
        """What has changed, in a word for clients: a file, or a table of files."""


def have_changed(files: Files, version: str | None) -> bool:
    """Are they in another state than this one? None: any is as good. Raises: BackendUnavailable."""
    return version is not None and files.version() != version


@contextmanager
def unchanged(files: Files, version: str | None) -> Iterator[None]:
    """Let nothing be read, or answered, from rows that nobody has counted. Raises: FilesChanged, BackendFailed."""
    if have_changed(files, version):
        hint = (
            "Tell the custodian: `noisegate data bump`, so that answers to the old rows are kept no longer, and then "
            "SIGHUP (kill -HUP) to the proxy, which reads the new files and counts their keys; then ask again."
        )
        raise FilesChanged(
            f"The files of the database have changed since they were checked ({files.changed_part()}), so nothing is"
            " answered; nothing was charged.",
            hint=hint,
        )
    yield
    try:
        changed = have_changed(files, version)
    except BackendUnavailable:  # a file is gone: the error would say that nothing was read, and nothing be charged
        changed = True
    if changed:
        raise BackendFailed("the files of the database changed while they were read")


def files_version(tables: Mapping[str, Sequence[Path]]) -> str:
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


def fold(name: str) -> str:
    """ASCII letters in lower case, as DuckDB compares names."""
    return "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in name)
