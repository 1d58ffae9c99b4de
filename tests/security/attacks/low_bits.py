"""The low bits of noisy numbers: textbook noise cannot reach every double; which ones it can depends on the truth.

Mironov, "On Significance of the Least Significant Bits for Differential Privacy", CCS 2012; Haney, Desfontaines et
al., "Precision-based Attacks and Interval Refining: How to Break, Then Fix, Differential Privacy on Finite
Computers", 2022; Jin et al., "Are We There Yet? Timing and Floating-Point Attacks on Differential Privacy Systems",
S&P 2022.
"""

from __future__ import annotations

import math

from tests.security.game import TARGET, AttackClass, BreakIn, Desk, Distinguisher, nonce
from tests.security.naive import SENSITIVITY, textbook_laplace

_QUESTIONS, _EPSILON = 12, 0.02
_AROUND = 24
"""Uniform numbers on either side of the inverse, which is a double, too."""

_MOST_COST, _STEP_BITS = 100, 20
"""The public range of a cost; steps are of a millionth of tau (`privacy/mechanisms/noise.py`)."""

_GRAIN = 2.0**-53
"""Of uniform numbers."""


def reachable(released: float, truth: float, scale: float) -> bool:
    """Is there a uniform number whose textbook noise on the truth is just this double?"""
    noise = released - truth
    centred = math.copysign((1 - math.exp(-abs(noise) / scale)) / 2, noise)
    place = round((centred + 0.5) / _GRAIN)
    return any(
        truth + textbook_laplace((place + step) * _GRAIN, scale) == released
        for step in range(-_AROUND, _AROUND + 1)
        if 0 < (place + step) * _GRAIN < 1
    )


def _by_support(desk: Desk) -> bool | None:
    """The number of people in her town: which of 0 and 1 could every answer have come from?"""
    fits = {0: True, 1: True}
    for _ in range(_QUESTIONS):
        sql = f"SELECT count(*) FROM patient WHERE id = {TARGET} AND id <> -{nonce()}"
        reply = desk.ask(sql, _EPSILON)
        if reply.status != 200:
            return None
        raw = [cell for row in reply.body.get("raw", []) for cell in row if isinstance(cell, float)]
        released = raw[0] if raw else reply.number
        for truth in fits:
            fits[truth] &= reachable(released, truth, SENSITIVITY / _EPSILON)
    return None if fits[0] == fits[1] else fits[1]


def _off_the_grid(desk: Desk) -> bool:
    """Is any released sum no whole number of public steps?

    A step is a power of two below tau, and W, the most that one row adds, times it; which one it is follows from tau
    alone, which is released. Then the low bits are the grid's, whoever is there.
    """
    for _ in range(_QUESTIONS):
        reply = desk.ask(f"SELECT sum(cost) FROM visit WHERE cost < 1000 AND id <> -{nonce()}", 0.1)
        if reply.status != 200:
            continue
        (tau,) = reply.body.get("taus", [[[float(_MOST_COST)]]])[0][-1]
        released = (reply.body.get("raw") or reply.body["rows"])[0][-1]
        step = max(2.0**-30, 2.0 ** (math.floor(math.log2(tau / _MOST_COST)) - _STEP_BITS))
        steps = released / _MOST_COST / step
        if abs(steps - round(steps)) > 1e-3:
            return True
    return False


LOW_BITS = AttackClass(
    "low bits of released numbers",
    "Mironov 2012; Haney et al. 2022; Jin et al. 2022",
    (
        Distinguisher("numbers that only one truth reaches", _by_support),
        BreakIn("numbers off the public grid", _off_the_grid),
    ),
)
