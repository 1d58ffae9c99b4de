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
from privacy.truncation.vector.core import Core
from privacy.truncation.vector.dual_point import DualPoint

_BLOCK = 1 << 22
"""Coefficients that are summed up at a time: 32 MB, so that wide cores take several passes instead of more memory."""


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

    Cost: a pass over the patterns per 2^22 coefficients.
    """
    lengths = core.lengths_of(loads)
    direction = loads / np.maximum(lengths, np.finfo(float).tiny)[core.run_column]
    starts, columns, values, totals = [np.zeros(1, np.int64)], [], [], np.zeros(len(core.columns))
    block = max(1, _BLOCK // len(core.columns))
    for first in range(0, len(broken), block):
        part = broken[first : first + block]
        place = np.full(len(core.columns), -1, np.int64)
        place[part] = np.arange(len(part))
        table = np.zeros((len(part), len(core.columns)))
        _sum_rows(core.patterns.indptr, core.patterns.columns, core.weight, core.run, shares, direction, place, table)
        totals[part] = table[np.arange(len(part)), part]
        rows, found = np.nonzero(table)
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(rows, minlength=len(part))))
        columns.append(found.astype(np.int32))
        values.append(table[rows, found] / totals[part][rows])
    reciprocal = np.zeros(len(core.columns))
    reciprocal[broken] = 1.0 / totals[broken]
    return Cuts(
        broken,
        shares,
        direction * reciprocal[core.run_column],
        np.concatenate(starts).astype(np.int32),
        np.concatenate(columns),
        np.concatenate(values),
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
