"""The sums of a question that share a budget: how they divide it, and what units of each relation may add to them.

All of it is public. It follows from the query, the policy and the number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from privacy.errors import InvalidParameter
from privacy.exact import DOWN, groups_reached
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.thresholds import Thresholds
from privacy.truncation.programs_by_threshold import ALIKE, CAPACITY_BITS, Capacities

GroupsOfKinds = tuple[tuple[str, int], ...]
"""Per privacy-unit relation L0_r, the most groups that one of its units reaches."""


def capacities_of(kinds: GroupsOfKinds, groups_per_unit: int | None, n_groups: int, gaussian: bool) -> Capacities:
    """The capacity of each kind of unit: the largest contributions to a group that the release's noise hides.

    Noise is scaled for L0 groups that move by tau each, L0 the largest L0_r. A unit of relation r moves L0_r groups
    by at most its capacity c_r. Laplace noise hides c_r L0_r <= tau L0, Gaussian noise c_r sqrt(L0_r) <= tau
    sqrt(L0). So the largest capacities are

        c_r = tau L0 / L0_r  or  c_r = tau sqrt(L0 / L0_r),  rounded down to 2^-10 of tau.

    The truncated sum grows with each capacity, so these clip the least. The family keeps one parameter, tau.
    Mechanisms that bound a unit's norm over all groups (`pmsja`, `s4s_vector`, `l2_clip`) gain nothing from kinds.

    Proof, for a release (`GroupLp`). Let a unit of r come or go, and m = c_r / tau. So 1 <= m, m L0_r <= L0 and, for
    Gaussian noise, m^2 L0_r <= L0. At most L0_r truncated answers move, by c_r + gap tau each (`truncate`).
    * Noise: tau is s steps and c_r is m s, both whole (`CAPACITY_BITS`). With g = ceil(gap s), an answer moves by m s
      + g steps, and noise is scaled for k = s + g steps and a share 1 / L0 of the budget. Laplace noise spends L0_r
      (m s + g) / (L0 k) <= 1 of it, as L0_r m <= L0 and L0_r <= L0. Gaussian noise spends L0_r (m s + g)^2 / (L0 k^2)
      <= 1, as (m s + g)^2 <= m^2 (s + g)^2.
    * One choice on the summed answer (`SummedAnswer`): the sum moves by L0_r (c_r + gap tau) <= L0 (1 + gap) tau (for
      Gaussian noise m <= m^2). An added unit still adds at every threshold, to the sum at most L0 tau. So the scores
      move as before.
    * A choice in each group: scores move by at most m times as much, in L0_r groups. m eps_s in each adds up to at
      most L0 eps_s, and m^2 L0_r eps_s^2 / 8 to at most L0 eps_s^2 / 8. No declared bound is used: L0_r follows from
      enforced keys and the public list of groups.

    Args:
      kinds: L0_r of each relation.
      groups_per_unit: L0, no less than any L0_r; None: the number of groups.
      gaussian: the noise is Gaussian, for zCDP.
    Raises: InvalidParameter for an L0_r below 1, or above L0.
    Source: docs/mathematics.md, section 3.5.
    """
    reached = groups_reached(groups_per_unit, n_groups)
    factors = []
    for relation, own in kinds:
        of_kind = groups_reached(own, n_groups)
        if of_kind > reached:
            raise InvalidParameter("groups_per_unit must be at least what a unit of each relation can reach")
        if gaussian:
            factors.append((relation, math.isqrt((reached << 2 * CAPACITY_BITS) // of_kind)))
        else:
            factors.append((relation, (reached << CAPACITY_BITS) // of_kind))
    return Capacities(tuple(factors)) if len({factor for _, factor in factors}) > 1 else ALIKE


Row = tuple[int, float]
"""The place of another sum of the question, and what one normalised weight of it is worth."""


@dataclass(frozen=True)
class Products:
    """For a sum of products x y: the sums and the count whose quotients are the means that it is centred on.

    Attributes:
      x, y: the sums of the factors.
      count: the place of the sum that counts rows.
      worth: > 0, of one normalised weight of the sum itself.
      one_row: a unit has at most one row, so the product follows from its factors without rounding.
    """

    x: Row
    y: Row
    count: int
    worth: float
    one_row: bool = False


@dataclass(frozen=True)
class Centre:
    """The centre of an average: the sum of all groups over the released number of rows.

    Attributes:
      count: the place of the sum that counts rows.
    """

    count: int


@dataclass(frozen=True)
class Deviation:
    """The part of an average's sum that is left after its released centre a is subtracted: S(x) - a n.

    Attributes:
      centre: the place of the centre, whose weights are those of this sum.
      count: the place of the sum that counts rows.
    """

    centre: int
    count: int


Around = Products | Centre | Deviation
"""What a sum is centred on, if not 0."""


@dataclass(frozen=True)
class Counted:
    """Count the units above the sum's one threshold.

    Attributes:
      at_most: what no unit exceeds, in normalised weight; None without such a declaration.
    """

    at_most: Fraction | None = None


@dataclass(frozen=True)
class Sum:
    """One sum of a question.

    Attributes:
      epsilon: its share of the question's epsilon, > 0.
      gap: eta, the solver's constant relative gap.
      thresholds: the candidate thresholds that can help it.
      around: what it is centred on; None: 0.
      bound: Delta, in normalised weight, the most that one unit adds to all groups; None if unknown or sampled.
      less: the row of the weights to subtract, if rows add with either sign.
      nested: each unit adds min(tau, contribution) to each group at every threshold tau
        (`privacy.mechanisms.scores`). So it is if every tuple has one owner and no rule chooses among a unit's
        groups.
      counted: count the units above its one threshold (`l1_clip` only).
      capped: the largest threshold is an administrator's, so that choosing it does little harm.
      alone: no quotient reads it, so that it is released by itself (`joint_scale` only).
    """

    epsilon: float
    gap: float
    thresholds: Thresholds
    around: Around | None = None
    bound: int | None = None
    less: int | None = None
    nested: bool = False
    counted: Counted | None = None
    capped: bool = False
    alone: bool = False


def equal_shares(sums: Sequence[Sum], delta: float) -> tuple[ConcentratedBudget, ...]:
    """Equal shares of rho, together a little less than the whole.

    Raises: InvalidParameter for an epsilon and a delta that buy no rho.
    """
    whole = ConcentratedBudget.of(sum(one.epsilon for one in sums) * DOWN, delta)
    return allocate(whole, [1.0] * len(sums))


B = TypeVar("B", PureBudget, ConcentratedBudget)


def allocate(budget: B, needs: Sequence[float]) -> tuple[B, ...]:
    """Divide a budget so that the squared relative errors of all releases add up to the least.

    A release with relative noise k at budget 1 has k / epsilon at epsilon and k / sqrt(rho) at rho. So the best
    epsilon_i is proportional to k_i^(2/3), and the best rho_i to k_i.

    Args:
      budget: of all releases together; pure shares add up in epsilon, concentrated ones in rho.
      needs: public, > 0: each release's expected relative noise at one and the same budget.
    Returns: one budget per release. Concentrated ones state their own epsilons at the common delta; these add up to
      more than the whole's.
    Raises: InvalidParameter without releases, or for a need that is not positive and finite.
    """
    if not needs or not all(0 < need < math.inf for need in needs):
        raise InvalidParameter("each release must have a positive, finite expected noise")
    return tuple(budget.share(part) for part in _shares([need**budget.allocation_power for need in needs]))


def _shares(parts: Sequence[float]) -> list[float]:
    """Fractions in proportion to the parts, rounded down to add up to at most 1; one release has all."""
    if len(parts) == 1:
        return [1.0]
    whole = math.fsum(parts)
    return [part / whole * DOWN for part in parts]
