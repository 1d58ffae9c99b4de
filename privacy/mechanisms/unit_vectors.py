"""The vectors of units over all groups, their lengths, the sums of what is kept, and the proof of the sensitivity.

The tuples of one owner enter; each unit's vector is scaled so that none is longer than tau. `RoundedNoise` is for
sums that a database adds up first, and that are rounded to steps once in each group.
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
def lengths(start: Ints, contributions: Ints, euclidean: bool) -> Ints:
    """(n_units,) how long each unit's vector is, in units of weight, saturating: of its entries' absolute values the
    sum, or the Euclidean length.

    Args:
      start: (n_units + 1,) where each unit's members begin.
      loads: (n,) the weight of each member, in units, in [-MAX_UNITS, MAX_UNITS].
      euclidean: rounded down; else the sum.
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
    """(G,) the sum over units of x min(1, T / |x|) in whole steps, each entry rounded towards 0; T the length of
    `steps`.

    Whatever floats round, a unit's entries are whole numbers whose sizes add up to at most T, or have at most the
    Euclidean length T: of the sum what is left of T bounds each entry; of the length, the factor is less by more
      than n
    squares, a root and a quotient are off by. 2^31 units of at most 2^25 steps do not wrap.
    """
    totals = np.zeros(n_groups, np.int64)
    for unit in range(len(start) - 1):
        first, last = start[unit], start[unit + 1]
        length = 0.0
        for place in range(first, last):
            part = abs(contributions[place]) / step
            length += part * part if euclidean else part
        factor = 1.0
        if euclidean:
            length = math.sqrt(length) * (1 + (last - first + 8) * 2.0**-51)
        if length > steps:
            factor = steps / length
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
    """A release of vectors of length tau whose sums are rounded down in every group (`VectorsOfSum`).

    Steps are of units 2^-FINER_BITS, so that they are small beside any threshold.

    Sensitivity: the sums move by tau when a unit comes or goes, in the norm of the noise, and by less than one step
    more in each group: ceil(tau / step) + groups covers it in both norms.

    Attributes:
      groups: how many there are at most.
    """

    groups: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 1:
            raise InvalidParameter("there is one group at least")

    @property
    def step(self) -> int:
        """Units of 2^-FINER_BITS per step, a power of two."""
        return 1 << max(0, self.tau_units.bit_length() - 1 + FINER_BITS - ROUNDED_BITS)

    @cached_property
    def sensitivity(self) -> int:
        """By how many steps the sums of all groups can move when one unit comes or goes."""
        return -(-(self.tau_units << FINER_BITS) // self.step) + self.groups

    @property
    def step_weight(self) -> float:
        """One step in normalised weight; a power of two, so multiplying by it is exact."""
        return self.step / (ONE << FINER_BITS)

    @property
    def loss(self) -> Loss:
        """As of any threshold, with a step of rounding in every group."""
        return laplace_loss(self.tau, self.noise_scale, self.groups * self.step_weight)


STEP_BITS = 24
"""A scaled entry is a whole number of steps, a step at most 2^-23 of tau, or one unit."""


def step_of(tau_units: int) -> int:
    """Units per step at a threshold, a power of two: entries of scaled vectors are whole steps."""
    return 1 << max(0, tau_units.bit_length() - 1 - STEP_BITS)


def contributions_of(tuples: CodedJoinTuples, row: int, less: int | None = None) -> Ints:
    """(n,) the weight of every member, added up, in units.

    Args:
      tuples: m join tuples with one owner position.
    Raises: InvalidParameter for another row, or several owner positions.
    """
    rows = [row] if less is None else [row, less]
    if not all(0 <= one < len(tuples.weights) for one in rows):
        raise InvalidParameter("there is no such release")
    if len(tuples.members) != 1:
        raise InvalidParameter("scaling every unit's own vector needs one owner per tuple")
    found = [
        add_contributions(tuples.members, np.ascontiguousarray(tuples.weights[one]), len(tuples.units))
        for one in rows
    ]
    added: Ints = found[0] if less is None else found[0] - found[1]
    return added


class UnitVectors(Private):
    """C(x) = x min(1, tau / |x|) of what every unit has in all groups, |x| the sum of sizes, or the Euclidean length.

    Sensitivity: tau in that norm, rounding included. When a unit comes or goes, all that it has does
    (docs/mathematics.md, section 1.5), so the sums of all units move by its C(x), and |C(x)| <= tau. Nothing else is
    asked of C; scaling keeps the most of a unit that tau allows, and its proportions. It keeps more than a bound in
    every group does at the same noise: of L0 groups with tau / L0 in each, sum_f min(x_f, tau / L0) is at most
    min(|x|_1, tau), and what is lost of a unit is lost in one direction.

    Lengths: the number of units that are longer than tau moves by 1.
    Source: docs/mathematics.md, section 4.1.

    Private: no repr. Memory: 24 bytes per member.
    """

    def __init__(self, tuples: CodedJoinTuples, contributions: Ints, *, euclidean: bool = False) -> None:
        """Lay the members of every unit side by side.

        Args:
          tuples: whose members they are, of one owner position.
          loads: (n,) what each member adds, in units, of either sign.
        Cost: a counting sort of the members; no table of groups by units.
        """
        self._n_groups, self._euclidean = tuples.n_groups, euclidean
        self._start, self._group, self._contributions = by_unit(tuples.member_start, tuples.units, contributions)

    @classmethod
    def of_sum(cls, tuples: CodedJoinTuples, row: int, less: int | None = None, *, euclidean: bool) -> UnitVectors:
        """Of every unit's weight in every group, added up.

        Args:
          tuples: m join tuples with one owner position.
        Raises: InvalidParameter for another row, or several owner positions.
        Cost: one pass over the tuples besides.
        """
        return cls(tuples, contributions_of(tuples, row, less), euclidean=euclidean)

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self._n_groups

    def in_one_group(self) -> UnitVectors:
        """The same members, all in one group."""
        other = copy(self)
        other._n_groups, other._group = 1, np.zeros_like(self._group)
        return other

    def kept(self, thresholds: Thresholds) -> TabulatedAnswer:
        """(1, L) sum_u min(tau, |x_u|), and how many units are longer than each threshold.

        Cost: one pass over the members, log L for each unit.
        """
        found = lengths(self._start, self._contributions, self._euclidean)
        return answer_of_contributions(np.zeros(len(found), np.int64), found, 1, thresholds)

    def sums(self, tau_units: int) -> Ints:
        """(G,) sum_u C(x_u) in steps of `step_of(tau_units)`; sensitivity tau_units // step, rounding included.

        Cost: two passes over the members.
        """
        step = step_of(tau_units)
        return scaled_sums(
            self._start, self._group, self._contributions, step, tau_units // step, self._n_groups, self._euclidean
        )
