"""Bounds of a truncated count of distinct values, from points that cost a pass each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.truncation.distinct.distinct_instance import DistinctInstance
from privacy.truncation.exact_sums import saturating_add
from privacy.truncation.programs.incidence import fair_share
from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import ONE

_FILLS = 2
_PASSES = 12
"""Thresholds below the largest load that get a pass over all owners; lower ones live on what follows from these."""

Bounds = tuple[NDArray[np.int64], NDArray[np.int64]]


def distinct_bounds(instance: DistinctInstance, ladder: Ladder) -> StartingBounds:
    """Bounds of fbar for every group and threshold, equal where a closed form applies.

    Where no value is reached more often than 1 / tau times, values do not bind and fbar is linear; from the
    largest number of tuples of a unit up nobody is cut and every value counts. In between: what is left
    beside the overloaded values, or beside the overloaded units; dual points that are equal on all
    of both; and a primal point, which starts from one tuple per value or, below 1, from all in proportion.
    Cost: about ten passes over the owners for each of at most twelve thresholds.
    """
    graph = instance.graph
    taus = ladder.units
    everything = graph.member_totals(np.where(instance.is_value, ONE, 0))
    heaviest = graph.member_max(np.where(instance.is_value, 0, graph.loads))
    reached = graph.member_max(np.where(instance.is_value, graph.incidence.degrees, 0))
    linear = np.where(reached > 0, np.searchsorted(taus, ONE // np.maximum(reached, 1), side="right") - 1, -1)
    if not ladder.doubling:
        linear[:] = -1
    upper = np.repeat(everything[:, None], len(ladder), axis=1)
    lower = np.where(taus[None, :] >= heaviest[:, None], upper, 0)
    picked = _picked(instance)
    first = int(linear[everything > 0].min(initial=len(ladder)))
    last = int(np.searchsorted(taus, heaviest.max(initial=0)))
    for column in range(max(first, last - _PASSES, 0), last):
        low, high = _column_bounds(instance, int(taus[column]), picked)
        np.maximum(lower[:, column], low, out=lower[:, column])
        np.minimum(upper[:, column], high, out=upper[:, column])
    return StartingBounds(lower, upper, linear).spread(ladder.doubling)


def _column_bounds(instance: DistinctInstance, tau: int, picked: NDArray[np.bool_]) -> Bounds:
    """(G,) bounds at one threshold below the largest load, so below MAX_UNITS."""
    graph, incidence = instance.graph, instance.graph.incidence
    weight = min(tau, ONE)  # nobody can use more of a tuple
    caps = np.where(instance.is_value, ONE, tau)
    heavy = incidence.degrees > caps // weight
    hits = incidence.row_sums(heavy.astype(np.int64))
    upper = np.minimum(
        _beside(instance, weight, caps, heavy & instance.is_value, _spending_unit(instance)),
        _beside(instance, weight, caps, heavy & ~instance.is_value, _value(instance)),
    )
    for share in range(1, int(incidence.owners.max(initial=1)) + 1):
        upper = np.minimum(upper, _flat_dual(instance, weight, caps, heavy, hits, share))
    contested = graph.row_totals((hits > 1).astype(np.int64)) > 0
    every, nothing = np.full(incidence.n_rows, weight, np.int64), np.zeros(incidence.n_rows, np.int64)
    chosen = _filled(instance, caps, every * picked, nothing) if tau >= ONE else nothing
    lower = graph.row_totals(_filled(instance, caps, every, chosen))
    return np.where(contested, lower, upper), upper


def _beside(
    instance: DistinctInstance,
    weight: int,
    caps: NDArray[np.int64],
    paid: NDArray[np.bool_],
    payer: NDArray[np.int64],
) -> NDArray[np.int64]:
    """(G,) the caps of the `paid` members, and what the other tuples' `payer` allows them."""
    incidence = instance.graph.incidence
    left = incidence.row_sums(paid.astype(np.int64)) == 0
    tuples = np.bincount(payer[left], minlength=incidence.n_units)
    return instance.graph.member_totals(np.where(paid, caps, np.minimum(caps, tuples * weight)))


def _flat_dual(
    instance: DistinctInstance,
    weight: int,
    caps: NDArray[np.int64],
    heavy: NDArray[np.bool_],
    hits: NDArray[np.int64],
    share: int,
) -> NDArray[np.int64]:
    """Weak duality at y = 1/share on the overloaded members.

    With share = 1 it is attained when no tuple has two of them: each fills its cap, all other tuples count.
    """
    slack = -(-weight // share) * np.maximum(share - hits, 0)
    paid = np.where(heavy, -(-caps // share), 0)
    return saturating_add(instance.graph.row_totals(slack), instance.graph.member_totals(paid))


def _filled(
    instance: DistinctInstance, caps: NDArray[np.int64], wanted: NDArray[np.int64], x: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A feasible point above x: capacity shared in proportion to what is wanted, and the rest of it again."""
    for _ in range(_FILLS):
        spare = caps - instance.graph.incidence.unit_sums(x)
        x = x + fair_share(instance.graph.incidence, wanted - x, spare)
    return x


def _value(instance: DistinctInstance) -> NDArray[np.int64]:
    """(m,) the value of each tuple."""
    incidence = instance.graph.incidence
    return incidence.units[incidence.indptr[1:] - 1]


def _spending_unit(instance: DistinctInstance) -> NDArray[np.int64]:
    """(m,) one owner of each tuple: the first."""
    incidence = instance.graph.incidence
    return incidence.units[incidence.indptr[:-1]]


def _picked(instance: DistinctInstance) -> NDArray[np.bool_]:
    """(m,) one tuple per value: that whose busiest owner has the least to do, the first of equals."""
    incidence = instance.graph.incidence
    busy = np.where(instance.is_value, 0, incidence.degrees)[incidence.units]
    busiest = np.maximum.reduceat(busy, incidence.indptr[:-1]) if incidence.n_rows else busy
    order = np.argsort(busiest, kind="stable")[::-1]
    pick = np.zeros(incidence.n_units, np.int64)
    pick[_value(instance)[order]] = order  # the last write, so the least busy, stays
    picked = np.zeros(incidence.n_rows, bool)
    picked[pick[instance.is_value]] = True
    return picked
