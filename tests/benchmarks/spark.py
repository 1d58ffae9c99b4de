"""TPC-H at scale 10 as Parquet, read by a local Spark with 8 GB: seconds and memory of two questions by nation.

SCALE=1 is another scale, whose figures are kept beside the recorded ones. Needs `make spark`. Without it there are
no rows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from planner.plan import BackendQuery
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.backend import Limits
from server.backends.files import ParquetFiles
from server.backends.query_tuples import QueryTuples
from server.backends.spark import SparkBackend
from server.backends.spark_custody import SparkMemory, local_spark, stop_local_sparks
from tests.benchmarks.rows import Row
from tests.support.planning import planned
from tests.support.spark import why_no_spark
from tests.support.tpch_schema import tpch_schema

_SCALE, _QUICK_SCALE = 10.0, 0.05
_MEMORY_MB = 8_192
_LIMIT_MS = 3_600_000

REVENUE = (
    "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem "
    "JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey "
    "JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
)
Q5 = (
    "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer "
    "JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey "
    "JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey "
    "JOIN nation ON s_nationkey = n_nationkey GROUP BY n_name"
)
CASES = (("revenue by nation", REVENUE, None), ("Q5 by nation, q = 1/16", Q5, 1 / 16))


def run(quick: bool) -> list[Row]:
    """Each question twice: the first time Java is cold."""
    missing = why_no_spark()
    if missing is not None:
        print(f"not measured: {missing}")
        return []
    scale = float(os.environ.get("SCALE", _QUICK_SCALE if quick else _SCALE))
    address = local_spark(SparkMemory(_MEMORY_MB))
    rows = []
    try:
        backend = SparkBackend.of_folder(
            address, ParquetFiles(_files(scale)), Limits(statement_ms=_LIMIT_MS, rows=1 << 27)
        )
        schema = _schema(backend)
        for name, sql, rate in CASES:
            query = rewrite(planned(sql, schema, sampling_rate=rate), dialect="spark", schema=schema)
            query = replace(query, fingerprint=backend.schema().fingerprint)
            case = f"{name}, scale {scale:g}"
            for turn in ("first", "again"):
                seconds, read = _timed(backend, query)
                rows.append(Row(case, f"read, {turn}", seconds, "s"))
            rows.append(Row(case, "rows that leave Spark", _rows(read), "1"))
        rows.append(Row(f"scale {scale:g}", "peak memory of Java", _peak(_java()) / 1024, "MB"))
        rows.append(Row(f"scale {scale:g}", "peak memory of the reader", _peak(os.getpid()) / 1024, "MB"))
    finally:
        stop_local_sparks()
    return rows


def _timed(backend: SparkBackend, query: BackendQuery) -> tuple[float, QueryTuples]:
    started = time.perf_counter()
    _, read = backend.read(query)
    return time.perf_counter() - started, read


def _rows(read: QueryTuples) -> int:
    assert read.join is not None
    return len(read.join.group)


def _files(scale: float) -> Path:
    """The tables, one folder of files each, written once."""
    folder = Path(".noisegate").resolve() / "benchmarks" / f"tpch-parquet-{scale:g}"
    if not (folder / "written").exists():
        folder.mkdir(parents=True, exist_ok=True)
        tool = Path(sys.executable).parent / "tpchgen-cli"
        command = [
            str(tool),
            "parquet",
            "-s",
            str(scale),
            "--parts",
            str(max(1, round(scale))),
            f"--output-dir={folder}",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (folder / "written").touch()
    return folder


def _schema(backend: SparkBackend) -> Schema:
    """The files' tables with TPC-H's keys, as a policy would declare them."""
    known, found = tpch_schema(), backend.schema()
    tables = {
        name: replace(known.tables[name], namespace=table.namespace, columns=table.columns)
        for name, table in found.tables.items()
    }
    return replace(found, tables=tables)


def _java() -> int:
    """The Java process that this one has started."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in listed.splitlines()[1:]]
    mine = {str(os.getpid())}
    for _ in processes:
        mine |= {pid for pid, parent, _ in processes if parent in mine}
    return next(int(pid) for pid, _, name in processes if pid in mine and name == "java")


def _peak(pid: int) -> float:
    """The most that a process has held in memory, in KiB. Linux only."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return float(found[1])
