"""Cutting planes on one core: two bounds that close, step by step, always along the same path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.certificate.dual_point import DualPoint
from privacy.truncation.vector.certificate.shares import on_grid, raised
from privacy.truncation.vector.core import Core, loads_at
from privacy.truncation.vector.cuts import Cuts, cuts_at, multipliers
from privacy.truncation.vector.master import Master
from privacy.truncation.vector.repair import repaired

_TOLERANCE = 1e-9
"""A length above 1 by less than this is left to `raised`."""

_SETTLED = 1.0 / 16.0
"""When the lower bound moves by less than this part of the gap, it is the shares that need work: `repaired`."""

_NUDGE = 2.0**-28
"""What is added to shares before cuts are taken when the lower bound settles: more than the tolerance of a row.

A row is kept to 1e-9, so of a tuple that weighs 10^9 tau and is to be emptied so much may be left, and a cut that
is taken there sees nothing but this tuple. A little further on it is empty, and a cut shows what else is too long.
"""

_NUDGES = 5
"""Each time a point comes back the nudge is 8 times as large; after so many times nothing moves any more."""

_STEPS = 1 << 12
"""Far more than any search has needed (10): a bound against running for ever, not a parameter."""


class CoreSearch:
    """Kelley's method with all broken constraints cut at once, first at s = 0.

    The bounds here guide; what counts is proved by a `CertificatePass` of `shares` and `multipliers()`.
    Source: Kelley, The Cutting-Plane Method for Solving Convex Programs (1960).

    Attributes:
      lower, upper: of the core's optimum, in persons.
      columns: (C,) int64 units of the core.
      shares: (C,) the best shares found, feasible for the core.
    """

    def __init__(self, core: Core, control: Control = QUIET, inside: bool = False) -> None:
        """Look at s = 0.

        Args:
          inside: see Master.
        """
        self._core, self._control = core, control
        self._master = Master(len(core.columns), control, inside)
        self.columns = core.columns
        self._batches: list[Cuts] = []
        self._duals = np.zeros(0)
        self._point = np.zeros(len(core.columns))
        self.shares = np.ones(len(core.columns))
        self.lower, self.upper = 0.0, float(len(core.columns))
        self._repeats, self._found = 0, self._point
        self._loads: NDArray[np.float64] = np.zeros(0)
        self._broken: NDArray[np.int64] = np.zeros(0, np.int64)
        self._look(False)

    def step(self) -> None:
        """Cut off the current point, find the next, and make it feasible.

        Raises: Cancelled.
        Cost: a linear program from where the last one stood, and three passes over the patterns.
        """
        self._control.check("cutting", len(self._batches))
        batch = cuts_at(self._core, self._point, self._loads, self._broken)
        self._batches.append(batch)
        self._master.add(batch)
        point, self._duals = self._master.solve()
        risen = float(point.sum()) - self.lower
        self.lower = max(self.lower, float(point.sum()))
        before, self._found = self._found, on_grid(point)
        self._repeats = self._repeats + 1 if np.array_equal(before, self._found) else 0
        self._point = self._found
        self._look(risen < _SETTLED * (self.upper - self.lower))

    def closed(self, gap: float) -> bool:
        """Whether the bounds are `gap` apart, or can come no closer."""
        ended = self._repeats >= _NUDGES or not len(self._broken) or len(self._batches) >= _STEPS
        return self.upper - self.lower <= gap or ended

    def multipliers(self) -> DualPoint:
        """The dual point of the last linear program."""
        return multipliers(self._core, self._batches, self._duals)

    def _look(self, settled: bool) -> None:
        """Measure the point, and keep what it becomes when it is made feasible: with care when the bound settles."""
        self._measure(settled)
        if settled and len(self._broken):
            nudge = np.where(self._found > 0.0, _NUDGE * 8.0**self._repeats, 0.0)
            raw = self._point, self._loads, self._broken
            self._point = on_grid(self._found + nudge)
            self._measure(settled)
            if not len(self._broken):
                self._point, self._loads, self._broken = raw

    def _measure(self, settled: bool) -> None:
        """Who is too long at the point, and whether what it becomes is the best so far."""
        self._loads = loads_at(self._core, self._point)
        lengths = self._core.lengths_of(self._loads)
        self._broken = np.flatnonzero(lengths > 1.0 + _TOLERANCE)
        feasible = repaired(self._core, self._point) if settled else raised(self._point, lengths)
        if feasible.sum() < self.upper:
            self.shares, self.upper = feasible, float(feasible.sum())
