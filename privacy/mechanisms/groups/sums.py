"""The sums of one query that are measured together, and how its budget is divided among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from privacy.errors import InvalidParameter
from privacy.exact import DOWN
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget

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
        owner and no rule chooses among the groups of a unit (`privacy.mechanisms.selection.scores`)?
      counted: of a ladder of one threshold, whether those who have more are counted (`l1_clip` alone); None: they are
        not.
    """

    epsilon: float
    gap: float
    ladder: Ladder
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


class Divisible(Protocol):
    """What can be divided: every Budget."""

    @property
    def allocation_power(self) -> float:
        """Shares in proportion to this power of the needs are the best."""
        ...

    def share(self, part: float) -> Self:
        """A part of it, in (0, 1]."""
        ...


B = TypeVar("B", bound=Divisible)


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
