"""Compile, or load, every kernel that a query may need, while nobody waits."""

from __future__ import annotations

import numpy as np

from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.incidence import Incidence
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.truncate import truncate
from privacy.truncation.truncate_distinct import truncate_distinct
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE

_TUPLES = 300
_PEOPLE = 40
_GROUPS = 3


def warm_up() -> None:
    """Solve small made-up programs of one to four owners, and counts of distinct values, threshold by threshold.

    They go the ways of real ones: filing, bounds, presolve, the flow, the linear programs and their proofs; the
    solvers of large programs beside them, for each number of owners.
    Cost: a second or two; most of a minute the first time on a machine.
    """
    ladder = Ladder(0, 6)
    for owners in (1, 2, 3, 4):
        gap = 0.0 if owners <= 2 else 0.01
        columns = tuple(_column(position) for position in range(owners))
        group = np.arange(_TUPLES, dtype=np.int64) % _GROUPS
        joined = JoinTuples(columns, group, _GROUPS, np.full((1, _TUPLES), ONE, np.int64))
        _solve_all(truncate(encode(joined), 0, ladder, gap))
        alone = JoinTuples(columns, np.zeros(_TUPLES, np.int64), 1, joined.weights)
        _solve_all(truncate(encode(alone), 0, ladder, gap))
    _solve_all(truncate(encode(JoinTuples((_scattered(),) * 2, group, _GROUPS, joined.weights)), 0, ladder, 0.0))
    for owners in (3, 4):
        for solver in (CoordinateSolver(1), FirstOrderSolver(1)):
            list(solver.points(_program(owners)))
    for owners, gap in ((1, 0.0), (2, 0.01)):
        columns = tuple(_column(position) for position in range(owners))
        value = (np.arange(_TUPLES, dtype=np.int64) * 7) % 31
        _solve_all(truncate_distinct(DistinctTuples(columns, np.zeros(_TUPLES, np.int64), 1, value), ladder, gap))


def _column(position: int) -> OwnerColumn:
    """Everybody meets somebody at some distance, who meets others: cycles of every length."""
    t = np.arange(_TUPLES, dtype=np.int64)
    keys = (t * (position + 1) + t // _PEOPLE * position) % _PEOPLE
    return OwnerColumn("person", keys, np.zeros(_TUPLES, bool))


def _program(owners: int) -> PreparedProgram:
    """Neighbours in a ring."""
    units = (np.arange(_PEOPLE)[:, None] + np.arange(owners)) % _PEOPLE
    ring = Incidence(np.arange(0, units.size + 1, owners), units.ravel(), _PEOPLE)
    return PreparedProgram(np.full(_PEOPLE, ONE), ring, np.full(_PEOPLE, ONE))


def _scattered() -> OwnerColumn:
    """Keys too far apart for a table."""
    keys = np.arange(_TUPLES, dtype=np.int64) % _PEOPLE * (1 << 50)
    return OwnerColumn("person", keys, np.zeros(_TUPLES, bool))


def _solve_all(answer: TruncatedAnswer) -> None:
    for group in range(answer.n_groups):
        for index in range(len(answer.ladder)):
            answer.sharpen(group, index)
            answer.solve(group, index)
