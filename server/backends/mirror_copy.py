"""Copy tables and contributions from one snapshot of PostgreSQL into a new DuckDB file, in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
from duckdb import DuckDBPyConnection
from psycopg import sql
from pyarrow import csv

from planner.kept_contributions import KeptContributions
from planner.rewriting.dialects.mirror import mirror_type, mirrored
from planner.schema import Column, Table
from planner.sql.sql_types import Family, sql_type
from server.backends.backend import quoted
from server.backends.duckdb_catalog import CATALOG
from server.backends.mirror import contributions_place
from server.errors import BackendFailed

_BATCH_BYTES = 16 << 20

Watch = Callable[[str, int], None]
"""Receives, after each batch, the table and the number of copied rows; may raise to stop."""


def copy_tables(
    source: psycopg.Connection[Any], tables: Sequence[Table], target: DuckDBPyConnection, watch: Watch
) -> dict[str, int]:
    """Copy the mirrored columns from one snapshot, and return the row count of each table.

    Raises: BackendFailed without the databases' own words, which may hold values.
    Cost: one pass over each table; two batches of text in memory.
    """
    try:
        for namespace in sorted({table.namespace for table in tables}):
            target.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quoted(namespace)}")
        return {table.name: _copied(source, mirrored(table), target, watch) for table in tables}
    except (duckdb.Error, psycopg.Error, pa.ArrowException) as error:
        raise _not_copied(error) from None


def copy_contributions(
    source: psycopg.Connection[Any], kept: Sequence[KeptContributions], target: DuckDBPyConnection, watch: Watch
) -> None:
    """Copy what each person adds to the counts and sums over tables, without the people's keys.

    Raises, cost: as `copy_tables`, with the aggregation of each table by person.
    """
    try:
        for place, one in enumerate(kept):
            columns = tuple(Column(f"w{sum_}", "bigint", False) for sum_ in range(len(one.alone)))
            rows = sql.SQL("({}) AS q WHERE o0 IS NOT NULL").format(sql.SQL(one.statement))
            report = partial(watch, f"contributions of {one.table}")
            _copied_rows(source, rows, columns, contributions_place(place), target, report)
    except (duckdb.Error, psycopg.Error, pa.ArrowException) as error:
        raise _not_copied(error) from None


def _not_copied(error: Exception) -> BackendFailed:
    return BackendFailed("the tables could not be copied", hint=f"the error was {type(error).__name__}")


def _copied(source: psycopg.Connection[Any], table: Table, target: DuckDBPyConnection, watch: Watch) -> int:
    place = f"{CATALOG}.{quoted(table.namespace)}.{quoted(table.relation)}"
    rows = sql.Identifier(table.namespace, table.relation)
    return _copied_rows(source, rows, table.columns, place, target, partial(watch, table.name))


def _copied_rows(
    source: psycopg.Connection[Any],
    rows: sql.Composable,
    columns: Sequence[Column],
    place: str,
    target: DuckDBPyConnection,
    watch: Callable[[int], None],
) -> int:
    types = ", ".join(f"{quoted(column.name)} {mirror_type(column.type)}" for column in columns)
    target.execute(f"CREATE TABLE {place} ({types})")
    values = ", ".join(_read(f"c{index}", column) for index, column in enumerate(columns))

    def insert(text: bytes) -> int:
        batch: pa.Table = _parsed(text, columns)
        target.register("batch", batch)
        target.execute(f"INSERT INTO {place} SELECT {values} FROM batch")
        target.unregister("batch")
        return int(batch.num_rows)

    copied, waiting = 0, None
    with ThreadPoolExecutor(1) as writer:  # writes one batch while the next one is read
        target.execute("BEGIN")
        for text in _batches(source, rows, columns):
            copied += _done(waiting)
            watch(copied)
            waiting = writer.submit(insert, text)
        copied += _done(waiting)
        target.execute("COMMIT")
    watch(copied)
    return copied


def _done(waiting: Future[int] | None) -> int:
    return 0 if waiting is None else waiting.result()


def _batches(source: psycopg.Connection[Any], rows: sql.Composable, columns: Sequence[Column]) -> Iterator[bytes]:
    names = sql.SQL(", ").join(sql.Identifier(column.name) for column in columns)
    statement = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv)").format(names, rows)
    lines, size = [], 0
    with source.cursor() as cursor, cursor.copy(statement) as copy:
        for line in copy:
            lines.append(line)
            size += len(line)
            if size >= _BATCH_BYTES:
                yield b"".join(lines)
                lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _parsed(text: bytes, columns: Sequence[Column]) -> pa.Table:
    names = [f"c{index}" for index in range(len(columns))]
    kinds = {
        name: pa.int64() if _is_whole(column) else pa.string() for name, column in zip(names, columns, strict=True)
    }
    return csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )


def _is_whole(column: Column) -> bool:
    return sql_type(column.type).family is Family.INTEGER


def _read(name: str, column: Column) -> str:
    """SQL that converts PostgreSQL's text to DuckDB's value; NULL if there is none, such as NaN in a decimal."""
    kind = sql_type(column.type)
    if kind.family is Family.TEXT or kind.family is Family.INTEGER:
        return name
    if kind.family is Family.CHAR:
        return f"rtrim({name}, ' ')"
    if kind.is_moment:  # DuckDB says `0044-03-15 (BC) 12:00:00`
        era = f"trim(regexp_replace({name}, '^(\\S+) ?(.*) BC$', '\\1 (BC) \\2'))"
        name = f"CASE WHEN suffix({name}, ' BC') THEN {era} ELSE {name} END"
    return f"TRY_CAST({name} AS {mirror_type(column.type)})"
