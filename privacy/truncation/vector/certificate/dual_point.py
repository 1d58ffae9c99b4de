"""What multipliers are worth, whoever proposed them: one half of the certificate.

For any multipliers lambda >= 0 of the loads (unit u over the threshold, group f) and 0 <= g_t <= sum over the
constrained units u of tuple t of lambda_{u, f(t)}, with weights in multiples of tau,

    E >= sum_t w_t g_t - sum_u |lambda_u| - sum_v max(0, a_v - 1),   a_v = sum_{t owned by v} w_t g_t,

because |lambda_u| >= lambda_u . L_u(s), z_t >= 1 - sum_{v in U(t)} s_v and 0 <= s_v <= 1. The last sum runs over all
units, also those that the core left out: a_v > 1 there says that v belongs in.

Multipliers come from cuts, b = 1, 2, ...: lambda = sum_b lambda^b, and g_t is the sum over those b at whose point s^b
something of t is left, of the lambda^b_{u, f(t)} of its owners. So g_t can be told from the owners of t alone, and
multipliers found on a sample or on a core are worth something on all tuples as they came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.vector.certificate.shares import WHOLE

_SCALES = (1.0, 0.99, 0.97, 0.94, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class DualPoint:
    """A feasible point of the dual, with everything in multiples of the threshold it was found for.

    Attributes:
      columns: (C,) int64 units.
      points: (C, B) float64 s^b.
      run_group: (R,) int64 ascending and
      run_column: (R,) int64 and
      by_run: (R, B) float64 >= 0: lambda^b of a column in a group; each pair at most once.
    """

    columns: NDArray[np.int64]
    points: NDArray[np.float64]
    run_group: NDArray[np.int64]
    run_column: NDArray[np.int64]
    by_run: NDArray[np.float64]

    @property
    def cost(self) -> float:
        """sum_u |lambda_u|, rounded up."""
        total = self.by_run.sum(axis=1)
        lengths = np.sqrt(np.bincount(self.run_column, total * total, len(self.columns)))
        terms = self.by_run.shape[1] + int(np.bincount(self.run_column).max(initial=0))
        return float(lengths.sum()) * (1.0 + float(relative_rounding(terms)) + PAIRWISE)

    def lines(self, gain: float, prices: NDArray[np.float64]) -> tuple[Line, ...]:
        """What the point and some multiples of it prove for every threshold; the first is for the point itself.

        In plain units lambda and g do not know tau, so only the term tau |lambda_u| changes with it. Multipliers
        from a sample ask a little too much of some units; a little less of everything is then worth more.

        Args:
          gain, prices: as in a CertificatePass, rounded to the safe side.
        """
        cost = self.cost
        return tuple(Line(scale * gain - _excess(scale * prices), scale * cost) for scale in _SCALES)

    def __repr__(self) -> str:
        return "DualPoint(<private>)"


def _excess(prices: NDArray[np.float64]) -> float:
    """sum_v max(0, a_v - 1), rounded up."""
    return float(np.maximum(prices * (1.0 + 2.0**-51) - 1.0, 0.0).sum()) * (1.0 + PAIRWISE)


@dataclass(frozen=True, repr=False)
class Line:
    """E(ratio * tau) >= level - slope * ratio for every ratio >= 0: a supporting line, as E is convex in tau."""

    level: float
    slope: float

    def at(self, ratio: float) -> int:
        """The bound, in steps of 2^-31 persons, rounded down."""
        bound = self.level - self.slope * ratio
        doubt = (abs(self.level) + self.slope * ratio) * 2.0**-50
        return max(0, math.floor((bound - doubt) * WHOLE))

    def __repr__(self) -> str:
        return "Line(<private>)"


PAIRWISE = 2.0**-45
"""Bound on the relative error of numpy's sum of fewer than 2^31 numbers >= 0, which adds them up as a tree."""


def relative_rounding(m: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """Bound on the relative error of a float64 sum of m products of numbers >= 0, and a few operations more."""
    return (4.0 * np.asarray(m) + 64.0) * 2.0**-53
