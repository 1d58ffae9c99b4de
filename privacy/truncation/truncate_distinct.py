"""How many distinct values are left when nobody may contribute more than tau of them."""

from __future__ import annotations

from functools import partial

from privacy.errors import InvalidParameter
from privacy.join_tuples import DistinctTuples
from privacy.ladder import Ladder
from privacy.truncation.control import QUIET, Control, SolverName
from privacy.truncation.distinct.distinct_bounds import distinct_bounds
from privacy.truncation.distinct.distinct_instance import distinct_instance
from privacy.truncation.flow.exact_flow import exact_optimum
from privacy.truncation.ladder.reduced import WholePrograms
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.solver_routes import CertifiedOptimum
from privacy.truncation.truncated_answer import TruncatedAnswer


def truncate_distinct(
    tuples: DistinctTuples,
    ladder: Ladder,
    gap: float,
    control: Control = QUIET,
    solver: SolverName = "certified",
) -> TruncatedAnswer:
    """Count values, each as far as tuples of it are left, with every privacy unit contributing at most tau.

        fbar(tau) = max sum_p min(1, sum_{t -> p} x_t)  s.t.  sum_{t: u in U(t)} x_t <= tau for every u, 0 <= x_t <= 1

    A value that n people reach needs only 1/n of each, so thresholds below one are worth having. At tau = 1 every
    value counts in full if no unit reaches two of them.

    Args:
      tuples: m join tuples with their owners and their values.
      ladder: public thresholds.
      gap: eta, a public constant. 0 when the plan has one owner position: a maximum flow. Otherwise
        values may lie below fbar by up to gap * tau, proved by a dual point.
      control: watches and stops the solves, the later ones too.
      solver: as of `truncate`.
    Returns: v in [fbar - gap * tau, fbar], int64 units.
    Sensitivity: at most (1 + gap) * tau per group and threshold when one unit's tuples come or go: fbar does not
      decrease, and at the new optimum, without the unit's tuples, at most tau is lost.
    Raises: InvalidParameter for a gap out of range, or gap = 0 with several owners per tuple.
    Cost: the bounds now, one program per cell asked for later.
    Source: R2T (SIGMOD 2022), the program for queries with projection; privacy.md section 7.
    """
    instance = distinct_instance(tuples)
    if gap == 0 and not instance.single_owner:
        raise InvalidParameter("an exact count needs exactly one owner per tuple")
    certified = CertifiedOptimum(control, solver)
    optimiser = partial(exact_optimum, control=control) if gap == 0 else certified
    return LazyAnswer(WholePrograms(instance, ladder), distinct_bounds(instance, ladder), ladder, gap, optimiser)
