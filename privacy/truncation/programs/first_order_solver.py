"""A first-order method: linear memory, a pass over the owners per iteration, and it can be stopped anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.control import QUIET, Control
from privacy.truncation.programs.first_order_kernels import ITERATIONS, OMEGA, iterate, projected
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver import Point

_ENTRIES_PER_CALL = 1 << 23
"""How much a kernel chews between two looks at whether to stop: some tens of milliseconds."""

_FIRST_LOOK = 64
_LOOK_GROWTH = 8


@dataclass(frozen=True)
class FirstOrderSolver:
    """Restarted, reflected Halpern iterations of the preconditioned primal-dual hybrid gradient.

    Attributes:
      iteration_limit: None goes on until the caller is satisfied. The method converges linearly on every linear
        program, so that a caller who asks for a positive gap is satisfied in the end.
    Source: Lu and Yang, "Restarted Halpern PDHG for linear programming" (2024); Applegate et al., PDLP (2021).
    """

    iteration_limit: int | None = None

    def points(self, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        """See LinearProgramSolver. Points come at geometrically growing distances; both arrays are used again.

        Cost: 2.5 ns per owner and iteration; hundreds of iterations for thresholds that cut few, thousands for
          small ones. Memory: 4 bytes per owner and 40 per tuple.
        """
        state = _State(program)
        look = _FIRST_LOOK
        while True:
            stop = look if self.iteration_limit is None else min(look, self.iteration_limit)
            state.advance(stop, control)
            yield state.candidate()
            if stop == self.iteration_limit:
                return
            look += max(_FIRST_LOOK, look // _LOOK_GROWTH)


class _State:
    """The iterate between two looks. One unit more than there are stands for nobody: its dual is always 0."""

    def __init__(self, program: PreparedProgram) -> None:
        incidence = program.incidence
        self._weights, self._caps = program.scaled()
        self._table = _table(program)
        self._places = (0,) * self._table.shape[1]
        self._step = 1.0 / np.maximum(incidence.degrees, 1)
        self._x = np.zeros(len(self._weights))
        self._y = np.full(len(self._caps) + 1, 1.0 / len(self._places))
        self._y[-1] = 0.0
        self._x_anchor, self._y_anchor = self._x.copy(), self._y.copy()
        self._load = np.empty(len(self._y))
        self._x_out, self._y_out = np.empty(len(self._x)), np.empty(len(self._y))
        self._scalars = np.zeros(5)
        self._scalars[OMEGA] = self._primal_weight(incidence.degrees.mean())

    def advance(self, until: int, control: Control) -> None:
        """Iterate up to this total number of iterations."""
        at_once = max(1, _ENTRIES_PER_CALL // self._table.size)
        while (done := int(self._scalars[ITERATIONS])) < until:
            control.check("first-order iterations", done)
            iterate(
                self._table,
                self._places,
                self._weights,
                self._caps,
                self._step,
                self._x,
                self._x_anchor,
                self._y,
                self._y_anchor,
                self._load,
                self._scalars,
                min(at_once, until - done),
            )

    def candidate(self) -> Point:
        """The projection of the next step, within the bounds."""
        projected(
            self._table,
            self._places,
            self._weights,
            self._caps,
            self._step,
            self._x,
            self._y,
            float(self._scalars[OMEGA]),
            self._x_out,
            self._y_out,
        )
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
