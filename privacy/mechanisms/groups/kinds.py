"""How many groups the units of each relation reach, and what they may therefore contribute to each."""

from __future__ import annotations

import math

from privacy.errors import InvalidParameter
from privacy.exact import groups_reached
from privacy.truncation.ladder.capacities import ALIKE, CAPACITY_BITS, Capacities

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
      n_groups: G.
      gaussian: is the noise Gaussian, for zCDP?
    Raises: InvalidParameter for an L0_r below 1, or above L0.
    Source: privacy.md section 5.
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
