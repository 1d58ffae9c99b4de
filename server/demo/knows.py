"""Who knows whom among the customers: a small world from a fixed seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DEGREE = 10
REWIRED = 0.1264
"""Share of rewired edges. A ring lattice of n nodes and degree 10 has 10 n triangles, of which (1 - p)^3 stay."""

SEED = 20_260_101


def small_world(nodes: int, degree: int = DEGREE, rewired: float = REWIRED, seed: int = SEED) -> NDArray[np.int64]:
    """A Watts-Strogatz graph.

    Args:
      nodes: number of nodes, numbered from 1.
      degree: even mean degree.
      rewired: probability that an edge's far end is drawn anew.
    Returns: (edges, 2) int64, src < dst, sorted, without loops or duplicates; a few edges fewer than
      nodes * degree / 2, where rewiring met an edge that was there.
    """
    rng = np.random.default_rng(seed)
    near = np.repeat(np.arange(nodes), degree // 2)
    far = (near + np.tile(np.arange(1, degree // 2 + 1), nodes)) % nodes
    moved = rng.random(len(far)) < rewired
    far[moved] = rng.integers(0, nodes, int(moved.sum()))
    edges = np.sort(np.stack([near, far], axis=1), axis=1)
    edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
    return edges.astype(np.int64) + 1
