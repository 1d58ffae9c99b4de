"""Coordinate ascent on the augmented Lagrangian: sweeps over the tuples that update multipliers (prices) at each one.

It is the fastest solver for programs of many tuples and few units, such as dense graphs. It need not converge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privacy.kernel import kernel
from privacy.truncation.programs.first_order_solver import Places, Table
from privacy.truncation.programs.program import Point, PreparedProgram
from privacy.units import Floats, Ints

PRICE, PENALTY = range(2)
"""Columns of `units`, side by side, so that one cache line holds both."""


@kernel
def spread(indptr: Ints, units: Ints, weights: Floats, back: int, table: Table, worth: Floats) -> None:
    """Copy the tuples into the solver's layout: place p gets the tuple (p * step) mod m, where step * back = 1 mod m.

    The owners go into `table`, which comes filled with "no unit", and the weights into `worth`.

    Tuples come sorted by their owners. In that order the tuples of one unit would settle its price before other
    tuples take part. Spread by a golden section of m, any stretch of places is a sample of all.
    """
    m = len(weights)
    place = 0
    for t in range(m):  # reads in order: a write elsewhere need not wait, a read would
        worth[place] = weights[t]
        for e in range(indptr[t], indptr[t + 1]):
            table[place, e - indptr[t]] = units[e]
        place = (place + back) % m


@kernel
def gather(x: Floats, step: int, x_out: Floats) -> None:
    """Collect the values from their places in the solver's layout into one value per tuple. Inverse of `spread`."""
    m = len(x)
    t = 0
    for place in range(m):
        x_out[t] = x[place]
        t = (t + step) % m


@kernel
def add_all(table: Table, places: Places, x: Floats, contribution: Floats) -> None:
    """Add each unit's total of x over its tuples to `contribution`."""
    for place in range(len(x)):
        for j in range(len(places)):
            contribution[table[place, j]] += x[place]


@kernel
def sweep(table: Table, places: Places, weights: Floats, units: Floats, x: Floats, y: Floats) -> None:
    """Move every tuple once, in place, and then the multipliers.

    The augmented Lagrangian charges a tuple for unit u the price s_u = max(0, y_u + rho_u (contribution_u - c_u)). A
    tuple that is worth more or less than its prices moves within its bounds until it is worth them. Its units' prices
    move at once. There is no branch: where nothing moves, zero is added.

    Args:
      table, places, weights: (m, K) owners and (m,) weights in the order of the sweep.
      units: (n + 1, 2) y_u + rho_u (contribution_u - c_u), and rho_u > 0; the last stands for no unit and has zeros.
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


_PENALTY = 1.5
"""By how much a unit's price rises if it exceeds its cap by the cap. From 1 to 2 all tested dense programs take 20 to
80 sweeps. At 0.3 multipliers move slowly; at 10 one sweep is far from the best point of its prices."""

_FIRST_LOOK = 4
"""Sweeps before the first look. A look costs as much as ten sweeps, so each pause is this much longer than the last.
"""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class CoordinateSolver:
    """The method of multipliers, with one sweep of exact coordinate steps between two steps of the multipliers.

    A first-order method learns the prices of n units from one sum over all m tuples per pass. Here every tuple sees
    the prices that the tuples before it made. If m is far larger than n, one pass is worth many. The point is also
    nearly feasible early, which takes a first-order method most of its passes. Convergence is not proved, and need
    not be: the certificate proves the result, and the next solver always converges.

    Attributes:
      sweep_limit: after this many sweeps the next solver is tried.
    Source: Hestenes, "Multiplier and gradient methods" (1969); Bertsekas, "Constrained optimization and Lagrange
      multiplier methods" (1982); the sweeps between: Hildreth, "A quadratic programming procedure" (1957).
    """

    sweep_limit: int = 512

    def points(self, program: PreparedProgram) -> Iterator[Point]:
        """As `LinearProgramSolver.points`. Points come after 4, 12, 24, 40, ... sweeps, in the same two arrays.

        Cost: 2 ns per owner and sweep. Memory: 4 bytes per owner and 24 per tuple.
        """
        incidence = program.incidence
        weights, caps = program.scaled()
        m, n = incidence.n_rows, incidence.n_units
        step = golden_step(m)
        table = np.full((m, int(incidence.owners.max())), n, np.uint32)
        worth = np.empty(m)
        spread(incidence.indptr, incidence.units, weights, pow(step, -1, m), table, worth)
        places = (0,) * table.shape[1]
        x = worth * min(1.0, caps.sum() / (worth.sum() * len(places)))  # all alike, and no unit far above its cap
        y, units = np.full(n + 1, 1.0 / len(places)), np.zeros((n + 1, 2))
        y[n] = 0.0
        contribution = np.zeros(n + 1)
        add_all(table, places, x, contribution)
        units[:n, PENALTY] = _PENALTY / np.maximum(caps, 1.0 / program.scale)
        units[:n, PRICE] = y[:n] + units[:n, PENALTY] * (contribution[:n] - caps)
        x_out = np.empty(m)
        look = pause = _FIRST_LOOK
        for sweeps in range(1, self.sweep_limit + 1):
            sweep(table, places, worth, units, x, y)
            if sweeps in (look, self.sweep_limit):
                pause += _FIRST_LOOK
                look += pause
                gather(x, step, x_out)
                yield x_out, y[:n]


def golden_step(m: int) -> int:
    """The step near the golden section of m that is coprime to m, so that it visits every tuple once."""
    step = max(1, int(m * _GOLDEN))
    while math.gcd(step, m) > 1:
        step += 1
    return step
