"""Amplification with sixty digits: an independent check of every formula, slow and plain."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import mp, mpf

from privacy.sampling.growth import Piece

_TERMS = 20_000
"""Fewer terms are added one by one, so also where they have two peaks."""
_DROP = 70
"""Terms below exp(-70) of the largest are left out."""


def log_moment(pieces: Sequence[Piece], n: int, rate: float) -> mpf:
    """ln E[exp(h(K))]: short pieces term by term, long ones as an integral with Euler and Maclaurin's corrections."""
    with mp.workdps(60):
        return mp.log1p(mp.fsum(_piece_sum(piece, n, mpf(rate)) for piece in pieces))


def log_choose(n: int, k: mpf, rate: mpf) -> mpf:
    """ln P(K = k), K ~ Binomial(n, rate)."""
    choices = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return choices + k * mp.log(rate) + (n - k) * mp.log1p(-rate)


def _piece_sum(piece: Piece, n: int, rate: mpf) -> mpf:
    def h(k: mpf) -> mpf:
        return mpf(piece.constant) + k * (mpf(piece.slope) + k * mpf(piece.curve))

    def log_weight(k: mpf) -> mpf:
        return log_choose(n, k, rate) + h(k)

    def term(k: mpf) -> mpf:
        return mp.exp(log_weight(k)) * -mp.expm1(-h(k))

    def plain_sum(low: int, high: int) -> mpf:
        weight, total = mp.exp(log_weight(mpf(low)) - h(mpf(low))), mpf(0)
        for k in range(low, high + 1):
            total += weight * mp.expm1(h(mpf(k)))
            weight *= (n - k) * rate / ((k + 1) * (1 - rate))
        return total

    if piece.high - piece.low < _TERMS:
        return plain_sum(piece.low, piece.high)
    with mp.workdps(40):
        peak = _peak(log_weight, piece.low, piece.high)
        left, right = (_edge(log_weight, peak, end) for end in (piece.low, piece.high))
        if right - left < _TERMS:
            return plain_sum(left, right)
        return _euler_maclaurin(term, left, right, peak)


def _euler_maclaurin(term, left: int, right: int, peak: int) -> mpf:  # type: ignore[no-untyped-def]
    cuts = sorted({left, right, peak} | {left + (right - left) * j // 12 for j in range(1, 12)})
    total = mp.quad(term, cuts, method="gauss-legendre", maxdegree=5) + (term(mpf(left)) + term(mpf(right))) / 2
    for end, sign in ((right, 1), (left, -1)):
        derivatives = mp.taylor(term, end, 7, singular=False)
        for j in (1, 2, 3, 4):
            total += sign * mp.bernoulli(2 * j) / (2 * j) * derivatives[2 * j - 1]
    return total


def _peak(log_weight, low: int, high: int) -> int:  # type: ignore[no-untyped-def]
    """Where a concave function of whole numbers is largest."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if log_weight(mpf(middle)) >= log_weight(mpf(middle + 1)) else (middle + 1, high)
    return low


def _edge(log_weight, peak: int, end: int) -> int:  # type: ignore[no-untyped-def]
    """As far from the peak towards `end` as terms count."""
    least = log_weight(mpf(peak)) - _DROP
    near, far = peak, end
    if log_weight(mpf(far)) >= least:
        return far
    while abs(far - near) > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if log_weight(mpf(middle)) >= least else (near, middle)
    return far
