"""The proof of both bounds of the vector program: shares, multipliers, one pass over the tuples.

Shares state how much of each privacy unit is removed, on a public grid. The pass reads the tuples in their order. It
measures all norms at given shares, and the value of any multipliers. Long passes go in pieces.

For any multipliers lambda >= 0 of the contributions (unit u over the threshold, group f) and 0 <= g_t <= sum over the
constrained units u of tuple t of lambda_{u, f(t)}, with weights in multiples of tau,

    E >= sum_t w_t g_t - sum_u |lambda_u| - sum_v max(0, a_v - 1),   a_v = sum_{t owned by v} w_t g_t,

because |lambda_u| >= lambda_u . L_u(s), z_t >= 1 - sum_{v in U(t)} s_v and 0 <= s_v <= 1. The last sum runs over all
units, also those that the core left out: a_v > 1 there shows that v belongs in.

Multipliers come from cuts, b = 1, 2, ...: lambda = sum_b lambda^b. g_t is the sum, over those b at whose point s^b
something of t is left, of the lambda^b_{u, f(t)} of its owners. So g_t follows from the owners of t alone, and
multipliers found on a sample or on a core prove something about all tuples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privacy.join_tuples import CompactJoinTuples, Private
from privacy.kernel import kernel
from privacy.units import Bools, Floats, Int32s, Ints, exact_sum

_ENTRIES = 1 << 24
"""Owners that are read in one call: a tenth of a second, so that signals are heeded."""


def slices(indptr: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of tuples (first, last) that cover all, of at most 2^24 owners or one tuple each; at least one range.

    Args:
      indptr: (m + 1,) where the owners of each tuple begin.
    """
    m, first, last = len(indptr) - 1, -1, 0
    while first < 0 or last < m:
        first = last
        fitting = int(np.searchsorted(indptr, indptr[first] + _ENTRIES, side="right")) - 1
        last = min(m, max(first + 1, fitting))
        yield first, last


SHARE_BITS = 50
"""Shares are multiples of 2^-50, so that rounding every one of 10^9 up costs 2^-20 persons in all.

What several shares leave of a tuple is 1 - s - s' - .... It is exact in float64 as long as it is not negative. Once
negative it stays negative, in any order."""

GRID = 1 << SHARE_BITS
"""A unit that is removed entirely, on the grid."""

STEP_BITS = 31
"""The number of removed persons is in steps of 2^-31 persons: the sum is rounded, not each share."""

WHOLE = 1 << STEP_BITS
"""One person, in steps."""


def on_grid(shares: Floats) -> Floats:
    """Round up to the grid, into [0, 1]; NaN becomes 1, which keeps nothing."""
    steps = np.ceil(np.nan_to_num(shares, nan=1.0, posinf=1.0, neginf=0.0) * GRID)
    return np.clip(steps / GRID, 0.0, 1.0)


def all_but(kept: Floats) -> Floats:
    """Shares on the grid that leave at most `kept` of each unit; NaN keeps nothing.

    What is kept is rounded down before it is subtracted from 1, as the subtraction could round either way.
    """
    steps = np.floor(np.clip(np.nan_to_num(kept, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0) * GRID)
    return 1.0 - steps / GRID


def in_steps(shares: Floats) -> int:
    """The exact sum of fewer than 2^31 shares on the grid, in steps of 2^-31 persons, rounded up once."""
    return -(-exact_sum((shares * GRID).astype(np.int64)) >> (SHARE_BITS - STEP_BITS))


def raised(shares: Floats, norms: Floats) -> Floats:
    """Feasible shares from any: every unit with a norm above 1 gives up that part of what it keeps.

    A tuple of u keeps z <= 1 - s_u. Raising s_u by (1 - s_u)(1 - 1/norm) removes at least z (1 - 1/norm) of it,
    so a vector of this norm is at most 1 afterwards, whatever the other shares.

    Args:
      shares: (V,) on the grid.
      norms: (V,) upper bounds on the norms, in multiples of tau.
    """
    kept = 1.0 - shares
    return all_but(np.where(norms > 1.0, kept / np.maximum(norms, 1.0) * _ROUNDING, kept))


_ROUNDING = 1.0 - 2.0**-50
"""Covers the roundings of the two operations around it."""


BLOCK = 1 << 12
"""Tuples whose gains are added up before they join the total; the sum then errs by thousands of roundings at most."""

FRESH_COUNTERS = (-1, 0, 0, 0, 0, 0)
"""Before the first tuple: the current group and its first tuple; the multipliers in use are runs [third, fourth);
calls; the largest number of owners of a tuple."""


@kernel
def add_tuples(
    first: int,
    last: int,
    indptr: Ints,
    units: Int32s,
    group: Ints,
    weights: Ints,
    code_of: Int32s,
    shares: Floats,
    points: Floats,
    by_code: Floats,
    run_group: Ints,
    run_code: Int32s,
    by_run: Floats,
    scale: float,
    contribution: Floats,
    square: Floats,
    gain: Floats,
    prices: Floats,
    counters: Ints,
) -> None:
    """Add tuples [first, last) to contributions, gain and prices; squares are of the groups before the current one.

    Mispredicted branches would take most of the time, so there is only one. What does not matter adds zero, and code
    0 stands for units that do not matter.

    Args:
      code_of: (n_units,) 1 + place among the units that have a share, a constraint or a multiplier, or 0.
      shares: (C + 1,) by code; 0 at 0, like the next two.
      points: (C + 1, B) the points at which the cuts were taken.
      by_code: (C + 1, B) multipliers in the current group.
      run_group, run_code, by_run: (R,), (R,), (R, B) all multipliers, groups ascending.
      contribution, square: (C + 1,) of the current group, and of those before; what is at 0 means nothing.
      counters: see FRESH_COUNTERS.
    """
    n_points = points.shape[1]
    row = np.empty(max(1, counters[5]), np.int32)
    total = 0.0
    for t in range(first, last):
        if (t - first) % BLOCK == 0:
            gain[0] += total
            total = 0.0
        if group[t] != counters[0]:
            close_group(t, indptr, units, code_of, contribution, square, counters)
            for run in range(counters[2], counters[3]):
                by_code[run_code[run]] = 0.0
            start = counters[3]
            while start < len(run_group) and run_group[start] < group[t]:
                start += 1
            end = start
            while end < len(run_group) and run_group[end] == group[t]:
                by_code[run_code[end]] = by_run[end]
                end += 1
            counters[0], counters[2], counters[3] = group[t], start, end
        begin, size, kept, known = indptr[t], indptr[t + 1] - indptr[t], 1.0, np.int32(0)
        if size > len(row):
            row = np.empty(size, np.int32)
        for i in range(size):
            row[i] = code_of[units[begin + i]]
            kept -= shares[row[i]]
            known |= row[i]
        if known == 0:
            continue
        weight = weights[t] * scale
        kept = weight * max(kept, 0.0)
        for i in range(size):
            contribution[row[i]] += kept
        paid = 0.0
        for b in range(n_points):
            left, worth = 1.0, 0.0
            for i in range(size):
                left -= points[row[i], b]
                worth += by_code[row[i], b]
            paid += worth if left > 0.0 else 0.0
        paid *= weight
        total += paid
        for i in range(size):
            prices[units[begin + i]] += paid
    counters[4] += 1
    counters[5] = len(row)
    gain[0] += total


@kernel
def close_group(
    end: int, indptr: Ints, units: Int32s, code_of: Int32s, contribution: Floats, square: Floats, counters: Ints
) -> None:
    """Square and forget the contributions of the group before tuple `end`: all, or those of its few owners."""
    start = indptr[counters[1]]
    if indptr[end] - start < len(contribution):
        for entry in range(start, indptr[end]):
            code = code_of[units[entry]]
            square[code] += contribution[code] * contribution[code]
            contribution[code] = 0.0
    else:
        for code in range(len(contribution)):
            square[code] += contribution[code] * contribution[code]
            contribution[code] = 0.0
    counters[1] = end


_SCALES = (1.0, 0.99, 0.97, 0.94, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class DualPoint(Private):
    """A feasible point of the dual, with everything in multiples of the threshold it was found for.

    Attributes:
      columns: (C,) int64 units.
      points: (C, B) float64 s^b.
      run_group: (R,) int64 ascending and
      run_column: (R,) int64 and
      by_run: (R, B) float64 >= 0: lambda^b of a column in a group; each pair at most once.
    """

    columns: Ints
    points: Floats
    run_group: Ints
    run_column: Ints
    by_run: Floats

    @property
    def cost(self) -> float:
        """sum_u |lambda_u|, rounded up."""
        total = self.by_run.sum(axis=1)
        norms = np.sqrt(np.bincount(self.run_column, total * total, len(self.columns)))
        terms = self.by_run.shape[1] + int(np.bincount(self.run_column).max(initial=0))
        return float(norms.sum()) * (1.0 + float(relative_rounding(terms)) + PAIRWISE)

    def lines(self, gain: float, prices: Floats) -> tuple[Line, ...]:
        """What the point and some multiples of it prove for every threshold; the first is for the point itself.

        In plain units lambda and g do not depend on tau, so only the term tau |lambda_u| changes. Multipliers from a
        sample ask slightly too much of some units; a little less of everything then proves more.

        Args:
          gain, prices: as in a CertificatePass, rounded to the safe side.
        """
        cost = self.cost
        return tuple(Line(scale * gain - _excess(scale * prices), scale * cost) for scale in _SCALES)


def _excess(prices: Floats) -> float:
    """sum_v max(0, a_v - 1), rounded up."""
    return float(np.maximum(prices * (1.0 + 2.0**-51) - 1.0, 0.0).sum()) * (1.0 + PAIRWISE)


@dataclass(frozen=True, repr=False)
class Line(Private):
    """E(ratio * tau) >= level - slope * ratio for every ratio >= 0: a supporting line, as E is convex in tau."""

    level: float
    slope: float

    def at(self, ratio: float) -> int:
        """The bound, in steps of 2^-31 persons, rounded down."""
        bound = self.level - self.slope * ratio
        doubt = (abs(self.level) + self.slope * ratio) * 2.0**-50
        return max(0, math.floor((bound - doubt) * WHOLE))


PAIRWISE = 2.0**-45
"""Bound on the relative error of numpy's sum of fewer than 2^31 numbers >= 0, which adds them up as a tree."""


def relative_rounding(m: int | Ints) -> Floats:
    """Bound on the relative error of a float64 sum of m products of numbers >= 0, and a few operations more."""
    return (4.0 * np.asarray(m) + 64.0) * 2.0**-53


@dataclass(frozen=True, eq=False, repr=False)
class CertificatePass(Private):
    """Measures over all tuples, which neither a core nor a sample can give.

    Attributes:
      norms: (n_units,) norms in multiples of tau, rounded up; 0 where `over` is false.
      gain: sum_t w_t g_t of `dual_point`, rounded down.
      prices: (n_units,) a_v of `dual_point`, rounded up.
    """

    norms: Floats
    gain: float
    prices: Floats


def certificate_pass(
    tuples: CompactJoinTuples,
    release: int,
    over: Bools,
    degree: Ints,
    shares: Floats,
    dual: DualPoint,
    tau: int,
) -> CertificatePass:
    """Measure shares (n_units,) on the grid, 0 outside `over` and the dual's columns, and multipliers on all tuples.

    Tuples with the same owners need no merging, so no memory per tuple.

    Args:
      degree: (n_units,) how many tuples each unit owns: as many roundings are in its sums.
    Cost: one pass over the owners, with a look at each point of the dual. Memory O(n_units + entries of the dual).
    """
    units = np.union1d(dual.columns, np.flatnonzero(over))
    code_of = np.zeros(tuples.n_units, np.int32)
    code_of[units] = np.arange(1, len(units) + 1)
    n_points = dual.points.shape[1]
    points, by_code = np.zeros((len(units) + 1, n_points)), np.zeros((len(units) + 1, n_points))
    points[code_of[dual.columns]] = dual.points
    run_code = code_of[dual.columns[dual.run_column]]
    contribution, square = np.zeros(len(units) + 1), np.zeros(len(units) + 1)
    prices = np.zeros(tuples.n_units)
    gain, counters = np.zeros(1), np.array(FRESH_COUNTERS)
    table = tuples.indptr, tuples.units, tuples.group, tuples.weights[release]
    own = np.concatenate((np.zeros(1), shares[units]))
    multipliers = by_code, dual.run_group, run_code, dual.by_run
    sums = contribution, square, gain, prices
    for first, last in slices(tuples.indptr):
        add_tuples(first, last, *table, code_of, own, points, *multipliers, 1.0 / float(tau), *sums, counters)
    close_group(len(tuples.group), tuples.indptr, tuples.units, code_of, contribution, square, counters)
    norms = np.zeros(tuples.n_units)
    norms[units] = np.where(over[units], np.sqrt(square[1:]), 0.0)
    # Each sum errs by the number of its own terms: with millions of units the number of all tuples says too much.
    n_slices, per_tuple = counters[4], counters[5] * (n_points + 1)
    terms = 2 * degree + per_tuple
    rounded_up = 1.0 + relative_rounding(terms)
    gain_terms = BLOCK + len(tuples.group) // BLOCK + n_slices + per_tuple
    rounded_down = 1.0 - float(relative_rounding(gain_terms))
    return CertificatePass(norms * rounded_up, float(gain[0]) * rounded_down, prices * rounded_up)
