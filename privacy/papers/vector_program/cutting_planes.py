"""Cutting planes on one core: gradient cuts, their linear program, and shares made feasible.

Two bounds close step by step. Cuts are linear consequences of the norm constraints, taken at a point that violates
them. With c = L_u(s0) / |L_u(s0)| and A the patterns of u of which s0 leaves something, every feasible s has

    1 >= |L_u(s)| >= sum_{p in A} w_p c_{f(p)} (1 - sum_{v in p} s_v),

an inequality in s alone. Divided by r = sum_{p in A} w_p c_{f(p)} its coefficients are at most 1, and 1 for u itself.

Simplex solves the linear program of all cuts from where it last stood. If it fails, a slower interior-point method
always has a point: minimise sum x subject to A x - r = b, x + v = 1 and r, x, v >= 0, with multipliers y, z and u >=
0 of these three and A^T y + z - u = 1. It has no basis that could be singular, and its multipliers are dual feasible
at every step, so they always prove something.

Nearly feasible shares are then made feasible, at a price of the second order. A linear program keeps its rows to
1e-9. A row is a norm divided by r, its slope in the unit's own share, so at weights of 10^6 tau the norm is off by
1e-3. `raised` would then cost 1e-3 persons. A share that is 1e-9 larger does the same for 1e-9.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array

from privacy.errors import SolverFailed
from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.papers.vector_program.certificate import DualPoint, on_grid, raised
from privacy.papers.vector_program.patterns import Core, contributions_at, weights_left_at
from privacy.units import Floats, Int32s, Ints

_BLOCK = 1 << 22
"""Coefficients that are summed at a time: 32 MB, so that wide cores take several passes instead of more memory."""

_PASSES = 16
"""Passes from which on row-wise sums are faster."""


@dataclass(frozen=True, eq=False, repr=False)
class Cuts(Private):
    """Rows a @ s >= b, all taken at the same point.

    Attributes:
      column: (k,) int64 columns whose constraints they follow from.
      shares: (C,) the point.
      direction: (R,) c / r of the cut of each run's column, 0 where there is none.
      indptr, columns, values: CSR of a.
      bound: (k,) b = 1 - 1/r.
    """

    column: Ints
    shares: Floats
    direction: Floats
    indptr: Int32s
    columns: Int32s
    values: Floats
    bound: Floats


def cuts_at(core: Core, shares: Floats, contributions: Floats, broken: Ints) -> Cuts:
    """One cut for each of the constrained columns `broken`, whose norms are not zero at `shares`.

    Cost: a pass over the patterns per 2^22 coefficients of a full table, at most _PASSES. Beyond that one look at the
      patterns of each broken column.
    """
    norms = core.norms_of(contributions)
    direction = contributions / np.maximum(norms, np.finfo(float).tiny)[core.run_column]
    starts, columns, values = _rows(core, shares, direction, broken)
    owners = np.repeat(broken, np.diff(starts))
    totals = np.zeros(len(core.columns))
    totals[broken] = values[columns == owners]
    values /= totals[owners]
    reciprocal = np.zeros(len(core.columns))
    reciprocal[broken] = 1.0 / totals[broken]
    return Cuts(
        broken,
        shares,
        direction * reciprocal[core.run_column],
        starts.astype(np.int32),
        columns,
        values,
        1.0 - reciprocal[broken],
    )


def multipliers(core: Core, batches: list[Cuts], duals: Floats) -> DualPoint:
    """The cuts, each with its dual, as multipliers of their constraints.

    Args:
      duals: one per row of `batches`, in order, >= 0.
    Cost: memory O(runs) per batch that has a dual.
    """
    first, points, by_run = 0, [np.zeros((len(core.columns), 0))], [np.zeros((len(core.run_column), 0))]
    for batch in batches:
        dual = np.zeros(len(core.columns))
        dual[batch.column] = duals[first : first + len(batch.column)]
        first += len(batch.column)
        if dual.any():
            points.append(batch.shares[:, None])
            by_run.append((dual[core.run_column] * batch.direction)[:, None])
    return DualPoint(core.columns, np.hstack(points), core.run_group, core.run_column, np.hstack(by_run))


def _rows(core: Core, shares: Floats, direction: Floats, broken: Ints) -> tuple[Ints, Int32s, Floats]:
    """CSR of sum_{p in A} w_p c_{f(p)} [v in p] over the columns v, a row per broken column; the same either way."""
    block = max(1, _BLOCK // len(core.columns))
    patterns = core.patterns
    if len(broken) > _PASSES * block:
        order = np.argsort(patterns.columns, kind="stable")
        ends = np.cumsum(np.bincount(patterns.columns, minlength=len(core.columns)))
        pattern = np.repeat(np.arange(len(core.weight)), np.diff(patterns.indptr))
        entries = patterns.indptr, patterns.columns, pattern, core.weight, core.run
        return _sum_apart(*entries, shares, direction, broken, order, ends)
    starts, columns, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for first in range(0, len(broken), block):
        part = broken[first : first + block]
        place = np.full(len(core.columns), -1, np.int64)
        place[part] = np.arange(len(part))
        table = np.zeros((len(part), len(core.columns)))
        _sum_rows(patterns.indptr, patterns.columns, core.weight, core.run, shares, direction, place, table)
        rows, found = np.nonzero(table)
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(rows, minlength=len(part))))
        columns.append(found.astype(np.int32))
        values.append(table[rows, found])
    return np.concatenate(starts), np.concatenate(columns), np.concatenate(values)


@kernel
def _sum_apart(
    indptr: Ints,
    columns: Int32s,
    pattern: Ints,
    weight: Floats,
    run: Int32s,
    shares: Floats,
    direction: Floats,
    broken: Ints,
    order: Ints,
    ends: Ints,
) -> tuple[Ints, Int32s, Floats]:
    """See _rows: row after row, from the entries `order` of each column, which end at `ends`."""
    active = np.zeros(len(weight), np.bool_)
    for p in range(len(weight)):
        left = 1.0
        for entry in range(indptr[p], indptr[p + 1]):
            left -= shares[columns[entry]]
        active[p] = left > 0.0
    starts = np.zeros(len(broken) + 1, np.int64)
    found, values = np.empty(len(columns), np.int32), np.empty(len(columns))
    row, touched, count = np.zeros(len(ends)), np.empty(len(ends), np.int32), 0
    for i in range(len(broken)):
        n_touched = 0
        for at in range(ends[broken[i] - 1] if broken[i] > 0 else 0, ends[broken[i]]):
            p = pattern[order[at]]
            part = weight[p] * direction[run[order[at]]]
            if active[p] and part > 0.0:
                for other in range(indptr[p], indptr[p + 1]):
                    column = columns[other]
                    if row[column] == 0.0:
                        touched[n_touched] = column
                        n_touched += 1
                    row[column] += part
        if count + n_touched > len(found):
            more = len(found) + n_touched
            found = np.concatenate((found, np.empty(more, np.int32)))
            values = np.concatenate((values, np.empty(more)))
        for column in np.sort(touched[:n_touched]):
            found[count], values[count] = column, row[column]
            row[column] = 0.0
            count += 1
        starts[i + 1] = count
    return starts, found[:count].copy(), values[:count].copy()


@kernel
def _sum_rows(
    indptr: Ints,
    columns: Int32s,
    weight: Floats,
    run: Int32s,
    shares: Floats,
    direction: Floats,
    place: Ints,
    table: Floats,
) -> None:
    """table[place[u], v] += w_p c over the patterns p of u and v of which the shares leave something."""
    for p in range(len(weight)):
        left = 1.0
        for entry in range(indptr[p], indptr[p + 1]):
            left -= shares[columns[entry]]
        if left > 0.0:
            for entry in range(indptr[p], indptr[p + 1]):
                row = place[columns[entry]]
                if row >= 0:
                    part = weight[p] * direction[run[entry]]
                    for other in range(indptr[p], indptr[p + 1]):
                        table[row, columns[other]] += part


_ITERATIONS = 100
"""Far more than any program has needed (30); only a bound against endless loops."""

_ACCURACY = 2.0**-44
"""What may be left of complementarity and of infeasibility, per person; float64 gets no further."""

_INSIDE = 0.995
"""How far a step goes towards the boundary."""

_REGULAR = 2.0**-50
"""Added to the diagonal in parts of itself, so that repeated rows can be factorised."""

Six = tuple[Floats, ...]
"""r, x, v and their multipliers y, z, u; or changes of these."""


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # what is not finite ends the search
def interior_point(rows: csr_array, bound: Floats) -> tuple[Floats, Floats]:
    """Solve min sum x, rows @ x >= bound, 0 <= x <= 1, by Mehrotra's predictor and corrector.

    Args:
      rows: (k, C), entries >= 0.
      bound: (k,) at most the sums of the rows, so that x = 1 is feasible.
    Returns: x (C,) in [0, 1] and y (k,) >= 0, finite.
    Cost: some tens of dense factorisations of C columns; memory 16 C^2 bytes.
    Source: Wright, Primal-Dual Interior-Point Methods (SIAM 1997), chapter 10.
    """
    point = _start(rows, bound)
    n_pairs = rows.shape[0] + 2 * rows.shape[1]
    for _ in range(_ITERATIONS):
        short = bound + point[0] - rows @ point[1]
        left = _complementarity(point)
        if left + float(np.abs(short).sum()) <= _ACCURACY * max(1.0, float(point[1].sum())):
            break
        try:
            newton = _Newton(rows, point, short)
        except LinAlgError:
            break
        straight = newton.direction([a * b for a, b in zip(point[:3], point[3:], strict=True)])
        part = _length(point, straight)
        ahead = _complementarity(tuple(a + part * d for a, d in zip(point, straight, strict=True)))
        target = left / n_pairs * (ahead / left) ** 3
        bends = zip(point[:3], point[3:], straight[:3], straight[3:], strict=True)
        bent = newton.direction([a * b + d * e - target for a, b, d, e in bends])
        part = _INSIDE * _length(point, bent)
        moved = tuple(a + part * d for a, d in zip(point, bent, strict=True))
        if not all(np.isfinite(a).all() for a in moved):
            break
        point = moved
    return np.clip(point[1], 0.0, 1.0), point[3]


def _start(rows: csr_array, bound: Floats) -> Six:
    """The middle of the box, and multipliers of the order of 1; only A x - r = b does not hold yet."""
    k, size = rows.shape
    half, y = np.full(size, 0.5), np.full(k, 1.0 / (k + 1))
    asked: Floats = rows.T @ y
    u = np.maximum(asked, 1.0)
    return np.maximum(rows @ half - bound, 0.5), half, half, y, 1.0 + u - asked, u


def _complementarity(point: Six) -> float:
    return sum(float(a @ b) for a, b in zip(point[:3], point[3:], strict=True))


def _length(point: Six, change: Six) -> float:
    """The largest part in [0, 1] of a change that keeps everything at least 0."""
    parts = (float(np.min(a[d < 0.0] / -d[d < 0.0], initial=1.0)) for a, d in zip(point, change, strict=True))
    return min(parts)


class _Newton:
    """The linear system at one point, factorised; all other changes follow from that of x."""

    def __init__(self, rows: csr_array, point: Six, short: Floats) -> None:
        self._rows, self._point, self._short = rows, point, short
        r, x, v, y, z, u = point
        system = (rows.T @ diags_array(y / r) @ rows).toarray()
        system[np.diag_indices_from(system)] += z / x + u / v
        system[np.diag_indices_from(system)] *= 1.0 + _REGULAR
        self._factor = cho_factor(system, check_finite=False)

    def direction(self, products: list[Floats]) -> Six:
        """What changes r y, x z and v u by minus `products`, to the first order, and makes A x - r = b."""
        r, x, v, y, z, u = self._point
        by_row, lower, upper = products
        wanted = (y * self._short - by_row) / r
        dx = cho_solve(self._factor, self._rows.T @ wanted - lower / x + upper / v, check_finite=False)
        dr = self._rows @ dx - self._short
        return dr, dx, -dx, -(by_row + y * dr) / r, -(lower + z * dx) / x, -(upper - u * dx) / v


_REPAIR_STEPS = 16
"""Newton's method on a convex function from the left; two or three steps are usual, more where tuples end."""

_ENOUGH = 2.0**-30
"""Persons per unit that are not worth another step."""


def repaired(core: Core, shares: Floats) -> Floats:
    """(C,) shares on the grid near the given ones, feasible for the core but for the rounding of sums.

    The norm of a unit is convex in its own share and falls at the rate r; raising other shares only helps. So a step
    of (norm - 1)/r does not overshoot, and the rest is left to `raised`.

    Args:
      shares: (C,) on the grid.
    Cost: two passes over the patterns per step.
    """
    best = np.ones(len(shares))
    for _ in range(_REPAIR_STEPS):
        contributions = contributions_at(core, shares)
        norms = core.norms_of(contributions)
        feasible = raised(shares, norms)
        if feasible.sum() < best.sum():
            best = feasible
        if (feasible - shares).sum() <= _ENOUGH:
            break
        slopes = slopes_at(core, shares, contributions, norms)
        long = (norms > 1.0) & (slopes > 0.0)
        shares = on_grid(shares + np.where(long, (norms - 1.0) / np.where(long, slopes, 1.0), 0.0))
    return best


def slopes_at(core: Core, shares: Floats, contributions: Floats, norms: Floats) -> Floats:
    """(C,) how fast the norm of each constrained column falls in its own share."""
    direction = contributions / np.maximum(norms, np.finfo(float).tiny)[core.run_column]
    falls = weights_left_at(core, shares) * direction
    return np.bincount(core.run_column, falls, len(core.columns)).astype(np.float64)


class Master:
    """Minimise sum s subject to the cuts and 0 <= s <= 1, by dual simplex with two fallbacks.

    If weights differ by more than a float64 has digits, a warm start may end in a singular basis. Simplex then starts
    cold, and at last an interior-point method answers, which needs no basis.

    Single-threaded and without a clock, so the points depend on the cuts and their order alone.
    """

    def __init__(self, n_columns: int, inside: bool = False) -> None:
        """No cuts yet.

        Args:
          inside: always use the interior-point method.
        """
        self._n_columns, self._inside = n_columns, inside
        self._batches: list[Cuts] = []
        if not inside:
            self._highs = _simplex(n_columns)

    def add(self, cuts: Cuts) -> None:
        """Append the rows of `cuts`."""
        self._batches.append(cuts)
        if not self._inside:
            k = len(cuts.bound)
            no_limit = np.full(k, highspy.kHighsInf)
            self._highs.addRows(
                k, cuts.bound, no_limit, len(cuts.columns), cuts.indptr[:-1], cuts.columns, cuts.values
            )

    def solve(self) -> tuple[Floats, Floats]:
        """Shares (C,) and a dual >= 0 per row, all finite and not yet proved."""
        found = None if self._inside else self._warm() or self._cold()
        return found if found is not None else self._interior()

    def _warm(self) -> tuple[Floats, Floats] | None:
        """The result of HiGHS from its last basis, or None."""
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        shares = np.asarray(solution.col_value, np.float64)
        duals = np.asarray(solution.row_dual, np.float64)
        if not (np.isfinite(shares).all() and np.isfinite(duals).all()):
            return None
        return shares, np.maximum(duals, 0.0)

    def _cold(self) -> tuple[Floats, Floats] | None:
        """The result of HiGHS without a basis, or None."""
        self._highs.clearSolver()
        return self._warm()

    def _interior(self) -> tuple[Floats, Floats]:
        """The result of the interior-point method."""
        batches = self._batches
        sizes = np.concatenate([np.diff(cuts.indptr) for cuts in batches])
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        values = np.concatenate([cuts.values for cuts in batches])
        columns = np.concatenate([cuts.columns for cuts in batches])
        rows = csr_array((values, columns, indptr), (len(sizes), self._n_columns))
        return interior_point(rows, np.concatenate([cuts.bound for cuts in batches]))


def _simplex(n_columns: int) -> highspy.Highs:
    """A HiGHS model with so many shares and no rows."""
    highs = highspy.Highs()
    for option, value in _OPTIONS.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverFailed(f"HiGHS does not know the option {option}")
    places = np.arange(n_columns, dtype=np.int32)
    highs.addVars(n_columns, np.zeros(n_columns), np.ones(n_columns))
    highs.changeColsCost(n_columns, places, np.ones(n_columns))
    return highs


_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "random_seed": 0,
    "solver": "simplex",
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


_TOLERANCE = 1e-9
"""A norm above 1 by less than this is left to `raised`."""

_SETTLED = 1.0 / 16.0
"""If the lower bound moves by less than this part of the gap, the shares need work: `repaired`."""

_NUDGE = 2.0**-28
"""What is added to shares before cuts are taken when the lower bound settles; more than the tolerance of a row.

A row is kept to 1e-9. Of a tuple that weighs 10^9 tau and should be emptied so much may be left, and a cut there sees
this tuple only. A little further on it is empty, and a cut shows which other norms are too large."""

_NUDGES = 5
"""Each time a point comes back the nudge is 8 times as large; after so many times nothing moves any more."""

_STEPS = 1 << 12
"""Far more than any search has needed (10); only a bound against endless loops."""


class CoreSearch:
    """Kelley's method with all violated constraints cut at once, first at s = 0.

    Its bounds only guide; a `CertificatePass` of `shares` and `multipliers()` proves the result.
    Source: Kelley, The Cutting-Plane Method for Solving Convex Programs (1960).

    Attributes:
      lower, upper: of the core's optimum, in persons.
      columns: (C,) int64 units of the core.
      shares: (C,) the best shares found, feasible for the core.
    """

    def __init__(self, core: Core, inside: bool = False) -> None:
        """Start at s = 0."""
        self._core = core
        self._master = Master(len(core.columns), inside)
        self.columns = core.columns
        self._batches: list[Cuts] = []
        self._duals = np.zeros(0)
        self._point = np.zeros(len(core.columns))
        self.shares = np.ones(len(core.columns))
        self.lower, self.upper = 0.0, float(len(core.columns))
        self._repeats, self._found = 0, self._point
        self._contributions: Floats = np.zeros(0)
        self._broken: Ints = np.zeros(0, np.int64)
        self._look(False)

    def step(self) -> None:
        """Cut off the current point, find the next, and make it feasible.

        Cost: a linear program from where the last one stood, and three passes over the patterns.
        """
        batch = cuts_at(self._core, self._point, self._contributions, self._broken)
        self._batches.append(batch)
        self._master.add(batch)
        point, self._duals = self._master.solve()
        risen = float(point.sum()) - self.lower
        self.lower = max(self.lower, float(point.sum()))
        before, self._found = self._found, on_grid(point)
        self._repeats = self._repeats + 1 if np.array_equal(before, self._found) else 0
        self._point = self._found
        self._look(risen < _SETTLED * (self.upper - self.lower))

    def closed(self, gap: float) -> bool:
        """Are the bounds `gap` apart, or can they come no closer?"""
        ended = self._repeats >= _NUDGES or not len(self._broken) or len(self._batches) >= _STEPS
        return self.upper - self.lower <= gap or ended

    def multipliers(self) -> DualPoint:
        """The dual point of the last linear program."""
        return multipliers(self._core, self._batches, self._duals)

    def _look(self, settled: bool) -> None:
        """Measure the point, and keep its feasible form; with more care when the bound settles."""
        self._measure(settled)
        if settled and len(self._broken):
            nudge = np.where(self._found > 0.0, _NUDGE * 8.0**self._repeats, 0.0)
            raw = self._point, self._contributions, self._broken
            self._point = on_grid(self._found + nudge)
            self._measure(settled)
            if not len(self._broken):
                self._point, self._contributions, self._broken = raw

    def _measure(self, settled: bool) -> None:
        """Find the norms above 1 at the point, and keep its feasible form if it is the best so far."""
        self._contributions = contributions_at(self._core, self._point)
        norms = self._core.norms_of(self._contributions)
        self._broken = np.flatnonzero(norms > 1.0 + _TOLERANCE)
        feasible = repaired(self._core, self._point) if settled else raised(self._point, norms)
        if feasible.sum() < self.upper:
            self.shares, self.upper = feasible, float(feasible.sum())
