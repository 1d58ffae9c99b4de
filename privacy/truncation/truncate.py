"""The entry points: from join tuples to truncated sums and distinct counts at every candidate threshold.

With one owner per tuple each unit is truncated by itself, in closed form. A `TruncatedSum` can be asked for any
thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, DistinctTuples, Private
from privacy.thresholds import Thresholds
from privacy.truncation.distinct import distinct_bounds, distinct_instance
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.level_index import add_contributions
from privacy.truncation.programs.exact_flow import exact_optimum
from privacy.truncation.programs.solver_routes import CertifiedOptimum
from privacy.truncation.programs_by_threshold import ALIKE, Capacities, member_capacities, programs_by_threshold
from privacy.truncation.small_groups import capped_by_kind, cheap_bounds, settle_small_groups, small_optimum
from privacy.truncation.solver_name import SolverName
from privacy.truncation.truncated_answer import TabulatedAnswer, TruncatedAnswer, answer_of_contributions
from privacy.units import Ints


def single_owner(
    tuples: CodedJoinTuples, release: int, thresholds: Thresholds, capacities: Capacities = ALIKE
) -> TabulatedAnswer:
    """fbar(tau) = sum_u min(c_u, contribution_u) for every group and threshold, exact; c_u is tau unless kinds
    differ.

    Args:
      tuples: m tuples with one owner each.
      capacities: what the units of each relation may contribute.
    Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity c_u per cell.
    Raises: InvalidParameter if some tuple has another number of owners.
    Cost: one pass over the tuples, log L for each member, and O(G L).
    Source: docs/mathematics.md, section 3.3.
    """
    if tuples.owners != (1, 1):
        raise InvalidParameter("the closed form needs exactly one owner per tuple")
    weights = np.ascontiguousarray(tuples.weights[release])
    contributions = add_contributions(tuples.members[:1], weights, int(tuples.member_start[-1]))
    if capacities == ALIKE:
        group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.member_start))
        return answer_of_contributions(group, contributions, tuples.n_groups, thresholds)
    of_members = member_capacities(tuples, thresholds, capacities)
    return TabulatedAnswer(capped_by_kind(tuples.member_start, contributions, of_members), thresholds)


def truncate_distinct(
    tuples: DistinctTuples, thresholds: Thresholds, gap: float, solver: SolverName = "certified"
) -> TruncatedAnswer:
    """Add up values, each as far as tuples of it are left, with every privacy unit contributing at most tau.

        fbar(tau) = max sum_p min(w_p, sum_{t -> p} x_t)  s.t.  sum_{t: u in U(t)} x_t <= tau for every u, x_t >= 0

    A count has w_p = 1. A value that n people reach needs only 1/n of each, so thresholds below one can help. At
    tau = 1 every value counts in full if no unit reaches two of them.

    Args:
      tuples: m join tuples with their owners and their values.
      gap: eta, a public constant; 0 for one owner position: a maximum flow. Otherwise values may lie below fbar by up
        to gap * tau, proved by a dual point.
    Returns: v in [fbar - gap * tau, fbar], int64 units.
    Sensitivity: at most (1 + gap) * tau per group and threshold when one unit's tuples come or go.
    Raises: InvalidParameter for a gap out of range, or gap = 0 with several owners per tuple.
    Cost: the bounds now, one program per cell asked for later.
    Source: R2T (SIGMOD 2022), the program for queries with projection; docs/mathematics.md, section 3.6.
    """
    instance = distinct_instance(tuples, thresholds)
    if gap == 0 and not instance.single_owner:
        raise InvalidParameter("an exact count needs exactly one owner per tuple")
    certified = CertifiedOptimum(solver)
    optimiser = exact_optimum if gap == 0 else certified
    return LazyAnswer(instance, distinct_bounds(instance), thresholds, gap, optimiser)


def truncate(
    tuples: CodedJoinTuples,
    release: int,
    thresholds: Thresholds,
    gap: float,
    solver: SolverName = "certified",
    capacities: Capacities = ALIKE,
) -> TruncatedAnswer:
    """Maximise the total weight with every privacy unit contributing at most tau, per group and threshold.

        fbar(tau) = max sum_t x_t  s.t.  sum_{t: u in U(t)} x_t <= tau for every u,  0 <= x_t <= w_t

    If kinds of units reach different numbers of groups, the units of a relation may contribute a public multiple of
    tau, c_u >= tau (`Capacities`).

    Args:
      tuples: m join tuples with their owners, from `encode`.
      gap: eta, a public constant; 0 for one or two owner positions: a closed form, or a flow in exact integers.
        Otherwise values may lie below fbar by up to gap * tau, proved by a dual point.
      capacities: what the units of each relation may contribute in multiples of tau.
      solver: which is asked first if gap > 0. The certificate, and with it the sensitivity, is the same for all
        solvers.
    Returns: v in [fbar - gap * tau, fbar], int64 units, saturating at MAX_UNITS.
    Sensitivity: at most c_u + gap * tau per group and threshold when tuples of one unit u come or go. With gap 0 the
      value is floor(fbar), and c_u is a whole number of units, so rounding down adds nothing.
    Raises: InvalidParameter for a gap or release out of range, or gap = 0 with three owners of a tuple.
    Cost: one pass in closed form if every tuple has one owner. Otherwise the cheap bounds now, one program per cell
      asked for later.
    Source: R2T and DP-S4S, program (1); docs/mathematics.md, sections 3.1 and 3.4.
    """
    if not 0 <= release < len(tuples.weights):
        raise InvalidParameter("no release has this index")
    owners = tuples.owners[1]
    if gap == 0 and owners == 1:
        return single_owner(tuples, release, thresholds, capacities)
    if gap == 0 and owners > 2:
        raise InvalidParameter("exact values need at most two owners per tuple")
    instance = programs_by_threshold(tuples, release, thresholds, capacities)
    bounds = cheap_bounds(instance)
    if gap == 0:
        bounds = settle_small_groups(instance, bounds)
        return LazyAnswer(instance, bounds, thresholds, gap, exact_optimum, partial(small_optimum, instance))
    return LazyAnswer(instance, bounds, thresholds, gap, CertifiedOptimum(solver))


class TruncatedSum(Protocol):
    """One sum of a question. Private, but for the number of groups."""

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""

    def at(self, thresholds: Thresholds) -> TruncatedAnswer:
        """The sum of every group at every threshold. Raises: InvalidParameter; SolverFailed."""

    def units(self) -> Ints | None:
        """(G,) how many units add to each group's sum, for tuples with one owner; else None."""


@dataclass(frozen=True, eq=False, repr=False)
class TuplesOfSum(Private):
    """A TruncatedSum of join tuples.

    Attributes:
      tuples: of G groups.
      gap: eta, the solver's constant relative gap.
      solver: which truncates.
      capacities: what the units of each relation may contribute in multiples of a threshold.
    """

    tuples: CodedJoinTuples
    row: int
    gap: float
    solver: SolverName = "certified"
    capacities: Capacities = ALIKE

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.tuples.n_groups

    def at(self, thresholds: Thresholds) -> TruncatedAnswer:
        """Truncate the tuples, with the gap and the solver of the mechanism. Raises: as `truncate`."""
        prepared = self.tuples, self.row, thresholds, self.gap
        return truncate(*prepared, solver=self.solver, capacities=self.capacities)

    def units(self) -> Ints | None:
        """How many contributions of a group are above 0. Cost: linear in the tuples."""
        if len(self.tuples.members) != 1:
            return None
        weights = np.ascontiguousarray(self.tuples.weights[self.row])
        contributions = add_contributions(self.tuples.members, weights, len(self.tuples.units))
        return positive_in_groups(contributions, self.tuples.member_start)


def positive_in_groups(contributions: Ints, member_start: Ints) -> Ints:
    """(G,) how many of each group's contributions are above 0."""
    before = np.concatenate([[0], np.cumsum(contributions > 0)]).astype(np.int64)
    counted: Ints = np.diff(before[member_start])
    return counted
