"""The linear program of the cuts by an interior-point method: slower than simplex, and never without a point.

Minimise sum x subject to A x - r = b, x + v = 1 and r, x, v >= 0, with multipliers y, z and u >= 0 of these three and
A^T y + z - u = 1. There is no basis that could be singular, and the multipliers are dual feasible from the first step
to the last: wherever it ends, they prove something.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array

from privacy.truncation.control import QUIET, Control

_ITERATIONS = 100
"""Far more than any program has needed (30): a bound against running for ever, not a parameter."""

_ACCURACY = 2.0**-44
"""What may be left of complementarity and of infeasibility, per person: float64 gets no further."""

_INSIDE = 0.995
"""The part of the way to the boundary that is gone."""

_REGULAR = 2.0**-50
"""Added to the diagonal in parts of itself, so that a factor exists when rows repeat one another."""

Six = tuple[NDArray[np.float64], ...]
"""r, x, v and their multipliers y, z, u; or changes of these."""


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # what is not finite ends the search
def interior_point(
    rows: csr_array, bound: NDArray[np.float64], control: Control = QUIET
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve min sum x, rows @ x >= bound, 0 <= x <= 1, by Mehrotra's predictor and corrector.

    Args:
      rows: (k, C), entries >= 0.
      bound: (k,) at most the sums of the rows, so that x = 1 is feasible.
    Returns: x (C,) in [0, 1] and y (k,) >= 0, finite.
    Raises: Cancelled.
    Cost: some tens of dense factorisations of C columns; memory 16 C^2 bytes.
    Source: Wright, Primal-Dual Interior-Point Methods (SIAM 1997), chapter 10.
    """
    point = _start(rows, bound)
    n_pairs = rows.shape[0] + 2 * rows.shape[1]
    for step in range(_ITERATIONS):
        control.check("cutting", step)
        short = bound + point[0] - rows @ point[1]
        left = _complementarity(point)
        if left + float(np.abs(short).sum()) <= _ACCURACY * max(1.0, float(point[1].sum())):
            break
        try:
            newton = _Newton(rows, point, short)
        except LinAlgError:
            break
        straight = newton.direction([a * b for a, b in zip(point[:3], point[3:], strict=True)])
        part = _length(point, straight)
        ahead = _complementarity(tuple(a + part * d for a, d in zip(point, straight, strict=True)))
        target = left / n_pairs * (ahead / left) ** 3
        bends = zip(point[:3], point[3:], straight[:3], straight[3:], strict=True)
        bent = newton.direction([a * b + d * e - target for a, b, d, e in bends])
        part = _INSIDE * _length(point, bent)
        moved = tuple(a + part * d for a, d in zip(point, bent, strict=True))
        if not all(np.isfinite(a).all() for a in moved):
            break
        point = moved
    return np.clip(point[1], 0.0, 1.0), point[3]


def _start(rows: csr_array, bound: NDArray[np.float64]) -> Six:
    """The middle of the box, and multipliers that are all of the order of 1; only A x - r = b does not hold yet."""
    k, size = rows.shape
    half, y = np.full(size, 0.5), np.full(k, 1.0 / (k + 1))
    asked: NDArray[np.float64] = rows.T @ y
    u = np.maximum(asked, 1.0)
    return np.maximum(rows @ half - bound, 0.5), half, half, y, 1.0 + u - asked, u


def _complementarity(point: Six) -> float:
    return sum(float(a @ b) for a, b in zip(point[:3], point[3:], strict=True))


def _length(point: Six, change: Six) -> float:
    """The largest part in [0, 1] of a change that keeps everything at least 0."""
    parts = (float(np.min(a[d < 0.0] / -d[d < 0.0], initial=1.0)) for a, d in zip(point, change, strict=True))
    return min(parts)


class _Newton:
    """The linear system at one point, factorised: from changes of x all others follow."""

    def __init__(self, rows: csr_array, point: Six, short: NDArray[np.float64]) -> None:
        self._rows, self._point, self._short = rows, point, short
        r, x, v, y, z, u = point
        system = (rows.T @ diags_array(y / r) @ rows).toarray()
        system[np.diag_indices_from(system)] += z / x + u / v
        system[np.diag_indices_from(system)] *= 1.0 + _REGULAR
        self._factor = cho_factor(system, check_finite=False)

    def direction(self, products: list[NDArray[np.float64]]) -> Six:
        """What changes r y, x z and v u by minus `products`, to the first order, and makes A x - r = b."""
        r, x, v, y, z, u = self._point
        by_row, lower, upper = products
        wanted = (y * self._short - by_row) / r
        dx = cho_solve(self._factor, self._rows.T @ wanted - lower / x + upper / v, check_finite=False)
        dr = self._rows @ dx - self._short
        return dr, dx, -dx, -(by_row + y * dr) / r, -(lower + z * dx) / x, -(upper - u * dx) / v
