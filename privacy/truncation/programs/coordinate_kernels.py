"""The loops of the coordinate method: tuples in a spread order, each set to its best at today's prices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.programs.first_order_kernels import Places, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRICE, PENALTY = range(2)
"""Columns of `units`, side by side, so that one line of the cache brings both."""


@kernel
def spread(indptr: Ints, units: Ints, weights: Floats, step: int, table: Table, worth: Floats) -> None:
    """Write tuple (p * step) mod m at place p: owners into the table, which is full of nobody, weights beside them.

    Tuples come sorted by their owners. One after the other in that order, those of one unit would settle its price
    before anybody else's tuples are heard; spread by a golden section of m, any stretch of places is a sample of all.
    """
    m = len(weights)
    t = 0
    for place in range(m):
        worth[place] = weights[t]
        for e in range(indptr[t], indptr[t + 1]):
            table[place, e - indptr[t]] = units[e]
        t = (t + step) % m


@kernel
def gather(x: Floats, step: int, x_out: Floats) -> None:
    """The inverse of `spread`: what stands at each place, for its tuple."""
    m = len(x)
    t = 0
    for place in range(m):
        x_out[t] = x[place]
        t = (t + step) % m


@kernel
def add_all(table: Table, places: Places, x: Floats, load: Floats) -> None:
    """load += what each unit's tuples have."""
    for place in range(len(x)):
        for j in range(len(places)):
            load[table[place, j]] += x[place]


@kernel
def sweep(table: Table, places: Places, weights: Floats, units: Floats, x: Floats, y: Floats) -> None:
    """One pass over the tuples, in place, and the multipliers' step after it.

    The augmented Lagrangian charges a tuple for unit u the price s_u = max(0, y_u + rho_u (load_u - c_u)); a tuple
    that is worth more than its prices, or less, moves until it is worth them, within its bounds, and its units'
    prices move with it at once. Without a branch: where nothing moves, nothing is added.

    Args:
      table, places, weights: (m, K) owners and (m,) weights in the order of the sweep.
      units: (n + 1, 2) y_u + rho_u (load_u - c_u), and rho_u > 0; the last, nobody, has 0 and 0.
      x: (m,) the point. y: (n + 1,) the multipliers.
    """
    for place in range(len(weights)):
        worth = 1.0
        penalty = 0.0
        for j in range(len(places)):
            u = table[place, j]
            worth -= max(units[u, PRICE], 0.0)
            penalty += units[u, PENALTY]
        old = x[place]
        new = min(max(old + worth / penalty, 0.0), weights[place])
        x[place] = new
        for j in range(len(places)):
            u = table[place, j]
            units[u, PRICE] += units[u, PENALTY] * (new - old)
    for u in range(len(y) - 1):
        step = max(0.0, units[u, PRICE]) - y[u]
        units[u, PRICE] += step
        y[u] += step
