"""Small tables of join tuples for the property tests of the truncation."""

from __future__ import annotations

from hypothesis import strategies as st

from privacy.thresholds import Thresholds
from privacy.units import ONE

Tuple = tuple[frozenset[int], int]

THRESHOLDS = Thresholds(-3, 4)
"""From below most weights to above most loads of these tables."""

weights = st.one_of(st.sampled_from([0, 1, ONE // 3, ONE, 3 * ONE]), st.integers(0, 2 * ONE))


def hypergraphs(min_size: int = 0, max_size: int = 20) -> st.SearchStrategy[list[Tuple]]:
    """Tuples of one to three owners out of eight units, crowded enough to leave a core after presolve."""
    owners = st.frozensets(st.integers(0, 7), min_size=1, max_size=3)
    return st.lists(st.tuples(owners, weights), min_size=min_size, max_size=max_size)


def single_owners() -> st.SearchStrategy[list[Tuple]]:
    """Tuples of one owner each."""
    owners = st.integers(0, 5).map(lambda unit: frozenset({unit}))
    return st.lists(st.tuples(owners, weights), max_size=15)


def graphs(min_size: int = 0, max_size: int = 20) -> st.SearchStrategy[list[Tuple]]:
    """Tuples of one or two owners out of eight units; a set that is drawn twice is a tuple that repeats."""
    owners = st.frozensets(st.integers(0, 7), min_size=1, max_size=2)
    return st.lists(st.tuples(owners, weights), min_size=min_size, max_size=max_size)


def small_integers(graph: st.SearchStrategy[list[Tuple]]) -> st.SearchStrategy[tuple[list[Tuple], list[int]]]:
    """The same owners with weights and caps so small that an optimum in half units can be read off a float."""
    caps = st.lists(st.integers(0, 9), min_size=8, max_size=8)
    small = graph.map(lambda table: [(owners, weight % 7) for owners, weight in table])
    return st.tuples(small, caps)
