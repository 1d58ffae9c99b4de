"""Seeded graphs whose triangles make hard programs: hubs, cliques, heavy tails, and both together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

Edges = NDArray[np.int64]
"""(2, m) pairs of nodes, each in order and there once."""


def simple(*parts: Edges) -> Edges:
    """The union of some edges, without loops, directions and repetitions."""
    ends = np.sort(np.concatenate(parts, axis=1), axis=0)
    return np.unique(ends[:, ends[0] < ends[1]], axis=1)


@kernel
def _attached(ends: NDArray[np.int64], draws: NDArray[np.float64], nodes: int, degree: int) -> None:
    """Fill ends (2, nodes * degree): each node is joined to the ends of edges drawn among those before it."""
    size = 0
    for node in range(1, nodes):
        known = size
        for j in range(degree):
            place = int(draws[node * degree + j] * (2 * known + 1))
            ends[0, size] = node
            ends[1, size] = 0 if place == 2 * known else ends[place % 2, place // 2]
            size += 1


def preferential(nodes: int, degree: int, seed: int = 0) -> Edges:
    """Preferential attachment (Barabasi and Albert): some `degree` edges of each node go to those that have many."""
    ends = np.zeros((2, nodes * degree), np.int64)
    _attached(ends, np.random.default_rng(seed).random(nodes * degree), nodes, degree)
    return simple(ends)


def hub(neighbours: int, degree: int, seed: int = 0) -> Edges:
    """Node 0 knows everyone, and they know `degree` others each, drawn evenly."""
    others = np.random.default_rng(seed).integers(1, neighbours + 1, (2, neighbours * degree // 2))
    return simple(np.stack([np.zeros(neighbours, np.int64), np.arange(1, neighbours + 1)]), others)


def cliques(number: int, size: int, people: int, seed: int = 0) -> Edges:
    """So many cliques of people who are drawn evenly; a person may be in several."""
    draw = np.random.default_rng(seed)
    first, second = np.triu_indices(size, 1)
    members = (draw.choice(people, size, replace=False) for _ in range(number))
    return simple(*(np.stack([who[first], who[second]]) for who in members))


def power_law(nodes: int, degree: int, exponent: float, seed: int = 0) -> Edges:
    """The configuration model of degrees that fall by a power law, of a mean degree."""
    draw = np.random.default_rng(seed)
    wanted = (draw.pareto(exponent - 1, nodes) + 1).clip(max=nodes**0.75)
    stubs = np.repeat(np.arange(nodes), np.rint(wanted * degree / wanted.mean()).astype(np.int64))
    draw.shuffle(stubs)
    return simple(stubs[: len(stubs) // 2 * 2].reshape(2, -1))


def hubs(people: int, number: int, neighbours: int, degree: int, seed: int = 0) -> Edges:
    """So many hubs who know `neighbours` of the others each, who know `degree` others."""
    draw = np.random.default_rng(seed)
    others = draw.integers(number, people, (2, (people - number) * degree // 2))
    known = [draw.choice(np.arange(number, people), neighbours, replace=False) for _ in range(number)]
    return simple(others, *(np.stack([np.full(neighbours, k), who]) for k, who in enumerate(known)))


def stars(number: int, size: int, centres: int) -> Edges:
    """Cliques that share no one but a centre each, of a few centres."""
    first, second = np.triu_indices(size, 1)
    parts = []
    for k in range(number):
        who = np.append(k % centres, centres + np.arange((size - 1) * k, (size - 1) * (k + 1)))
        parts.append(np.stack([who[first], who[second]]))
    return simple(*parts)


def bipartite(people: int, edges: int, seed: int = 0) -> Edges:
    """Edges between two halves: no triangle."""
    ends = np.random.default_rng(seed).integers(0, people // 2, (2, edges))
    return simple(ends + np.array([[0], [people // 2]]))
