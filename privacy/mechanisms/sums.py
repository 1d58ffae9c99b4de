"""The sums of a query that share one budget, how it is divided, and what units of each relation may add to them.

All of it is public: it follows from the query, the policy and the number of groups.
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
    """The largest capacities that the noise of a release in every group hides, whatever the kind of unit.

    Noise is scaled for L0 groups that move by tau each, L0 the largest L0_r. A unit of relation r moves L0_r groups
    by its capacity c_r at most. What Laplace noise hides adds up, so c_r L0_r <= tau L0 is hidden; of Gaussian noise
    the squares add up, so c_r sqrt(L0_r) <= tau sqrt(L0) is. The largest such capacities are

        c_r = tau L0 / L0_r  or  c_r = tau sqrt(L0 / L0_r),  rounded down to 2^-10 of tau.

    They are all there is to choose: the truncated sum only grows with each capacity, so of all vectors of capacities
    that one noise hides, this one cuts the least. So the family has one parameter, tau, as before; where every L0_r
    is the same, it is the same family. The lengths of `pmsja`, `s4s_vector` and `l2_clip` bound a unit in all groups
    together: one length for all kinds is that largest vector there, and nothing is to be won.

    Proof, for a release (`GroupLp`). Let a unit of r come or go, and m = c_r / tau, so 1 <= m, m L0_r <= L0 and, for
    Gaussian noise, m^2 L0_r <= L0. At most L0_r truncated answers move, by c_r + gap tau each (`truncate`).
    * Noise: tau is s steps of the noise and c_r is m s, whole numbers (`CAPACITY_BITS`), so an answer moves by
      m s + ceil(gap s) steps, while noise is scaled for k = s + ceil(gap s) steps and a share 1 / L0 of the budget.
      With g = ceil(gap s), Laplace noise spends L0_r (m s + g) / (L0 k) <= 1 of it, as L0_r m <= L0 and L0_r <= L0;
      Gaussian noise L0_r (m s + g)^2 / (L0 k^2) <= 1, as (m s + g)^2 <= m^2 (s + g)^2.
    * One choice on the summed answer (`SummedAnswer`): the sum moves by L0_r (c_r + gap tau) <= L0 (1 + gap) tau
      (for Gaussian noise m <= m^2), as there; a unit that comes still adds at every threshold, to the sum at most
      L0 tau; so scores move as they did.
    * A choice in each group: scores move by m times what they did at most, in L0_r groups: a log density ratio of
      m eps_s in each adds up to L0 eps_s, and m^2 L0_r eps_s^2 / 8 is at most L0 eps_s^2 / 8.
    Nothing here rests on a promise of the custodian: L0_r follows from enforced keys and the public list of groups.

    Args:
      kinds: L0_r of each relation.
      groups_per_unit: L0 that noise is scaled for, no less than any L0_r; None: the number of groups.
      gaussian: is the noise Gaussian, for zCDP?
    Raises: InvalidParameter for an L0_r below 1, or above L0.
    Source: docs/mathematics.md, section 3.5.
    """
    reached = groups_reached(groups_per_unit, n_groups)
    factors = []
    for relation, own in kinds:
        of_kind = groups_reached(own, n_groups)
        if of_kind > reached:
            raise InvalidParameter("noise is scaled for fewer groups than units of a relation reach")
        if gaussian:
            factors.append((relation, math.isqrt((reached << 2 * CAPACITY_BITS) // of_kind)))
        else:
            factors.append((relation, (reached << CAPACITY_BITS) // of_kind))
    return Capacities(tuple(factors)) if len({factor for _, factor in factors}) > 1 else ALIKE


Row = tuple[int, float]
"""A sum of the same question by its place, and what one normalised weight of it is worth."""


@dataclass(frozen=True)
class Products:
    """Of a sum of products x y: the sums and the count whose quotients are the means that it is measured around.

    Attributes:
      x, y: the sums of its factors.
      count: the place of the sum that counts rows.
      worth: of one normalised weight of the sum itself, > 0.
      one_row: has a unit at most one row, so that the product follows from its factors without rounding?
    """

    x: Row
    y: Row
    count: int
    worth: float
    one_row: bool = False


@dataclass(frozen=True)
class Centre:
    """Of what an average is measured around: the sum of all groups over the released number of rows.

    Attributes:
      count: the place of the sum that counts rows.
    """

    count: int


@dataclass(frozen=True)
class Deviation:
    """Of a sum for an average: what its released centre a leaves of every unit, S(x) - a n.

    Attributes:
      centre: the place of the centre, whose weights are those of this sum.
      count: the place of the sum that counts rows.
    """

    centre: int
    count: int


Around = Products | Centre | Deviation
"""What a sum is measured around, other than 0."""


@dataclass(frozen=True)
class Counted:
    """Of a sum at one threshold that units may exceed: they are counted.

    Attributes:
      at_most: what none of them exceeds, in normalised weight; None where nothing is promised.
    """

    at_most: Fraction | None = None


@dataclass(frozen=True)
class Sum:
    """One sum of a query.

    Attributes:
      epsilon: its share of the query's epsilon, > 0.
      gap: eta; the solver's constant relative gap.
      ladder: the thresholds that can help it.
      around: of products that are measured around the means, and of the parts of an average; None of any other sum.
      bound: Delta, in normalised weight, a public bound on what one unit adds to all groups; None where there is
        none, or tuples are left out by sampling.
      less: the row of the weights that is taken off, where rows add to the sum with either sign; None elsewhere.
      nested: does each unit add min(tau, load) to each group at every threshold tau, as where every tuple has one
        owner and no rule chooses among the groups of a unit (`privacy.mechanisms.scores`)?
      counted: of a ladder of one threshold, whether those who have more are counted (`l1_clip` alone); None: they are
        not.
    """

    epsilon: float
    gap: float
    thresholds: Thresholds
    around: Around | None = None
    bound: int | None = None
    less: int | None = None
    nested: bool = False
    counted: Counted | None = None


def equal_shares(sums: Sequence[Sum], delta: float) -> tuple[ConcentratedBudget, ...]:
    """Equal shares of rho, as nothing is known of the answers; together a little less than the whole.

    Raises: InvalidParameter for an epsilon and a delta that buy no rho.
    """
    whole = ConcentratedBudget.of(sum(one.epsilon for one in sums) * DOWN, delta)
    return allocate(whole, [1.0] * len(sums))


B = TypeVar("B", PureBudget, ConcentratedBudget)


def allocate(budget: B, needs: Sequence[float]) -> tuple[B, ...]:
    """Divide a budget so that the squared relative errors of all releases add up to the least.

    A release of relative noise k at budget 1 has k / epsilon at epsilon and k / sqrt(rho) at rho. The sum of
    squares under a fixed total is least with epsilon_i proportional to k_i^(2/3), and rho_i to k_i. Equal needs have
    equal shares, and a need 8 times as large has 4 times the epsilon. AVG is a SUM and a COUNT, a SUM over both
    signs is two: their errors add up likewise, so that they are releases like others.

    Args:
      budget: of all releases together; pure shares add up in epsilon, concentrated ones in rho.
      needs: public, > 0: each release's expected noise at one and the same budget, relative to what is expected
        of its answer; all equal where nothing is known.
    Returns: one budget per release. The concentrated ones state their own epsilons at the common delta, of which
      the whole's is less than the sum.
    Raises: InvalidParameter without releases, or for a need that is not positive and finite.
    """
    if not needs or not all(0 < need < math.inf for need in needs):
        raise InvalidParameter("every release needs something")
    return tuple(budget.share(part) for part in _shares([need**budget.allocation_power for need in needs]))


def _shares(parts: Sequence[float]) -> list[float]:
    """Fractions in proportion to the parts, rounded down to add up to no more than 1; one release has all."""
    if len(parts) == 1:
        return [1.0]
    whole = math.fsum(parts)
    return [part / whole * DOWN for part in parts]
