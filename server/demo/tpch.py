"""The demonstration's data: TPC-H and a social graph of its customers, generated from a fixed seed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.errors import ConfigurationInvalid

DEGREE = 10
"""Of each node; even."""

REWIRED = 0.1264
"""Share of rewired edges. A ring lattice of n nodes and degree 10 has 10 n triangles, of which (1 - p)^3 remain."""

SEED = 20_260_101


def small_world(nodes: int) -> NDArray[np.int64]:
    """A Watts-Strogatz graph: each edge's far end is rewired with probability REWIRED.

    Returns: (edges, 2) int64, src < dst, sorted, without loops or duplicates. Rewired edges that existed already are
      dropped, so there are slightly fewer than nodes * DEGREE / 2.
    """
    rng = np.random.default_rng(SEED)
    near = np.repeat(np.arange(nodes), DEGREE // 2)
    far = (near + np.tile(np.arange(1, DEGREE // 2 + 1), nodes)) % nodes
    moved = rng.random(len(far)) < REWIRED
    far[moved] = rng.integers(0, nodes, int(moved.sum()))
    edges = np.sort(np.stack([near, far], axis=1), axis=1)
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    return edges.astype(np.int64) + 1


SCALE = 0.1

_COLUMNS: dict[str, str] = {
    "region": "r_regionkey integer PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152)",
    "nation": "n_nationkey integer PRIMARY KEY, n_name varchar(25) NOT NULL, n_regionkey integer NOT NULL, "
    "n_comment varchar(152)",
    "part": "p_partkey bigint PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL, "
    "p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size integer NOT NULL, "
    "p_container char(10) NOT NULL, p_retailprice numeric(15,2) NOT NULL, p_comment varchar(23) NOT NULL",
    "supplier": "s_suppkey bigint PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL, "
    "s_nationkey integer NOT NULL, s_phone char(15) NOT NULL, s_acctbal numeric(15,2) NOT NULL, "
    "s_comment varchar(101) NOT NULL",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty integer NOT NULL, "
    "ps_supplycost numeric(15,2) NOT NULL, ps_comment varchar(199) NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey)",
    "customer": "c_custkey bigint PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, "
    "c_nationkey integer NOT NULL, c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, "
    "c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL",
    "orders": "o_orderkey bigint PRIMARY KEY, o_custkey bigint NOT NULL, o_orderstatus char(1) NOT NULL, "
    "o_totalprice numeric(15,2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, "
    "o_clerk char(15) NOT NULL, o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL",
    "lineitem": "l_orderkey bigint, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL, l_linenumber integer, "
    "l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL, "
    "l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, "
    "l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL, "
    "l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL, "
    "PRIMARY KEY (l_orderkey, l_linenumber)",
    "knows": "src bigint, dst bigint, PRIMARY KEY (src, dst), CHECK (src < dst)",
}

TABLES: dict[str, str] = {
    name: re.sub(r"(\w+) numeric\(15,2\) NOT NULL", r"\g<0> CHECK (\1 < 1e13)", columns)
    for name, columns in _COLUMNS.items()
}
"""Columns of each table, parents before children. The checks exclude NaN, which a numeric may hold."""

FOREIGN_KEYS: tuple[tuple[str, str, str], ...] = (
    ("nation", "n_regionkey", "region"),
    ("supplier", "s_nationkey", "nation"),
    ("customer", "c_nationkey", "nation"),
    ("partsupp", "ps_partkey", "part"),
    ("partsupp", "ps_suppkey", "supplier"),
    ("orders", "o_custkey", "customer"),
    ("lineitem", "l_orderkey", "orders"),
    ("lineitem", "l_partkey", "part"),
    ("lineitem", "l_suppkey", "supplier"),
    ("lineitem", "l_partkey, l_suppkey", "partsupp"),
    ("knows", "src", "customer"),
    ("knows", "dst", "customer"),
)
"""(table, its columns, the table whose primary key they reference)."""


def generate(folder: Path, scale: float = SCALE) -> None:
    """Write the eight tables of TPC-H as CSV files with headers.

    Raises: ConfigurationInvalid if the generator is not installed.
    Cost: about two seconds and 110 MB at scale 0.1.
    """
    beside = Path(sys.executable).with_name("tpchgen-cli")
    program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if program is None:
        raise ConfigurationInvalid("TPC-H's generator is not installed", hint="pip install 'noisegate[embedded]'")
    subprocess.run(
        [program, "csv", "--scale-factor", str(scale), "--output-dir", folder, "--overwrite"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
