"""Random graphs for the tests of this folder."""

from __future__ import annotations

import numpy as np

from privacy.truncation.programs.exact_flow import Pairs
from privacy.truncation.programs.program import PreparedProgram
from tests.unit.privacy.truncation.instances import Tuple, program


def random_graph(seed: int, n: int = 12, m: int = 30, heaviest: int = 9, bipartite: bool = False) -> PreparedProgram:
    """Pairs of n members, some of them repeated, some without weight, and small caps."""
    random = np.random.default_rng(seed)
    tuples: list[Tuple] = []
    while len(tuples) < m:
        u, v = (int(member) for member in random.integers(n, size=2))
        if u != v and not (bipartite and (u + v) % 2 == 0):
            tuples.append((frozenset({u, v}), int(random.integers(heaviest + 1))))
    return program(tuples, [int(cap) for cap in random.integers(3 * heaviest, size=n)])


def pairs(edges: list[tuple[int, int, int]], caps: list[int]) -> Pairs:
    """Pairs (first, second, weight) as they are, without cutting a weight."""
    first, second, weights = (np.array(column, np.int64) for column in zip(*edges, strict=True))
    return Pairs(first.astype(np.int32), second.astype(np.int32), weights, np.array(caps, np.int64))
