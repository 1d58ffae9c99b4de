"""What multipliers are worth, whoever proposed them: one half of the certificate.

For any multipliers lambda >= 0 of the loads (unit u over the threshold, group f) and 0 <= g_p <= sum over the
constrained units u of p of lambda_{u, f(p)}, with weights in multiples of tau,

    E >= sum_p w_p g_p - sum_u |lambda_u| - sum_v max(0, a_v - 1),   a_v = sum_{t owned by v} w_t g_{p(t)},

because |lambda_u| >= lambda_u . L_u(s), z_t >= 1 - sum_{v in U(t)} s_v and 0 <= s_v <= 1. The last sum runs over all
units, also those that the core left out: a_v > 1 there says that v belongs in. Tuples without a pattern have g = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.vector.core import Core
from privacy.truncation.vector.shares import WHOLE


@dataclass(frozen=True, eq=False, repr=False)
class DualPoint:
    """A feasible point of the dual, with everything in multiples of the threshold it was found for.

    Attributes:
      by_pattern: (P,) g.
      gain: sum_p w_p g_p, rounded down.
      cost: sum_u |lambda_u|, rounded up.
      rounding: relative error of any sum over tuples.
    """

    by_pattern: NDArray[np.float64]
    gain: float
    cost: float
    rounding: float

    def line(self, prices: NDArray[np.float64]) -> Line:
        """What the point proves for every threshold, given the prices a_v of all units (`survey`).

        In plain units lambda and g do not know tau, so only the term tau |lambda_u| changes with it.
        """
        excess = np.maximum(prices * (1.0 + self.rounding) - 1.0, 0.0)
        return Line(self.gain - float(excess.sum()) * (1.0 + self.rounding), self.cost)

    def __repr__(self) -> str:
        return "DualPoint(<private>)"


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


def dual_point(core: Core, by_run: NDArray[np.float64], by_pattern: NDArray[np.float64]) -> DualPoint:
    """Make multipliers feasible: negative and not finite ones become 0, g is cut down to what lambda allows.

    Args:
      by_run: (R,) lambda.
      by_pattern: (P,) g.
    Cost: a pass over the patterns.
    """
    by_run = np.where(np.isfinite(by_run), np.maximum(by_run, 0.0), 0.0)
    patterns = core.patterns
    spread = np.where(core.run >= 0, by_run[core.run], 0.0) if len(by_run) else np.zeros(len(core.run))
    allowed = np.add.reduceat(spread, patterns.indptr[:-1]) if len(core.weight) else spread
    by_pattern = np.where(np.isfinite(by_pattern), np.clip(by_pattern, 0.0, allowed), 0.0)
    rounding = relative_rounding(len(patterns.of_tuple))
    gain, cost = float(core.weight @ by_pattern), float(core.lengths_of(by_run).sum())
    return DualPoint(by_pattern, gain * (1.0 - rounding), cost * (1.0 + rounding), rounding)


def relative_rounding(m: int) -> float:
    """Bound on the relative error of a float64 sum of m products of numbers >= 0, and a few operations more."""
    return (4.0 * m + 64.0) * 2.0**-53
