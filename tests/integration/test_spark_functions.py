"""Every function of the table, value by value: Spark gives what PostgreSQL gives, or the dialect refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.spark import spark_sql
from planner.rewriting.rewrite import to_sql
from planner.schema import Column, Schema, Table
from server.backends.embedded import EmbeddedPostgres
from server.backends.spark import SparkBackend
from server.backends.spark_session import SparkSession, opened_session
from tests.integration import test_dialects as on_duckdb
from tests.support.function_examples import EXAMPLES
from tests.support.spark import address, folder_of, needs_spark, rows_of

pytestmark = needs_spark

# What Parquet and Spark can hold: no infinite date, and no year after 294246.
VALUES = {
    name: [value for value in values if value not in ("infinity", "-infinity")]
    for name, values in on_duckdb.VALUES.items()
}
TYPES = on_duckdb.TYPES
TABLE = Table("h", "main", (Column("k", "bigint", True), *(Column(n, t, True) for n, t in TYPES.items())), (), ())
SCHEMA = Schema({"h": TABLE})
ROWS = 150
BATCH = 40
"""Expressions in one statement, since Spark takes its time over each."""

_ARROW = {
    "bigint": pa.int64(), "integer": pa.int32(), "numeric(15,2)": pa.decimal128(15, 2),
    "numeric(30,12)": pa.decimal128(30, 12), "double precision": pa.float64(), "real": pa.float32(),
    "text": pa.string(), "varchar(10)": pa.string(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"), "boolean": pa.bool_(),
}  # fmt: skip


def _value(text: str | None, kind: str) -> Any:
    if text is None:
        return None
    if kind in ("bigint", "integer"):
        return int(text)
    if kind.startswith("numeric"):
        return Decimal(text).quantize(
            Decimal(1).scaleb(-int(kind[:-1].split(",")[1])), ROUND_HALF_UP, Context(prec=60)
        )
    if kind in ("double precision", "real"):
        return float(np.float32(text)) if kind == "real" else float(text)
    if kind == "date":
        return date.fromisoformat(text)
    if kind.startswith("timestamp"):
        moment = datetime.fromisoformat(text.replace("+14", "+14:00"))
        return moment.replace(tzinfo=moment.tzinfo or UTC) if kind == "timestamptz" else moment
    return text == "true" if kind == "boolean" else text


@pytest.fixture(scope="module")
def databases(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[psycopg.Connection[Any], SparkSession]]:
    """The same hostile rows in a temporary table and in a file."""
    folder: Path = tmp_path_factory.mktemp("hostile")
    texts = [
        [VALUES[name][row * (place + 1) % len(VALUES[name])] for place, name in enumerate(TYPES)]
        for row in range(ROWS)
    ]
    columns = {"k": pa.array(range(ROWS), pa.int64())} | {
        name: pa.array([_value(row[place], kind) for row in texts], _ARROW[kind])
        for place, (name, kind) in enumerate(TYPES.items())
    }
    pq.write_table(pa.table(columns), folder / "h.parquet")
    backend = SparkBackend.of_folder(address(), folder_of(folder))
    listed = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    with (
        psycopg.connect(embedded_postgres.url(), autocommit=True) as server,
        opened_session(address(), None) as spark,
    ):
        server.execute("SET TimeZone = 'UTC'")
        server.execute(f"CREATE TEMPORARY TABLE h (k bigint, {listed})".encode())
        holes = ", ".join(f"%s::text::{kind}" for kind in TYPES.values())
        for row, values in enumerate(texts):
            server.execute(f"INSERT INTO h VALUES ({row}, {holes})".encode(), values)
        spark.with_files(backend.tables)
        yield server, spark


def _written(form: exp.Expr) -> str | None:
    """The expression for Spark; None where it is refused."""
    try:
        statement = spark_sql(on_duckdb._select(form), SCHEMA)
    except UnsupportedSQL as refusal:
        assert "Spark" in str(refusal) or "DuckDB has no decimals" in str(refusal) or "cast" in str(refusal.hint), (
            refusal
        )
        return None
    return statement.removeprefix("SELECT ").removesuffix(" FROM `h` AS `h`")


def test_both_databases_agree(databases: tuple[psycopg.Connection[Any], SparkSession]) -> None:
    """In batches; one whose values differ is looked at one by one, so that the failure names the expression."""
    server, spark = databases
    forms: list[tuple[str, str]] = []
    refused: dict[str, int] = {}
    for example in EXAMPLES:
        for text in on_duckdb._filled(example):
            for form in on_duckdb._forms(text):
                written = _written(form)
                if written is None:
                    refused[example] = refused.get(example, 0) + 1
                else:
                    theirs = to_sql(form)
                    forms.append((written, theirs))
    forms = list(dict.fromkeys(forms))
    assert len(forms) > MOST_COMPARED
    wrong = []
    for start in range(0, len(forms), BATCH):
        batch = forms[start : start + BATCH]
        try:
            same = _columns_of_spark(spark, batch) == _columns_of_postgres(server, batch)
        except Exception:  # one of them: which, is found below
            same = False
        wrong += [] if same else [one for one in batch if not _agrees(server, spark, one)]
    assert not wrong, wrong[:5]


MOST_COMPARED = 300


def _agrees(server: psycopg.Connection[Any], spark: SparkSession, one: tuple[str, str]) -> bool:
    return _columns_of_spark(spark, [one]) == _columns_of_postgres(server, [one])


def _columns_of_spark(spark: SparkSession, batch: list[tuple[str, str]]) -> list[list[object]]:
    listed = ", ".join(f"{written} AS c{place}" for place, (written, _) in enumerate(batch))
    rows = sorted(rows_of(spark, f"SELECT `h`.`k`, {listed} FROM `h` AS `h`"))
    return [[on_duckdb._plain(_year(row[place + 1])) for row in rows] for place in range(len(batch))]


def _year(value: object) -> object:
    """A year before 1 as PostgreSQL writes it; no rule makes a text of one."""
    year = re.match(r"-(\d{4})(-\d\d-\d\d.*)", value) if isinstance(value, str) else None
    return value if year is None else f"{int(year[1]) + 1:04}{year[2]} BC"


def _columns_of_postgres(server: psycopg.Connection[Any], batch: list[tuple[str, str]]) -> list[list[object]]:
    listed = ", ".join(theirs for _, theirs in batch)
    rows = server.execute(f'SELECT {listed} FROM h AS "h" ORDER BY k'.encode()).fetchall()
    return [[on_duckdb._plain(row[place]) for row in rows] for place in range(len(batch))]
