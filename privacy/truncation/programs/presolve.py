"""Shrink a truncation program without changing its optimum, in integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.control import QUIET, Control
from privacy.truncation.exact_sums import exact_sum
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.presolve_kernels import clip_and_load, drop_dominated, keep_contested, merge_equal
from privacy.truncation.programs.program import PreparedProgram

_MAX_ROUNDS = 64
"""Each round is linear; what a chain of units leaves after this many goes to the solver."""

_LOW_BITS = 31


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
    Cost: linear per round; a handful of rounds collapses most instances.
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
        self._shrink(*keep_contested(self._indptr, self._units, self._weights, binding, self._caps, wanted, free))
        filled = np.minimum(wanted, self._caps)
        self._caps -= filled
        self.settled += int(free[0]) + (int(free[1]) << _LOW_BITS) + exact_sum(filled)
        control.check("presolve")
        self._shrink(*merge_equal(self._indptr, self._units, self._weights))
        return bool(len(self._weights)) and (n_rows, n_entries) != (len(self._weights), len(self._units))

    def core(self) -> PreparedProgram | None:
        """What is left, units numbered afresh, tuples sorted, none above its smallest cap.

        The last round merged after it had clipped, and when rounds ran out none came after it.
        """
        if not len(self._weights):
            return None
        clip_and_load(self._indptr, self._units, self._weights, self._caps, self._load)
        lengths = np.diff(self._indptr)
        occurs = np.zeros(len(self._caps), bool)
        occurs[self._units] = True
        units = (np.cumsum(occurs) - 1)[self._units]
        order = _order(self._indptr, units, int(occurs.sum()))
        indptr = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths[order], out=indptr[1:])
        entries = np.repeat(self._indptr[order] - indptr[:-1], lengths[order]) + np.arange(len(units))
        incidence = Incidence(indptr, units[entries], int(occurs.sum()))
        return PreparedProgram(self._weights[order], incidence, self._caps[occurs])

    def _shrink(self, rows: int, entries: int) -> None:
        self._indptr, self._units, self._weights = (
            self._indptr[: rows + 1],
            self._units[:entries],
            self._weights[:rows],
        )


def _order(indptr: NDArray[np.int64], units: NDArray[np.int64], n_units: int) -> NDArray[np.int64]:
    """The permutation that sorts tuples by their units, shorter sets first where one begins the other."""
    lengths = np.diff(indptr)
    width = int(lengths.max())
    keys: list[NDArray[np.int64]] = []
    room = 0
    for place in range(width):  # as many places in one key as 63 bits hold
        digit = np.zeros(len(lengths), np.int64)
        has = lengths > place
        digit[has] = units[indptr[:-1][has] + place] + 1
        if room < n_units + 1:
            keys.append(digit)
            room = (1 << 62) // (n_units + 1)
        else:
            keys[-1] = keys[-1] * (n_units + 1) + digit
            room //= n_units + 1
    if len(keys) == 1:
        return np.argsort(keys[0], kind="stable")
    return np.lexsort(keys[::-1])
