"""Bounds of fbar for every group and threshold at once, from points that cost a pass each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.truncation.group_instance import GroupInstance
from privacy.truncation.incidence import fair_share
from privacy.truncation.saturating import saturating_add, saturating_multiples
from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import MAX_UNITS, saturating_sums

_FILLS = 3
_PASSES = 12
"""Thresholds below the largest load that get a pass over all owners; lower ones live on what follows from these."""

Bounds = tuple[NDArray[np.int64], NDArray[np.int64]]


def cheap_bounds(instance: GroupInstance, ladder: Ladder) -> StartingBounds:
    """Bounds of fbar for every group and threshold, equal where a closed form applies.

    Thresholds from the largest load up are exact (nothing is cut), and so are those at which no tuple has
    two overloaded owners. Elsewhere: splits of the tuples among their owners, dual points that are equal
    on all overloaded units, a proportional primal point, and the concavity of fbar through 0.
    Cost: about ten passes over the owners for each of at most twelve thresholds.
    """
    taus = ladder.units[None, :]
    lower = np.minimum(taus, instance.heaviest[:, None])  # one unit alone can reach this
    upper = np.repeat(instance.totals[:, None], len(ladder), axis=1)
    _tighten_by_splits(instance, ladder, upper)
    lower = np.where(taus >= instance.heaviest[:, None], upper, lower)
    for column in _columns(instance, ladder, _PASSES):
        low, high = _column_bounds(instance, int(ladder.units[column]))
        np.maximum(lower[:, column], low, out=lower[:, column])
        np.minimum(upper[:, column], high, out=upper[:, column])
    return StartingBounds(lower, upper, linear_until(instance, ladder)).spread()


def linear_until(instance: GroupInstance, ladder: Ladder) -> NDArray[np.int64]:
    """(G,) index of the largest threshold that is at most every weight of the group, -1 if there is none.

    Up to there the bounds x <= w follow from the caps, so fbar(tau) is proportional to tau. Groups whose
    total saturates are left out: a saturated value cannot be scaled down. So are empty ones.
    """
    index = np.searchsorted(ladder.units, instance.lightest, side="right") - 1
    return np.where((instance.totals > 0) & (instance.totals < MAX_UNITS), index, -1)


def _columns(instance: GroupInstance, ladder: Ladder, count: int) -> range:
    """The last `count` thresholds worth a pass: fbar is linear up to the least weight, flat from the largest load."""
    first = int(np.searchsorted(ladder.units, instance.lightest.min(initial=MAX_UNITS), side="right")) - 1
    last = int(np.searchsorted(ladder.units, instance.heaviest.max(initial=0)))
    return range(max(first, last - count, 0), min(last, len(ladder)))


def _tighten_by_splits(instance: GroupInstance, ladder: Ladder, upper: NDArray[np.int64]) -> None:
    """In place, for any split of the tuples among their owners: fbar <= sum_u min(tau, what u was given).

    Two splits: everything to the owner with the largest load, and even shares, where moreover
    sum_t x_t / owners_t <= tau / (fewest owners of u's tuples).
    """
    incidence = instance.incidence
    if not incidence.n_rows:
        return
    whole = saturating_sums(_heaviest_owner(instance), instance.weights, incidence.n_units)
    even = incidence.unit_sums(-(-instance.weights // incidence.owners))
    fewest = np.full(incidence.n_units, np.iinfo(np.int64).max)
    np.minimum.at(fewest, incidence.units, incidence.owners[incidence.rows])
    for column in _columns(instance, ladder, len(ladder)):
        tau = int(ladder.units[column])
        for given, cap in ((whole, tau), (even, -(-tau // fewest))):
            bound = instance.member_totals(np.minimum(given, cap))
            np.minimum(upper[:, column], bound, out=upper[:, column])


def _heaviest_owner(instance: GroupInstance) -> NDArray[np.int64]:
    """(m,) the owner with the largest load of each tuple, the first of equals."""
    incidence = instance.incidence
    loads = instance.loads[incidence.units]
    best = np.maximum.reduceat(loads, incidence.indptr[:-1])
    entries = np.flatnonzero(loads == best[incidence.rows])
    owner = np.empty(incidence.n_rows, np.int64)
    owner[incidence.rows[entries[::-1]]] = incidence.units[entries[::-1]]  # the last write, so the first owner, stays
    return owner


def _column_bounds(instance: GroupInstance, tau: int) -> Bounds:
    """(G,) bounds at one threshold below the largest load, so below MAX_UNITS."""
    weights = np.minimum(instance.weights, tau)
    loads = instance.incidence.unit_sums(weights) if np.any(weights < instance.weights) else instance.loads
    heavy = (loads > tau).astype(np.int64)
    hits = instance.incidence.row_sums(heavy)
    n_heavy = instance.member_totals(heavy)
    upper = instance.totals
    for share in range(1, int(instance.incidence.owners.max(initial=1)) + 1):
        upper = np.minimum(upper, _flat_dual(instance, weights, tau, n_heavy, hits, share))
    contested = instance.row_totals((hits > 1).astype(np.int64)) > 0
    return np.where(contested, _proportional(instance, weights, tau), upper), upper


def _flat_dual(
    instance: GroupInstance,
    weights: NDArray[np.int64],
    tau: int,
    n_heavy: NDArray[np.int64],
    hits: NDArray[np.int64],
    share: int,
) -> NDArray[np.int64]:
    """Weak duality at y = 1/share on the overloaded units.

    With share = 1 it is attained when no tuple has two of them: each fills its cap, all other tuples count.
    """
    slack = np.minimum(-(-weights // share), MAX_UNITS // share) * np.maximum(share - hits, 0)
    return saturating_add(instance.row_totals(slack), saturating_multiples(n_heavy, -(-tau // share)))


def _proportional(instance: GroupInstance, weights: NDArray[np.int64], tau: int) -> NDArray[np.int64]:
    """A feasible point: every tuple cut by its most overloaded owner, then the spare capacity shared again."""
    x = np.zeros_like(weights)
    for _ in range(_FILLS):
        x = x + fair_share(instance.incidence, weights - x, tau - instance.incidence.unit_sums(x))
    return instance.row_totals(x)
