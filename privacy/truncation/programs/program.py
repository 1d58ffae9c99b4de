"""The truncation program in the form that a solver takes: integers, one group, one threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.programs.incidence import Incidence


@dataclass(frozen=True, eq=False, repr=False)
class PreparedProgram:
    """Maximise sum_t x_t with 0 <= x_t <= w_t and, for every unit u, sum over its tuples x_t <= c_u.

    Attributes:
      weights: (m,) int64, 0 <= w <= MAX_UNITS; above a cap of the tuple's only before the presolve.
      incidence: who owns which tuple; n units.
      caps: (n,) int64, 0 <= c < MAX_UNITS.
    """

    weights: NDArray[np.int64]
    incidence: Incidence
    caps: NDArray[np.int64]

    @property
    def scale(self) -> int:
        """The most that any tuple can count: dividing by it gives the solver variables of size one."""
        return min(int(self.weights.max(initial=1)), int(self.caps.max(initial=1)))

    def scaled(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights and caps divided by `scale`, as floats for a solver."""
        return self.weights / self.scale, self.caps / self.scale

    def __repr__(self) -> str:
        return "PreparedProgram(<private>)"
