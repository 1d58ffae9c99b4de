"""The vectors of privacy units over the groups, levelled so that a unit adds at most tau to all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import quotient_at_least
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.clipping.kernels import levelled_sums, truncated_totals
from privacy.mechanisms.noise.integer_noise import laplace_quantile
from privacy.truncation.ladder.level_index_kernels import add_loads, by_unit
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE

STEP_BITS = 24
"""A levelled entry is a whole number of steps, a step at most 2^-23 of tau, or one unit."""


@dataclass(frozen=True)
class Level:
    """One threshold tau, the grid that entries lie on there, and how far neighbours lie apart on it. Public.

    Attributes:
      tau_units: tau in units of 2^-30, >= 1.
      reached: L0 >= 1, the most groups in which one unit has anything; the number G of all of them is one.
      exchanges: may a unit have more in some group where it loses rows? The group that it reaches, where that is one,
        is the same one.
    """

    tau_units: int
    reached: int
    exchanges: bool = False

    def __post_init__(self) -> None:
        if self.tau_units < 1 or self.reached < 1:
            raise InvalidParameter("a threshold is at least one unit, and a unit reaches one group at least")

    @property
    def step(self) -> int:
        """Units per step, a power of two."""
        return 1 << max(0, self.tau_units.bit_length() - 1 - STEP_BITS)

    @property
    def steps(self) -> int:
        """T, the largest total of one unit's levelled entries in steps: tau, rounded down."""
        return self.tau_units // self.step

    @property
    def sensitivity(self) -> int:
        """D = max(T, 2 (T - floor(T / L0))) steps: by how much `LevelledVectors.sums` moves in all groups together.

        That is tau in up to two groups, and below 2 tau in any number of them: the proof is at `LevelledVectors`. Two
        vectors of whatever kind, each of T at most in all, lie no more than 2 T apart.
        """
        if self.exchanges:
            return self.steps if self.reached == 1 else 2 * self.steps
        return max(self.steps, 2 * (self.steps - self.steps // self.reached))


class LevelledVectors:
    """C(x)_f = min(x_f, c) in every group f, for the largest level c at which they add up to T, of every unit's x.

    Levelling keeps min(T, sum_f x_f) of a unit, all that can be kept of it at the total T but less than one step per
    group, and takes from its largest parts. Everything is counted in whole steps of tau: each load is rounded down
    first, and the level is a whole number.

    Sensitivity in the sum of absolute moves: D = max(T, 2 (T - floor(T / L0))), as rows of one unit come or go, so
    that x >= x' >= 0 in every group. Proof: Let c <= c' be the levels (c = c' = T where nothing is cut; what a level
    leaves only grows with x). In a group where C(x') > C(x), C(x) = c: else C(x) = x_f >= x'_f >= C(x'). Let there be
    j such groups, S = sum_f C(x) <= T, and S' <= T the sum of C(x') over those j groups. Then

        sum_f |C(x) - C(x')|  <=  (S' - j c) + (S - j c)  <=  S + S' - 2 j c.

    Without such a group it is S <= T. With one, c < c', so that the level c + 1 would leave more than T of x: more
    than T, and L0 groups have it: c + 1 > T / L0, hence c >= floor(T / L0), and D is at most 2 T - 2 floor(T / L0).

    It is reached where L0 divides T, by (T, 0, ..., 0) and (T, ..., T). No map that keeps T of a unit with one group,
    whichever, and T of one with all G of them moves by less than 2 T (1 - 1 / G): from the first to the last it does
    on average over the groups. Cutting every group at T / G, as `group_lp` does, moves by T only, and keeps
    T / G of a unit with one group. At the same noise it keeps up to twice as much of units that have the same in
    every group, and less, down to 2 / G, of those with few groups.

    Totals: sum_u min(tau, sum_f x_f) moves by at most tau, and between two thresholds by their difference.

    Private: no repr. Memory: 24 bytes per member.
    """

    def __init__(self, tuples: CodedJoinTuples, loads: NDArray[np.int64]) -> None:
        """Lay the members of every unit side by side.

        Args:
          tuples: whose members they are, of one owner position.
          loads: (n,) what each member adds, in units.
        Cost: a counting sort of the members; no table of groups by units.
        """
        self._n_groups = tuples.n_groups
        self._start, self._group, self._loads = by_unit(tuples.member_start, tuples.units, loads)

    @classmethod
    def of_sum(cls, tuples: CodedJoinTuples, row: int) -> LevelledVectors:
        """Of every unit's weight in every group, added up.

        Args:
          tuples: m join tuples with one owner position.
          row: which row of tuples.weights.
        Raises: InvalidParameter for another row, or several owner positions.
        Cost: one pass over the tuples besides.
        """
        if not 0 <= row < len(tuples.weights):
            raise InvalidParameter("there is no such release")
        if len(tuples.members) != 1:
            raise InvalidParameter("levelling every unit's own vector needs one owner per tuple")
        return cls(tuples, add_loads(tuples.members, np.ascontiguousarray(tuples.weights[row]), len(tuples.units)))

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._n_groups

    def totals(self, ladder: Ladder) -> TabulatedAnswer:
        """(1, L) sum_u min(tau, sum_f x_f), int64 units: what is kept of all units at each threshold.

        Cost: one pass over the members, L over the units.
        """
        return TabulatedAnswer(truncated_totals(self._start, self._loads, ladder.units)[None], ladder)

    def sums(self, level: Level) -> NDArray[np.int64]:
        """(G,) sum_u C(x_u) in steps; sensitivity `level.sensitivity` in all groups together.

        Cost: 28 passes over the members, whatever they hold.
        """
        return levelled_sums(self._start, self._group, self._loads, level.step, level.steps, self._n_groups)

    def __repr__(self) -> str:
        return "LevelledVectors(<private>)"


@dataclass(frozen=True)
class LevelNoise:
    """Laplace noise for the levelled sums of one threshold: step * (sum_u C(x_u) + Z), Z discrete Laplace.

    epsilon-DP: the sums are whole numbers that move by at most D in all groups together, and exp(-|z| / scale) of all
    groups changes by exp(D / scale) at most, scale = D / epsilon rounded up. All of this is public.

    Attributes:
      level: the threshold.
      epsilon: what the release may spend, for all groups together.
    """

    level: Level
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidParameter("epsilon must be positive")

    @cached_property
    def scale(self) -> float:
        """The discrete Laplace scale of every group, in steps, rounded up."""
        return quotient_at_least(self.level.sensitivity * self.epsilon.denominator, self.epsilon.numerator)

    @property
    def tau(self) -> float:
        """The threshold in normalised weight."""
        return self.level.tau_units / ONE

    @property
    def step(self) -> int:
        """Units per step, a power of two."""
        return self.level.step

    @property
    def step_weight(self) -> float:
        """One step in normalised weight; a power of two, so multiplying by it is exact."""
        return self.level.step / ONE

    @property
    def noise_scale(self) -> float:
        """The noise scale in normalised weight."""
        return self.scale * self.step_weight

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """(size,) Z, in steps. Raises: EntropyFailed when the source returns something else than was asked for."""
        return checked(entropy.laplace(self.scale, size), size)

    def upper_quantile(self, tail: float) -> int:
        """The smallest k >= 0 with P(Z > k) <= tail, in steps."""
        return laplace_quantile(tail, self.scale)

    def interval(self, confidence: float) -> tuple[float, float]:
        """How far the levelled sum lies below and above the released value, at most: it is whole steps itself."""
        reach = self.upper_quantile((1 - confidence) / 2) * self.step_weight
        return reach, reach
