"""Parts of a program that share no unit: each goes to the method that suits it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram

Ints = NDArray[np.int64]


def pairs_and_rest(program: PreparedProgram) -> tuple[PreparedProgram | None, PreparedProgram | None]:
    """The connected components in which every tuple has at most two owners, together, and all the others, together.

    The first part is a flow, exact in integers; what is left of the gap is then the other's alone.
    Cost: linear. The order of tuples and units stays.
    """
    incidence = program.incidence
    crowded = _crowded(incidence.indptr, incidence.units, incidence.n_units)
    if np.all(crowded):
        return None, program
    if not np.any(crowded):
        return program, None
    of_rest = crowded[incidence.units[incidence.indptr[:-1]]]
    return _part(program, ~of_rest), _part(program, of_rest)


def _part(program: PreparedProgram, rows: NDArray[np.bool_]) -> PreparedProgram:
    """The tuples of some components, their units numbered afresh."""
    incidence = program.incidence
    units = incidence.units[np.repeat(rows, incidence.owners)]
    occurs = np.zeros(incidence.n_units, bool)
    occurs[units] = True
    indptr = np.zeros(int(rows.sum()) + 1, np.int64)
    np.cumsum(incidence.owners[rows], out=indptr[1:])
    part = Incidence(indptr, (np.cumsum(occurs) - 1)[units], int(occurs.sum()))
    return PreparedProgram(program.weights[rows], part, program.caps[occurs])


@kernel
def _crowded(indptr: Ints, units: Ints, n_units: int) -> NDArray[np.bool_]:
    """(n,) whether the component of each unit has a tuple with three owners or more. Union-find with halving."""
    parent = np.arange(n_units)
    for t in range(len(indptr) - 1):
        root = _root(parent, units[indptr[t]])
        for e in range(indptr[t] + 1, indptr[t + 1]):
            other = _root(parent, units[e])
            low, high = min(root, other), max(root, other)
            parent[high] = low
            root = low
    large = np.zeros(n_units, np.bool_)
    for t in range(len(indptr) - 1):
        if indptr[t + 1] - indptr[t] > 2:
            large[_root(parent, units[indptr[t]])] = True
    crowded = np.empty(n_units, np.bool_)
    for u in range(n_units):
        crowded[u] = large[_root(parent, u)]
    return crowded


@kernel
def _root(parent: Ints, u: int) -> int:
    while parent[u] != u:
        parent[u] = parent[parent[u]]
        u = parent[u]
    return u
