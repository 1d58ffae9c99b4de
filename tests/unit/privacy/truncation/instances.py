"""Small instances and the oracle that the tests of this folder and the property tests share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog

from privacy.join_tuples import CompactJoinTuples, JoinTuples, OwnerColumn
from privacy.truncation.programs.program import Incidence, PreparedProgram
from privacy.units import ONE

Tuple = tuple[frozenset[int], int]
"""The owners of a join tuple and its weight in units."""


def owner(relation: str, keys: Sequence[object], dtype: Any = None) -> OwnerColumn:
    """A column of keys; None is a missing owner."""
    missing = np.array([key is None for key in keys], bool)
    filler = next((key for key in keys if key is not None), 0)
    return OwnerColumn(relation, np.array([filler if key is None else key for key in keys], dtype), missing)


def join_tuples(
    owners: Iterable[OwnerColumn], weights: Any, group: Sequence[int] | None = None, n_groups: int = 1
) -> JoinTuples:
    """Join tuples of one or several releases, all in group 0 unless said otherwise."""
    table = np.atleast_2d(np.array(weights, np.int64))
    groups = np.zeros(table.shape[1], np.int64) if group is None else np.array(group, np.int64)
    return JoinTuples(tuple(owners), groups, n_groups, table)


def from_sets(tuples: Sequence[Tuple], group: Sequence[int] | None = None, n_groups: int = 1) -> JoinTuples:
    """Join tuples of one relation from their owner sets, padded with missing positions."""
    width = max((len(owners) for owners, _ in tuples), default=1)
    padded = [sorted(owners) + [None] * (width - len(owners)) for owners, _ in tuples]
    columns = [owner("unit", [row[i] for row in padded], np.int64) for i in range(width)]
    return join_tuples(columns, [[weight for _, weight in tuples]], group, n_groups)


def program(tuples: Sequence[Tuple], caps: Sequence[int]) -> PreparedProgram:
    """A program over units 0 .. len(caps) - 1."""
    indptr = np.cumsum([0, *(len(owners) for owners, _ in tuples)]).astype(np.int64)
    units = np.array([u for owners, _ in tuples for u in sorted(owners)], np.int64)
    weights = np.array([weight for _, weight in tuples], np.int64)
    return PreparedProgram(weights, Incidence(indptr, units, len(caps)), np.array(caps, np.int64))


def optimum(instance: PreparedProgram) -> float:
    """The optimum in units by an independent formulation (scipy, dense), accurate to about 1e-7 of the scale."""
    m, n = len(instance.weights), len(instance.caps)
    if m == 0:
        return 0.0
    matrix = np.zeros((n, m))
    matrix[instance.incidence.units, instance.incidence.rows] = 1.0
    weights, caps = instance.scaled()
    result = linprog(-np.ones(m), A_ub=matrix, b_ub=caps, bounds=list(zip(np.zeros(m), weights, strict=True)))
    assert result.status == 0
    assert result.x is not None
    return float(np.sum(result.x)) * instance.scale


def optimum_of(tuples: Sequence[Tuple], tau: int) -> float:
    """fbar in units of tuples over any unit numbers, unmerged."""
    names = sorted({u for owners, _ in tuples for u in owners})
    code = {u: i for i, u in enumerate(names)}
    owned = [(frozenset(code[u] for u in owners), weight) for owners, weight in tuples if owners]
    return optimum(program(owned, [tau] * len(names)))


def as_sets(compacted: CompactJoinTuples) -> list[tuple[int, frozenset[int], tuple[int, ...]]]:
    """Readable form: (group, owners, weights per release) of every tuple."""
    return [
        (
            int(compacted.group[t]),
            frozenset(compacted.units[compacted.indptr[t] : compacted.indptr[t + 1]].tolist()),
            tuple(compacted.weights[:, t].tolist()),
        )
        for t in range(len(compacted.group))
    ]


def ones(*owners: Iterable[int]) -> list[Tuple]:
    """Tuples of weight 1."""
    return [(frozenset(o), ONE) for o in owners]
