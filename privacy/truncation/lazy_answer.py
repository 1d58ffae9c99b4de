"""The truncated answer of tuples with several owners: certified bounds at once, programs solved on demand.

Two bounds from one pass each usually show that a threshold does not matter. A solved threshold bounds the others, as
fbar is concave and non-decreasing in tau, and fbar(0) = 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.thresholds import Thresholds
from privacy.truncation.distinct import DistinctInstance
from privacy.truncation.programs.certificate import Certificate
from privacy.truncation.programs.large_core import LargeCore
from privacy.truncation.programs.program import PreparedProgram
from privacy.truncation.programs.solver_routes import certified_optimum
from privacy.truncation.programs_by_threshold import ProgramsByThreshold, Reduced
from privacy.truncation.truncated_answer import StartingBounds
from privacy.units import MAX_UNITS, Floats, Ints

_EXACT_BITS = 50
"""Values are shortened to this many bits, so that every difference of two is exact in a float."""

_PAD = 8.0
"""Shortened units. A line through exact points has a relative error below 2^-50 from five roundings, so less than a
unit."""

_ROUGH = 4
"""How many tau a rough value may lack: noise is some 80 tau, so it nearly always decides, and 1 tau takes long."""


def tighten(lower: Ints, upper: Ints, taus: Ints) -> None:
    """Tighten the bounds of one group in place by chords.

    Between two thresholds fbar lies above the chord of the lower bounds. Beyond two thresholds it lies below the line
    through an outer lower and an inner upper bound.

    Args:
      lower, upper: (L,) bounds of min(fbar, MAX_UNITS), which is concave too.
      taus: (L,) ascending thresholds in units, each exact in a float.
    Cost: O(L^3) float operations, a tenth of a millisecond for L = 53.
    """
    shift = max(0, int(upper.max()).bit_length() - _EXACT_BITS)
    tau = np.concatenate([[0.0], taus.astype(np.float64)])
    low = np.concatenate([[0.0], (lower >> shift).astype(np.float64)])
    high = np.concatenate([[0.0], (-(-upper >> shift)).astype(np.float64)])
    below = _chords(tau, low)
    above = np.minimum(_rays(tau, low, high), np.minimum.accumulate(high[::-1])[::-1])
    np.maximum(lower, _units(np.floor(below - _PAD), shift), out=lower)
    np.minimum(upper, _units(np.ceil(above + _PAD), shift), out=upper)


def _units(values: Floats, shift: int) -> Ints:
    """Whole units in [0, MAX_UNITS], without the threshold 0."""
    return np.clip(values[1:], 0.0, float(MAX_UNITS >> shift)).astype(np.int64) << shift


@kernel
def _chords(tau: Floats, low: Floats) -> Floats:
    """The highest chord of lower bounds over each threshold; a horizontal line to the right of the last."""
    best = low.copy()
    for i in range(1, len(tau)):
        best[i] = max(best[i], best[i - 1])
    for left in range(len(tau)):
        for right in range(left + 2, len(tau)):
            slope = (low[right] - low[left]) / (tau[right] - tau[left])
            for i in range(left + 1, right):
                best[i] = max(best[i], low[left] + slope * (tau[i] - tau[left]))
    return best


@kernel
def _rays(tau: Floats, low: Floats, high: Floats) -> Floats:
    """The lowest line through (a, lower) and (b, upper) on the far side of b from a."""
    best = high.copy()
    for b in range(1, len(tau)):
        rising = np.inf
        for a in range(b):
            rising = min(rising, (high[b] - low[a]) / (tau[b] - tau[a]))
        for i in range(b + 1, len(tau)):
            best[i] = min(best[i], high[b] + rising * (tau[i] - tau[b]))
        falling = -np.inf
        for a in range(b + 1, len(tau)):
            falling = max(falling, (low[a] - high[b]) / (tau[a] - tau[b]))
        for i in range(1, b if b + 1 < len(tau) else 1):
            best[i] = min(best[i], high[b] - falling * (tau[b] - tau[i]))
    return best


def core_bounds(program: PreparedProgram) -> Certificate:
    """A greedy point below, even shares above, in whole units that saturate at MAX_UNITS.

    Below: every tuple takes what its owners' caps still allow, the least contested first. The point is feasible and
    maximal. Above: x_t is split evenly among the owners of t. A unit gets at most its even shares of the weights, and
    at most its cap divided by the fewest owners of one of its tuples.

    Cost: two passes over the owners, in integers.
    """
    tables = program.incidence.indptr, program.incidence.units, program.weights, program.caps
    return Certificate(int(_greedy(*tables)), int(_even_shares(*tables)), 0)


@kernel
def _greedy(indptr: Ints, units: Ints, weights: Ints, caps: Ints) -> int:
    """The value of the greedy point."""
    left = caps.copy()
    total = 0
    for t in range(len(weights) - 1, -1, -1):
        x = weights[t]
        for i in range(indptr[t], indptr[t + 1]):
            x = min(x, left[units[i]])
        for i in range(indptr[t], indptr[t + 1]):
            left[units[i]] -= x
        total = min(total, MAX_UNITS - x) + x
    return total


@kernel
def _even_shares(indptr: Ints, units: Ints, weights: Ints, caps: Ints) -> int:
    """The even shares; every sum is clipped before an addition could wrap."""
    shares = np.zeros(len(caps), np.int64)
    fewest = np.full(len(caps), 1 << 31, np.int64)
    for t in range(len(weights)):
        owners = indptr[t + 1] - indptr[t]
        share = (weights[t] + owners - 1) // owners
        for i in range(indptr[t], indptr[t + 1]):
            u = units[i]
            shares[u] = min(shares[u], MAX_UNITS - share) + share
            fewest[u] = min(fewest[u], owners)
    total = 0
    for u in range(len(caps)):
        share = min(shares[u], (caps[u] + fewest[u] - 1) // fewest[u])
        total = min(total, MAX_UNITS - share) + share
    return total


Optimiser = Callable[[PreparedProgram | LargeCore, int], Certificate]
"""Bounds of a program's optimum that are at most so many units apart, or SolverFailed."""


Quick = Callable[[int, int], int | None]
"""floor(fbar) of a group at a level, or None if there is no quick way."""


def no_quick_way(group: int, index: int) -> int | None:
    """None: every cell is a program."""
    return None


class LazyAnswer(Private):
    """A TruncatedAnswer: v in [fbar - gap * tau, fbar], each cell a function of (data, group, tau) alone.

    A cell's value comes from its cheap bounds if they are close enough, else from the bounds of its core, else from
    its certified program. Where fbar is linear in tau, all of these are those of its anchor, the largest such
    threshold, scaled down. Earlier questions tighten `bounds` and never enter a value. Programs are certified to half
    the gap; the other half pays for rounding down after scaling. With gap 0 the optimiser must be exact, and so must
    the scaling.

    Not thread-safe.
    Source: R2T and DP-S4S, program (1); docs/mathematics.md, section 3.1.
    """

    def __init__(
        self,
        instance: ProgramsByThreshold | DistinctInstance,
        start: StartingBounds,
        thresholds: Thresholds,
        gap: float,
        optimiser: Optimiser = certified_optimum,
        quick: Quick = no_quick_way,
    ) -> None:
        """Settle the cells whose bounds are close enough.

        Args:
          start: bounds of every cell of the instance.
          gap: eta in [0, 1), a public constant; 0, or gap * tau is at least two units at every threshold.
          optimiser: solves one program.
          quick: exact values of small groups, for an exact optimiser only.
        Raises: InvalidParameter for a gap out of range.
        """
        if not 0.0 <= gap < 1.0 or (gap and int(gap * int(thresholds.units[0])) < 2):
            raise InvalidParameter(
                "the gap must be below 1, and zero or at least two units of 2^-30 at every threshold"
            )
        self._instance = instance
        self._thresholds = thresholds
        self._gap = gap
        self._optimiser = optimiser
        self._quick = quick
        self._slack = np.array([int(gap * tau) for tau in thresholds.units.tolist()], np.int64)
        self._linear = start.linear
        self._fbar_low, self._fbar_high = start.lower.copy(), start.upper.copy()
        self._low = np.maximum(self._fbar_low - self._slack, 0)
        self._high = self._fbar_high.copy()
        self._known = np.zeros(self._low.shape, bool)
        self._looked = np.zeros(self._low.shape, bool)
        self._rough = np.zeros(self._low.shape, bool)
        self._latest: tuple[tuple[int, int], Reduced] | None = None
        self._settle_close_bounds()

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._instance.n_groups

    @property
    def thresholds(self) -> Thresholds:
        """The public thresholds, one per column of the answer."""
        return self._thresholds

    @property
    def gap(self) -> float:
        """eta; the gap that a solver reached stays private."""
        return self._gap

    def bounds(self) -> tuple[Ints, Ints]:
        """(G, L) read-only views of the bounds of v; they tighten as cells are solved."""
        low, high = self._low.view(), self._high.view()
        low.flags.writeable = high.flags.writeable = False
        return low, high

    def sharpen(self, group: int, index: int) -> None:
        """Learn about a cell: first the bounds of its core, then its value to within 4 tau, then its value.

        The first call also looks at the cells above it, whose cores are smaller, since a choice needs to know the
        rivals. A look costs far less than a program. The noise of a choice is a multiple of tau, so a rough value
        nearly always decides, for a tenth of the work.
        Raises: SolverFailed as `solve`.
        Cost: linear in the cores at first; at the third call that of `solve`.
        """
        anchor = self._anchor(group, index)
        if self._known[group, index] or self._quickly(group, index):
            return
        if not self._looked[group, anchor]:
            self._look(group, anchor)
            for above in range(anchor + 1, len(self._thresholds)):
                if not self._known[group, above] and not self._looked[group, above]:
                    self._bound(group, above, self._instance.reduced(group, above))
        elif self._gap and not self._rough[group, anchor]:
            self._approach(group, anchor)
        else:
            self.solve(group, index)

    def solve(self, group: int, index: int) -> int:
        """v(group, thresholds.units[index]) in units.

        Raises: SolverFailed if no route certifies half the gap.
        Cost: nothing if known; else linear in the core, and a program unless its bounds are close enough.
        """
        anchor = self._anchor(group, index)
        if not self._known[group, index] and not self._quickly(group, index):
            reduced = self._look(group, anchor)
            if not self._known[group, index]:
                self._settle(group, anchor, self._optimum(reduced, self._close(anchor)))
        return int(self._low[group, index])

    def _quickly(self, group: int, index: int) -> bool:
        """Enter the value of a cell of a small group. It does not tighten other cells, as that would cost more than
        they do.
        """
        value = self._quick(group, index)
        if value is None:
            return False
        self._low[group, index] = self._high[group, index] = min(value, MAX_UNITS)
        self._known[group, index] = True
        return True

    def _anchor(self, group: int, index: int) -> int:
        """The threshold at which a cell is solved."""
        return max(index, int(self._linear[group]))

    def _close(self, anchor: int) -> int:
        """Half the gap: how far apart the bounds of a value may be."""
        return int(self._slack[anchor]) // 2

    def _look(self, group: int, anchor: int) -> Reduced:
        """Build a cell's core, keep it for the program, and bound the cell by it once."""
        if self._latest is None or self._latest[0] != (group, anchor):
            self._latest = (group, anchor), self._instance.reduced(group, anchor)
        reduced = self._latest[1]
        if not self._looked[group, anchor]:
            self._bound(group, anchor, reduced)
        return reduced

    def _approach(self, group: int, anchor: int) -> None:
        """Prove the value of a cell to within 4 tau. If that is close enough, `solve` would find the same proof."""
        self._rough[group, anchor] = True
        proof = self._optimum(self._look(group, anchor), _ROUGH * int(self._thresholds.units[anchor]))
        if proof.within(self._close(anchor)):
            self._settle(group, anchor, proof)
        else:
            self._learn(group, anchor, proof)

    def _optimum(self, reduced: Reduced, slack: int) -> Certificate:
        """Bounds that are at most so many units apart."""
        core = reduced.core if reduced.large is None else reduced.large
        assert core is not None  # a core that is empty settles its cell at the first look
        return self._optimiser(core, slack).plus(reduced.settled)

    def _bound(self, group: int, anchor: int, reduced: Reduced) -> None:
        """Bound a cell by its core alone; bounds that are close enough are its proof. A large core costs too much."""
        self._looked[group, anchor] = True
        if reduced.large is not None:
            return
        bounds = Certificate(0, 0, 0) if reduced.core is None else core_bounds(reduced.core)
        proof = bounds.plus(reduced.settled)
        if proof.within(self._close(anchor)):
            self._settle(group, anchor, proof)
        else:
            self._learn(group, anchor, proof)

    def _settle_close_bounds(self) -> None:
        """Settle cells whose cheap bounds lie within half the gap: v is the lower bound."""
        columns = np.arange(len(self._thresholds))
        anchors = np.maximum(columns, self._linear[:, None])
        low = np.take_along_axis(self._fbar_low, anchors, axis=1)
        high = np.take_along_axis(self._fbar_high, anchors, axis=1)
        self._known = high - low <= self._slack[anchors] // 2
        values = low >> (anchors - columns)
        self._low = np.where(self._known, values, self._low)
        self._high = np.where(self._known, values, self._high)

    def _linear_cells(self, group: int, anchor: int) -> range:
        """The cells whose fbar is that of the anchor, scaled down."""
        return range(0 if anchor == self._linear[group] else anchor, anchor + 1)

    def _settle(self, group: int, anchor: int, proof: Certificate) -> None:
        """Enter the values of a solved cell and of the linear cells below it."""
        for column in self._linear_cells(group, anchor):
            self._low[group, column] = self._high[group, column] = min(proof.floor(anchor - column), MAX_UNITS)
            self._known[group, column] = True
        self._learn(group, anchor, proof)

    def _learn(self, group: int, anchor: int, proof: Certificate) -> None:
        """Enter the bounds of a cell and of the linear cells below it, and tighten their neighbours."""
        low, high = self._fbar_low[group], self._fbar_high[group]
        for column in self._linear_cells(group, anchor):
            low[column] = max(low[column], min(proof.floor(anchor - column), MAX_UNITS))
            high[column] = min(high[column], proof.ceiling(anchor - column))
        tighten(low, high, self._thresholds.units)
        unknown = ~self._known[group]
        self._low[group, unknown] = np.maximum(low - self._slack, 0)[unknown]
        self._high[group, unknown] = high[unknown]
