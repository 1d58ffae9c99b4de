"""What the truncation asks of a linear-program solver: two vectors, no promises."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.program import PreparedProgram

Point = tuple[NDArray[np.float64], NDArray[np.float64]]
"""x: (m,) in multiples of the program's scale; y: (n,) duals of the unit constraints, dimensionless."""


class LinearProgramSolver(Protocol):
    """A route to a solution. Nothing it says is believed: certificate.py recomputes both bounds."""

    def solve(self, program: PreparedProgram) -> Point:
        """A point near the optimum of `program.scaled()`; the same program gives the same point.

        Raises: SolverFailed when there is no point to look at.
        """
        ...
