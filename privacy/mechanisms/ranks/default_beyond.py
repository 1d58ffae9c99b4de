"""How many people lie beyond an extreme, and how the epsilon of ranks is divided: numbers that plans need, too."""

from __future__ import annotations

import math

CHOICE, INTERVAL = 0.15, 0.2
"""The shares of epsilon of the choice of tau and of the intervals; the ranks have the rest. With a
twentieth for tau quantiles of even rows erred three times as much at epsilon 0.1, as most rows were weighed less."""


def default_beyond(epsilon: float, n_codes: int, times: int = 1) -> int:
    """k of MAX and MIN: so many people that the empty end of the grid is no likelier than they are. Public.

    The n_codes values beyond all people have together the weight of one value in the middle where
    n_codes exp(-gamma k) = 1, gamma = epsilon / (2 times) per person.

    Args:
      epsilon: of the extreme, the interval included.
      n_codes: D.
      times: how often one person moves a rank: once, but for several groups.
    """
    return max(1, math.ceil(math.log(max(2, n_codes)) * 2 * times / (epsilon * (1 - INTERVAL))))
