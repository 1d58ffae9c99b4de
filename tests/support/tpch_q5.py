"""TPC-H Q5 by nation: revenue of local suppliers, customers and suppliers private."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from privacy.join_tuples import JoinTuples, OwnerColumn

_TABLES = ("customer", "orders", "lineitem", "supplier")
_NATIONS = 25
_LARGEST_PRICE = 105_000.0
_JOINS = 3

_JOIN = f"""
SELECT c_custkey, s_suppkey, s_nationkey,
       sum(CAST(floor(CAST(l_extendedprice * (1 - l_discount) AS double) / {_LARGEST_PRICE} * (1 << 30)) AS bigint))
FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
     JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
GROUP BY ALL"""


def q5_by_nation(scale: float) -> tuple[JoinTuples, float]:
    """The join tuples of all years and regions, compacted by provenance, and the seconds of the join alone.

    Cost: the generation of the tables in memory and disk, a few hundred megabytes of parquet per unit of scale.
    """
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, duckdb.connect() as connection:
        _generate(Path(folder), scale)
        for table in _TABLES:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{Path(folder) / table}.parquet'")
        seconds = []
        for _ in range(_JOINS):
            started = time.perf_counter()
            columns = connection.execute(_JOIN).fetchnumpy()
            seconds.append(time.perf_counter() - started)
    customer, supplier, nation, weight = (np.asarray(column, np.int64) for column in columns.values())
    nobody = np.zeros(len(nation), bool)
    owners = (OwnerColumn("customer", customer, nobody), OwnerColumn("supplier", supplier, nobody))
    return JoinTuples(owners, nation, _NATIONS, weight[None, :]), min(seconds)


def _generate(folder: Path, scale: float) -> None:
    program = Path(sys.executable).with_name("tpchgen-cli")
    options = ["--scale-factor", str(scale), "--output-dir", str(folder), "--tables", ",".join(_TABLES)]
    subprocess.run([program, "parquet", *options], check=True, stdout=subprocess.DEVNULL)
