"""Join tuples and the people behind each: as they come from the database, and as they are solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.units import Bools, Int32s, Ints


class Private:
    """Base of what holds private values: no repr shows them. Dataclasses of this base have `repr=False`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<private>)"


@dataclass(frozen=True, eq=False, repr=False)
class OwnerColumn(Private):
    """One owner position of the join: the privacy unit behind each tuple, or none.

    Attributes:
      relation: the privacy-unit relation of the keys; units of different relations differ.
      keys: (m,) key values of any dtype that numpy can sort; undefined where `missing`.
      missing: (m,) bool, true if the foreign key is NULL and the position has no owner.
    """

    relation: str
    keys: NDArray[np.generic]
    missing: Bools


@dataclass(frozen=True, eq=False, repr=False)
class OwnedTuples(Private):
    """Join tuples with their owners and groups, as the backend returned them.

    Attributes:
      owners: one column per owner position; several may name the same relation (a self-join).
      group: (m,) int64 index into the public list of groups, in [0, n_groups); -1: outside the domain.
      n_groups: number of public groups, 1 without GROUP BY.
    """

    owners: tuple[OwnerColumn, ...]
    group: Ints
    n_groups: int


@dataclass(frozen=True, eq=False, repr=False)
class JoinTuples(OwnedTuples):
    """Join tuples to add up: one row per distinct (provenance, group), weights summed in SQL.

    Attributes:
      weights: (k, m) int64 units of 2^-30 W, >= 0, one row per release.
    """

    weights: Ints


@dataclass(frozen=True, eq=False, repr=False)
class DistinctTuples(OwnedTuples):
    """Join tuples that each carry one value, for a count or a sum of distinct values.

    Attributes:
      value: (m,) int64 >= 0, equal exactly where the values are; -1: not counted (NULL, or filtered out).
      weight: (m,) int64 units in [0, 2^30], equal where the values are: what a value adds to the sum; None: one.
    """

    value: Ints
    weight: Ints | None = None


@dataclass(frozen=True, eq=False, repr=False)
class RankedTuples(OwnedTuples):
    """Join tuples by value, for ranks: one row per distinct owners, group and value.

    Attributes:
      value: (m,) int64 place on the public grid; -1: none (NULL).
      rows: (m,) int64 how many join tuples count, in [0, 2^32].
    """

    value: Ints
    rows: Ints


@dataclass(frozen=True, eq=False, repr=False)
class CompactJoinTuples(Private):
    """Join tuples with numbered privacy units, equal provenance sets merged, in canonical order.

    Attributes:
      indptr: (m + 1,) int64 and
      units: (nnz,) int32: CSR; tuple t is owned by units[indptr[t]:indptr[t + 1]], sorted, distinct, non-empty.
      n_units: number of privacy units that occur.
      group: (m,) int64 in [0, n_groups).
      n_groups: number of public groups.
      weights: (k, m) int64 units of 2^-30 W, >= 0.
    """

    indptr: Ints
    units: Int32s
    n_units: int
    group: Ints
    n_groups: int
    weights: Ints


@dataclass(frozen=True, eq=False, repr=False)
class CodedJoinTuples(Private):
    """Join tuples with numbered owners, grouped, in the order of their rows and unmerged.

    A member is a privacy unit in one group: a unit in two groups is two members.

    Attributes:
      members: (positions, m) int32; tuple t has the distinct owners members[:, t] up to the first -1, at least one.
      row_start, member_start: (G + 1,) int64 where each group's tuples and members begin; some members may own none.
      weights: (k, m) int64 units of 2^-30 W, >= 0.
      owners: (smallest, largest) number of owners of a tuple; (1, 1) without tuples.
      units: (n_members,) int32 the privacy unit of each member, rising within a group, equal across groups.
      relations: the privacy-unit relations in the order of their units' numbers, each with the number after its last;
        may be empty.
    """

    members: Int32s
    row_start: Ints
    member_start: Ints
    weights: Ints
    owners: tuple[int, int]
    units: Int32s
    relations: tuple[tuple[str, int], ...] = ()

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return len(self.row_start) - 1
