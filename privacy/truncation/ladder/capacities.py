"""A capacity per kind of unit: how much more than tau the units of a relation may contribute. Public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.units import MAX_UNITS

CAPACITY_BITS = 10
"""A capacity is a whole number of 2^-10 of tau. Every threshold of a ladder that doubles is a whole number of 2^10
units, so that capacities are exact and double with it: fbar stays concave along the ladder, and linear where it was.
And 2^-10 of tau is a whole number of the steps that noise is added in."""


@dataclass(frozen=True)
class Capacities:
    """What the units of each relation may contribute at threshold tau, in multiples of tau.

    Attributes:
      factors: per relation, 2^10 times its capacity / tau, at least 2^10; tau itself for one that is not named.
    """

    factors: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if any(factor < 1 << CAPACITY_BITS for _, factor in self.factors):
            raise InvalidParameter("no kind of unit has less than the threshold")

    @property
    def distinct(self) -> tuple[int, ...]:
        """The factors that occur, rising; the first is that of tau itself."""
        return tuple(sorted({1 << CAPACITY_BITS, *(factor for _, factor in self.factors)}))


ALIKE = Capacities()
"""Everybody has tau."""


@dataclass(frozen=True, eq=False, repr=False)
class MemberCapacities:
    """The capacity of every member at every threshold.

    Attributes:
      kind: (n,) int8 row of `table` of each member.
      table: (K, L) int64 units, each row a capacity at every threshold, saturating at MAX_UNITS; rows rise.
        Saturation changes no value: who may contribute MAX_UNITS makes an answer that saturates, too.
    """

    kind: NDArray[np.int8]
    table: NDArray[np.int64]

    def at(self, members: NDArray[np.integer] | slice, index: int) -> NDArray[np.int64]:
        """The capacities of some members at one threshold."""
        return np.ascontiguousarray(self.table[:, index][self.kind[members]])

    def by_kind(self) -> list[tuple[NDArray[np.bool_] | None, NDArray[np.int64]]]:
        """Per kind, which members are of it, None for all of them, and its capacities."""
        if len(self.table) == 1:
            return [(None, self.table[0])]
        return [(self.kind == kind, self.table[kind]) for kind in range(len(self.table))]

    def __repr__(self) -> str:
        return "MemberCapacities(<private>)"


def member_capacities(tuples: CodedJoinTuples, ladder: Ladder, capacities: Capacities) -> MemberCapacities:
    """Look the capacity of every member up by the relation of its unit.

    Raises: InvalidParameter for capacities that differ on a ladder that does not double.
    Cost: linear in the members.
    """
    factors = capacities.distinct
    if len(factors) > 1 and not ladder.doubling:
        raise InvalidParameter("capacities differ on ladders that double alone")
    table = [[min(int(tau) * factor >> CAPACITY_BITS, MAX_UNITS) for tau in ladder.units] for factor in factors]
    kind = np.zeros(len(tuples.units), np.int8)
    if len(factors) > 1:
        known = dict(capacities.factors)
        rows = [factors.index(known.get(relation, factors[0])) for relation, _ in tuples.relations]
        ends = np.array([end for _, end in tuples.relations], np.int64)
        kind = np.array([*rows, 0], np.int8)[np.searchsorted(ends, tuples.units, side="right")]
    return MemberCapacities(kind, np.array(table, np.int64))
