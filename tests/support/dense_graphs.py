"""Triangles of generated graphs in which few people are in most of them, as where groups know one another."""

from __future__ import annotations

import duckdb
import numpy as np
from numpy.typing import NDArray

from tests.support.graph_joins import PATTERNS


def dense_triangles(people: int, cliques: int, largest: int, degree: int, seed: int = 0) -> NDArray[np.int64]:
    """(3, m) the people of each triangle, in the order of their numbers; the same arguments give the same triangles.

    A power law (Chung and Lu: the k-th of n people is drawn with a chance that falls as k^(-1/2)) of the given mean
    degree, and cliques: the k-th has largest / k^0.3 people, every other one of them drawn by the same power law.
    """
    draw = np.random.default_rng(seed)
    parts = [(people * draw.random((2, people * degree // 2)) ** 2).astype(np.int64)]
    for k in range(cliques):
        size = max(3, int(largest / (k + 1) ** 0.3))
        popular = (people * draw.random(size) ** 2).astype(np.int64)
        who = np.unique(popular) if k % 2 else draw.choice(people, size, replace=False)
        first, second = np.triu_indices(len(who), 1)
        parts.append(np.stack([who[first], who[second]]))
    ends = np.sort(np.concatenate(parts, axis=1), axis=0)
    src, dst = np.unique(ends[:, ends[0] < ends[1]], axis=1)
    edges = {"src": src, "dst": dst}
    with duckdb.connect() as connection:
        connection.register("e", edges)
        found = connection.execute(PATTERNS["triangles"]).fetchnumpy()
    columns = np.stack([np.asarray(column, np.int64) for column in found.values()])
    return np.ascontiguousarray(columns[:, np.lexsort(columns[::-1])])
