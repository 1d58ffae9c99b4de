"""Bounds of fbar for every group and threshold at once, from sums over levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.exact_sums import saturating_add
from privacy.truncation.ladder.capacities import MemberCapacities
from privacy.truncation.ladder.ladder_instance import LadderInstance
from privacy.truncation.ladder.level_index_kernels import LOW_BITS, capped_totals, fewest_owners
from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import MAX_UNITS


def cheap_bounds(instance: LadderInstance) -> StartingBounds:
    """Bounds of fbar for every group and threshold, equal where nothing is left to solve.

    Exact: thresholds from the largest load up (nothing is cut) and those at which no tuple has two binding
    owners. Above: any split of the tuples among their owners gives fbar <= sum_u min(c_u, what u was given), c_u the
    capacity of u; everything to the owner of the highest level, or even shares. Below: what has no binding owner, and
    one unit filled up to tau, which nobody's capacity is below. Then the concavity of fbar through 0.
    Cost: one pass over the members for each split, and O(G L).
    """
    taus = instance.ladder.units[None, :]
    heaviest = group_max(instance.member_start, instance.loads)
    top = _joined(instance.high, instance.low)
    given_to_top = capped_by_kind(instance.member_start, top, instance.capacities)
    totals = capped_totals(instance.member_start, top, np.array([MAX_UNITS]))
    upper = np.minimum(np.minimum(given_to_top, totals), _even_shares(instance))
    lower = np.maximum(np.minimum(taus, heaviest[:, None]), instance.whole)
    # Where no tuple has two binding owners, every binding one fills its cap with what it is the top owner of; a top
    # owner that does not bind has a load, hence a T_u, of at most tau.
    settled = instance.cut == 0
    lower[settled] = upper[settled] = given_to_top[settled]
    return StartingBounds(lower, upper, linear_until(instance, totals[:, 0])).spread(instance.ladder.doubling)


def linear_until(instance: LadderInstance, totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """(G,) index of the largest threshold at which no capacity exceeds any weight of the group, -1 if there is none.

    Up to there the bounds x <= w follow from the caps, so fbar(tau) is proportional to tau. Groups whose
    total saturates are left out: a saturated value cannot be scaled down. So are empty ones.
    """
    largest = instance.capacities.table[-1]
    index = np.searchsorted(largest, lightest(instance.row_start, instance.weights), side="right") - 1
    return np.where((totals > 0) & (totals < MAX_UNITS), index, -1)


def _even_shares(instance: LadderInstance) -> NDArray[np.int64]:
    """(G, L) sum_t x_t <= sum_u min(c_u, load_u) / (fewest owners of a tuple of u)."""
    least, most = instance.owners
    if least == most:
        return _share(instance, instance.loads, least)
    fewest = fewest_owners(instance.members, len(instance.loads))
    bound = np.zeros(instance.cut.shape, np.int64)
    for owners in range(least, most + 1):
        bound = saturating_add(bound, _share(instance, np.where(fewest == owners, instance.loads, 0), owners))
    return bound


def _share(instance: LadderInstance, loads: NDArray[np.int64], owners: int) -> NDArray[np.int64]:
    """(G, L) sum_u min(c_u, load_u) / owners, rounded up; saturated sums have no share."""
    capped = capped_by_kind(instance.member_start, loads, instance.capacities)
    return np.where(capped == MAX_UNITS, MAX_UNITS, -(-capped // owners))


def capped_by_kind(
    start: NDArray[np.int64], values: NDArray[np.int64], capacities: MemberCapacities
) -> NDArray[np.int64]:
    """(G, L) sum over a group's members of min(capacity, value), saturating. Cost: `capped_totals` for each kind."""
    total: NDArray[np.int64] | None = None
    for own, caps in capacities.by_kind():
        found = capped_totals(start, values if own is None else np.where(own, values, 0), caps)
        total = found if total is None else saturating_add(total, found)
    assert total is not None, "there is one kind at least"
    return total


def _joined(high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
    """high * 2^31 + low, saturating."""
    upper = high + (low >> LOW_BITS)
    full = upper >= MAX_UNITS >> LOW_BITS
    return np.where(full, MAX_UNITS, (np.where(full, 0, upper) << LOW_BITS) + (low & ((1 << LOW_BITS) - 1)))


@kernel
def group_max(start: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """(G,) the largest of a value >= 0 per item, 0 in an empty group."""
    best = np.zeros(len(start) - 1, np.int64)
    for group in range(len(best)):
        for item in range(start[group], start[group + 1]):
            best[group] = max(best[group], values[item])
    return best


@kernel
def lightest(start: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """(G,) the smallest positive weight, MAX_UNITS in an empty group."""
    least = np.full(len(start) - 1, MAX_UNITS, np.int64)
    for group in range(len(least)):
        for item in range(start[group], start[group + 1]):
            if weights[item] > 0:
                least[group] = min(least[group], weights[item])
    return least
