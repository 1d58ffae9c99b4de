"""Vectors of units over all groups: their norms, their clipped sums, and the proof of the sensitivity.

In: tuples with one owner. Each unit's vector is scaled to norm tau at most. `RoundedNoise` is for sums that a
  database adds up and rounds to steps once in each group.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, Private
from privacy.kernel import kernel
from privacy.mechanisms.noise import ThresholdNoise
from privacy.sampling.loss import Loss, laplace_loss
from privacy.thresholds import Thresholds
from privacy.truncation.histograms import FINER_BITS
from privacy.truncation.level_index import add_contributions, by_unit
from privacy.truncation.truncated_answer import TabulatedAnswer, answer_of_contributions
from privacy.units import MAX_UNITS, ONE, Int32s, Ints


@kernel
def norms(start: Ints, contributions: Ints, euclidean: bool) -> Ints:
    """(n_units,) the norm of each unit's vector in units of weight, saturating: L1, or L2 rounded down.

    Args:
      start: (n_units + 1,) where each unit's members begin.
      contributions: (n,) the weight of each member, in units, in [-MAX_UNITS, MAX_UNITS].
      euclidean: L2; else L1.
    """
    found = np.zeros(len(start) - 1, np.int64)
    for unit in range(len(start) - 1):
        total = np.int64(0)
        square = 0.0
        for place in range(start[unit], start[unit + 1]):
            total += min(abs(contributions[place]), MAX_UNITS - total)
            square += float(contributions[place]) * float(contributions[place])
        found[unit] = np.int64(min(math.sqrt(square), float(total))) if euclidean else total
    return found


@kernel
def scaled_sums(
    start: Ints, group: Int32s, contributions: Ints, step: int, steps: int, n_groups: int, euclidean: bool
) -> Ints:
    """(G,) the sum over units of x min(1, T / |x|) in whole steps, each entry rounded towards 0; T is the norm
    `steps`.

    Whatever floats round, a unit's entries are whole numbers of L1 or L2 norm at most T. In L1 the rest of T bounds
    each entry. In L2 the factor is reduced by more than n squares, a root and a quotient are off by. 2^31 units of at
    most 2^25 steps do not wrap.
    """
    totals = np.zeros(n_groups, np.int64)
    for unit in range(len(start) - 1):
        first, last = start[unit], start[unit + 1]
        norm = 0.0
        for place in range(first, last):
            part = abs(contributions[place]) / step
            norm += part * part if euclidean else part
        factor = 1.0
        if euclidean:
            norm = math.sqrt(norm) * (1 + (last - first + 8) * 2.0**-51)
        if norm > steps:
            factor = steps / norm
        left = np.int64(steps)
        for place in range(first, last):
            size = abs(contributions[place])
            kept = min(size // step if factor == 1.0 else np.int64(size / step * factor), left)
            totals[group[place]] += kept if contributions[place] > 0 else -kept
            if not euclidean:
                left -= kept
    return totals


ROUNDED_BITS = 28
"""A step is at most 2^-28 of tau: steps for 100,000 groups are less than 1/2,000 of tau."""


@dataclass(frozen=True)
class RoundedNoise(ThresholdNoise):
    """A release of vectors of norm tau whose sums are rounded down in every group (`VectorsOfSum`).

    Steps are of units 2^-FINER_BITS, so that they are small beside any threshold.

    Sensitivity: when a unit comes or goes the sums move by tau in the norm of the noise, and by less than one step
      more in each group. ceil(tau / step) + groups covers that in both norms.

    Attributes:
      groups: the most groups there are.
    """

    groups: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 1:
            raise InvalidParameter("there must be at least one group")

    @property
    def step(self) -> int:
        """Units of 2^-FINER_BITS per step, a power of two."""
        return 1 << max(0, self.tau_units.bit_length() - 1 + FINER_BITS - ROUNDED_BITS)

    @cached_property
    def sensitivity(self) -> int:
        """The most steps by which the sums of all groups together move when one unit comes or goes."""
        return -(-(self.tau_units << FINER_BITS) // self.step) + self.groups

    @property
    def step_weight(self) -> float:
        """One step in normalised weight, a power of two."""
        return self.step / (ONE << FINER_BITS)

    @property
    def loss(self) -> Loss:
        """The loss as of `ThresholdNoise.loss`, with a step of rounding in every group."""
        return laplace_loss(self.tau, self.noise_scale, self.groups * self.step_weight)


STEP_BITS = 24
"""A scaled entry is a whole number of steps, each at most 2^-23 of tau, or one unit."""


def step_of(tau_units: int) -> int:
    """The number of weight units per step of scaled entries at a threshold; a power of two."""
    return 1 << max(0, tau_units.bit_length() - 1 - STEP_BITS)


def contributions_of(tuples: CodedJoinTuples, row: int, less: int | None = None) -> Ints:
    """(n,) the total weight of each member (one unit in one group), in units of weight.

    Args:
      tuples: m join tuples with one owner position.
    Raises: InvalidParameter for another row, or several owner positions.
    """
    rows = [row] if less is None else [row, less]
    if not all(0 <= one < len(tuples.weights) for one in rows):
        raise InvalidParameter("no release has this index")
    if len(tuples.members) != 1:
        raise InvalidParameter("scaling the vector of each unit needs one owner per tuple")
    found = [
        add_contributions(tuples.members, np.ascontiguousarray(tuples.weights[one]), len(tuples.units))
        for one in rows
    ]
    added: Ints = found[0] if less is None else found[0] - found[1]
    return added


class UnitVectors(Private):
    """C(x) = x min(1, tau / |x|) of what every unit has in all groups, in the L1 or L2 norm.

    Sensitivity: tau in that norm, rounding included. When a unit comes or goes, so do all its rows
      (docs/mathematics.md, section 1.5). So the sums of all units move by its C(x), and |C(x)| <= tau. Scaling keeps
      the most of a unit that tau allows, and its proportions. At the same noise it keeps more than a bound in every
      group: of L0 groups with tau / L0 each, sum_f min(x_f, tau / L0) <= min(|x|_1, tau).

    The number of units with a norm above tau moves by 1.
    Source: docs/mathematics.md, section 4.1.

    Private: no repr. Memory: 24 bytes per member.
    """

    def __init__(self, tuples: CodedJoinTuples, contributions: Ints, *, euclidean: bool = False) -> None:
        """Lay the members of every unit side by side.

        Args:
          tuples: of one owner position.
          contributions: (n,) what each member adds, in units, of either sign.
        Cost: a counting sort of the members; no table of groups by units.
        """
        self._n_groups, self._euclidean = tuples.n_groups, euclidean
        self._start, self._group, self._contributions = by_unit(tuples.member_start, tuples.units, contributions)

    @classmethod
    def of_sum(cls, tuples: CodedJoinTuples, row: int, less: int | None = None, *, euclidean: bool) -> UnitVectors:
        """The vectors of every unit's weight in every group.

        Args:
          tuples: m join tuples with one owner position.
        Raises: InvalidParameter for another row, or several owner positions.
        Cost: one more pass over the tuples.
        """
        return cls(tuples, contributions_of(tuples, row, less), euclidean=euclidean)

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._n_groups

    def in_one_group(self) -> UnitVectors:
        """The same contributions, with all groups taken together as one."""
        other = copy(self)
        other._n_groups, other._group = 1, np.zeros_like(self._group)
        return other

    def kept(self, thresholds: Thresholds) -> TabulatedAnswer:
        """(1, L) for each threshold tau: sum_u min(tau, |x_u|), and how many units have a norm above tau.

        Cost: one pass over the members, log L for each unit.
        """
        found = norms(self._start, self._contributions, self._euclidean)
        return answer_of_contributions(np.zeros(len(found), np.int64), found, 1, thresholds)

    def sums(self, tau_units: int) -> Ints:
        """(G,) sum_u C(x_u) in steps of `step_of(tau_units)`; sensitivity tau_units // step, rounding included.

        Cost: two passes over the members.
        """
        step = step_of(tau_units)
        return scaled_sums(
            self._start, self._group, self._contributions, step, tau_units // step, self._n_groups, self._euclidean
        )
