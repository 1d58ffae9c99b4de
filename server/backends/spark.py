"""Spark over a folder of Parquet files: a session for each question, and its columns from Arrow.

Whole numbers come without an object per value, texts with one per distinct value. A text may hold bytes that are no
UTF-8, and Spark takes two texts for one where all bytes are equal. So does the proxy: were such bytes written as
letters, texts that Spark counts apart would be one key here, and a unit with many spellings of it would be truncated
in each of them. Of files a session shows none (`FileTable.values_sql`).
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
    opened_session,
    read_file_tables,
)
from server.errors import BackendUnavailable


def arrow_columns(tables: Sequence[pa.Table], width: int) -> list[Column]:
    """The columns of a result that came in parts.

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
        return Integers(np.asarray(known.to_numpy(), np.int64), missing)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _texts(values)
    return tuple(values.to_pylist())


def _texts(values: pa.ChunkedArray) -> tuple[object, ...]:
    """Different bytes are different texts, also where they are no UTF-8: an error would tell of the row with them."""
    coded = compute.dictionary_encode(values.combine_chunks())
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    words = np.empty(len(coded.dictionary) + 1, object)
    words[: len(coded.dictionary)] = [_text(word) for word in coded.dictionary]
    words[-1] = None
    places = compute.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return tuple(words[places].tolist())


def _text(word: Any) -> str:
    """A byte that is no UTF-8 is half of a surrogate pair, which no UTF-8 has: no text is written so otherwise."""
    data: bytes = word.as_buffer().to_pybytes()
    return data.decode(errors="surrogateescape")


def shown_text(value: object) -> object:
    r"""A text that a client can be sent, its bytes that are no UTF-8 as \xff; anything else as it is.

    >>> shown_text("a\udcff"), shown_text(7)
    ('a\\xff', 7)
    """
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True)
class SparkBackend(SnapshotBackend[SparkSession]):
    """Reads join tuples from files by Spark, in one state of the files.

    Spark has no snapshot of files. Which files a table has is known from the start, and their sizes and times are
    compared before and after everything that is read.

    Attributes:
      address: of Spark Connect, with its token; it sees the same files under the same paths.
      folder: never written.
      tables: of the folder, in the state that was checked.
    """

    dialect: ClassVar[Dialect] = "spark"
    unanswering: ClassVar = ("Spark does not answer", "does it run, and has it memory? its own log says more")

    address: str = field(repr=False)
    folder: ParquetFiles
    tables: tuple[FileTable, ...]
    version: str
    limits: Limits = Limits()

    @classmethod
    def of_folder(cls, address: str, folder: ParquetFiles, limits: Limits = Limits()) -> SparkBackend:
        """What answers from the files as they are now and from no other state.

        Raises: BackendUnavailable; ConfigurationInvalid.
        Cost: reads the head of every file.
        """
        version = folder.version()
        with opened_session(address, None) as session:
            tables = read_file_tables(folder, session.columns_of)
        made = cls(address, folder, tables, version, limits)
        if made.changed():
            raise BackendUnavailable("the files of the database change while they are checked", hint="try again")
        return made

    def schema(self) -> Schema:
        """The catalog, which is of these files."""
        return file_schema(self.tables, self.version)

    def changed(self) -> bool:
        """Are the files in another state than the one that was checked? Raises: BackendUnavailable."""
        return have_changed(self.folder, self.version)

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """Nothing surrounds answers here. Raises: UnsupportedSQL."""
        raise UnsupportedSQL("nothing may surround the answers on Spark")

    @contextmanager
    def _snapshot(self, fingerprint: str, *, free: bool = False) -> Iterator[SparkSession]:
        """A session in which the files are those that the query was planned for."""
        with unchanged(self.folder, self.version):
            check_planned(self.schema().fingerprint, fingerprint)
            limit_ms = self.limits.public_ms if free else self.limits.statement_ms
            with opened_session(self.address, limit_ms) as session:
                session.with_files(self.tables)
                yield session

    def _room(self) -> Room:
        return Room.of_process(self.limits.rows)

    def _groups(self, session: SparkSession, statement: str) -> list[tuple[object, ...]]:
        return list(self._rows(session, statement, self.limits.rows))

    @contextmanager
    def _streamed(self, session: SparkSession, sql: str) -> Iterator[Iterator[tuple[object, ...]]]:
        yield self._rows(session, sql, MAX_PUBLIC_ROWS)

    def _columns(self, session: SparkSession, room: Room, statement: str, width: int) -> list[Column]:
        """A statement's columns; what is over the limit of rows, or of memory, is not waited for."""
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
        """Public rows, which are shown: what is no UTF-8 in a text is written out."""
        rows = 0
        for table in session.tables(statement):
            columns = (map(shown_text, column) for column in arrow_columns([table], table.num_columns))
            yield from zip(*columns, strict=True)
            rows += table.num_rows
            if rows > most:
                session.interrupt()
                return
