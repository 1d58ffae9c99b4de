"""Two bounds that anybody can check: what a solver's point is worth, whatever the solver says about it.

A status ("optimal", "unknown", "almost solved") proves nothing. From x this module builds a point that is
feasible in exact integers, and from y >= 0, any y, a bound above the optimum by weak duality:

    fbar <= sum_u c_u y_u + sum_t w_t max(0, 1 - sum_{u in U(t)} y_u).

Both are computed in fixed point finer than the units, so small thresholds lose nothing to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.exact import exact_dot, exact_sum
from privacy.truncation.incidence import fair_share, shrink_ratio
from privacy.truncation.program import PreparedProgram

_CAP_BITS = 44
"""Caps are refined to about this many bits: 2^18 tuples at the cap of one unit still sum below saturation."""

_DUAL_BITS = 30
_DUAL_ONE = 1 << _DUAL_BITS
_REPAIRS = 4
_FILLS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """value <= fbar <= upper, proved. Both are multiples of 2^-bits of a unit, unsaturated Python integers."""

    value: int
    upper: int
    bits: int

    def within(self, slack: int) -> bool:
        """Whether the bounds are at most `slack` units apart."""
        return self.upper - self.value <= slack << self.bits

    def plus(self, settled: int) -> Certificate:
        """The same proof beside a part that is worth exactly `settled` units."""
        return Certificate(self.value + (settled << self.bits), self.upper + (settled << self.bits), self.bits)

    def joined(self, other: Certificate) -> Certificate:
        """The better of each bound of two proofs about the same program."""
        assert self.bits == other.bits
        return Certificate(max(self.value, other.value), min(self.upper, other.upper), self.bits)

    def floor(self, halvings: int = 0) -> int:
        """The value divided by 2^halvings, in whole units, rounded down."""
        return self.value >> (self.bits + halvings)

    def ceiling(self, halvings: int = 0) -> int:
        """The upper bound divided by 2^halvings, in whole units, rounded up."""
        return -(-self.upper >> (self.bits + halvings))

    def __repr__(self) -> str:
        return "Certificate(<private>)"


def certify(program: PreparedProgram, x: NDArray[np.float64], y: NDArray[np.float64]) -> Certificate:
    """Recompute both bounds from a solver's point.

    Args:
      program: the program that was solved.
      x: (m,) in multiples of program.scale; infeasible, not finite or nonsense only loosens the bounds.
      y: (n,) duals; negative or not finite entries count as zero.
    Cost: linear.
    """
    bits = max(0, _CAP_BITS - int(program.caps.max(initial=1)).bit_length())
    fine = PreparedProgram(program.weights << bits, program.incidence, program.caps << bits)
    value = exact_sum(_filled(fine, _feasible(fine, _fixed_point(fine, x))))
    return Certificate(value, _dual_bound(fine, y), bits)


def _fixed_point(program: PreparedProgram, x: NDArray[np.float64]) -> NDArray[np.int64]:
    """x as integers in [0, w]."""
    share = np.clip(np.nan_to_num(x, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    return np.minimum(np.floor(share * float(program.scale)).astype(np.int64), program.weights)


def _feasible(program: PreparedProgram, x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Scale the tuples of overloaded units down until every cap holds exactly."""
    for _ in range(_REPAIRS):
        loads = program.incidence.unit_sums(x)
        if np.all(loads <= program.caps):
            return x
        worst = program.incidence.row_min(shrink_ratio(loads, program.caps))
        x = np.where(worst < 1.0, np.floor(x * worst).astype(np.int64), x)
    over = (program.incidence.unit_sums(x) > program.caps).astype(np.int64)
    return np.where(program.incidence.row_sums(over) > 0, 0, x)


def _filled(program: PreparedProgram, x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hand out capacity that is left, in proportion to what is still wanted."""
    for _ in range(_FILLS):
        spare = program.caps - program.incidence.unit_sums(x)
        x = x + fair_share(program.incidence, program.weights - x, spare)
    return x


def _dual_bound(program: PreparedProgram, y: NDArray[np.float64]) -> int:
    """The bound of this module's docstring at y rounded to multiples of 2^-30, rounded up."""
    share = np.clip(np.nan_to_num(y, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    dual = np.rint(share * _DUAL_ONE).astype(np.int64)
    slack = np.maximum(_DUAL_ONE - program.incidence.row_sums(dual), 0)
    total = exact_dot(program.caps, dual) + exact_dot(program.weights, slack)
    return -(-total >> _DUAL_BITS)
