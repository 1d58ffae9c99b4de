"""TPC-H as folders of Parquet, in chunks: as large as the disk allows, read by DuckDB or by a local Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from planner.policy.policy import DeclaredForeignKey, Policy
from planner.schema import Schema
from server.backends.backend import Limits
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.files import ParquetFiles
from server.backends.spark import SparkBackend
from server.backends.spark_custody import SparkMemory, local_spark, stop_local_sparks
from server.backends.spark_session import opened_session
from tests.benchmarks.engines.databases import FOLDER, Engine
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

MEMORY_MB = 6_144
"""What an engine may take of 8 GB; the rest is for the proxy and its worker."""

_THREADS = 2
_LONGEST_MS = 3_600_000
_OF_A_GRAPH = "knows"


def folder_of(scale: float) -> Path:
    """The tables, one folder of files each, written once: some 0.37 GB a scale. NOISEGATE_TPCH is another place."""
    folder = Path(os.environ.get("NOISEGATE_TPCH", FOLDER)).resolve() / f"tpch-{scale:g}"
    if not (folder / "written").exists():
        folder.mkdir(parents=True, exist_ok=True)
        tool = Path(sys.executable).parent / "tpchgen-cli"
        parts = str(max(1, round(scale)))
        options = ["-s", str(scale), "--parts", parts, "--num-threads", "1", "--overwrite", f"--output-dir={folder}"]
        subprocess.run([str(tool), "parquet", *options], check=True, stdout=subprocess.DEVNULL)
        (folder / "written").touch()
    return folder


def policy_of_files() -> Policy:
    """The demonstration's policy without its graph, with TPC-H's keys declared, as files have none."""
    policy, known = demo_policy(), tpch_schema()
    settled = {(key.table, key.columns) for key in policy.foreign_keys}
    references = [
        DeclaredForeignKey(name, key.columns, key.references, key.key)
        for name, table in known.tables.items()
        for key in table.foreign_keys
        if name != _OF_A_GRAPH and (name, key.columns) not in settled
    ]
    tables = {
        name: replace(table, keys=known.tables[name].unique_keys)
        for name, table in policy.tables.items()
        if name != _OF_A_GRAPH
    }
    return replace(policy, foreign_keys=(*policy.foreign_keys, *references), tables=tables)


def tables_of(folder: Path) -> list[str]:
    """The names of a folder's tables."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("_"))


@contextmanager
def by_duckdb(scale: float) -> Iterator[Engine]:
    """The folder, read by DuckDB."""
    folder = folder_of(scale)
    with duckdb.connect(config={"threads": _THREADS, "memory_limit": f"{MEMORY_MB}MB"}) as connection:
        connection.execute(f"SET temp_directory = '{folder}/_spill'; SET max_temp_directory_size = '8GB'")
        for name in tables_of(folder):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder}/{name}/*.parquet')")
        limits = DuckdbLimits(statement_ms=_LONGEST_MS, memory_mb=MEMORY_MB, threads=_THREADS)
        backend = DuckdbBackend(folder, limits=limits).at_this_version()
        yield Engine("Parquet", backend, lambda sql: connection.execute(sql).fetchall(), policy_of_files())


@contextmanager
def by_spark(scale: float) -> Iterator[Engine]:
    """The folder, read by a Spark of this process, which is started for it."""
    address = local_spark(SparkMemory(MEMORY_MB, _THREADS))
    try:
        limits = Limits(statement_ms=_LONGEST_MS)
        backend = SparkBackend.of_folder(address, ParquetFiles(folder_of(scale)), limits)
        with opened_session(address, None) as session:
            session.with_files(backend.tables)
            yield Engine("Spark", backend, lambda sql: list(session.tables(sql)), policy_of_files())
    finally:
        stop_local_sparks()


def schema_of_files(engine: Engine) -> Schema:
    """The catalog of the files."""
    assert isinstance(engine.backend, DuckdbBackend | SparkBackend)
    return engine.backend.schema()
