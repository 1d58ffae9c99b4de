"""How much the join tuples weigh when nobody may contribute more than tau."""

from __future__ import annotations

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.cheap_bounds import cheap_bounds
from privacy.truncation.group_instance import group_instance
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.reduced import WholePrograms
from privacy.truncation.single_owner import single_owner
from privacy.truncation.truncated_answer import TruncatedAnswer


def truncate(tuples: CompactJoinTuples, release: int, ladder: Ladder, gap: float) -> TruncatedAnswer:
    """Maximise the total weight with every privacy unit contributing at most tau, per group and threshold.

        fbar(tau) = max sum_t x_t  s.t.  sum_{t: u in U(t)} x_t <= tau for every u,  0 <= x_t <= w_t

    Args:
      tuples: m join tuples with their owners, as `compact` returns them.
      release: which row of tuples.weights.
      ladder: public thresholds.
      gap: eta, a public constant. 0 when the plan proves one owner per tuple: a closed form. Otherwise
        values may lie below fbar by up to gap * tau, proved by a dual point.
    Returns: v in [fbar - gap * tau, fbar], int64 units, saturating at MAX_UNITS.
    Sensitivity: at most (1 + gap) * tau per group and threshold when one unit's tuples come or go.
    Raises: InvalidParameter for a gap or release out of range, or gap = 0 with several owners per tuple.
    Cost: closed form: one sort. Otherwise the cheap bounds now, one program per cell asked for later.
    Source: R2T and DP-S4S, program (1); privacy.md section 2.
    """
    if not 0 <= release < len(tuples.weights):
        raise InvalidParameter("there is no such release")
    if gap == 0:
        return single_owner(tuples, release, ladder)
    instance = group_instance(tuples, release)
    return LazyAnswer(WholePrograms(instance, ladder), cheap_bounds(instance, ladder), ladder, gap)
