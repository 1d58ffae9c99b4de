"""Compile or load the kernels of a usual question in advance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.sampling.growth import Piece, log_moment
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.first_order_solver import FirstOrderSolver
from privacy.truncation.programs.program import Incidence, PreparedProgram
from privacy.truncation.truncate import truncate, truncate_distinct
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE, Ints

_TUPLES = 300
_PEOPLE = 40
_GROUPS = 3
_THRESHOLDS = Thresholds(0, 6)


def _joins(owners: int) -> None:
    gap = 0.0 if owners <= 2 else 0.01
    columns = tuple(_column(position) for position in range(owners))
    for n_groups in (_GROUPS, 1):
        group = np.arange(_TUPLES, dtype=np.int64) % n_groups
        joined = JoinTuples(columns, group, n_groups, np.full((1, _TUPLES), ONE, np.int64))
        _solve_all(truncate(encode(joined), 0, _THRESHOLDS, gap))


def _scattered_keys() -> None:
    """Keys with gaps, whose ranks are in a table, and keys too far apart for one."""
    keys = np.arange(_TUPLES, dtype=np.int64) % _PEOPLE
    for apart in (10 * _TUPLES // _PEOPLE, 1 << 50):
        _join_of(keys * apart)


def _join_of(keys: Ints) -> None:
    columns = (OwnerColumn("person", keys, np.zeros(_TUPLES, bool)),) * 2
    joined = JoinTuples(columns, np.zeros(_TUPLES, np.int64), 1, np.full((1, _TUPLES), ONE, np.int64))
    _solve_all(truncate(encode(joined), 0, _THRESHOLDS, 0.0))


def _large_programs(owners: int) -> None:
    """Neighbours in a ring."""
    units = (np.arange(_PEOPLE)[:, None] + np.arange(owners)) % _PEOPLE
    ring = Incidence(np.arange(0, units.size + 1, owners), units.ravel(), _PEOPLE)
    for solver in (CoordinateSolver(1), FirstOrderSolver(1)):
        list(solver.points(PreparedProgram(np.full(_PEOPLE, ONE), ring, np.full(_PEOPLE, ONE))))


def _distinct(owners: int, gap: float) -> None:
    columns = tuple(_column(position) for position in range(owners))
    value = (np.arange(_TUPLES, dtype=np.int64) * 7) % 31
    _solve_all(truncate_distinct(DistinctTuples(columns, np.zeros(_TUPLES, np.int64), 1, value), _THRESHOLDS, gap))


def _groups() -> None:
    """Sums by group of one owner's rows, and the loss that a sample amplifies."""
    # opendp and scipy take a second, which processes that compile the other parts need not wait for
    from privacy.mechanisms.partition_selection import keep_groups
    from privacy.mechanisms.unit_vectors import UnitVectors

    group = np.arange(_TUPLES, dtype=np.int64) % _GROUPS
    tuples = encode(JoinTuples((_column(0),), group, _GROUPS, np.full((1, _TUPLES), ONE, np.int64)))
    vectors = UnitVectors.of_sum(tuples, 0, euclidean=False)
    vectors.kept(_THRESHOLDS)
    vectors.sums(ONE)
    keep_groups(tuples, 1)
    log_moment([Piece(1, _PEOPLE, 0.0, 0.1)], _PEOPLE, 0.5)


PARTS: tuple[Callable[[], None], ...] = (
    partial(_joins, 4),
    partial(_joins, 2),
    partial(_distinct, 1, 0.0),
    partial(_large_programs, 3),
    partial(_joins, 1),
    _groups,
    partial(_joins, 3),
    _scattered_keys,
    partial(_distinct, 2, 0.01),
    partial(_large_programs, 4),
)
"""Small made-up questions that take the paths of real ones: encoding, bounds, presolve, the flow, the linear programs
and their proofs, clipping. Any order, in any process; the slowest come first."""


def warm_up() -> None:
    """All parts in this process. Cost: a second or two; most of a minute the first time on a machine."""
    for part in range(len(PARTS)):
        run_part(part)


def run_part(part: int) -> None:
    """Run one of PARTS by its number; another process can be sent this function."""
    PARTS[part]()


def _column(position: int) -> OwnerColumn:
    """Owners that meet each other at all distances, which makes cycles of every length."""
    t = np.arange(_TUPLES, dtype=np.int64)
    keys = (t * (position + 1) + t // _PEOPLE * position) % _PEOPLE
    return OwnerColumn("person", keys, np.zeros(_TUPLES, bool))


def _solve_all(answer: TruncatedAnswer) -> None:
    for group in range(answer.n_groups):
        for index in range(len(answer.thresholds)):
            answer.sharpen(group, index)
            answer.solve(group, index)
