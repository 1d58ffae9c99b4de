"""Directed paths and forks in MathOverflow by year: edges between users, one row per join tuple."""

from __future__ import annotations

import duckdb
import numpy as np

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.units import ONE
from tests.support.shared_data import shared_data

EDGES = ("c2a", "a2q")
"""Who commented on whose answer, who answered whose question."""

PATTERNS = {
    "1-paths": "SELECT src a, dst b, y FROM edge",
    "2-paths": "SELECT x.src a, x.dst b, z.dst c, x.y FROM edge x JOIN edge z ON x.dst = z.src AND x.y = z.y"
    " WHERE x.src <> z.dst",
    "fan-out-2": "SELECT x.src a, x.dst b, z.dst c, x.y FROM edge x JOIN edge z ON x.src = z.src AND x.y = z.y"
    " WHERE x.dst < z.dst",
}
"""Within one year and without a repeated node."""

_EDGE = """
CREATE TABLE edge AS SELECT DISTINCT src::integer AS src, dst::integer AS dst, y - min(y) OVER () AS y
FROM (SELECT src, dst, year(to_timestamp(ts) AT TIME ZONE 'UTC') AS y FROM '{path}' WHERE src <> dst)"""


def is_there(edges: str) -> bool:
    """Whether the edges are among the shared data."""
    return (shared_data("sx_mathoverflow") / f"{edges}.parquet").is_file()


def path_tuples(edges: str, pattern: str) -> JoinTuples:
    """Every occurrence of a pattern, of weight 1. Cost: the join."""
    with duckdb.connect() as connection:
        connection.execute(_EDGE.format(path=shared_data("sx_mathoverflow") / f"{edges}.parquet"))
        years = connection.execute("SELECT max(y) + 1 FROM edge").fetchone()
        found = connection.execute(PATTERNS[pattern]).fetchnumpy()
    assert years is not None
    group = np.asarray(found.pop("y"), np.int64)
    nobody = np.zeros(len(group), bool)
    owners = tuple(OwnerColumn("user", np.asarray(keys, np.int64), nobody) for keys in found.values())
    return JoinTuples(owners, group, int(years[0]), np.full((1, len(group)), ONE, np.int64))
