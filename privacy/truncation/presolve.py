"""Shrink a truncation program without changing its optimum, in integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.exact import exact_sum
from privacy.truncation.incidence import Incidence
from privacy.truncation.program import PreparedProgram
from privacy.units import saturating_sums

_MAX_ROUNDS = 64
"""Each round is linear; what a chain of units leaves after this many goes to the solver."""


@dataclass(frozen=True, eq=False, repr=False)
class Presolved:
    """The optimum of the given program is `settled` plus the optimum of `core`.

    Attributes:
      settled: exact value of the tuples that no solver needs to see (a Python integer, unsaturated).
      core: what is left; None when the presolve finished the program.
    """

    settled: int
    core: PreparedProgram | None

    def __repr__(self) -> str:
        return "Presolved(<private>)"


def presolve(program: PreparedProgram) -> Presolved:
    """Apply three exact reductions until nothing changes.

    1. A unit whose tuples weigh at most its cap never binds: drop it (a tuple weighs at most its smallest cap).
    2. A tuple whose units are all dropped counts in full.
    3. A tuple with one binding unit left can only help by filling that unit, so it fills it first; a unit
       that is full ends its other tuples.

    Returns: the settled value and the core, in which every tuple has two or more binding units, equal
      provenance sets merged.
    Cost: linear per round; a handful of rounds collapses most instances.
    Source: privacy.md section 2, fact 3.
    """
    settled = 0
    for _ in range(_MAX_ROUNDS):
        before = len(program.incidence.units)
        value, program = _reduce(program)
        settled += value
        if not len(program.weights):
            return Presolved(settled, None)
        if len(program.incidence.units) == before and not value:
            break
    return Presolved(settled, _merge(program))


def _reduce(program: PreparedProgram) -> tuple[int, PreparedProgram]:
    """One round: the value it settles and the program that remains."""
    rows, units = program.incidence.rows, program.incidence.units
    weights = np.minimum(program.weights, program.incidence.row_min(program.caps))
    binding = program.incidence.unit_sums(weights) > program.caps
    entry_binds = binding[units] & (weights > 0)[rows]
    left = np.add.reduceat(entry_binds, program.incidence.indptr[:-1], dtype=np.int64)

    alone = entry_binds & (left == 1)[rows]
    wanted = saturating_sums(units[alone], weights[rows[alone]], len(program.caps))
    filled = np.minimum(wanted, program.caps)
    value = exact_sum(weights[left == 0]) + exact_sum(filled)

    alive = left > 1
    kept = entry_binds & alive[rows]
    incidence = Incidence(_offsets(left[alive]), units[kept], len(program.caps))
    return value, PreparedProgram(weights[alive], incidence, program.caps - filled)


def _merge(program: PreparedProgram) -> PreparedProgram:
    """Merge tuples with equal unit sets and number the units that are left."""
    given = program.incidence
    occurs = given.degrees > 0
    code = np.cumsum(occurs) - 1
    table = np.full((given.n_rows, int(given.owners.max())), -1, np.int64)
    place = np.arange(len(given.units)) - given.indptr[given.rows]
    table[given.rows, place] = code[given.units]

    order = np.lexsort(table.T[::-1])
    table = table[order]
    starts = np.ones(len(order), bool)
    starts[1:] = np.any(table[1:] != table[:-1], axis=1)
    weights = saturating_sums(np.cumsum(starts) - 1, program.weights[order], int(starts.sum()))
    table, caps = table[starts], program.caps[occurs]
    incidence = Incidence(_offsets((table >= 0).sum(axis=1)), table[table >= 0], len(caps))
    return PreparedProgram(np.minimum(weights, incidence.row_min(caps)), incidence, caps)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """CSR offsets of rows of these lengths."""
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr
