"""Neighbouring truncated answers, chosen to be worst. One row per group; groups serve as independent runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.gem import Gem
from privacy.papers.r2t import R2T
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE

Table = NDArray[np.int64]
"""(L,) values in units along a ladder."""


def repeated(table: Table, thresholds: Thresholds, runs: int, gap: float = 0.0) -> TabulatedAnswer:
    """The same table in every group."""
    return TabulatedAnswer(np.broadcast_to(table, (runs, len(table))), thresholds, gap)


def empty_and_full_unit(thresholds: Thresholds, gap: float = 0.0) -> tuple[Table, Table]:
    """Nobody, against one unit that fills every threshold; a solver that errs as much as it may."""
    full = np.floor((1 + gap) * thresholds.units.astype(np.float64)).astype(np.int64)
    return np.zeros(len(thresholds), np.int64), full


def crowd_and_one_more(thresholds: Thresholds, people: int, contribution: float) -> tuple[Table, Table]:
    """Many people of one load, against the same and a unit with more load than any threshold."""
    crowd = people * np.minimum(thresholds.units, round(contribution * ONE))
    return crowd, crowd + thresholds.units


def selection_swing(gem: Gem, distance: int = 6, n_groups: int = 1) -> tuple[Table, Table]:
    """The pair that makes selection lose nearly all of its budget, and the release too.

    Write v = (price - alpha) tau, and let `rival` lie below `top` and above all others by some rungs.
    Without the unit every alpha is 0 but that of `top`, which is 1: all are equally good but `top`, worse by
    one. The unit lowers alpha by one at `top` and at `rival`: `top` becomes as good as any, `rival` stays so,
    and all others become worse by one, as `rival` beats them. So the odds of `top` grow by nearly exp(eps_1)
    when the others are many. The price depends on how many groups are released together.
    """
    thresholds = gem.thresholds
    tau = thresholds.units.astype(np.float64)
    rival, top = len(thresholds) - distance, len(thresholds) - 1
    selecting, releasing = gem._budgets(n_groups)
    noise = gem.c / float(releasing[0])
    price = noise + gem.selection.farthest(gem.thresholds, float(selecting), n_groups)
    alpha = np.zeros(len(thresholds))
    without = (price - alpha) * tau
    without[rival + 1 : top] = without[rival] + tau[rival]  # unattractive, and still non-decreasing
    without[top] = (price - 1) * tau[top]
    gained = np.zeros(len(thresholds))
    gained[rival] = tau[rival]
    gained[top] = tau[top]
    first = np.floor(without).astype(np.int64)
    return first, first + gained.astype(np.int64)


def level_race(r2t: R2T, n_groups: int = 1) -> tuple[Table, Table]:
    """Values that give every threshold of R2T the same chance to win, against the same with a full unit.

    The output is at most t only if every noisy value is: each of the L releases loses eps / L on that event.
    """
    level = np.array([penalty for _, penalty in r2t.expected_noise(n_groups)])
    table = np.floor((level + 1.0) * ONE).astype(np.int64)
    return table, table + np.floor((1 + r2t.gap) * r2t.thresholds.units.astype(np.float64)).astype(np.int64)


def margin_swing(
    gem: Gem, n_groups: int = 1, rarely: float = 4.0, rival: int = 9, champion: int = 12
) -> tuple[Table, Table]:
    """The same for scores whose margins grow with the distance: selection loses nearly all of its budget.

    Three thresholds beat each other in a circle, which the farthest margin makes possible: it is more than that of
    two neighbours. The lowest is as good as `rival`, which `champion`, a few doublings above it, beats by `lead`,
    which the lowest beats by as much again. So the lowest is nearly always chosen: the others have scores of `lead`.
    Between them values do not grow, and nothing there is attractive. The last threshold is worse than the lowest by
    `rarely` / eps_1 and one more. A unit that fills `rival` and the last and nothing else makes the lowest worse by
    one, as `rival` beats it, and the last better by one: its odds grow by nearly exp(eps_1).
    """
    thresholds, size = gem.thresholds, len(gem.thresholds)
    tau = thresholds.units.astype(np.float64)
    selecting = gem.selection.split * gem.epsilon
    noise = gem.c / (gem.epsilon - selecting)
    assert gem.selection.rarity is not None
    margins = gem.selection.scores(thresholds, gem.gap, (noise,) * size, selecting, n_groups).margins

    def reach(i: int, j: int) -> float:
        return float(max(tau[i], tau[j]) if gem.monotone else tau[i] + tau[j])

    def cost_above(i: int, j: int, lead: float) -> float:
        """What i costs more than j where j beats it by `lead` in scores."""
        margin = np.sign(i - j) * margins[abs(i - j)]
        return float((lead - margin) * reach(i, j))

    last, around = size - 1, [(rival, champion), (champion, 0)]
    # The costs around the circle add up to nothing: cost_above is linear in the lead.
    idle = cost_above(0, rival, 0.0) + sum(cost_above(i, j, 0.0) for i, j in around)
    lead = -idle / sum(reach(i, j) for i, j in around)
    cost = np.full(size, np.nan)
    cost[0] = 0.0
    cost[rival] = -cost_above(0, rival, 0.0)
    cost[champion] = cost_above(champion, 0, lead)
    cost[last] = cost_above(last, 0, rarely / selecting + 1)
    value = noise * tau - cost
    value[rival + 1] = value[rival] + tau[rival]  # unattractive, and still non-decreasing beside the unit
    first = np.floor(np.maximum.accumulate(np.nan_to_num(value))).astype(np.int64)
    gained = np.zeros(size, np.int64)
    filled = [rival, last]
    gained[filled] = thresholds.units[filled]
    return first, first + gained
