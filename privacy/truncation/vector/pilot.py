"""A look at every so-manieth tuple, to guess which units will be removed: never believed, only used to start well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.core import build_core, loads_at
from privacy.truncation.vector.core_search import CoreSearch

_SAMPLE = 1 << 18
"""Tuples that are looked at; fewer find the same units, but their multipliers prove less."""

_WORTHWHILE = 16
"""So many times as many tuples make a pilot pay."""

_GAP = 0.05
_NEARLY = 0.8
"""A unit this close to its threshold in the sample may be over it in the whole."""

_TRUST = 0.9
"""How much of a share found in the sample is assumed when tuples are set aside."""


@dataclass(frozen=True, eq=False, repr=False)
class Pilot:
    """Where to start.

    Attributes:
      columns: (C,) int64 units that seem to matter, ascending.
      guess: (n_units,) shares; tuples of which they leave nothing may be set aside.
      sample: the search on the sample, whose shares and multipliers may already prove enough; None without one.
    """

    columns: NDArray[np.int64]
    guess: NDArray[np.float64]
    sample: CoreSearch | None = None

    def __repr__(self) -> str:
        return "Pilot(<private>)"


def everybody(over: NDArray[np.bool_]) -> Pilot:
    """Every unit over the threshold, and every tuple: what a pilot falls back to, and small instances begin with."""
    return Pilot(np.flatnonzero(over), np.zeros(len(over)))


def pilot(
    tuples: CompactJoinTuples, release: int, over: NDArray[np.bool_], tau: int, control: Control = QUIET
) -> Pilot:
    """Solve a sample roughly, with the threshold scaled down alike. A function of its arguments: the stride is fixed.

    Raises: Cancelled.
    Cost: nothing below 2^22 tuples, else that of a core of 2^18 tuples.
    """
    stride = len(tuples.group) // _SAMPLE
    start = everybody(over)
    if stride < _WORTHWHILE:
        return start
    sample = _strided(tuples, release, stride)
    core = build_core(sample, 0, over, start.columns, start.guess, max(1, tau // stride), control)
    search = CoreSearch(core, control)
    while not search.closed(_GAP):
        search.step()
    lengths = core.lengths_of(loads_at(core, search.shares))
    matters = (search.shares > 0.0) | (lengths > _NEARLY)
    guess = np.zeros(len(over))
    guess[start.columns] = search.shares * _TRUST
    return Pilot(start.columns[matters], guess, search)


def _strided(tuples: CompactJoinTuples, release: int, stride: int) -> CompactJoinTuples:
    """Tuples 0, stride, 2 stride, ..."""
    firsts, lasts = tuples.indptr[:-1:stride], tuples.indptr[1::stride]
    sizes = lasts - firsts
    indptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    entries = np.arange(indptr[-1]) + np.repeat(firsts - indptr[:-1], sizes)
    return CompactJoinTuples(
        indptr,
        tuples.units[entries],
        tuples.n_units,
        tuples.group[::stride].copy(),
        tuples.n_groups,
        tuples.weights[release : release + 1, ::stride].copy(),
    )
