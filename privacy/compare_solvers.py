"""Compare both solvers on one program, threshold by threshold: the certified value beside cvxpy's.

For the administrator: the values are exact and private, and may not be published. The comparison takes the whole
program as the papers print it, so that a mistake in presolve, bounds or certificate shows. Scalars are compared by
their linear program, vectors by program (2) in shares.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from privacy.errors import SolverFailed
from privacy.join_tuples import CodedJoinTuples, CompactJoinTuples
from privacy.papers.vector_program.certificate import STEP_BITS
from privacy.papers.vector_program.reference import ReferenceVectorSolver
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.thresholds import Thresholds
from privacy.truncation.programs.library_solvers import ReferenceSolver
from privacy.truncation.programs.program import Incidence, PreparedProgram
from privacy.truncation.truncate import truncate
from privacy.units import ONE

COMPARED_ENTRIES = 50_000
"""The most owners in the tuples of a group for which cvxpy is asked: some minutes for each threshold."""

_PERSONS = 2e-5
"""Persons, for each that is removed, by which Clarabel may be off on a vector program, a second-order cone one."""

_STEP = 2.0**-STEP_BITS
"""Persons in a step of `Removal.removed`."""

_FLOATS = 1e-6
"""How far an interior point may be off, as a part of the larger of the optimum and tau."""


@dataclass(frozen=True, repr=False)
class ComparedThreshold:
    """What both solvers return at one threshold, over all groups together, in normalised weight.

    Attributes:
      certified: the value that a mechanism uses: v in [fbar - gap * tau, fbar] in each group.
      reference: fbar by cvxpy; None if a group is too large for it.
      certified_s, reference_s: seconds.
      difference: the largest of a group, |v - fbar|.
      allowed: the gap * tau of the certificate.
      agrees: v lies in its interval in every group, but for what floats are off.
    """

    tau: float
    certified: float
    reference: float | None
    certified_s: float
    reference_s: float
    difference: float
    allowed: float
    agrees: bool


def compare_solvers(
    tuples: CodedJoinTuples, release: int, thresholds: Thresholds, gap: float
) -> Iterator[ComparedThreshold]:
    """Solve a release's program in every group at every threshold twice, smallest threshold first.

    Args: as of `truncate`, whose values these are.
    Raises: SolverFailed if either solver gives up.
    Cost: a cold program without presolve for each group and threshold.
    """
    answer = truncate(tuples, release, thresholds, gap)
    groups = [_whole(tuples, release, group) for group in range(tuples.n_groups)]
    large = any(len(program.incidence.units) > COMPARED_ENTRIES for program in groups)
    for index, tau in enumerate(thresholds.units.tolist()):
        started = time.perf_counter()
        certified = [answer.solve(group, index) for group in range(tuples.n_groups)]
        between = time.perf_counter()
        reference = None if large else [_optimum(program, tau) for program in groups]
        ended = time.perf_counter()
        allowed, worst, agrees = gap * tau, 0.0, True
        for value, optimum in zip(certified, reference or (), strict=reference is not None):
            off = _FLOATS * max(optimum, tau) + 1
            worst = max(worst, abs(value - optimum))
            agrees &= -off - allowed <= value - optimum <= off
        yield ComparedThreshold(
            tau / ONE,
            sum(certified) / ONE,
            None if reference is None else sum(reference) / ONE,
            between - started,
            ended - between,
            worst / ONE,
            allowed / ONE,
            agrees,
        )


def compare_removals(tuples: CompactJoinTuples, thresholds: Thresholds) -> Iterator[ComparedThreshold]:
    """Solve the program of all groups together at every threshold twice: how many persons to remove.

    Args:
      tuples: one release, merged. Values are persons rather than weight; tau is the norm of a unit's vector.
    Raises: SolverFailed if the certified solver gives up; without Clarabel's result there is no comparison.
    """
    instance, solver = VectorInstance(tuples), ReferenceVectorSolver()
    large = len(tuples.units) > COMPARED_ENTRIES
    for tau in thresholds.units.tolist():
        started = time.perf_counter()
        removal = instance.removal(tau)
        between = time.perf_counter()
        reference = None
        if not large:
            with suppress(SolverFailed):
                reference = solver.in_shares(tuples, 0, tau) if tuples.n_units else 0.0
        ended = time.perf_counter()
        certified, allowed = removal.removed * _STEP, DEFAULT_GAP * _STEP
        difference = 0.0 if reference is None else certified - reference
        off = _PERSONS * max(1.0, certified)
        agrees = -off <= difference <= allowed + off
        seconds = between - started, ended - between
        yield ComparedThreshold(tau / ONE, certified, reference, *seconds, abs(difference), allowed, agrees)


def _whole(tuples: CodedJoinTuples, release: int, group: int) -> PreparedProgram:
    """A group's program, whose caps are not yet set."""
    rows = slice(int(tuples.row_start[group]), int(tuples.row_start[group + 1]))
    first, last = tuples.member_start[group : group + 2].tolist()
    members = tuples.members[:, rows].T
    owns = members >= 0
    indptr = np.concatenate([[0], np.cumsum(owns.sum(axis=1))]).astype(np.int64)
    incidence = Incidence(indptr, members[owns].astype(np.int64) - first, last - first)
    return PreparedProgram(tuples.weights[release, rows], incidence, np.zeros(last - first, np.int64))


def _optimum(program: PreparedProgram, tau: int) -> float:
    """fbar of cvxpy, in units."""
    weights = np.minimum(program.weights, tau)  # no tuple counts for more; saturated ones stay below a float's range
    if not weights.any():
        return 0.0
    capped = PreparedProgram(weights, program.incidence, np.full(len(program.caps), tau))
    x, _ = next(ReferenceSolver().points(capped))
    return float(np.sum(x)) * capped.scale
