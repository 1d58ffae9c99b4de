"""One epsilon divided among the questions of a workload, so that every one gains alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.marginals import Grid, Strategy, best_shares
from server.workload.counted_grid import CountedGrid, Member, scale_at_one

WORTH = 0.8
"""Questions are answered together where the root mean square of their errors, over all their groups, is at most this
much of what it would be alone."""

COARSER = (1.01, 1.1, 1.2, 4 / 3)
"""No question's error may be larger than one of these times what it would be alone, of which the least is taken that
brings all errors together to `ENOUGH`. Fine tables gain what coarse ones lose: without a limit a total would be the
sum of a thousand noisy groups. By three keys with all that follows from them nobody has to lose; a grid by two keys
alone gains a fifth or a quarter then, and half where its total may lose a tenth."""

ENOUGH = 0.7
"""Of what errors would be alone: what more could be gained is not worth that some question loses more."""

_SPARE = 0.01
"""Of rounding."""

_NANO = 1e9


@dataclass(frozen=True, eq=False)
class GridStrategy:
    """How a grid is measured.

    Attributes:
      counted: the grid.
      strategy: shares of what the grid gets, by mask.
      need: the squared error that it is given a share for, in multiples of what its questions have alone: of the
        worst of them, but never more than alone.
    """

    counted: CountedGrid
    strategy: Strategy
    need: float


@dataclass(frozen=True)
class Allocation:
    """Shares of one epsilon.

    Attributes:
      alone: by item, of questions that are measured by themselves.
      grids: of each grid.
      mean, worst: the root mean square of errors, over the groups of a grid and then over the questions, and that of
        the worst question, each in multiples of what it would be if each were asked alone with an equal share; of
        weighted ones times the root of the weight.
      count: how many different questions there are: 1 / count is the equal share.
    """

    alone: Mapping[int, float]
    grids: tuple[float, ...]
    mean: float
    worst: float
    count: int = 0


def strategy_of(counted: CountedGrid) -> GridStrategy | None:
    """How to measure a grid; None where it gains less than `WORTH` says.

    Each question's variance is compared with what it has if all of the grid are asked alone, with equal shares. Only
    public numbers decide: how many groups there are, and how many of them one unit reaches.
    """
    asked = counted.n_questions
    limits: dict[int, float] = {}
    weights: dict[str, float] = {}
    for member in counted.members:
        mask = counted.mask(member.marginal.axes)
        limit = 2 * (alone_scale(member) * asked) ** 2 / member.weight
        limits[mask] = min(limits.get(mask, math.inf), limit)
        key = member.question.answer_key
        weights[key] = max(weights.get(key, 0.0), member.weight)
    apart = (math.fsum(map(math.sqrt, weights.values())) / asked) ** 2
    strategy = gentlest(counted.grid, counted.scales, limits, apart)
    return None if strategy is None else GridStrategy(counted, strategy, min(strategy.worst, apart))


def gentlest(
    grid: Grid, scales: NDArray[np.float64], limits: Mapping[int, float], apart: float = 1.0
) -> Strategy | None:
    """The strategy by which no question loses more than it must for all of them to gain enough; None for no gain.

    Args:
      grid, scales: as of `best_shares`.
      limits: by mask, the variance that a question has alone with an equal share.
      apart: what the variances would be with the shares that weights ask for, in multiples of that.
    Cost: that of `best_shares` for each of `COARSER`, at most.
    """
    best = None
    for coarser in COARSER:
        found = best_shares(grid, scales, limits, most=apart * coarser**2)
        within = found.worst <= apart * coarser**2 * (1 + _SPARE)
        if within and (best is None or found.mean < best.mean):
            best = found
            if best.mean <= apart * ENOUGH**2:
                break
    return None if best is None or best.mean > apart * WORTH**2 else best


def alone_scale(member: Member) -> float:
    """The scale of a question's noise where it is asked alone with an epsilon of 1, in normalised weight."""
    scale = scale_at_one(member.question, member.domain)
    assert scale is not None, "a question of a grid has one threshold"
    return scale


def allocate(alone: Mapping[int, float], grids: Sequence[GridStrategy]) -> Allocation:
    """Shares with which a grid that gains for all its questions gives some of it to the others.

    A unit of the workload, a question or a grid, has at its equal share a squared error of m, in multiples of what
    each of its questions has alone. Squared errors fall with the square of what it gets, so that shares in proportion
    to k sqrt(m), k its number of questions, make them all alike. No m is above what it would be alone, so that no
    question pays for a grid.

    Args:
      alone: the weight of each item that is measured by itself; of equal questions one.
      grids: with their strategies, whose `need` is m.
    """
    needs = {place: math.sqrt(weight) for place, weight in alone.items()}
    of_grids = [one.counted.n_questions * math.sqrt(one.need) for one in grids]
    whole = math.fsum([*needs.values(), *of_grids])
    count = len(needs) + sum(one.counted.n_questions for one in grids)
    if not whole:
        return Allocation({}, (), 1.0, 1.0)
    shares = {place: need / whole for place, need in needs.items()}
    alike = (whole / count) ** 2  # the squared error of each question alone, and of a grid's at `need`
    worst = max([alike] * len(needs) + [one.strategy.worst / one.need * alike for one in grids])
    of_all = [one.counted.n_questions * one.strategy.mean / one.need * alike for one in grids]
    mean = math.fsum([len(needs) * alike, *of_all]) / count
    return Allocation(shares, tuple(need / whole for need in of_grids), math.sqrt(mean), math.sqrt(worst), count)


def floored(epsilon: float) -> float:
    """Rounded down to what ledgers count, so that shares of a whole never add up to more than it."""
    scaled = epsilon * _NANO
    return math.floor(scaled) / _NANO if math.isfinite(scaled) else epsilon
