"""Ways to find the threshold of the next release, from what earlier ones told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privacy.mechanisms.selection.remembered import Told, remembered_rung


@dataclass(frozen=True)
class Decision:
    """How the next release is made.

    Attributes:
      low, high: the exponents of the thresholds that are chosen from; equal: nothing is chosen. None: all of them.
      split: the share of the budget that choosing gets; None: today's.
      start: a public handicap of thresholds by their distance from this one; None for none.
    """

    low: int | None = None
    high: int | None = None
    split: float | None = None
    start: int | None = None

    @property
    def fixed(self) -> bool:
        return self.low is not None and self.low == self.high


Rule = Callable[[Sequence[Told], float], Decision]

TODAY = Decision()


def at(rung: int) -> Decision:
    return Decision(rung, rung)


def today(told: Sequence[Told], price: float) -> Decision:
    """Chosen anew every time."""
    return TODAY


def kept_for_ever(told: Sequence[Told], price: float) -> Decision:
    """(a) The first one."""
    return at(told[0].rung) if told else TODAY


def median_of_five(told: Sequence[Told], price: float) -> Decision:
    """(a) The median of the last five that were chosen, and a new choice every eighth time."""
    return at(_centre(told)) if len(told) % 8 else TODAY


def _centre(told: Sequence[Told]) -> int:
    chosen = [one.rung for one in told if one.selected][-5:]
    return int(np.median(chosen))


def nearby(split: float, reach: int = 2) -> Rule:
    """(b) Chosen among the nearest of the median of the last five."""

    def rule(told: Sequence[Told], price: float) -> Decision:
        if not told:
            return TODAY
        centre = _centre(told)
        return Decision(centre - reach, centre + reach, split)

    return rule


def handicapped(split: float) -> Rule:
    """(c) Chosen from the whole ladder, with a handicap by the distance from the median of the last five."""

    def rule(told: Sequence[Told], price: float) -> Decision:
        return Decision(split=split, start=_centre(told)) if told else TODAY

    return rule


def fitted(told: Sequence[Told], price: float) -> Decision:
    """(d) Where the expected error is least by what all values told."""
    rung = remembered_rung(told, price)
    return TODAY if rung is None else at(rung)


RULES: dict[str, Rule] = {
    "today": today,
    "kept for ever": kept_for_ever,
    "median of five": median_of_five,
    "nearby, 2%": nearby(0.02),
    "nearby, 5%": nearby(0.05),
    "nearby, 10%": nearby(0.10),
    "nearby, 20%": nearby(0.20),
    "handicapped, 10%": handicapped(0.10),
    "handicapped, 20%": handicapped(0.20),
    "fitted": fitted,
}
