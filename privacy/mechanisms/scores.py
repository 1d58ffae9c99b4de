"""Integer scores of thresholds on a public grid, their sensitivity, and the noise that a selection by them needs.

`Scores` are those of the generalised exponential mechanism (Raskhodnikova and Smith, FOCS 2016; docs/mathematics.md,
section 6.2). With tau' = (1 + gap) tau, the sensitivity of v at tau, and q_i = -v_i + c tau'_i / eps_2, threshold i
has

    s_i = max(0, max_j ((q_i + t tau'_i) - (q_j + t tau'_j)) / (tau'_i + tau'_j)),   small is good.

The constants c / eps_2 and t only ever occur as their sum, the price of a unit of tau. eps_2, hence the price,
may depend on the threshold: from a sample, large thresholds may spend more (docs/mathematics.md, section 6.5).

Where every value only grows when a unit comes, v_j - v_i moves by the larger of the two sensitivities, and that
takes the place of their sum: a third less noise between two thresholds side by side (`monotone`).

What is compared with a rival may have any public handicap: no handicap moves a sensitivity. So the price may be
charged by how far apart two thresholds are, a margin of `margins[k]` times the divisor for k doublings, in place
of t (tau'_i - tau'_j). A threshold k doublings too large is then rare enough for what it costs, while the next one is
not held back by how rare the last of a long ladder has to be.

`ExceedanceScores` are for sums over tuples of one owner, by how many units have more. From tau_j to tau_i such a sum
grows by what the n_j units that have more than tau_j have up to tau_i, so n_j says what the step up from tau_j is
worth, beside noise that grows with tau. The best threshold is about that which 1 / epsilon units exceed. With a
public price C for noise and public margins M,

    s_i = max(0, max_{j < i} (M(tau_i / tau_j) + C - n_j), n_i - C),   small is good.

A threshold among people pays nothing where every step up to it is worth it; one that is k doublings above the last
that anybody exceeds pays the margin of k doublings; and one that cuts pays for all whom it cuts.
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
"""By how many grid steps a floored score can move when one unit comes or goes."""

MAX_SCORE = 2.0**32
"""Scores saturate here, above the number of privacy units there can be."""

MAX_PRICE = 2.0**32
"""The largest price that the rounding analysis of `Scores` allows."""

_CHUNK = 1024


@dataclass(frozen=True)
class Scores:
    """Integer scores of all thresholds, of many groups at once.

    Sensitivity: at most N + 1 = `SENSITIVITY`, floating-point rounding included. Proof: v_j - v_i moves by at most
    reach_ij = tau'_i + tau'_j. If a unit that comes adds x_i in [0, tau_i] and x_j in [0, tau_j] to the fbar of
    which v_i and v_j are at most gap tau short, then by x_j - x_i and as much as both may be short, so by at most
    reach_ij = max(tau_i, tau_j) + gap (tau_i + tau_j). Saturation is 1-Lipschitz, and changes nothing about that.

    Take the public floats offset_ij and inverse_ij <= (1 + 2^-51) N / reach_ij as exact constants. The real number
    T_ij = (v_j - v_i + offset_ij) inverse_ij moves by at most reach_ij inverse_ij <= N + 2^-41, and so does
    phi(max_j T_ij), phi clipping to [0, N M], M = MAX_SCORE. The float differs from T_ij by three roundings
    (v_j - v_i is an exact int64), so by at most 2^-51 (|v_j - v_i| + |offset_ij|) inverse_ij
    <= 2^-51 (|T_ij| + 2 |offset_ij| inverse_ij), and |offset_ij| inverse_ij <= 2 N C (1 + 2^-50), C the largest price
    and margin together: prices are charged for max(tau'_i, tau'_j) at most, which is no more than twice either of the
    reaches. Where T_ij > 2 N M both clip to N M; where T_ij < 0 both clip to 0 but for an error of
    2^-49 N C (1 + 2^-49); elsewhere the error is at most 2^-50 N (M + 2 C) (1 + 2^-49), at most 3 2^-8 + 2^-49. So
    the clipped maximum moves by less than N + 1, and its floor by at most N + 1.

    Monotone: each float operation is monotone in v_j and in -v_i, so bounds on v give exact bounds on
    the very integers that the values would give.

    Attributes:
      ladder: the L thresholds.
      gap: eta.
      prices: C_i >= 0 for each threshold, what a unit of tau'_i costs in units of weight; any are private.
      margins: (L,) M_k >= 0, by which, in scores, a threshold has to beat one that is k doublings smaller; M_0 is not
        used. Empty for none.
      monotone: whoever makes the values promises that a unit that comes adds to fbar at every threshold, or nothing.
        True of truncated sums.
    """

    thresholds: Thresholds
    gap: float
    prices: tuple[float, ...]
    margins: tuple[float, ...] = ()
    monotone: bool = False

    def __post_init__(self) -> None:
        check_gap(self.gap)
        if not self.thresholds.doubling:
            raise InvalidParameter("thresholds that are scored double")
        if len(self.prices) != len(self.thresholds):
            raise InvalidParameter("every threshold has its price")
        if self.margins and len(self.margins) != len(self.thresholds):
            raise InvalidParameter("every distance between thresholds has its margin")
        if not all(number >= 0 for number in (*self.prices, *self.margins)):
            raise InvalidParameter("prices and margins are not negative")
        if not max(self.prices) + max(self.margins, default=0.0) <= MAX_PRICE:
            raise InvalidParameter("epsilon is too small to choose a threshold with")

    @cached_property
    def _reach(self) -> Floats:
        """(L, L) by how much v_j - v_i can move, in units."""
        tau = self.thresholds.units.astype(np.float64)
        both = tau[:, None] + tau[None, :]
        if self.monotone:
            return np.asarray(np.maximum(tau[:, None], tau[None, :]) + self.gap * both)
        return np.asarray((1 + self.gap) * both)

    @cached_property
    def _cost(self) -> Floats:
        """(L,) what every threshold's noise is charged at, in units."""
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
        """(G, L) the least and the largest score of every threshold, by what the answer knows of itself."""
        lower, upper = answer.bounds()
        return self(upper, lower), self(lower, upper)

    def __call__(self, own: Ints, rivals: Ints) -> Ints:
        """Score every threshold with its own value against its rivals' values.

        Args:
          own: (G, L) int64 units: v_i where it counts for threshold i; an upper bound gives a lower score.
          rivals: (G, L) int64 units: v_j where it counts against the others; a lower bound gives a lower
            score. Both are v itself where nothing is unknown.
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
        """(L, G) the largest term of every threshold, or 0, against all of its rivals."""
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
        """(L,) what each rival adds to the score of threshold `index` at value `own`: its row before the maximum."""
        terms: Floats = (rivals - own + self._offset[index]) * self._inverse[index]
        return terms


def selection_scale(epsilon: Fraction) -> float:
    """The scale of `selection_noise`, in grid steps, rounded up. Public."""
    return float_at_least(2 * SENSITIVITY / epsilon)


def selection_noise(shape: tuple[int, int], epsilon: Fraction, entropy: Entropy) -> Ints:
    """One-sided geometric noise for report-noisy-min over integer scores.

    The threshold with the smallest score - noise, the lowest index among equals, is epsilon-DP. Proof: fix
    the others' noise. Threshold i wins exactly when its noise is at least m - g_i, an integer, where
    g = -score and m is the largest g_j + noise_j of the others, plus one for j < i. The noise is at least k with
    probability a^max(0, k). Between neighbours m and g_i move by at most D = SENSITIVITY each, so
    the exponent grows by at most 2 D, and a^(2 D) = exp(-2 D / scale) >= exp(-epsilon). Average over the others.

    Args:
      shape: (G, L) groups and thresholds.
      epsilon: what the selection in one group spends.
    Returns: (G, L) int64 grid steps, >= 0, to be subtracted from the scores.
    """
    size = shape[0] * shape[1]
    draws = entropy.geometric(selection_scale(epsilon), size)
    return checked_geometric(draws, size).reshape(shape)


_MOST = int(MAX_SCORE)
"""Counts saturate here, above the number of privacy units that there can be."""


@dataclass(frozen=True)
class ExceedanceScores:
    """Integer scores of all thresholds, of many groups at once, in steps of 1 / GRID of a unit.

    Sensitivity: GRID, exactly (docs/mathematics.md, section 6.3). A unit that comes or goes moves every n_j by 0 or
    1, in one direction; everything else is public, and maxima, differences with constants and saturation are
    1-Lipschitz. All is counted in integers. Of several groups together n_j is the sum over the groups, in which a
    unit is in L0 at most, divided by L0 and rounded down to a step: it moves by GRID at most, too.

    M of k doublings is (ln(rarity) (k + first) + growth max(0, k - 1)^2 / 2) 2 / eps_1, and 2 farthest / eps_1 at
    most: with the noise of eps_1, a threshold k doublings too far is as rare as that.

    Attributes:
      ladder: the L thresholds, in any ratio.
      price: C >= 0, what noise is charged at, in units.
      selecting: eps_1 of the selection.
      rarity, first, growth, farthest: of the margins (`SelectionSettings`).
      reached: L0 >= 1, of counts that are those of several groups together.
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
            raise InvalidParameter("thresholds are scored by how many units exceed them, where tuples have one owner")
        found = self(counts)
        return found, found

    def __call__(self, exceedances: Ints) -> Ints:
        """Score every threshold.

        Args:
          exceedances: (G, L) int64 >= 0, how many units have more than each threshold.
        Returns: (G, L) int64 in [0, GRID * MAX_SCORE].
        Cost: G L^2 integer operations.
        """
        counts = np.minimum(exceedances, _MOST * self.reached) * GRID // self.reached
        scores = np.maximum(counts - math.ceil(self.price * GRID), 0)
        for below in range(len(self.thresholds) - 1):
            above = scores[:, below + 1 :]
            np.maximum(above, self._margins[None, below + 1 :, below] - counts[:, below, None], out=above)
        return np.asarray(np.minimum(scores, GRID * _MOST))
