"""The same quantities at 50 digits, from their definitions."""

from __future__ import annotations

import math

from mpmath import mp, mpf

mp.dps = 50


def renyi(losses: list[mpf], masses: list[mpf], order: float) -> mpf:
    """The divergence of an order between P and Q, for P's masses and the log ratios P / Q."""
    if order == math.inf:
        return max(losses)
    above = mpf(order) - 1
    return mp.log(mp.fsum(mass * mp.exp(above * loss) for loss, mass in zip(losses, masses, strict=True))) / above


def randomised_response(epsilon: mpf, order: float) -> mpf:
    """The divergence of telling a bit truthfully with probability exp(epsilon) / (1 + exp(epsilon))."""
    truth = mp.exp(epsilon) / (1 + mp.exp(epsilon))
    return renyi([epsilon, -epsilon], [truth, 1 - truth], order)


def bounded_range(epsilon: mpf, top: mpf, order: float) -> mpf:
    """The divergence of two outcomes whose log ratios are `top` and `top - epsilon`, 0 < top < epsilon."""
    # Q's masses: q exp(top) + (1 - q) exp(top - epsilon) = 1
    q = (1 - mp.exp(top - epsilon)) / (mp.exp(top) - mp.exp(top - epsilon))
    return renyi([top, top - epsilon], [q * mp.exp(top), (1 - q) * mp.exp(top - epsilon)], order)


def converted(order: float, divergence: mpf, delta: mpf) -> mpf:
    """epsilon by the tight formula, not cut off at 0."""
    a = mpf(order)
    return divergence + mp.log((a - 1) / a) - (mp.log(delta) + mp.log(a)) / (a - 1)
