"""Revenue totals of TPC-H Q3 and Q5, one row per join tuple, so that tuples can be sampled."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples, OwnerColumn

LARGEST_PRICE = 105_000.0
"""W: what one line can cost."""

_TABLES = ("customer", "orders", "lineitem", "supplier")
_WEIGHT = (
    f"CAST(floor(CAST(l_extendedprice * (1 - l_discount) AS double) / {LARGEST_PRICE} * (1 << 30)) AS bigint) weight"
)

_Q5 = f"""
SELECT c_custkey customer, s_suppkey supplier, {_WEIGHT}
FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
     JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey"""

_Q3 = f"""
SELECT c_custkey customer, {_WEIGHT}
FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'"""


def revenue_tuples(scale: float) -> dict[str, JoinTuples]:
    """Q5 over all years and regions, customers and suppliers private; Q3 as specified, customers private.

    Cost: the tables, a few hundred megabytes per unit of scale, in a folder that is gone afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, duckdb.connect() as connection:
        program = Path(sys.executable).with_name("tpchgen-cli")
        options = ["--scale-factor", str(scale), "--output-dir", folder, "--tables", ",".join(_TABLES)]
        subprocess.run([program, "parquet", *options], check=True, stdout=subprocess.DEVNULL)
        for table in _TABLES:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{Path(folder) / table}.parquet'")
        found = {name: connection.execute(sql).fetchnumpy() for name, sql in (("Q5", _Q5), ("Q3", _Q3))}
    return {
        name: _tuples({column: np.asarray(values, np.int64) for column, values in columns.items()})
        for name, columns in found.items()
    }


def _tuples(columns: dict[str, NDArray[np.int64]]) -> JoinTuples:
    weight = columns.pop("weight")
    nobody = np.zeros(len(weight), bool)
    owners = tuple(OwnerColumn(relation, keys, nobody) for relation, keys in columns.items())
    return JoinTuples(owners, np.zeros(len(weight), np.int64), 1, weight[None, :])
