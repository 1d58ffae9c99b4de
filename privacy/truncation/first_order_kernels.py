"""The loops of the first-order method: one pass over the owners per iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]

OMEGA, SINCE_RESTART, FIRST_RESIDUAL, LAST_RESIDUAL, ITERATIONS = range(5)
"""Places of the scalars that live between two calls of `iterate`."""

_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.8, 0.36
"""Restart rules of PDLP: a residual that fell this far, or this far and rises again, or so long an epoch."""

_LEAST_EPOCH = 8
_WARM_UP = 200


@kernel
def iterate(
    indptr: Indices,
    units: Indices,
    weights: Floats,
    caps: Floats,
    step: Floats,
    x: Floats,
    x_anchor: Floats,
    y: Floats,
    y_anchor: Floats,
    load: Floats,
    scalars: Floats,
    count: int,
) -> None:
    """`count` reflected Halpern steps of the primal-dual hybrid gradient, restarts included, all in place.

    Args:
      indptr, units, weights (m,), caps (n,): the program.
      step: (n,) dual step of a unit, one over its number of tuples; the primal step of a tuple is one over
        its number of owners, which makes the preconditioned matrix a contraction.
      x, x_anchor: (m,) and y, y_anchor: (n,): the iterate and the point of the last restart.
      load: (n,) scratch.
      scalars: (5,) see above.
    """
    for _ in range(count):
        epoch = scalars[SINCE_RESTART]
        forward, back = (epoch + 1.0) / (epoch + 2.0), 1.0 / (epoch + 2.0)
        omega = scalars[OMEGA]
        load[:] = 0.0
        moved_x = 0.0
        for t in range(len(weights)):
            begin, end = indptr[t], indptr[t + 1]
            reduced = 1.0
            for e in range(begin, end):
                reduced -= y[units[e]]
            owners = np.float64(end - begin)
            old = x[t]
            new = min(max(old + reduced / (omega * owners), 0.0), weights[t])
            ahead = 2.0 * new - old
            if ahead != 0.0:
                for e in range(begin, end):
                    load[units[e]] += ahead
            moved_x += (new - old) * (new - old) * owners
            x[t] = forward * ahead + back * x_anchor[t]
        moved_y = 0.0
        for u in range(len(caps)):
            old = y[u]
            new = max(0.0, old + omega * step[u] * (load[u] - caps[u]))
            moved_y += (new - old) * (new - old) / step[u]
            y[u] = forward * (2.0 * new - old) + back * y_anchor[u]
        residual = np.sqrt(omega * moved_x + moved_y / omega)
        if epoch == 0.0:
            scalars[FIRST_RESIDUAL] = residual
            scalars[LAST_RESIDUAL] = np.inf
        scalars[SINCE_RESTART] += 1.0
        scalars[ITERATIONS] += 1.0
        if _restarts(scalars, residual):
            _restart(indptr, step, x, x_anchor, y, y_anchor, scalars)
        scalars[LAST_RESIDUAL] = residual


@kernel
def _restarts(scalars: Floats, residual: float) -> bool:
    epoch, total, first = scalars[SINCE_RESTART], scalars[ITERATIONS], scalars[FIRST_RESIDUAL]
    if epoch < _LEAST_EPOCH:
        return False
    if residual <= _SUFFICIENT * first:
        return True
    if residual <= _NECESSARY * first and residual > scalars[LAST_RESIDUAL]:
        return True
    return bool(epoch >= _ARTIFICIAL * total and total > _WARM_UP)


@kernel
def _restart(
    indptr: Indices, step: Floats, x: Floats, x_anchor: Floats, y: Floats, y_anchor: Floats, scalars: Floats
) -> None:
    """Anchor here, and set the primal weight to how far the dual moved for each step of the primal."""
    far_x = 0.0
    for t in range(len(x)):
        far_x += (x[t] - x_anchor[t]) * (x[t] - x_anchor[t]) * (indptr[t + 1] - indptr[t])
        x_anchor[t] = x[t]
    far_y = 0.0
    for u in range(len(y)):
        far_y += (y[u] - y_anchor[u]) * (y[u] - y_anchor[u]) / step[u]
        y_anchor[u] = y[u]
    if far_x > 1e-24 and far_y > 1e-24:
        scalars[OMEGA] = np.sqrt(scalars[OMEGA] * np.sqrt(far_y / far_x))
    scalars[SINCE_RESTART] = 0.0


@kernel
def projected(
    indptr: Indices,
    units: Indices,
    weights: Floats,
    caps: Floats,
    step: Floats,
    x: Floats,
    y: Floats,
    omega: float,
    x_out: Floats,
    y_out: Floats,
) -> None:
    """The point that one step from (x, y) projects onto the bounds: what is worth certifying."""
    y_out[:] = 0.0
    for t in range(len(weights)):
        begin, end = indptr[t], indptr[t + 1]
        reduced = 1.0
        for e in range(begin, end):
            reduced -= y[units[e]]
        new = min(max(x[t] + reduced / (omega * np.float64(end - begin)), 0.0), weights[t])
        x_out[t] = new
        for e in range(begin, end):
            y_out[units[e]] += 2.0 * new - x[t]
    for u in range(len(caps)):
        y_out[u] = max(0.0, y[u] + omega * step[u] * (y_out[u] - caps[u]))
