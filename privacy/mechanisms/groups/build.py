"""Mechanisms over all groups by name, for the sums of one query together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.exact import DOWN
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.allocate import allocate
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.groups.l2_clip import L2Clip
from privacy.mechanisms.groups.laplace_or_gaussian import LaplaceOrGaussian
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.mechanisms.vector.sized_later import SizedLater
from privacy.sampling.design import SampleDesign

GroupMechanism = GroupLp | L2Clip | SizedLater
"""Every GroupMeasurement that is made here."""


@dataclass(frozen=True)
class Sum:
    """One sum of a query.

    Attributes:
      epsilon: its share of the query's epsilon, > 0.
      gap: eta; the solver's constant relative gap.
      ladder: the thresholds that can help it.
    """

    epsilon: float
    gap: float
    ladder: Ladder


def group_measurements(
    name: str,
    sums: Sequence[Sum],
    delta: float,
    groups_per_unit: int | None = None,
    sample: SampleDesign | None = None,
) -> tuple[GroupMechanism, ...]:
    """One measurement per sum, all of them together (epsilon, delta)-DP, epsilon the sum of the sums' own.

    `group_lp` and `l2_clip` divide rho equally and convert it to (epsilon, delta) once, for all sums. `pmsja` and
    `s4s_vector` have stages of different kinds, so each gets its share of epsilon and an equal one of delta.

    Args:
      name: `group_lp`, `l2_clip`, `pmsja` or `s4s_vector`.
      sums: at least one, with equal shares of epsilon and equal gaps.
      delta: of all sums together, in [0, 1); 0 for `group_lp` alone, which is then pure.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      sample: how the tuples are sampled, if amplification may be claimed: by the pure `group_lp`, and by `s4s_vector`
        if nothing else is released from the sample.
    Raises: InvalidParameter for an unknown name, or parameters that are worth nothing to a mechanism.
    """
    if name == "group_lp" and delta == 0:
        return tuple(_pure(one, groups_per_unit, sample) for one in sums)
    if name == "group_lp":
        shares = _shares(sums, delta)
        return tuple(_either(one, share, groups_per_unit) for one, share in zip(sums, shares, strict=True))
    if name == "l2_clip":
        return tuple(L2Clip(share, one.ladder) for one, share in zip(sums, _shares(sums, delta), strict=True))
    if name in ("pmsja", "s4s_vector"):
        each = delta / len(sums) * DOWN
        alone = sample if len(sums) == 1 else None  # amplified losses of one shared sample do not add up
        return tuple(SizedLater(name, one.epsilon, each, one.ladder, alone) for one in sums)
    raise InvalidParameter("there is no mechanism of this name")


def _pure(one: Sum, groups_per_unit: int | None, sample: SampleDesign | None) -> GroupLp:
    """One threshold for all groups; of a sample that pays for noise, one for each, which knows how to claim it."""
    if sample is not None:
        return GroupLp(Gem(one.epsilon, groups_per_unit, one.gap, one.ladder, sample=sample))
    return GroupLp(SharedThreshold(PureBudget(one.epsilon), groups_per_unit, one.gap, one.ladder))


def _either(one: Sum, share: ConcentratedBudget, groups_per_unit: int | None) -> GroupLp:
    """Laplace or Gaussian noise; of sums with equal shares and as many groups each chooses the same."""
    pure, concentrated = (
        SharedThreshold(budget, groups_per_unit, one.gap, one.ladder) for budget in (PureBudget(one.epsilon), share)
    )
    return GroupLp(LaplaceOrGaussian(pure, concentrated))


def _shares(sums: Sequence[Sum], delta: float) -> tuple[ConcentratedBudget, ...]:
    """Equal shares of rho, as nothing is known of the answers; together a little less than the whole."""
    whole = ConcentratedBudget.of(sum(one.epsilon for one in sums) * DOWN, delta)
    return allocate(whole, [1.0] * len(sums))
