"""The truncated answer of tuples with several owners: certified bounds at once, programs solved on demand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.certificate import Certificate
from privacy.truncation.concavity import tighten
from privacy.truncation.program import PreparedProgram
from privacy.truncation.reduced import Instance, Reduced
from privacy.truncation.routes import certified_optimum
from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import MAX_UNITS

Optimiser = Callable[[PreparedProgram, int], Certificate]
"""Bounds of a program's optimum that are at most so many units apart, or SolverFailed."""


class LazyAnswer:
    """A TruncatedAnswer: v in [fbar - gap * tau, fbar], each cell a function of (data, group, tau) alone.

    The value of a cell comes from the first of: its cheap bounds when they are close enough; the certified
    program of its anchor, scaled down, where fbar is known to be linear in tau (the anchor is the
    largest such threshold); its own certified program. Answers to earlier
    questions tighten `bounds` and never enter a value. Programs are certified to half the gap; the other
    half pays for rounding down after scaling. With gap 0 the optimiser must be exact, and so must the scaling.

    Not safe for use from several threads.
    """

    def __init__(
        self,
        instance: Instance,
        start: StartingBounds,
        ladder: Ladder,
        gap: float,
        optimiser: Optimiser = certified_optimum,
    ) -> None:
        """Settle the cells whose bounds are close enough.

        Args:
          start: bounds of every cell of the instance.
          gap: eta in [0, 1), a public constant; 0, or gap * tau is at least two units at every threshold.
          optimiser: solves one program; replaced in tests.
        Raises: InvalidParameter for a gap out of range.
        """
        if not 0.0 <= gap < 1.0 or (gap and int(gap * int(ladder.units[0])) < 2):
            raise InvalidParameter(
                "the gap must be below 1, and zero or at least two units of 2^-30 at every threshold"
            )
        self._instance = instance
        self._ladder = ladder
        self._gap = gap
        self._optimiser = optimiser
        self._slack = np.array([int(gap * tau) for tau in ladder.units.tolist()], np.int64)
        self._linear = start.linear
        self._fbar_low, self._fbar_high = start.lower.copy(), start.upper.copy()
        self._low = np.maximum(self._fbar_low - self._slack, 0)
        self._high = self._fbar_high.copy()
        self._known = np.zeros(self._low.shape, bool)
        self._settle_close_bounds()

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._instance.n_groups

    @property
    def ladder(self) -> Ladder:
        """The thresholds."""
        return self._ladder

    @property
    def gap(self) -> float:
        """eta, as it was asked for; the gap achieved stays private."""
        return self._gap

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(G, L) read-only views of the bounds of v; they tighten as cells are solved."""
        low, high = self._low.view(), self._high.view()
        low.flags.writeable = high.flags.writeable = False
        return low, high

    def solve(self, group: int, index: int) -> int:
        """v(group, ladder.units[index]) in units.

        Raises: SolverFailed when no route certifies half the gap.
        Cost: nothing when known; otherwise a presolve and, unless that finishes it, a linear program.
        """
        if not self._known[group, index]:
            anchor = max(index, int(self._linear[group]))
            self._record(group, anchor, self._proof(self._instance.reduced(group, anchor), anchor))
        return int(self._low[group, index])

    def _proof(self, reduced: Reduced, anchor: int) -> Certificate:
        """Bounds at most half the gap apart; equal ones when nothing is left to solve."""
        if reduced.core is None:
            return Certificate(reduced.settled, reduced.settled, 0)
        return self._optimiser(reduced.core, int(self._slack[anchor]) // 2).plus(reduced.settled)

    def _settle_close_bounds(self) -> None:
        """Cells whose cheap bounds lie within half the gap need no program: v is the lower bound."""
        columns = np.arange(len(self._ladder))
        anchors = np.maximum(columns, self._linear[:, None])
        low = np.take_along_axis(self._fbar_low, anchors, axis=1)
        high = np.take_along_axis(self._fbar_high, anchors, axis=1)
        self._known = high - low <= self._slack[anchors] // 2
        values = low >> (anchors - columns)
        self._low = np.where(self._known, values, self._low)
        self._high = np.where(self._known, values, self._high)

    def _record(self, group: int, anchor: int, proof: Certificate) -> None:
        """Enter a solved cell, the linear cells below it, and what they say about their neighbours."""
        first = 0 if anchor == self._linear[group] else anchor
        for column in range(first, anchor + 1):
            halvings = anchor - column
            value = min(proof.floor(halvings), MAX_UNITS)
            self._low[group, column] = self._high[group, column] = value
            self._fbar_low[group, column] = max(self._fbar_low[group, column], value)
            self._fbar_high[group, column] = min(self._fbar_high[group, column], proof.ceiling(halvings))
        self._known[group, first : anchor + 1] = True
        tighten(self._fbar_low[group], self._fbar_high[group], self._ladder.units)
        open_cells = ~self._known[group]
        low = np.maximum(self._fbar_low[group] - self._slack, 0)
        self._low[group, open_cells] = low[open_cells]
        self._high[group, open_cells] = self._fbar_high[group, open_cells]

    def __repr__(self) -> str:
        return "LazyAnswer(<private>)"
