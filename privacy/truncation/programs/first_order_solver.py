"""The first-order method, which always ends with a proof, in linear memory and one pass over the owners per
iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.programs.program import Point, PreparedProgram
from privacy.units import Floats

Table = NDArray[np.uint32]
"""(m, K) owners of each tuple, n ("no unit") for missing ones; unsigned, so that no index is tested for its sign."""

Places = tuple[int, ...]
"""K zeros: the compiler knows the length of a tuple and unrolls the loops over the owners."""

OMEGA, SINCE_RESTART, FIRST_RESIDUAL, LAST_RESIDUAL, ITERATIONS = range(5)
"""Places of the scalars that `iterate` keeps between two calls."""

_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.5, 0.36
"""Restart rules of PDLP: a residual that fell this far, or this far and rises again, or so long an epoch."""

_LEAST_EPOCH = 8
_WARM_UP = 200


@kernel
def iterate(
    table: Table,
    places: Places,
    weights: Floats,
    caps: Floats,
    step: Floats,
    x: Floats,
    x_anchor: Floats,
    y: Floats,
    y_anchor: Floats,
    contribution: Floats,
    scalars: Floats,
    count: int,
) -> None:
    """`count` reflected Halpern steps of the primal-dual hybrid gradient, restarts included, all in place.

    Args:
      table, places, weights (m,), caps (n,): the program.
      step: (n,) dual step of a unit, one over its number of tuples; the primal step of a tuple is one over K,
        which makes the preconditioned matrix a contraction.
      x, x_anchor: (m,) and y, y_anchor: (n + 1,): the iterate and the point of the last restart; y ends with 0.
      contribution: (n + 1,) scratch.
      scalars: (5,) see above.
    """
    for _ in range(count):
        epoch = scalars[SINCE_RESTART]
        forward, back = (epoch + 1.0) / (epoch + 2.0), 1.0 / (epoch + 2.0)
        omega = scalars[OMEGA]
        moved_x = _primal_step(table, places, weights, x, x_anchor, y, contribution, omega, forward, back)
        moved_y = 0.0
        for u in range(len(caps)):
            old = y[u]
            new = max(0.0, old + omega * step[u] * (contribution[u] - caps[u]))
            moved_y += (new - old) * (new - old) / step[u]
            y[u] = forward * (2.0 * new - old) + back * y_anchor[u]
        residual = np.sqrt(omega * moved_x + moved_y / omega)
        if epoch == 0.0:
            scalars[FIRST_RESIDUAL] = residual
            scalars[LAST_RESIDUAL] = np.inf
        scalars[SINCE_RESTART] += 1.0
        scalars[ITERATIONS] += 1.0
        if _restarts(scalars, residual):
            _restart(len(places), step, x, x_anchor, y, y_anchor, scalars)
        scalars[LAST_RESIDUAL] = residual


@kernel
def _primal_step(
    table: Table,
    places: Places,
    weights: Floats,
    x: Floats,
    x_anchor: Floats,
    y: Floats,
    contribution: Floats,
    omega: float,
    forward: float,
    back: float,
) -> float:
    """The half of an iteration that touches the tuples: how far x moved, squared, in the metric of its step."""
    length = 1.0 / (omega * len(places))
    contribution[:] = 0.0
    moved = 0.0
    for t in range(len(weights)):
        reduced = 1.0
        for j in range(len(places)):
            reduced -= y[table[t, j]]
        old = x[t]
        new = old + length * reduced
        if new < 0.0:
            new = 0.0
        elif new > weights[t]:
            new = weights[t]
        ahead = 2.0 * new - old
        for j in range(len(places)):
            contribution[table[t, j]] += ahead
        moved += (new - old) * (new - old)
        x[t] = forward * ahead + back * x_anchor[t]
    return moved * len(places)


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
    width: int, step: Floats, x: Floats, x_anchor: Floats, y: Floats, y_anchor: Floats, scalars: Floats
) -> None:
    """Anchor here, and set the primal weight to how far the dual moved for each step of the primal."""
    far_x = 0.0
    for t in range(len(x)):
        far_x += (x[t] - x_anchor[t]) * (x[t] - x_anchor[t])
        x_anchor[t] = x[t]
    far_y = 0.0
    for u in range(len(step)):
        far_y += (y[u] - y_anchor[u]) * (y[u] - y_anchor[u]) / step[u]
        y_anchor[u] = y[u]
    if far_x > 1e-24 and far_y > 1e-24:
        scalars[OMEGA] = np.sqrt(scalars[OMEGA] * np.sqrt(far_y / (far_x * width)))
    scalars[SINCE_RESTART] = 0.0


@kernel
def projected(
    table: Table,
    places: Places,
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
    length = 1.0 / (omega * len(places))
    y_out[:] = 0.0
    for t in range(len(weights)):
        reduced = 1.0
        for j in range(len(places)):
            reduced -= y[table[t, j]]
        new = min(max(x[t] + length * reduced, 0.0), weights[t])
        x_out[t] = new
        for j in range(len(places)):
            y_out[table[t, j]] += 2.0 * new - x[t]
    for u in range(len(caps)):
        y_out[u] = max(0.0, y[u] + omega * step[u] * (y_out[u] - caps[u]))


_ENTRIES_PER_CALL = 1 << 23
"""Owners that a kernel reads in one call: some tens of milliseconds, so that signals are heeded."""

_FIRST_LOOK = 64
_LOOK_GROWTH = 8


@dataclass(frozen=True)
class FirstOrderSolver:
    """Restarted, reflected Halpern iterations of the preconditioned primal-dual hybrid gradient.

    Attributes:
      iteration_limit: None goes on until the caller stops. The method converges linearly on every linear program, so
        any positive gap is reached.
    Source: Lu and Yang, "Restarted Halpern PDHG for linear programming" (2024); Applegate et al., PDLP (2021).
    """

    iteration_limit: int | None = None

    def points(self, program: PreparedProgram) -> Iterator[Point]:
        """See LinearProgramSolver. Points come at geometrically growing distances; both arrays are used again.

        Cost: 2.5 ns per owner and iteration. Thresholds that clip few units take hundreds of iterations, small ones
          thousands. Memory: 4 bytes per owner and 40 per tuple.
        """
        state = _State(program)
        look = _FIRST_LOOK
        while True:
            stop = look if self.iteration_limit is None else min(look, self.iteration_limit)
            state.advance(stop)
            yield state.candidate()
            if stop == self.iteration_limit:
                return
            look += max(_FIRST_LOOK, look // _LOOK_GROWTH)


class _State:
    """The iterate between two looks. An additional unit stands for "no unit": its dual is always 0."""

    def __init__(self, program: PreparedProgram) -> None:
        incidence = program.incidence
        self._weights, self._caps = program.scaled()
        self._table = _table(program)
        self._places = (0,) * self._table.shape[1]
        self._step = 1.0 / np.maximum(incidence.degrees, 1)
        self._program = self._table, self._places, self._weights, self._caps, self._step
        self._x = np.zeros(len(self._weights))
        self._y = np.full(len(self._caps) + 1, 1.0 / len(self._places))
        self._y[-1] = 0.0
        self._x_anchor, self._y_anchor = self._x.copy(), self._y.copy()
        self._contribution = np.empty(len(self._y))
        self._x_out, self._y_out = np.empty(len(self._x)), np.empty(len(self._y))
        self._scalars = np.zeros(5)
        self._scalars[OMEGA] = self._primal_weight(incidence.degrees.mean())

    def advance(self, until: int) -> None:
        """Iterate up to this total number of iterations."""
        at_once = max(1, _ENTRIES_PER_CALL // self._table.size)
        while (done := int(self._scalars[ITERATIONS])) < until:
            point = self._x, self._x_anchor, self._y, self._y_anchor
            iterate(*self._program, *point, self._contribution, self._scalars, min(at_once, until - done))

    def candidate(self) -> Point:
        """The projection of the next step, within the bounds."""
        omega = float(self._scalars[OMEGA])
        projected(*self._program, self._x, self._y, omega, self._x_out, self._y_out)
        return self._x_out, self._y_out[:-1]

    def _primal_weight(self, degree: float) -> float:
        """The size of the starting dual against that of a typical primal point."""
        typical = np.minimum(self._weights, self._caps.mean() / max(degree, 1.0))
        size_x: float = (typical * typical).sum() * len(self._places)
        return float(np.sqrt((self._y[:-1] * self._y[:-1] / self._step).sum() / size_x))


def _table(program: PreparedProgram) -> NDArray[np.uint32]:
    """(m, K) owners, padded with the number of units."""
    incidence = program.incidence
    table = np.full((incidence.n_rows, int(incidence.owners.max())), incidence.n_units, np.uint32)
    table[incidence.rows, np.arange(len(incidence.units)) - incidence.indptr[incidence.rows]] = incidence.units
    return table
