"""Join tuples of any size with one, two or three owners each, from named generators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.units import ONE
from tests.support.graph_joins import counted

Keys = NDArray[np.int64]
Generator = Callable[[int, int], JoinTuples]
"""(number of tuples, owners per tuple) to tuples; the same arguments give the same tuples."""


def small_world(size: int, owners: int) -> JoinTuples:
    """Watts and Strogatz: a ring in which everybody knows ten neighbours, a tenth of the links rewired at random.

    One owner: the source of each link. Two: its ends. Three: its ends and a neighbour of its target.
    """
    draw = np.random.default_rng(0)
    people = max(size // 10, 12)
    source = np.arange(size) % people
    target = (source + 1 + np.arange(size) // people) % people
    rewired = draw.random(size) < 0.1
    target[rewired] = draw.integers(people, size=int(rewired.sum()))
    third = (target + 1 + draw.integers(5, size=size)) % people
    return counted((source, target, third)[:owners])


def power_law(size: int, owners: int) -> JoinTuples:
    """Chung and Lu: the k-th of n people appears with a chance that falls as k^(-1/2), so a tail of exponent 3."""
    draw = np.random.default_rng(1)
    people = max(size // 8, 4)
    return counted(tuple((people * draw.random(size) ** 2).astype(np.int64) for _ in range(owners)))


def sales(size: int, owners: int) -> JoinTuples:
    """TPC-H's shape: four lines an order, ten orders a customer, 600 lines a supplier, 30 a part; skewed prices."""
    draw = np.random.default_rng(2)
    order = np.arange(size) // 4
    buyer = draw.integers(max(size // 40, 1), size=int(order[-1]) + 1 if size else 0)[order]
    supplier, part = draw.integers(max(size // 600, 1), size=size), draw.integers(max(size // 30, 1), size=size)
    weights = (ONE * draw.beta(2.0, 3.0, size=(1, size))).astype(np.int64)
    columns = zip(("customer", "supplier", "part"), (buyer, supplier, part), strict=True)
    named = tuple(OwnerColumn(relation, keys, np.zeros(size, bool)) for relation, keys in columns)
    return JoinTuples(named[:owners], np.zeros(size, np.int64), 1, weights)


GENERATORS: dict[str, Generator] = {"small world": small_world, "power law": power_law, "TPC-H shape": sales}
