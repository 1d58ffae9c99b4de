"""The largest budgets that a sample affords: what amplification buys, as less noise for the same charge."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privacy.errors import InvalidParameter
from privacy.sampling.design import SampleDesign
from privacy.sampling.loss import Loss, choice_loss

_MOST_PRESSED = 1e4
"""A loss times its pressure is not looked for beyond."""

_CLOSE = 1e-6
"""Relative: how far below the largest affordable number the result may lie."""

_LEAST = 2.0**-40


def choice_budget(design: SampleDesign, cell: Fraction) -> float:
    """The epsilon of a selection alone that costs `cell` of the design's epsilon once amplified, rounded down.

    Any tuple of the unit in the sample costs all of it at once. Cost: some twenty evaluations of `joint_loss`.
    """
    return largest_factor(design, cell, lambda epsilon: [choice_loss(epsilon)], float(cell))


def release_budget(design: SampleDesign, cell: Fraction, spent: float, loss_of: Callable[[float], Loss]) -> float:
    """The largest budget of one release that, beside a selection from the same sample, costs `cell`.

    Args:
      design: the sample.
      cell: of the design's epsilon.
      spent: epsilon of the selection, less than `choice_budget`.
      loss_of: the loss of the release at a budget; grows with it.
    Raises: InvalidParameter when the selection leaves nothing.
    Cost: some twenty evaluations of `joint_loss`.
    """
    start = max(float(cell) - spent, float(cell) / 8)
    return largest_factor(design, cell, lambda epsilon: [choice_loss(spent), loss_of(epsilon)], start)


def largest_factor(
    design: SampleDesign, cell: Fraction, losses: Callable[[float], list[Loss]], start: float
) -> float:
    """The largest x > 0 for which losses(x), of releases from one sample, together cost `cell`, to within 1e-6.

    Args:
      losses: of all releases; each grows with x.
      start: an x to look around, > 0.
    Returns: an x that was checked: affordable, whatever the search did.
    Raises: InvalidParameter when no x is affordable.
    """
    pressure = design.pressure(cell)

    def overdraft(x: float) -> float:
        """What losses(x) cost beyond epsilon; as much as can be computed with where they are larger."""
        pressed = [loss.times(pressure) for loss in losses(x)]
        if math.fsum(loss.most for loss in pressed) > _MOST_PRESSED:
            return _MOST_PRESSED
        return design.joint(pressed) - design.epsilon

    low, high = _bracket(overdraft, start)
    while high - low > _CLOSE * low:
        middle = (low + high) / 2
        low, high = (middle, high) if overdraft(middle) <= 0 else (low, middle)
    return low


def _bracket(overdraft: Callable[[float], float], start: float) -> tuple[float, float]:
    """An affordable number and twice it, which is not."""
    low = start
    while overdraft(low) > 0:
        low /= 2
        if low < start * _LEAST:
            raise InvalidParameter("the selection leaves nothing for the release")
    while overdraft(2 * low) <= 0:
        low *= 2
        if low > start / _LEAST:
            raise InvalidParameter("the sample bounds nothing")
    return low, 2 * low
