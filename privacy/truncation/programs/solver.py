"""What the truncation asks of a linear-program solver: vectors, no promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.control import QUIET, Control
from privacy.truncation.programs.program import PreparedProgram

Point = tuple[NDArray[np.float64], NDArray[np.float64]]
"""x: (m,) in multiples of the program's scale; y: (n,) duals of the unit constraints, dimensionless."""


class LinearProgramSolver(Protocol):
    """A route to a solution. Nothing it says is believed: certificate.py recomputes both bounds."""

    def points(self, program: PreparedProgram, control: Control = QUIET) -> Iterator[Point]:
        """Points nearer and nearer the optimum of `program.scaled()`; the caller stops when one is near enough.

        The same program gives the same points: no clock, no random number, no order of questions enters.
        A point is valid until the next one is asked for.

        Raises: SolverFailed when there is no point to look at. Cancelled, within a second.
        """
        ...
