"""Spark over a folder of Parquet files: one session per process, with columns from Arrow.

Whole numbers need no Python object per value, texts one per distinct value. Spark compares texts by their bytes,
which need not be UTF-8, and so must the proxy. If it replaced invalid bytes, texts that differ in Spark would be
equal here, and a unit's contributions to them would be truncated separately. Sessions show no such text
(`FileTable.values_sql`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pyarrow import compute

from planner.errors import UnsupportedSQL
from planner.limits import MAX_PUBLIC_ROWS
from planner.postprocessing.write_outer import OuterStatement
from planner.schema import Dialect, Schema
from server.backends.backend import Limits, SnapshotBackend, check_planned
from server.backends.columns import Column, Integers
from server.backends.files import ParquetFiles, have_changed, unchanged
from server.backends.public_rows import Computed
from server.backends.query_tuples import KEPT, Room, too_many
from server.backends.spark_session import (
    FileTable,
    SparkSession,
    file_schema,
    kept_session,
    opened_session,
    read_file_tables,
)
from server.errors import BackendUnavailable, WithoutValue


def arrow_columns(tables: Sequence[pa.Table], width: int) -> list[Column]:
    """The columns of a result that arrives in parts.

    Cost: linear; whole numbers are copied once.
    """
    if not tables:
        return [()] * width
    whole = pa.concat_tables(tables)
    return [_column(whole.column(place)) for place in range(whole.num_columns)]


def _column(values: pa.ChunkedArray) -> Column:
    if pa.types.is_integer(values.type):
        missing = np.asarray(compute.is_null(values).to_numpy(), np.bool_)
        known = compute.fill_null(values, 0) if values.null_count else values
        return Integers(np.require(known.to_numpy(), np.int64, "W"), missing)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _texts(values)
    return tuple(values.to_pylist())


def _texts(values: pa.ChunkedArray) -> tuple[object, ...]:
    """Decode texts so that different bytes stay different, even invalid UTF-8: an error would reveal the row."""
    coded = compute.dictionary_encode(values.combine_chunks())
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    words = np.empty(len(coded.dictionary) + 1, object)
    words[: len(coded.dictionary)] = [_text(word) for word in coded.dictionary]
    words[-1] = None
    places = compute.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return tuple(words[places].tolist())


def _text(word: Any) -> str:
    """Decode a text; a byte that is not UTF-8 becomes half of a surrogate pair, which valid UTF-8 never holds."""
    data: bytes = word.as_buffer().to_pybytes()
    return data.decode(errors="surrogateescape")


def shown_text(value: object) -> object:
    r"""Make a text safe to send: bytes that are not UTF-8 become \xff; other values stay.

    >>> shown_text("a\udcff"), shown_text(7)
    ('a\\xff', 7)
    """
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True)
class SparkBackend(SnapshotBackend[SparkSession]):
    """Reads join tuples from one state of the files by Spark.

    Spark has no snapshot of files. The list of files is fixed, and their sizes and times are compared before and
    after each read.

    Attributes:
      address: of Spark Connect, with its token; Spark sees the files under the same paths.
      folder: never written.
      tables: the folder's tables in the checked state.
    """

    dialect: ClassVar[Dialect] = "spark"
    unanswering: ClassVar = ("Spark does not answer", "check that Spark runs and has enough memory; see its log")
    valueless: ClassVar = (WithoutValue,)

    address: str = field(repr=False)
    folder: ParquetFiles
    tables: tuple[FileTable, ...]
    version: str
    limits: Limits = Limits()

    @classmethod
    def of_folder(cls, address: str, folder: ParquetFiles, limits: Limits = Limits()) -> SparkBackend:
        """A backend fixed to the current state of the files.

        Raises: BackendUnavailable; ConfigurationInvalid.
        Cost: reads the head of every file.
        """
        version = folder.version()
        with opened_session(address, None) as session:
            tables = read_file_tables(folder, session.columns_of)
        made = cls(address, folder, tables, version, limits)
        if made.changed():
            raise BackendUnavailable("the database files are changing during the check", hint="try again")
        return made

    def schema(self) -> Schema:
        """The catalog of these files."""
        return file_schema(self.tables, self.version)

    def changed(self) -> bool:
        """Whether the files changed since they were checked. Raises: BackendUnavailable."""
        return have_changed(self.folder, self.version)

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """Refuse SQL around answers. Raises: UnsupportedSQL."""
        raise UnsupportedSQL("Spark cannot evaluate SQL around noisy answers", hint="select the aggregates only")

    @contextmanager
    def _snapshot(self, fingerprint: str, *, free: bool = False) -> Iterator[SparkSession]:
        with unchanged(self.folder, self.version):
            check_planned(self.schema().fingerprint, fingerprint)
            limit_ms = self.limits.public_ms if free else self.limits.statement_ms
            with kept_session(self.address, self.tables, limit_ms) as session:
                yield session

    def _room(self) -> Room:
        return Room.of_process(self.limits.rows)

    def _groups(self, session: SparkSession, statement: str) -> list[tuple[object, ...]]:
        return list(self._rows(session, statement, self.limits.rows))

    @contextmanager
    def _streamed(self, session: SparkSession, sql: str) -> Iterator[Iterator[tuple[object, ...]]]:
        yield self._rows(session, sql, MAX_PUBLIC_ROWS)

    def _columns(self, session: SparkSession, room: Room, statement: str, width: int) -> list[Column]:
        """A statement's columns; stops the statement beyond the limit of rows or memory."""
        tables, rows, most = [], 0, room.most(KEPT * width)
        for table in session.tables(statement):
            tables.append(table)
            rows += table.num_rows
            if rows > most:
                session.interrupt()
                raise too_many()
        room.take(rows, KEPT * width)
        return arrow_columns(tables, width)

    def _rows(self, session: SparkSession, statement: str, most: int) -> Iterator[tuple[object, ...]]:
        """Public rows to show, with invalid UTF-8 escaped."""
        rows = 0
        for table in session.tables(statement):
            columns = (map(shown_text, column) for column in arrow_columns([table], table.num_columns))
            yield from zip(*columns, strict=True)
            rows += table.num_rows
            if rows > most:
                session.interrupt()
                return
