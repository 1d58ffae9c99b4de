"""How much each of k independent repetitions may spend: basic and advanced composition."""

from __future__ import annotations

import math

from privacy.errors import InvalidParameter


def advanced_composition(epsilon: float, times: int, delta: float) -> float:
    """The epsilon of `times` releases of `epsilon` each, with `delta`, in the form that the paper uses.

        sqrt(2 k ln(1 / delta)) epsilon + k epsilon (exp(epsilon) - 1)

    Args:
      epsilon: of each, > 0.
      times: k >= 1.
      delta: in (0, 1).
    Raises: InvalidParameter.
    Source: lemma 3.2 of Fang and Yi (SIGMOD 2024); Dwork, Rothblum, Vadhan (FOCS 2010).
    """
    if times < 1 or not epsilon > 0 or not 0 < delta < 1:
        raise InvalidParameter("composition needs at least one release, a positive epsilon and a delta below 1")
    spread = math.sqrt(2 * times * math.log(1 / delta)) * epsilon
    return (spread + times * epsilon * math.expm1(epsilon)) * (1 + 1e-12)


def repeated_budget(target: float, times: int, delta: float) -> float:
    """What each of `times` releases may spend for `target` and `delta` in all, rounded down.

    The larger of what basic composition (target / k, for which no delta is needed) and advanced composition
    allow: which of the two it is depends on public numbers only.

    Args:
      target: > 0.
      times: k >= 1.
      delta: in [0, 1); 0 allows basic composition only.
    Raises: InvalidParameter.
    """
    if times < 1 or not 0 < target < math.inf or not 0 <= delta < 1:
        raise InvalidParameter("composition needs at least one release, a positive epsilon and a delta below 1")
    basic = target / times * (1 - 1e-12)
    if delta == 0 or advanced_composition(basic, times, delta) > target:
        return basic
    low, high = basic, target
    while high - low > 1e-12 * low:
        middle = (low + high) / 2
        fits = middle < 700 and advanced_composition(middle, times, delta) <= target
        low, high = (middle, high) if fits else (low, middle)
    return low
