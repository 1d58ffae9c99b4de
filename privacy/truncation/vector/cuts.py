"""Linear consequences of the norm constraints, taken where a point breaks them, and what they prove together.

With c = L_u(s0) / |L_u(s0)| and A the patterns of u of which s0 leaves something, every feasible s has

    1 >= |L_u(s)| >= sum_{p in A} w_p c_{f(p)} (1 - sum_{v in p} s_v),

an inequality in s alone. Divided by r = sum_{p in A} w_p c_{f(p)} its coefficients are at most 1, and 1 for u itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.vector.certificate.dual_point import DualPoint
from privacy.truncation.vector.core import Core

_BLOCK = 1 << 22
"""Coefficients that are summed up at a time: 32 MB, so that wide cores take several passes instead of more memory."""

_PASSES = 16
"""Passes after which it pays to jump."""


@dataclass(frozen=True, eq=False, repr=False)
class Cuts:
    """Rows a @ s >= b, all taken at the same point.

    Attributes:
      column: (k,) int64 columns whose constraints they follow from.
      shares: (C,) the point.
      direction: (R,) c / r of the cut of each run's column, 0 where there is none.
      indptr, columns, values: CSR of a.
      bound: (k,) b = 1 - 1/r.
    """

    column: NDArray[np.int64]
    shares: NDArray[np.float64]
    direction: NDArray[np.float64]
    indptr: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    bound: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Cuts(<private>)"


def cuts_at(core: Core, shares: NDArray[np.float64], loads: NDArray[np.float64], broken: NDArray[np.int64]) -> Cuts:
    """One cut for each of the constrained columns `broken`, whose lengths are not zero at `shares`.

    Cost: a pass over the patterns per 2^22 coefficients of a full table, at most _PASSES; where that is too few for
      as many cuts of as many columns, a look at the patterns of each broken column, out of order but once.
    """
    lengths = core.lengths_of(loads)
    direction = loads / np.maximum(lengths, np.finfo(float).tiny)[core.run_column]
    starts, columns, values = _rows(core, shares, direction, broken)
    owners = np.repeat(broken, np.diff(starts))
    totals = np.zeros(len(core.columns))
    totals[broken] = values[columns == owners]
    values /= totals[owners]
    reciprocal = np.zeros(len(core.columns))
    reciprocal[broken] = 1.0 / totals[broken]
    return Cuts(
        broken,
        shares,
        direction * reciprocal[core.run_column],
        starts.astype(np.int32),
        columns,
        values,
        1.0 - reciprocal[broken],
    )


def multipliers(core: Core, batches: list[Cuts], duals: NDArray[np.float64]) -> DualPoint:
    """The cuts, each with its dual, as multipliers of the constraints they came from.

    Args:
      duals: one per row of `batches`, in order, >= 0.
    Cost: memory O(runs) per batch that has a dual.
    """
    first, points, by_run = 0, [np.zeros((len(core.columns), 0))], [np.zeros((len(core.run_column), 0))]
    for batch in batches:
        dual = np.zeros(len(core.columns))
        dual[batch.column] = duals[first : first + len(batch.column)]
        first += len(batch.column)
        if dual.any():
            points.append(batch.shares[:, None])
            by_run.append((dual[core.run_column] * batch.direction)[:, None])
    return DualPoint(core.columns, np.hstack(points), core.run_group, core.run_column, np.hstack(by_run))


def _rows(
    core: Core, shares: NDArray[np.float64], direction: NDArray[np.float64], broken: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """CSR of sum_{p in A} w_p c_{f(p)} [v in p] over the columns v, a row per broken column; the same either way."""
    block = max(1, _BLOCK // len(core.columns))
    patterns = core.patterns
    if len(broken) > _PASSES * block:
        order = np.argsort(patterns.columns, kind="stable")
        ends = np.cumsum(np.bincount(patterns.columns, minlength=len(core.columns)))
        return _sum_apart(
            patterns.indptr,
            patterns.columns,
            np.repeat(np.arange(len(core.weight)), np.diff(patterns.indptr)),
            core.weight,
            core.run,
            shares,
            direction,
            broken,
            order,
            ends,
        )
    starts, columns, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for first in range(0, len(broken), block):
        part = broken[first : first + block]
        place = np.full(len(core.columns), -1, np.int64)
        place[part] = np.arange(len(part))
        table = np.zeros((len(part), len(core.columns)))
        _sum_rows(patterns.indptr, patterns.columns, core.weight, core.run, shares, direction, place, table)
        rows, found = np.nonzero(table)
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(rows, minlength=len(part))))
        columns.append(found.astype(np.int32))
        values.append(table[rows, found])
    return np.concatenate(starts), np.concatenate(columns), np.concatenate(values)


@kernel
def _sum_apart(
    indptr: NDArray[np.int64],
    columns: NDArray[np.int32],
    pattern: NDArray[np.int64],
    weight: NDArray[np.float64],
    run: NDArray[np.int32],
    shares: NDArray[np.float64],
    direction: NDArray[np.float64],
    broken: NDArray[np.int64],
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """See _rows: row after row, from the entries `order` of each column, which end at `ends`."""
    active = np.zeros(len(weight), np.bool_)
    for p in range(len(weight)):
        left = 1.0
        for entry in range(indptr[p], indptr[p + 1]):
            left -= shares[columns[entry]]
        active[p] = left > 0.0
    starts = np.zeros(len(broken) + 1, np.int64)
    found, values = np.empty(len(columns), np.int32), np.empty(len(columns))
    row, touched, count = np.zeros(len(ends)), np.empty(len(ends), np.int32), 0
    for i in range(len(broken)):
        n_touched = 0
        for at in range(ends[broken[i] - 1] if broken[i] > 0 else 0, ends[broken[i]]):
            p = pattern[order[at]]
            part = weight[p] * direction[run[order[at]]]
            if active[p] and part > 0.0:
                for other in range(indptr[p], indptr[p + 1]):
                    column = columns[other]
                    if row[column] == 0.0:
                        touched[n_touched] = column
                        n_touched += 1
                    row[column] += part
        if count + n_touched > len(found):
            more = len(found) + n_touched
            found = np.concatenate((found, np.empty(more, np.int32)))
            values = np.concatenate((values, np.empty(more)))
        for column in np.sort(touched[:n_touched]):
            found[count], values[count] = column, row[column]
            row[column] = 0.0
            count += 1
        starts[i + 1] = count
    return starts, found[:count].copy(), values[:count].copy()


@kernel
def _sum_rows(
    indptr: NDArray[np.int64],
    columns: NDArray[np.int32],
    weight: NDArray[np.float64],
    run: NDArray[np.int32],
    shares: NDArray[np.float64],
    direction: NDArray[np.float64],
    place: NDArray[np.int64],
    table: NDArray[np.float64],
) -> None:
    """table[place[u], v] += w_p c over the patterns p of u and v of which the shares leave something."""
    for p in range(len(weight)):
        left = 1.0
        for entry in range(indptr[p], indptr[p + 1]):
            left -= shares[columns[entry]]
        if left > 0.0:
            for entry in range(indptr[p], indptr[p + 1]):
                row = place[columns[entry]]
                if row >= 0:
                    part = weight[p] * direction[run[entry]]
                    for other in range(indptr[p], indptr[p + 1]):
                        table[row, columns[other]] += part
