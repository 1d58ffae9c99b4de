"""A folder of Parquet files: the files of each table, and which state of them there is."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.errors import FilesChanged
from server.backends.parquet.table_files import TableFiles, is_hidden, named_files, refuse_shared
from server.errors import BackendUnavailable

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

    def newest(self) -> str:
        """The table whose files were written last: which has most likely changed, in a word for clients.

        Files themselves may be called after people.
        Raises: BackendUnavailable.
        """
        written = {
            name: max(max(state.st_mtime_ns, state.st_ctime_ns) for _, state in _states(found.files))
            for name, found in self.tables().items()
            if found.files
        }
        return max(written, key=written.__getitem__, default="")

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


def files_changed(what: str) -> FilesChanged:
    """Nothing is answered from rows that nobody has counted; says what a custodian does.

    Args:
      what: has changed: a file, or a table of files.
    """
    hint = (
        "Tell the custodian: `noisegate data bump`, so that answers to the old rows are kept no longer, and then "
        "SIGHUP (kill -HUP) to the proxy, which reads the new files and counts their keys; then ask again."
    )
    message = (
        f"The files of the database have changed since they were checked ({what}), so nothing is answered; nothing "
        "was charged."
    )
    return FilesChanged(message, hint=hint)


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
