"""Integer scores of candidate thresholds, their sensitivity, and the noise that a choice by them needs.

`Scores` are those of the generalised exponential mechanism (Raskhodnikova and Smith, FOCS 2016; docs/mathematics.md,
section 6.2). With tau' = (1 + gap) tau, the sensitivity of v at tau, and q_i = -v_i + c tau'_i / eps_2, threshold i
has

    s_i = max(0, max_j ((q_i + t tau'_i) - (q_j + t tau'_j)) / (tau'_i + tau'_j)),   small is good.

c / eps_2 + t is the price of a unit of tau. It may depend on the threshold: from a sample, large thresholds may spend
more (docs/mathematics.md, section 6.5). If every value only grows when a unit comes (`monotone`), v_j - v_i moves by
the larger of the two sensitivities, which then replaces their sum. That saves a third of the noise between
neighbouring thresholds.

A public handicap between two thresholds moves no sensitivity. So the price may depend on how far apart they are: a
margin of `margins[k]` times the divisor for k doublings, in place of t (tau'_i - tau'_j). A threshold that is k
doublings too large is then as rare as its noise demands, and the next one is not held back by the length of the list.

`ExceedanceScores` are for sums over tuples with one owner, by how many units exceed each threshold. From tau_j to
tau_i such a sum grows by what the n_j units above tau_j have up to tau_i. So n_j says what the step up from tau_j is
worth, beside noise that grows with tau. With a public price C for noise and public margins M,

    s_i = max(0, max_{j < i} (M(tau_i / tau_j) + C - n_j), n_i - C),   small is good.

A threshold pays nothing if every step up to it is worth it. One that is k doublings above the last exceeded one pays
the margin of k doublings. One that clips pays for all units that it clips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privacy.entropy import Entropy, checked_geometric
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, float_at_least
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import CountedAnswer, TruncatedAnswer
from privacy.units import Floats, Ints

GRID = 1024
"""N: a score is floored to a multiple of 1 / N."""

SENSITIVITY = GRID + 1
"""By how many grid steps a floored score moves at most when one unit comes or goes."""

MAX_SCORE = 2.0**32
"""Scores saturate here, above the number of privacy units there can be."""

MAX_PRICE = 2.0**32
"""The largest price that the rounding analysis of `Scores` allows."""

_CHUNK = 1024


@dataclass(frozen=True)
class Scores:
    """Integer scores of all candidate thresholds, of many groups at once.

    Sensitivity: at most N + 1 = `SENSITIVITY`, floating-point rounding included. Proof: v_j - v_i moves by at most
      reach_ij = tau'_i + tau'_j. In the monotone case an added unit adds x_i in [0, tau_i] and x_j in [0, tau_j] to
      the fbar of which v_i and v_j fall short by gap tau at most. So it moves by at most reach_ij = max(tau_i, tau_j)
      + gap (tau_i + tau_j). Saturation is 1-Lipschitz.

    Take the public floats offset_ij and inverse_ij <= (1 + 2^-51) N / reach_ij as exact constants. The real number
    T_ij = (v_j - v_i + offset_ij) inverse_ij moves by at most reach_ij inverse_ij <= N + 2^-41. So does phi(max_j
    T_ij), where phi clips to [0, N M], M = MAX_SCORE. The float differs from T_ij by three roundings, as v_j - v_i is
    an exact int64. So it errs by at most 2^-51 (|v_j - v_i| + |offset_ij|) inverse_ij <= 2^-51 (|T_ij| + 2
    |offset_ij| inverse_ij). Here |offset_ij| inverse_ij <= 2 N C (1 + 2^-50), C the largest price and margin
    together: prices are charged for at most max(tau'_i, tau'_j), at most twice either reach. Where T_ij > 2 N M both
    clip to N M. Where T_ij < 0 both clip to 0 but for an error of 2^-49 N C (1 + 2^-49). Elsewhere the error is at
    most 2^-50 N (M + 2 C) (1 + 2^-49), at most 3 2^-8 + 2^-49. So the clipped maximum moves by less than N + 1, and
    its floor by at most N + 1.

    Each float operation is monotone in v_j and in -v_i, so bounds on v give exact bounds on the integer scores.

    Attributes:
      thresholds: the L candidate thresholds.
      gap: eta.
      prices: C_i >= 0 for each threshold, what a unit of tau'_i costs in units of weight.
      margins: (L,) M_k >= 0, by which a score has to beat one that is k doublings smaller; M_0 is not used. Empty:
        none.
      monotone: an added unit adds to fbar at every threshold, or nothing, as for truncated sums.
    """

    thresholds: Thresholds
    gap: float
    prices: tuple[float, ...]
    margins: tuple[float, ...] = ()
    monotone: bool = False

    def __post_init__(self) -> None:
        check_gap(self.gap)
        if not self.thresholds.doubling:
            raise InvalidParameter("thresholds must double to be scored")
        if len(self.prices) != len(self.thresholds):
            raise InvalidParameter("each threshold must have a penalty for its noise")
        if self.margins and len(self.margins) != len(self.thresholds):
            raise InvalidParameter("each pair of neighbouring thresholds must have a margin")
        if not all(number >= 0 for number in (*self.prices, *self.margins)):
            raise InvalidParameter("penalties and margins of thresholds must not be negative")
        if not max(self.prices) + max(self.margins, default=0.0) <= MAX_PRICE:
            raise InvalidParameter("epsilon is too small to choose a threshold with")

    @cached_property
    def _reach(self) -> Floats:
        """(L, L) by how much v_j - v_i moves at most, in units."""
        tau = self.thresholds.units.astype(np.float64)
        both = tau[:, None] + tau[None, :]
        if self.monotone:
            return np.asarray(np.maximum(tau[:, None], tau[None, :]) + self.gap * both)
        return np.asarray((1 + self.gap) * both)

    @cached_property
    def _cost(self) -> Floats:
        """(L,) what every threshold's noise is charged, in units."""
        return np.asarray(np.array(self.prices) * (1 + self.gap) * self.thresholds.units)

    @cached_property
    def _offset(self) -> Floats:
        cost = self._cost
        offset: Floats = cost[:, None] - cost[None, :]
        if self.margins:
            level = np.arange(len(self.thresholds))
            above = level[:, None] - level[None, :]
            offset += np.sign(above) * np.array(self.margins)[np.abs(above)] * self._reach
        return offset

    @cached_property
    def _inverse(self) -> Floats:
        inverse: Floats = GRID / self._reach
        np.fill_diagonal(inverse, 0.0)  # a threshold does not compete with itself
        return inverse

    def bounds(self, answer: TruncatedAnswer) -> tuple[Ints, Ints]:
        """(G, L) the least and the largest score of every threshold, by the answer's bounds."""
        lower, upper = answer.bounds()
        return self(upper, lower), self(lower, upper)

    def __call__(self, own: Ints, rivals: Ints) -> Ints:
        """Score every threshold with its own value against its rivals' values.

        Args:
          own: (G, L) int64 units, v_i of the scored threshold; an upper bound gives a lower score.
          rivals: (G, L) int64 units, v_j of the others; a lower bound gives a lower score.
        Returns: (G, L) int64 grid steps in [0, N * MAX_SCORE].
        Cost: 4 G L^2 float operations.
        """
        grid = np.empty(own.shape, np.int64)
        for start in range(0, len(own), _CHUNK):
            grid[start : start + _CHUNK] = self._chunk(own[start : start + _CHUNK], rivals[start : start + _CHUNK])
        return grid

    def _chunk(self, own: Ints, rivals: Ints) -> Ints:
        worst = self._worst_rival(own, rivals)
        np.minimum(worst, GRID * MAX_SCORE, out=worst)
        grid: Ints = np.floor(worst).astype(np.int64).T
        return grid

    def _worst_rival(self, own: Ints, rivals: Ints) -> Floats:
        """(L, G) the largest term of every threshold against all rivals, or 0."""
        # One rival at a time, thresholds by groups: everything stays in the processor's cache.
        own_by_level, rivals_by_level = np.ascontiguousarray(own.T), np.ascontiguousarray(rivals.T)
        worst = np.zeros(own_by_level.shape)
        lead = np.empty(own_by_level.shape, np.int64)
        term = np.empty(own_by_level.shape)
        for rival, value in enumerate(rivals_by_level):
            np.subtract(value[None, :], own_by_level, out=lead)
            np.add(lead, self._offset[:, rival, None], out=term)
            np.multiply(term, self._inverse[:, rival, None], out=term)
            np.maximum(worst, term, out=worst)
        return worst

    def terms(self, own: int, index: int, rivals: Ints) -> Floats:
        """(L,) the terms of threshold `index`'s score, one per rival threshold; the score is their maximum."""
        terms: Floats = (rivals - own + self._offset[index]) * self._inverse[index]
        return terms


def selection_scale(epsilon: Fraction) -> float:
    """The scale of `selection_noise`, in grid steps, rounded up. Public."""
    return float_at_least(2 * SENSITIVITY / epsilon)


def selection_noise(shape: tuple[int, int], epsilon: Fraction, entropy: Entropy) -> Ints:
    """One-sided geometric noise for report-noisy-min over integer scores.

    The threshold with the smallest score - noise, the first of equals, is epsilon-DP. Proof: fix the others' noise.
    Threshold i wins exactly if its noise is at least the integer m - g_i. Here g = -score, and m is the largest g_j +
    noise_j of the others, plus one for j < i. The noise is at least k with probability a^max(0, k). Between
    neighbours m and g_i move by at most D = SENSITIVITY each. So the exponent grows by at most 2 D, and a^(2 D) =
    exp(-2 D / scale) >= exp(-epsilon). Average over the others' noise.

    Args:
      shape: (G, L) groups and thresholds.
      epsilon: what the choice in one group spends.
    Returns: (G, L) int64 grid steps >= 0, to subtract from the scores.
    """
    size = shape[0] * shape[1]
    draws = entropy.geometric(selection_scale(epsilon), size)
    return checked_geometric(draws, size).reshape(shape)


_MOST = int(MAX_SCORE)
"""Counts saturate here, above the number of privacy units that there can be."""


@dataclass(frozen=True)
class ExceedanceScores:
    """Integer scores by how many units exceed each threshold, in steps of 1 / GRID of a unit.

    Sensitivity: GRID, exactly (docs/mathematics.md, section 6.3). A unit that comes or goes moves every n_j by 0 or
      1, in one direction, but the last, which is 0; all else is public or 1-Lipschitz. For several groups together,
      n_j is the sum over the groups divided by L0, rounded down to a step; a unit is in at most L0 of them.

    M of k doublings is (ln(rarity) (k + first) + growth max(0, k - 1)^2 / 2) 2 / eps_1, at most 2 farthest / eps_1.
    With the noise of eps_1, a threshold that is k doublings too large is as rare as that.

    Attributes:
      thresholds: the L candidate thresholds, in any ratio.
      price: C >= 0, what noise is charged, in units.
      selecting: eps_1 of the choice.
      rarity, first, growth, farthest: of the margins (`SelectionSettings`).
      reached: L0 >= 1, if the counts are of several groups together.
    """

    thresholds: Thresholds
    price: float
    selecting: float
    rarity: float
    first: float
    growth: float
    farthest: float
    reached: int = 1

    def __post_init__(self) -> None:
        if not self.price + 2 * self.farthest / self.selecting <= MAX_PRICE:
            raise InvalidParameter("epsilon is too small to choose a threshold with")

    @cached_property
    def _margins(self) -> Ints:
        """(L, L) M(tau_i / tau_j) + C in steps, of i against every j below it."""
        height = np.log2(self.thresholds.taus)
        apart = np.maximum(0.0, height[:, None] - height[None, :])
        rare = math.log(self.rarity) * (apart + self.first) + self.growth * np.maximum(0.0, apart - 1) ** 2 / 2
        margins = np.minimum(rare, self.farthest) * 2 / self.selecting
        steps: Ints = np.ceil((margins + self.price) * GRID).astype(np.int64)
        return steps

    def bounds(self, answer: TruncatedAnswer) -> tuple[Ints, Ints]:
        """(G, L) every threshold's score, twice, as nothing is unknown. Raises: InvalidParameter without counts."""
        counts = answer.exceedances if isinstance(answer, CountedAnswer) else None
        if counts is None:
            raise InvalidParameter(
                "with one owner per tuple, thresholds must be scored by how many units exceed them"
            )
        found = self(counts)
        return found, found

    def __call__(self, exceedances: Ints) -> Ints:
        """Score every threshold.

        Args:
          exceedances: (G, L) int64 >= 0, how many units exceed each threshold. Those above the largest do not count,
            or all thresholds would be alike where everybody exceeds it.
        Returns: (G, L) int64 in [0, GRID * MAX_SCORE].
        Cost: G L^2 integer operations.
        """
        counts = np.minimum(exceedances, _MOST * self.reached) * GRID // self.reached
        counts[:, -1] = 0
        scores = np.maximum(counts - math.ceil(self.price * GRID), 0)
        for below in range(len(self.thresholds) - 1):
            above = scores[:, below + 1 :]
            np.maximum(above, self._margins[None, below + 1 :, below] - counts[:, below, None], out=above)
        return np.asarray(np.minimum(scores, GRID * _MOST))
