"""Shrink a truncation program without changing its optimum, in integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.codes.radix_sort import radix_sort, row_type
from privacy.truncation.control import QUIET, Control
from privacy.truncation.exact_sums import exact_sum
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.presolve_kernels import (
    ascends,
    clip_and_load,
    drop_dominated,
    keep_contested,
    merge_equal,
    pack_keys,
    take_rows,
)
from privacy.truncation.programs.program import PreparedProgram

_MAX_ROUNDS = 64
"""Each round is linear; what a chain of units leaves after this many goes to the solver."""

_LOW_BITS = 31

_KEY_BITS = 62
"""How many bits of a key are filled with owners."""


@dataclass(frozen=True, eq=False, repr=False)
class Presolved:
    """The optimum of the given program is `settled` plus the optimum of `core`.

    Attributes:
      settled: exact value of the tuples that no solver needs to see (a Python integer, unsaturated).
      core: what is left, no tuple above its smallest cap; None when the presolve finished the program.
    """

    settled: int
    core: PreparedProgram | None

    def __repr__(self) -> str:
        return "Presolved(<private>)"


def presolve(program: PreparedProgram, control: Control = QUIET) -> Presolved:
    """Apply exact reductions until nothing changes.

    1. A tuple weighs at most its smallest cap.
    2. A unit whose tuples weigh at most its cap never binds: drop it.
    3. A unit whose tuples all share another unit with no larger a cap never binds: drop it.
    4. A tuple whose units are all dropped counts in full.
    5. A tuple with one binding unit left can only help by filling that unit, so it fills it first; a unit
       that is full ends its other tuples.
    6. Tuples with equal units are one tuple, so that rule 1 cuts their sum.

    Returns: the settled value and the core, in which every tuple has two or more binding units, in an order
      that depends on the set of tuples alone.
    Cost: linear per round; a handful of rounds collapses most instances. Only tuples of as many owners as some tuple
      was cut down to are compared with one another, if they come sorted and without equals.
    Source: privacy.md section 2, fact 3; rule 3 is row domination of packing programs.
    """
    control.check("presolve")
    work = _Work(program)
    for _ in range(_MAX_ROUNDS):
        if not work.round(control):
            break
    control.check("presolve")
    return Presolved(work.settled, work.core())


class _Work:
    """Arrays that shrink in place."""

    def __init__(self, program: PreparedProgram) -> None:
        self._indptr = program.incidence.indptr.astype(np.int64)
        self._units = program.incidence.units.astype(np.int64)
        self._weights = program.weights.copy()
        self._caps = program.caps.copy()
        self._load = np.empty(len(program.caps), np.int64)
        width = int(program.incidence.owners.max(initial=0))
        self._may_equal = np.full(width + 1, not ascends(self._indptr, self._units))
        self.settled = 0

    def round(self, control: Control) -> bool:
        """Apply every rule once; whether another round can find more."""
        control.check("presolve")
        n_rows, n_entries = len(self._weights), len(self._units)
        clip_and_load(self._indptr, self._units, self._weights, self._caps, self._load)
        binding = self._load > self._caps
        degree = np.bincount(self._units, minlength=len(self._caps))
        control.check("presolve")
        drop_dominated(self._indptr, self._units, self._caps, degree, binding)
        control.check("presolve")
        free = np.zeros(2, np.int64)
        wanted = self._load
        tables = self._indptr, self._units, self._weights
        self._shrink(*keep_contested(*tables, binding, self._caps, wanted, free, self._may_equal))
        filled = np.minimum(wanted, self._caps)
        self._caps -= filled
        self.settled += int(free[0]) + (int(free[1]) << _LOW_BITS) + exact_sum(filled)
        control.check("presolve")
        self._shrink(*merge_equal(self._indptr, self._units, self._weights, self._may_equal))
        self._may_equal[:] = False
        return bool(len(self._weights)) and (n_rows, n_entries) != (len(self._weights), len(self._units))

    def core(self) -> PreparedProgram | None:
        """What is left, units numbered afresh, tuples sorted, none above its smallest cap.

        The last round merged after it had clipped, and when rounds ran out none came after it.
        """
        if not len(self._weights):
            return None
        clip_and_load(self._indptr, self._units, self._weights, self._caps, self._load)
        occurs = np.zeros(len(self._caps), bool)
        occurs[self._units] = True
        number = np.cumsum(occurs) - 1
        units = number[self._units]
        order = _order(self._indptr, units, int(occurs.sum()))
        indptr, taken = np.empty(len(order) + 1, np.int64), np.empty_like(units)
        take_rows(self._indptr, units, order, indptr, taken)
        return PreparedProgram(self._weights[order], Incidence(indptr, taken, int(occurs.sum())), self._caps[occurs])

    def _shrink(self, rows: int, entries: int) -> None:
        self._indptr, self._units, self._weights = (
            self._indptr[: rows + 1],
            self._units[:entries],
            self._weights[:rows],
        )


def _order(indptr: NDArray[np.int64], units: NDArray[np.int64], n_units: int) -> NDArray[np.integer]:
    """The permutation that sorts tuples by their units, shorter sets first where one begins the other."""
    count, width = len(indptr) - 1, int(np.diff(indptr).max())
    in_one_key = max(1, int(_KEY_BITS // np.log2(n_units + 1)))  # nobody is a number too
    keys = np.empty((-(-width // in_one_key), count), np.int64)
    pack_keys(indptr, units, n_units + 1, in_one_key, keys)
    order: NDArray[np.integer] = np.arange(count, dtype=row_type(count))
    for place, key in enumerate(keys[::-1]):
        _, order = radix_sort(key[order] if place else key, order, _KEY_BITS + 1)
    return order
