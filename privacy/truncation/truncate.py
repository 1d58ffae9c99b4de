"""How much the join tuples weigh when nobody may contribute more than tau."""

from __future__ import annotations

from functools import partial

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.control import QUIET, Control, SolverName
from privacy.truncation.flow.exact_flow import exact_optimum
from privacy.truncation.ladder.capacities import ALIKE, Capacities
from privacy.truncation.ladder.cheap_bounds import cheap_bounds
from privacy.truncation.ladder.ladder_instance import ladder_instance
from privacy.truncation.ladder.small_flow import small_optimum
from privacy.truncation.ladder.small_groups import settle_small_groups
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.single_owner import single_owner
from privacy.truncation.solver_routes import CertifiedOptimum
from privacy.truncation.truncated_answer import TruncatedAnswer


def truncate(
    tuples: CodedJoinTuples,
    release: int,
    ladder: Ladder,
    gap: float,
    control: Control = QUIET,
    solver: SolverName = "certified",
    capacities: Capacities = ALIKE,
) -> TruncatedAnswer:
    """Maximise the total weight with every privacy unit contributing at most tau, per group and threshold.

        fbar(tau) = max sum_t x_t  s.t.  sum_{t: u in U(t)} x_t <= tau for every u,  0 <= x_t <= w_t

    Where kinds of units reach different numbers of groups, the units of a relation may contribute a public multiple
    of tau, c_u >= tau (`Capacities`).

    Args:
      tuples: m join tuples with their owners, as `encode` returns them.
      release: which row of tuples.weights.
      ladder: public thresholds.
      gap: eta, a public constant. 0 when the plan has one or two owner positions: a closed form, or a flow in
        exact integers. Otherwise values may lie below fbar by up to gap * tau, proved by a dual point.
      control: watches and stops the solves, the later ones too.
      capacities: what the units of each relation may contribute in multiples of tau.
      solver: which is asked first where gap > 0. Whichever answers, v is its certified value and the sensitivity that
        of every v in the interval below.
    Returns: v in [fbar - gap * tau, fbar], int64 units, saturating at MAX_UNITS.
    Sensitivity: at most c_u + gap * tau per group and threshold when tuples of one unit u come or go: fbar does not
      decrease when they come, and the new optimum, without them, is feasible before and has lost at most c_u. With
      gap 0 the value is floor(fbar), and c_u is a whole number of units, so rounding down adds nothing.
    Raises: InvalidParameter for a gap or release out of range, or gap = 0 with three owners of a tuple.
    Cost: closed form, where every tuple has one owner: one pass. Otherwise the cheap bounds now, one program per
      cell asked for later.
    Source: R2T and DP-S4S, program (1); privacy.md section 2.
    """
    if not 0 <= release < len(tuples.weights):
        raise InvalidParameter("there is no such release")
    owners = tuples.owners[1]
    if gap == 0 and owners == 1:
        return single_owner(tuples, release, ladder, capacities)
    if gap == 0 and owners > 2:
        raise InvalidParameter("exact values need at most two owners per tuple")
    instance = ladder_instance(tuples, release, ladder, capacities)
    bounds = cheap_bounds(instance)
    if gap == 0:
        bounds = settle_small_groups(instance, bounds)
        return LazyAnswer(
            instance, bounds, ladder, gap, partial(exact_optimum, control=control), partial(small_optimum, instance)
        )
    return LazyAnswer(instance, bounds, ladder, gap, CertifiedOptimum(control, solver))
