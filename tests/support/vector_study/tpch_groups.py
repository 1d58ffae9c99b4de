"""The vector queries of the DP-S4S paper, section 5.3, over TPC-H, and one of one owner: one row per join tuple.

The texts follow the authors' own: Q7 keeps neither the nations nor the dates of the specification, groups by the
customer's nation, and takes short ranges of dates.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from privacy.join_tuples import JoinTuples, OwnerColumn

LARGEST_PRICE = 105_000.0
"""W of revenue: what one line can cost."""

_TABLES = ("customer", "orders", "lineitem", "supplier")
_REVENUE = f"CAST(floor(CAST(l_extendedprice * (1 - l_discount) AS double) / {LARGEST_PRICE} * (1 << 30)) AS bigint)"
_ONE = "CAST(1 << 30 AS bigint)"
_ORDERED = "customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey"
_PARTSUPP = "l_partkey * 1000000 + l_suppkey"


@dataclass(frozen=True)
class GroupedQuery:
    """One query.

    Attributes:
      name: as in the paper.
      relations: of the owners of every tuple.
      n_groups: d.
      columns: SQL of each owner's key, then of the group and the weight.
      source: SQL after FROM.
      reached: per owner, how many of the groups follow from one of them, as a planner proves it: in Q5 the nation is
        the customer's and the supplier's, in Q7a the customer's, and in Q7b so is the nation and not the year.
    """

    name: str
    relations: tuple[str, ...]
    n_groups: int
    columns: tuple[str, ...]
    source: str
    reached: tuple[int, ...]


QUERIES = (
    GroupedQuery(
        "Q5",
        ("customer", "supplier"),
        25,
        ("c_custkey", "s_suppkey", "c_nationkey", _REVENUE),
        f"{_ORDERED} JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey",
        (1, 1),
    ),
    GroupedQuery(
        "Q7a",
        ("customer", "partsupp"),
        25,
        ("c_custkey", _PARTSUPP, "c_nationkey", _ONE),
        f"{_ORDERED} WHERE l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1995-02-28'",
        (1, 25),
    ),
    GroupedQuery(
        "Q7b",
        ("customer", "partsupp"),
        50,
        ("c_custkey", _PARTSUPP, "2 * c_nationkey + year(l_shipdate) - 1997", _ONE),
        f"{_ORDERED} WHERE l_shipdate BETWEEN DATE '1998-01-01' AND DATE '1998-01-31'"
        " OR l_shipdate BETWEEN DATE '1997-01-01' AND DATE '1997-01-31'",
        (2, 50),
    ),
    GroupedQuery(
        "Q7c",
        ("orders", "partsupp"),
        100,
        ("o_orderkey", _PARTSUPP, "l_shipdate - DATE '1995-01-01'", _REVENUE),
        f"{_ORDERED} WHERE l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1995-04-10'",
        (100, 100),
    ),
    GroupedQuery(
        "lines by week",
        ("customer",),
        53,
        ("c_custkey", "(l_shipdate - DATE '1997-01-01') // 7", _ONE),
        f"{_ORDERED} WHERE l_shipdate BETWEEN DATE '1997-01-01' AND DATE '1997-12-31'",
        (53,),
    ),
)


def grouped_tuples(queries: list[GroupedQuery], scale: float) -> dict[str, JoinTuples]:
    """The join tuples of each query, by name.

    Cost: the tables, a few hundred megabytes per unit of scale, in a folder that is gone afterwards.
    """
    if not queries:
        return {}
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, duckdb.connect() as connection:
        program = Path(sys.executable).with_name("tpchgen-cli")
        options = ["--scale-factor", str(scale), "--output-dir", folder, "--tables", ",".join(_TABLES)]
        subprocess.run([program, "parquet", *options], check=True, stdout=subprocess.DEVNULL)
        for table in _TABLES:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{Path(folder) / table}.parquet'")
        return {query.name: _asked(query, connection) for query in queries}


def _asked(query: GroupedQuery, connection: duckdb.DuckDBPyConnection) -> JoinTuples:
    columns = ", ".join(f"{sql} AS c{position}" for position, sql in enumerate(query.columns))
    found = connection.execute(f"SELECT {columns} FROM {query.source}").fetchnumpy()
    *keys, group, weight = (np.asarray(found[f"c{position}"], np.int64) for position in range(len(query.columns)))
    nobody = np.zeros(len(group), bool)
    owners = tuple(OwnerColumn(relation, key, nobody) for relation, key in zip(query.relations, keys, strict=True))
    return JoinTuples(owners, group, query.n_groups, weight[None, :])
