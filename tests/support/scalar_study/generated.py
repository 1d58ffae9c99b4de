"""Generated graphs of five shapes, none of which a setting was chosen on: seeds and formulas, no files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.support.graph_joins import PATTERNS, tuples_of
from tests.support.scalar_study.case import COLLABORATORS, TUPLES, ScalarCase

Edges = NDArray[np.int64]
"""(2, m) pairs of nodes, in any order and maybe there twice."""


def _attached(nodes: int, draw: np.random.Generator) -> Edges:
    """Preferential attachment: each new node is tied to three ends of the edges before."""
    ends = [0, 1, 1, 2, 2, 0]
    for node in range(3, nodes):
        for place in draw.integers(0, len(ends), 3).tolist():
            ends += [node, ends[place]]
    return np.array(ends, np.int64).reshape(-1, 2).T


def _cliques(nodes: int, draw: np.random.Generator) -> Edges:
    """Groups of 3 to 40 who know one another, small ones more often, and as many ties between any two as nodes."""
    parts, first = [draw.integers(0, nodes, (2, nodes))], 0
    while first < nodes:
        size = min(int(3 / draw.random() ** 0.7), 40, nodes - first)
        parts.append(first + np.stack(np.triu_indices(size, 1)))
        first += size
    return np.concatenate(parts, axis=1)


def _stars(nodes: int, draw: np.random.Generator) -> Edges:
    """Centres with 5 to 500 neighbours, of whom each is tied to the next one: triangles, all of them at a centre."""
    parts, first = [], 0
    while first < nodes:
        leaves = np.arange(first + 1, min(first + 1 + min(int(5 / draw.random()), 500), nodes))
        parts += [np.stack([np.full(len(leaves), first), leaves]), np.stack([leaves[:-1], leaves[1:]])]
        first += len(leaves) + 1
    return np.concatenate(parts, axis=1)


def _small_world(nodes: int, draw: np.random.Generator) -> Edges:
    """A ring (Watts and Strogatz): five neighbours on either side, a tenth of the ties led elsewhere."""
    near = np.tile(np.arange(nodes), 5)
    far = (near + np.repeat(np.arange(1, 6), nodes)) % nodes
    led = draw.random(len(far)) < 0.1
    return np.stack([near, np.where(led, draw.integers(0, nodes, len(far)), far)])


def _hubs(nodes: int, draw: np.random.Generator) -> Edges:
    """The same ring and five nodes that are tied to a fifth of all, to 800 at most."""
    ties = min(800, nodes // 5)
    parts = [np.stack([np.full(ties, hub), draw.choice(nodes, ties, replace=False)]) for hub in range(5)]
    return np.concatenate([_small_world(nodes, draw), *parts], axis=1)


SHAPES: dict[str, Callable[[int, np.random.Generator], Edges]] = {
    "preferential attachment": _attached,
    "cliques": _cliques,
    "stars": _stars,
    "small world": _small_world,
    "hubs": _hubs,
}
SIZES = (1_000, 5_000, 20_000)


def generated_cases(sizes: tuple[int, ...] = SIZES) -> Iterator[ScalarCase]:
    """Edges, 2-paths and triangles of every shape at every size; the same every time."""
    for (place, (shape, made)), nodes in product(enumerate(SHAPES.items()), sizes):
        edges = np.sort(made(nodes, np.random.default_rng([17, place, nodes])), axis=0)
        edges = np.unique(edges[:, edges[0] < edges[1]], axis=1)
        for pattern in TUPLES:
            tuples = tuples_of(edges, PATTERNS[pattern])
            name = f"{shape}, {nodes:,} nodes, {pattern}"
            yield ScalarCase(name, tuples, TUPLES[pattern], COLLABORATORS[pattern], nodes, True)
