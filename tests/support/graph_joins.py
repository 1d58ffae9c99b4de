"""Join tuples of graph patterns: every pattern counted once, every node a privacy unit."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.units import ONE
from tests.support.shared_data import shared_data

GRAPHS = {"Deezer HU+RO": "deezer_hu_ro", "Enron": "snap_email_enron"}

_WEDGES = "SELECT x.a a, x.b b, y.b c FROM s x JOIN s y ON x.b = y.a WHERE x.a < y.b"

PATTERNS = {
    "edges": "SELECT src a, dst b FROM e",
    "triangles": "SELECT x.src a, x.dst b, y.dst c FROM e x JOIN e y ON x.dst = y.src"
    " JOIN e z ON z.src = x.src AND z.dst = y.dst",
    "2-paths": _WEDGES,
    "rectangles": f"SELECT p.a a, p.b b, p.c c, q.b d FROM ({_WEDGES}) p JOIN ({_WEDGES}) q"
    " ON p.a = q.a AND p.c = q.c AND p.b < q.b AND p.a < p.b",
}
"""SQL over e (src < dst, one row per edge) and s (both directions)."""


def edge_file(graph: str) -> Path:
    """The edges of a graph of GRAPHS; the file may be absent."""
    return shared_data(GRAPHS[graph]) / "edges.parquet"


def graph_tuples(graph: str, pattern: str) -> JoinTuples:
    """The join tuples of one of PATTERNS, weight 1 each, as a backend would hand them over. Cost: the join."""
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT src, dst FROM '{edge_file(graph)}'").fetchnumpy()
    return tuples_of(np.stack([found["src"], found["dst"]]).astype(np.int64), PATTERNS[pattern])


def tuples_of(edges: NDArray[np.int64], pattern: str) -> JoinTuples:
    """The same of a graph whose edges are (2, m) pairs of nodes, each pair in order and there once."""
    with duckdb.connect() as connection:
        connection.register("e", {"src": edges[0], "dst": edges[1]})
        connection.execute("CREATE TABLE s AS SELECT src a, dst b FROM e UNION ALL SELECT dst, src FROM e")
        columns = connection.execute(pattern).fetchnumpy()
    return counted(tuple(np.asarray(column, np.int64) for column in columns.values()))


def counted(columns: tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...], relation: str = "node") -> JoinTuples:
    """Tuples of weight 1 whose owners are all of one relation."""
    size = len(columns[0])
    owners = tuple(OwnerColumn(relation, column, np.zeros(size, bool)) for column in columns)
    return JoinTuples(owners, np.zeros(size, np.int64), 1, np.full((1, size), ONE, np.int64))
