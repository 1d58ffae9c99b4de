"""The Parquet files that a policy says a table is made of: those which its pattern matches, inside one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from server.errors import BackendUnavailable


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
      pattern: relative, as `planner.policy.table_settings.read_pattern` lets it through.
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
