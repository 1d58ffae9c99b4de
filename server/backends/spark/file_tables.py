"""The tables of a folder of Parquet files as Spark reads them: the files of each, and the types of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
from pyarrow import ArrowException

from planner.schema import PUBLIC, Column, Schema, Table, table_name
from server.backends.parquet.folder import ParquetFiles, fold
from server.errors import BackendFailed, ConfigurationInvalid

NAMESPACE = "main"
"""As of the tables of a folder on DuckDB; Spark knows them without it."""

_TYPES = {
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp_ntz": "timestamp without time zone",
    "timestamp": "timestamp with time zone",
}
"""In PostgreSQL's words, which the planner speaks; others stay as they are, and nothing is asked of them."""

_GLOBS = re.compile(r"[{}\\,]")


@dataclass(frozen=True)
class FileTable:
    """A table of files.

    Attributes:
      name: of the table.
      files: absolute paths.
      columns: names in lower case, and Spark's types.
    """

    name: str
    files: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def columns_sql(self) -> str:
        """The columns as Spark is told them.

        >>> FileTable("visit", (), (("id", "bigint"),)).columns_sql
        '`id` bigint'
        """
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in self.columns)


def read_file_tables(
    folder: ParquetFiles, columns_of: Callable[[str], tuple[tuple[str, str], ...]]
) -> tuple[FileTable, ...]:
    """The tables of a folder.

    Args:
      folder: of files.
      columns_of: Spark's names and types of the columns of one file.
    Raises: BackendUnavailable; ConfigurationInvalid for files of one table that differ in their columns, and for
      what Spark would read otherwise.
    Cost: reads the head of every file.
    """
    found = []
    for name, table in folder.tables().items():
        if table.columns:
            hint = "name files that lie in no such folder, or use parquet:///"
            raise ConfigurationInvalid(
                f"{name}: columns in the names of folders are not supported on Spark", hint=hint
            )
        for file in table.files:
            if _GLOBS.search(str(file)):
                hint = "rename it"
                raise ConfigurationInvalid(f"{file.name}: a path with a brace, comma or backslash", hint=hint)
        _check_alike(name, table.files)
        try:
            columns = columns_of(str(table.files[0]))
        except BackendFailed as error:
            hint = "of these are uuid, time and timestamps of nanoseconds; or use parquet:///"
            raise ConfigurationInvalid(
                f"{name} has a column of a type that Spark does not read", hint=hint
            ) from error
        names = [column.lower() for column, _ in columns]
        if len(set(names)) < len(names):
            raise ConfigurationInvalid(f"{name} has two columns whose names differ in the case of letters alone")
        folded = tuple((fold(column), kind) for column, kind in columns)
        found.append(FileTable(name, tuple(map(str, table.files)), folded))
    return tuple(found)


def file_schema(tables: Sequence[FileTable], version: str) -> Schema:
    """Their structure: no constraint holds, any value may be NULL."""
    named: Mapping[str, FileTable] = {table_name(PUBLIC, table.name): table for table in tables}
    return Schema(
        {
            name: Table(name, NAMESPACE, tuple(_column(*column) for column in table.columns), (), ())
            for name, table in named.items()
        },
        version=version,
    )


def _column(name: str, kind: str) -> Column:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
    if decimal is not None:
        return Column(name, f"numeric({decimal[1]},{decimal[2]})", True)
    return Column(name, _TYPES.get(kind, f"spark {kind}"), True)


def _check_alike(name: str, files: Sequence[Path]) -> None:
    """Refuse what a value of one row could make a question fail by: files that differ in their columns, and moments
    of other units than microseconds, which Spark multiplies into them, failing where they leave their 64 bits."""
    known = None
    for file in files:
        try:
            opened = pyarrow.parquet.ParquetFile(file)
            found, types = opened.schema, opened.schema_arrow.types
        except (ArrowException, OSError) as error:
            raise ConfigurationInvalid(f"{file.name} of {name} is no Parquet file") from error
        if known is not None and not found.equals(known):
            hint = "write all files of a table with the same columns, in one order and of the same types"
            raise ConfigurationInvalid(f"{file.name} of {name} has other columns than {files[0].name}", hint=hint)
        known = found
        if any(pyarrow.types.is_timestamp(kind) and kind.unit != "us" for kind in types):
            hint = "write timestamps of microseconds, or use parquet:///"
            raise ConfigurationInvalid(f"{name} has timestamps in other units than microseconds", hint=hint)
