"""What sampling could save, for EXPLAIN; nothing is charged by it."""

from __future__ import annotations

from planner.plan import Plan
from privacy.sampling.joint_loss import joint_loss
from privacy.sampling.loss import choice_loss


def amplified_epsilon(plan: Plan) -> float | None:
    """The loss of a plan's releases from their one sample, by its Delta; None where no amplification may be claimed.

    A threshold below one full weight may be chosen, and then one tuple of a unit is enough for the whole loss. So
    the largest loss over all transcripts is epsilon for k >= 1.
    Source: privacy.md section 3.
    """
    if plan.sampling is None or not plan.sampling.amplifies or plan.tuples_per_unit is None:
        return None
    return joint_loss([choice_loss(plan.epsilon)], plan.tuples_per_unit, plan.sampling.rate)
