"""Quantile mechanisms to compare with: a fixed threshold known by an oracle, JointExp, and smooth sensitivity.

Reference implementations in numpy, from a generator of pseudorandom numbers: they protect nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """Values of rows, each of one person.

    Attributes:
      values: in steps above the lowest that the range allows, ascending.
      owners: of the same rows.
      steps: those of the range: values go from 0 to it.
    """

    values: Floats
    owners: Ints
    steps: int

    @cached_property
    def loads(self) -> Ints:
        """Of each row how many rows its person has."""
        _, owner, rows = np.unique(self.owners, return_inverse=True, return_counts=True)
        return rows[owner]

    @property
    def tau_candidates(self) -> list[int]:
        """Powers of two from 1 to the first that no load is above."""
        return [2**k for k in range(math.ceil(math.log2(max(1, self.loads.max()))) + 1)]

    def jittered(self, rng: np.random.Generator) -> Column:
        """Each value anywhere before the next of the grid, so that no two are equal; its whole part stays."""
        values = np.floor(self.values) + rng.random(len(self.values))
        order = np.argsort(values)
        return Column(values[order], self.owners[order], self.steps)

    def rank_error(self, value: float, q: float) -> float:
        """How far the value's rank is from q, but for what rows equal to it explain."""
        below, upto = (np.searchsorted(self.values, value, side) / len(self.values) for side in ("left", "right"))
        return float(max(0.0, below - q, q - upto))

    def people_beyond(self, value: float, above: bool) -> int:
        """How many people have a row above a value, or below it."""
        beyond = self.values > value if above else self.values < value
        return len(np.unique(self.owners[beyond]))


def fixed_tau_exponential(
    column: Column, quantiles: Sequence[float], tau: float, epsilon: float, draws: int, rng: np.random.Generator
) -> Floats:
    """Draws of each quantile: the exponential mechanism over the grid, each person's rows weighing tau at most.

    A person's rows weigh min(1, tau / load) each. Losing some of them moves |weight of rows <= v - q weight of all|
    by tau at most. Between two values of rows all v are alike: a run of them is drawn, and one of the run. Where rows
    are equal, the best v may be one below the quantile; a `jittered` column has none.
    Returns: draws times quantiles; `epsilon` is what each of them has.
    """
    weight = np.concatenate([[0.0], np.cumsum(np.minimum(1.0, tau / column.loads))])
    distinct, first = np.unique(column.values, return_index=True)
    upto = weight[np.append(first, len(column.values))]
    edges = np.concatenate([[0.0], distinct, [column.steps + 1.0]])
    drawn = []
    for q in quantiles:
        logs = _log(np.diff(edges)) - epsilon * np.abs(upto - q * weight[-1]) / (2 * tau)
        drawn.append(_within(edges, _picked(logs, draws, rng), rng))
    return np.stack(drawn, axis=1)


def best_fixed_tau(
    columns: Sequence[Column],
    quantiles: Sequence[float],
    epsilon: float,
    draws: int,
    rng: np.random.Generator,
    *,
    jitter: bool = False,
) -> tuple[int, float]:
    """The threshold with the least median rank error over all columns, quantiles and draws, and that error.

    An oracle: who chooses by the errors has looked at the rows.
    """
    asked = [column.jittered(rng) if jitter else column for column in columns]
    candidates = max((column.tau_candidates for column in columns), key=len)
    errors = {}
    for tau in candidates:
        found = [
            rank_errors(column, quantiles, fixed_tau_exponential(other, quantiles, tau, epsilon, draws, rng))
            for column, other in zip(columns, asked, strict=True)
        ]
        errors[tau] = float(np.median(np.concatenate(found)))
    best = min(errors, key=lambda tau: errors[tau])
    return best, errors[best]


def rank_errors(column: Column, quantiles: Sequence[float], drawn: Floats) -> Floats:
    """Of draws times quantiles, in one row."""
    return np.array(
        [column.rank_error(value, q) for row in drawn.tolist() for value, q in zip(row, quantiles, strict=True)]
    )


def joint_exponential(
    column: Column, quantiles: Sequence[float], epsilon: float, draws: int, rng: np.random.Generator
) -> Floats:
    """Draws of all quantiles at once: JointExp of Gillenwater, Joseph and Kulesza (ICML 2021), one row per person.

    Outputs o are as likely as exp(-epsilon sum_j |rows in [o_j-1, o_j) - gap_j rows| / (2 sensitivity)), whose
    sensitivity under the removal of a row is 2 (1 - the least gap). They are drawn interval by interval between rows,
    last quantile first; rows that are equal would leave no interval between them, so they are jittered.
    `reach[j][i, k]` is the logarithm of the weight with which the first j + 1 quantiles end in interval i, k + 1 of
    them there. The paper adds up over pairs of intervals by Fourier transform; as the kernel is exponential to both
    sides, sums of logarithms do it here as fast and lose no digits.
    """
    rows = len(column.values)
    gaps = np.diff([0.0, *quantiles, 1.0])
    targets, rate = gaps * rows, epsilon / (4 * (1 - gaps.min()))
    edges = np.concatenate([[0.0], column.jittered(rng).values, [column.steps + 1.0]])
    width, place = _log(np.diff(edges)), np.arange(rows + 1)
    reach = [(width - rate * np.abs(place - targets[0]))[:, None]]
    for target in targets[1:-1]:
        before = reach[-1]
        fresh = width + _two_sided(np.logaddexp.reduce(before, axis=1), rate, target)
        more = before - rate * target + width[:, None] - np.log(np.arange(2, before.shape[1] + 2))
        reach.append(np.concatenate([fresh[:, None], more], axis=1))
    ends = reach[-1] - rate * np.abs(rows - place - targets[-1])[:, None]
    drawn = np.empty((draws, len(quantiles)))
    for draw, end in enumerate(_picked(ends.ravel(), draws, rng)):
        places = np.array(list(_places(reach, divmod(int(end), ends.shape[1]), targets, rate, rng)))
        drawn[draw] = np.sort(_within(edges, places, rng))
    return drawn


def _places(
    reach: list[Floats], end: tuple[int, int], targets: Floats, rate: float, rng: np.random.Generator
) -> Iterator[int]:
    """The intervals of the quantiles, from the last to the first."""
    place, more = end
    yield place
    for j in range(len(reach) - 2, -1, -1):
        if more > 0:
            more -= 1
        else:
            logs = reach[j][:place] - rate * np.abs(place - np.arange(place) - targets[j + 1])[:, None]
            place, more = divmod(int(_picked(logs.ravel(), 1, rng)[0]), logs.shape[1])
        yield place


def _two_sided(logs: Floats, rate: float, target: float) -> Floats:
    """Of each i the logarithm of the sum over all j < i of exp(logs[j] - rate |i - j - target|).

    From the j that are far, a running sum; over those that are near, a window of one length: of two running sums
    within blocks of that length, one from each end, since nothing may be subtracted.
    """
    n, far, place = len(logs), max(1, math.ceil(target)), np.arange(len(logs))
    sums = np.full(n, -np.inf)
    running = np.logaddexp.accumulate(logs + rate * place)
    sums[far:] = running[: max(0, n - far)] - rate * (place[far:] - target)
    window = far - 1
    if window == 0:
        return sums
    padded = np.full(math.ceil((n + window) / window) * window, -np.inf)
    padded[window : window + n] = logs - rate * place
    blocks = padded.reshape(-1, window)
    onwards = np.logaddexp.accumulate(blocks, axis=1).ravel()
    backwards = np.logaddexp.accumulate(blocks[:, ::-1], axis=1)[:, ::-1].ravel()
    last = place + window - 1
    near = np.where(place % window == 0, onwards[last], np.logaddexp(backwards[place], onwards[last]))
    every: Floats = np.logaddexp(sums, near + rate * (place - target))
    return every


def smooth_sensitivity_median(column: Column, epsilon: float, draws: int, rng: np.random.Generator) -> Floats:
    """Draws of a median with Cauchy noise of its smooth sensitivity (Nissim, Raskhodnikova and Smith, 2007).

    One row per person; neighbours, as published, differ in the value of one row. With density as 1 / (1 + z^2), noise
    of 6 / epsilon times a bound that is epsilon / 6 smooth is pure.
    """
    rows, rate = len(column.values), epsilon / 6
    values = np.concatenate([np.zeros(rows), np.floor(column.values), np.full(rows, float(column.steps))])
    middle, smooth, k = rows + rows // 2, 0.0, 0
    while k < rows // 2 and math.exp(-rate * k) * column.steps > smooth:
        local = float(np.max(values[middle : middle + k + 2] - values[middle - k - 1 : middle + 1]))
        smooth, k = max(smooth, math.exp(-rate * k) * local), k + 1
    noisy = values[middle] + smooth / rate * rng.standard_cauchy(draws)
    clamped: Floats = np.clip(np.round(noisy), 0, column.steps)
    return clamped


def _log(widths: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(widths)
    return logs


def _picked(logs: Floats, draws: int, rng: np.random.Generator) -> Ints:
    """Places drawn by the logarithms of their weights."""
    upto = np.cumsum(np.exp(logs - logs.max()))
    places: Ints = np.searchsorted(upto, rng.random(draws) * upto[-1], side="right")
    return places


def _within(edges: Floats, places: Ints, rng: np.random.Generator) -> Floats:
    """Points of the grid from each place's edge to before the next."""
    low, high = edges[places], edges[places + 1]
    return np.floor(low + rng.random(len(places)) * (high - low))
