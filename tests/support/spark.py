"""A Spark of the tests' own, where pyspark and Java are there (`make spark`), and statements on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from server.backends.files import ParquetFiles
from server.backends.spark import arrow_columns
from server.backends.spark_custody import SparkMemory, local_spark
from server.backends.spark_session import SparkSession

MEMORY = SparkMemory(memory_mb=1_024, threads=2)

Rows = list[tuple[Any, ...]]


def why_no_spark() -> str | None:
    """What is missing; None where nothing is."""
    if find_spec("pyspark") is None or find_spec("grpc") is None:
        return "pyspark is not installed (make spark)"
    java = shutil.which("java") or os.environ.get("JAVA_HOME")
    return None if java else "there is no Java, which Spark runs on (Debian: openjdk-17-jre-headless)"


needs_spark = [
    pytest.mark.skipif(why_no_spark() is not None, reason=str(why_no_spark())),
    pytest.mark.xdist_group("spark"),  # one Spark for all of them: each takes a gigabyte
]


def address() -> str:
    """This process's Spark, which ends with it; or one that is there already, NOISEGATE_SPARK=sc://..., as a local
    one takes a minute to start on a busy machine."""
    known = os.environ.get("NOISEGATE_SPARK")
    return known if known else local_spark(MEMORY)


def rows_of(session: SparkSession, statement: str) -> Rows:
    """The rows of a statement."""
    tables = list(session.tables(statement))
    return list(zip(*arrow_columns(tables, 0), strict=True)) if sum(table.num_rows for table in tables) else []


def folder_of(path: Path, patterns: Sequence[tuple[str, str]] = ()) -> ParquetFiles:
    """A folder of files."""
    return ParquetFiles(path, tuple(patterns))
