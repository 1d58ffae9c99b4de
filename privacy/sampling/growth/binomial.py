"""The mass of a binomial count, accurate in relative terms also in the tails and for a trillion trials."""

from __future__ import annotations

import math

from privacy.kernel import kernel

MAX_TRIALS = 1 << 50
"""Above this a double no longer tells one count from the next well enough."""

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
_SPLITTER = 134217729.0  # 2^27 + 1
_FEW = 16.0


@kernel
def log_mass(whole: float, part: float, n: float, p: float, complement: float) -> float:
    """ln P(K = k) for K ~ Binomial(n, p) at k = whole + part, continued to real k by the gamma function.

    Args:
      whole: a whole number in [0, n].
      part: the rest of k, apart from it so that the distance to the mean keeps all its digits.
      n: whole, in [1, MAX_TRIALS].
      p: in (0, 1).
      complement: 1 - p; whichever of the two is smaller is taken as exact.
    Returns: within some 1e-15 of 1 + |ln P| for k near the mean and far from it: a difference of large logarithms
      never occurs, and n p is carried to twice the digits of a double.
    Source: Loader, Fast and accurate computation of binomial probabilities (2000).
    """
    if p > 0.5:
        whole, part, p, complement = n - whole, -part, complement, p
    k, rest = whole + part, (n - whole) - part
    if k <= 0.0:
        return n * math.log1p(-p)
    if rest <= 0.0:
        return n * math.log(p)
    mean = n * p
    distance = ((whole - mean) - _product_error(n, p, mean)) + part
    bulk = _deviance(k, mean, distance) + _deviance(rest, n * complement, -distance)
    correction = _stirling_error(n) - _stirling_error(k) - _stirling_error(rest)
    return correction - bulk - _HALF_LOG_TAU - 0.5 * math.log(k * (rest / n))


@kernel
def _product_error(a: float, b: float, product: float) -> float:
    """a b - product, exactly (Dekker 1971)."""
    c = _SPLITTER * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = _SPLITTER * b
    b_high = c - (c - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def _deviance(x: float, mean: float, distance: float) -> float:
    """x ln(x / mean) - distance, where distance = x - mean is known better than the two are."""
    if abs(distance) >= 0.1 * (x + mean):
        return x * math.log(x / mean) - distance
    v = distance / (x + mean)
    total = distance * v
    term = 2.0 * x * v
    for j in range(1, 1000):  # each term is at most a hundredth of the one before
        term *= v * v
        larger = total + term / (2 * j + 1)
        if larger == total:
            break
        total = larger
    return total


@kernel
def _stirling_error(x: float) -> float:
    """ln(x!) - ((x + 1/2) ln x - x + ln(2 pi) / 2), for x > 0."""
    if x < _FEW:
        return math.lgamma(x + 1.0) - (x + 0.5) * math.log(x) + x - _HALF_LOG_TAU
    r = 1.0 / (x * x)
    tail = 1.0 / 1680 - r * (1.0 / 1188 - r * (691.0 / 360360))
    series = 1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * tail))
    return series / x
