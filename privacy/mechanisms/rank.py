"""A value by its rank: the rank that is asked for, the exponential mechanism over a grid, and an interval.

A rank is a quantile of rows, or the value that about k units exceed. In: how far each value's rank is from the one
asked for. Out: a value of the public grid, and by a noisy search the values between which that rank lies.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy.entropy import Entropy, checked_geometric
from privacy.errors import EntropyFailed, InvalidParameter
from privacy.join_tuples import Private
from privacy.units import Ints

CHOICE, INTERVAL = 0.15, 0.2
"""Shares of epsilon: of the choice of tau, and of the intervals. The ranks have the rest. With a twentieth for tau,
quantiles of even rows erred three times as much at epsilon 0.1, as most rows counted less."""


def default_beyond(epsilon: float, n_codes: int, times: int = 1) -> int:
    """The default k for MAX and MIN: how many people should lie beyond the drawn value. Public.

    The n_codes values beyond all people have together the weight of one value in the middle if n_codes exp(-gamma k)
    = 1, gamma = epsilon / (2 times) per person.

    Args:
      epsilon: of the extreme, the interval included.
      n_codes: D.
      times: how often one person moves a rank; 1 unless a person may be in several groups.
    """
    return max(1, math.ceil(math.log(max(2, n_codes)) * 2 * times / (epsilon * (1 - INTERVAL))))


PARTS = 1 << 20
"""A quantile is a whole number of these parts; the rounding is far below any noise."""

_MOST_TAU = _MOST_BEYOND = 1 << 32


@dataclass(frozen=True)
class Rank:
    """The rank that is asked for, as the value v where its offset changes its sign.

        offset(v) = below A(v) - above B(v) + shift,   A: what lies at v or below it, B: what lies above it

    The offset grows with v. For a quantile q it is PARTS ((1 - q) A - q B), and a row that passes from one side to
    the other moves it by PARTS. For an extreme it is k - B, or A - k, in people.

    Attributes:
      quantile: q in [0, 1]; None for an extreme.
      beyond: k >= 0, of an extreme: how many privacy units should lie beyond it.
      highest: k counts from the largest values.
    """

    quantile: float | None = None
    beyond: int = 0
    highest: bool = True

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            raise InvalidParameter("a quantile must be between 0 and 1")
        if not 0 <= self.beyond <= _MOST_BEYOND:
            raise InvalidParameter("a number of people must be between 0 and 2^32")

    @property
    def below(self) -> int:
        """How much a row (for an extreme: a person) at v or below adds to the offset."""
        if self.quantile is None:
            return 0 if self.highest else 1
        return PARTS - self._parts

    @property
    def above(self) -> int:
        """How much a row (for an extreme: a person) above v subtracts from the offset."""
        if self.quantile is None:
            return 1 if self.highest else 0
        return self._parts

    @property
    def shift(self) -> int:
        """The offset without rows."""
        if self.quantile is not None:
            return 0
        return self.beyond if self.highest else -self.beyond

    @property
    def height(self) -> float:
        """A number to sort the ranks of one batch by."""
        if self.quantile is not None:
            return self.quantile
        return -self.beyond if self.highest else self.beyond

    def caps(self, tau: int) -> tuple[int, int]:
        """The most rows that one unit may add to A, and to B: tau, and more on the side that weighs less.

        Neither exceeds 2^32. The further rows cost nothing. For a 90th percentile a unit may have 9 tau rows below
        the value for tau above it, which weigh the same. A unit with more rows than that on both sides adds nothing
        to the offset, like one whose rows are spread as all are.

        Args:
          tau: a number of rows.
        """
        if not self.below or not self.above:
            return tau, tau
        more, less = (max(tau, tau * side // other) for side, other in self._sides)
        return min(more, _MOST_TAU), min(less, _MOST_TAU)

    def moves(self, tau: int) -> int:
        """The most by which a unit within `caps` moves the offset of any v.

        If its rows come, A and B grow. So the offset moves by at most below times the one cap, or above times the
        other.
        """
        under, over = self.caps(tau)
        return max(self.below * under, self.above * over)

    @property
    def _sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.above, self.below), (self.below, self.above)

    @property
    def _parts(self) -> int:
        assert self.quantile is not None, "of a quantile"
        return round(self.quantile * PARTS)


MOST_CODES = 1 << 24
"""The largest grid. A value far from the rank is drawn with probability at most MOST_CODES e^-60."""

FAR = 60.0
"""A value counts as far if its weight is below e^-FAR times the largest weight."""

_POINT = 140
"""Weights are whole numbers of 2^-140: doubles in [e^-60, 1] are exact."""

POINT_BITS = 160
"""The bits of a number that decides a draw."""

_BITS = 16
_DRAWS = POINT_BITS // _BITS
_SCALE = 2.0**50

SLACK = 2.0**-25
"""The epsilon that rounding may add to a draw, beyond that of its exact distribution. It covers twice the deviation
of `uniform` from uniform, ten times 2^-34, and twice the error of exp, 2^-46."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranks(Private):
    """The offsets of one group's values from the rank that is asked for (`Rank`). Private.

    Attributes:
      codes: (r,) int64 distinct values in [0, n_codes), ascending.
      offsets: (r + 1,) int64, rising, below 2^62 in size: that of the values below codes[i], down to codes[i - 1].
        The last one is that of all rows.
      n_codes: D, the number of values of the public grid.
    """

    codes: Ints
    offsets: Ints
    n_codes: int

    def offset(self, code: int) -> int:
        """The offset of a value of the grid, or of -1."""
        return int(self.offsets[np.searchsorted(self.codes, code, side="right")])

    def draw(self, gamma: float, points: Iterator[int]) -> int:
        """Draw a value with `draw_code`, by the next of the random numbers."""
        return draw_code(self, gamma, next(points))


def uniform(entropy: Entropy, size: int) -> list[int]:
    """Whole numbers of `_BITS` * `_DRAWS` = 160 bits, each almost equally likely.

    The remainder of a geometric draw by 2^16 has probability proportional to a^r, a = exp(-2^-50). That is between 1
    and 1 - 2^-34 times as much, for each of ten remainders.

    Raises: EntropyFailed.
    """
    draws = checked_geometric(entropy.geometric(_SCALE, size * _DRAWS), size * _DRAWS) & ((1 << _BITS) - 1)
    found = []
    for row in draws.reshape(size, _DRAWS).tolist():
        value = 0
        for part in row:
            value = value << _BITS | part
        found.append(value)
    return found


def weight_of(loss: float) -> int:
    """max(e^-loss, e^-60) as a whole number of 2^-140, for a loss >= 0."""
    return int(math.ldexp(math.exp(-min(loss, FAR)), _POINT))


def draw_code(ranks: Ranks, gamma: float, point: int) -> int:
    """Draw a grid value v with probability proportional to exp(-gamma s(v)), s(v) being its distance from the rank.

    s(v) = max(0, offset(v - 1), -offset(v)): 0 if the rank lies among the rows of v. Grid values between two
    neighbouring rows have one distance and are drawn as one. A distance of more than 60 / gamma above the smallest
    counts as 60 / gamma above it.

    Privacy: if s(v) differs by at most D between neighbours for every v, the probability of each value differs by a
      factor of at most exp(2 gamma D + SLACK); SLACK is for rounding. Proof: let m be the smallest distance. The
      weight max(e^(-gamma s), e^(-60 - gamma m)) of every value moves by a factor of at most e^(gamma D), and so does
      their sum. Only the order of the rows and the gaps between them enter.

    Args:
      ranks: the offsets of one group's values from the wanted rank.
      gamma: > 0, per unit of the offsets.
      point: the random number that decides the draw: POINT_BITS uniform bits, from `uniform`.
    Cost: linear in the values that are less than 60 / gamma away, and a search for them.
    Source: McSherry and Talwar (FOCS 2007); for quantiles Smith (STOC 2011), algorithm 2.
    """
    codes, offsets, n_codes = ranks.codes, ranks.offsets, ranks.n_codes
    smallest = max(0, int(offsets[0]), -int(offsets[-1]))
    reach = min(int(FAR / gamma) + 1 + smallest, 1 << 62)
    # gap i lies below codes[i] at offset i; value i has the offsets i and i + 1
    low = int(np.searchsorted(offsets, -reach, side="left"))
    high = int(np.searchsorted(offsets, reach, side="right"))
    first, last = max(0, low - 1), min(len(codes), high)
    inside = codes[first:last]
    starts = np.empty(2 * len(inside) + 1, np.int64)
    distance = np.empty(2 * len(inside) + 1, np.int64)
    edge = int(codes[first - 1]) + 1 if first else 0
    starts[0], starts[1::2], starts[2::2] = edge, inside, inside + 1
    near = offsets[first : last + 1]
    distance[0::2] = np.abs(near)
    distance[1::2] = np.maximum(0, np.maximum(near[:-1], -near[1:]))
    end = int(codes[last]) if last < len(codes) else n_codes
    lengths = np.diff(starts, append=end)
    log = np.maximum(-gamma * (distance - smallest).astype(np.float64), -FAR)
    weights = [int(weight) for weight in np.ldexp(np.exp(log), _POINT).tolist()]
    far = n_codes - (end - edge)
    masses = [weight * length for weight, length in zip(weights, lengths.tolist(), strict=True)]
    masses.append(weight_of(FAR) * far)
    ends = list(itertools.accumulate(masses))
    drawn = ends[-1] * point >> POINT_BITS
    run = bisect_right(ends, drawn)
    within = drawn - (ends[run - 1] if run else 0)
    if run == len(weights):
        place = int(within * far // masses[-1])
        return place if place < edge else place + (end - edge)
    return int(starts[run]) + int(within // weights[run])


def check_codes(n_codes: int) -> None:
    """Refuse a grid that is too fine. Raises: InvalidParameter."""
    if not 1 <= n_codes <= MOST_CODES:
        raise InvalidParameter("a grid must have between 1 and 2^24 values")


STEP = 1 << 24
"""The number of the search's steps by which one unit moves an offset."""


@dataclass(frozen=True)
class WidthSearch:
    """A noisy binary search for how far from a value the asked rank may lie.

    c(h) = min(offset(v + h), -offset(v - h - 1)), on the sides that are asked for; a side that leaves the grid is
    enough. The value with the rank lies within h of v if c(h) >= 0. c grows with h, and moves by as much as the
    offsets do. Each comparison of c(h) with a public margin has Laplace noise and spends an equal part of epsilon. h
    triples from 1, as fewer comparisons use the budget better than finer ones.

    Attributes:
      epsilon: of one search, over all groups of a unit.
      sensitivity: what the offsets of all groups of a unit move by at most, in steps, rounding included.
      n_codes: D.
      missing: the chance that the rank lies outside of the result, by noise.
      above, below: the sides that are asked for.
    """

    epsilon: Fraction
    sensitivity: int
    n_codes: int
    missing: float
    above: bool = True
    below: bool = True

    @property
    def comparisons(self) -> int:
        """The number of noisy comparisons of one search."""
        return max(1, math.ceil(math.log2(self._widths + 1)))

    @property
    def scale(self) -> float:
        """The noise scale of each comparison, in steps."""
        return float(self.sensitivity * self.comparisons / self.epsilon) * (1 + 2.0**-40)

    @property
    def margin(self) -> int:
        """A bound that the noise of all comparisons stays within, except with probability `missing`.

        P(noise >= x) = a^x / (1 + a), a = exp(-1 / scale), for whole x.
        """
        once = self.comparisons / self.missing / (1 + math.exp(-1 / self.scale))
        return math.ceil(self.scale * max(0.0, math.log(once)))

    @property
    def _widths(self) -> int:
        return max(1, math.ceil(math.log(self.n_codes, 3)) + 1)

    def width(self, offset: Callable[[int], int], code: int, noise: Ints) -> int:
        """The smallest h by noisy comparisons such that the rank lies within it.

        Args:
          offset: of each code, in steps, rounded down, rising.
          code: the value.
          noise: (comparisons,) draws at `scale`.
        Raises: EntropyFailed for another number of draws.
        """
        if len(noise) != self.comparisons:
            raise EntropyFailed("the noise source must return one value for each comparison")
        low, high, turn = 0, self._widths, 0  # widths 3^low .. 3^high; the last one is the whole grid
        while low < high:
            middle = (low + high) // 2
            enough = self._enough(offset, code, 3**middle)
            if enough is None or enough + int(noise[turn]) >= self.margin:
                high = middle
            else:
                low = middle + 1
            turn += 1
        return int(3**low)

    def _enough(self, offset: Callable[[int], int], code: int, width: int) -> int | None:
        """c(h); None if every requested side leaves the grid, which is public."""
        sides = []
        if self.above and code + width < self.n_codes - 1:
            sides.append(offset(code + width))
        if self.below and code - width > 0:
            sides.append(-offset(code - width - 1))
        return min(sides) if sides else None
