"""E[exp(h(K))] for a binomial K: the exact numerics of a sample's privacy loss.

K is the number of a unit's join tuples in a sample, and h is made of parabolas. The result is the logarithm of the
sum over k of P(K = k) (exp(h(k)) - 1). Every term is positive, and nothing is subtracted. The mass P is accurate in
relative terms, also in the tails and for a trillion trials. The sum runs outwards from each of its peaks, in blocks
over which the terms change by a constant factor at most. So it takes some dozens of blocks for any n, and a few
values per block. On a linear piece P(k) exp(s k) = M^n P'(k) with a tilted rate (the generating function of DP-S4S,
Lemma 3.2): the peak is its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from privacy.errors import InvalidParameter
from privacy.kernel import kernel
from privacy.units import Floats

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


NODES = 16
"""Values per block. The rule is exact for polynomials of degree 31."""

SMALLEST = 5
"""Blocks of 2^5 integers and more have a rule; shorter ones are summed term by term."""

LARGEST = 50


@cache
def block_rules() -> tuple[Floats, Floats]:
    """Gauss quadrature for the uniform measure on 2^j consecutive integers, for every j in [SMALLEST, LARGEST].

    Returns: (LARGEST + 1, NODES) nodes, as distances from the middle of the block, and weights, which are positive
      and add up to 2^j; rows below SMALLEST are zero.
    Source: Golub and Welsch (1969), from the recurrence of the Gram polynomials (discrete Chebyshev).
    """
    nodes, weights = np.zeros((LARGEST + 1, NODES)), np.zeros((LARGEST + 1, NODES))
    k = np.arange(1, NODES, dtype=np.float64)
    for j in range(SMALLEST, LARGEST + 1):
        size = 2.0**j
        off_diagonal = np.sqrt((1 - (k / size) ** 2) / (4 * (4 - 1 / k**2)))
        values, vectors = np.linalg.eigh(np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
        nodes[j], weights[j] = size * values, size * vectors[0] ** 2
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


_NEGLIGIBLE = 75.0
"""Terms below exp(-75) of the largest are left out; those after them fall further."""

_CHANGE = 5.0
"""A block ends where ln(term) has changed by as much; a rule of 16 nodes then errs by less than 1e-14."""


@kernel
def log_growth(n: float, p: float, complement: float, pieces: Floats, nodes: Floats, weights: Floats) -> float:
    """ln of the sum over all pieces.

    Args:
      n, p, complement: as `log_mass`.
      pieces: (s, 5) rows (low, high, c0, c1, c2): h(k) = c0 + c1 k + c2 k^2 >= 0, all c >= 0, for whole
        1 <= low <= k <= high <= n.
      nodes, weights: of `block_rules`.
    Returns: -inf where h is zero everywhere.
    """
    state = np.array([-np.inf, 0.0])  # the sum is exp(state[0]) * state[1]
    for piece in pieces:
        _add_piece(n, p, complement, piece, nodes, weights, state)
    return state[0] + math.log(state[1]) if state[1] > 0 else -np.inf


@kernel
def _add_piece(
    n: float, p: float, complement: float, piece: Floats, nodes: Floats, weights: Floats, state: Floats
) -> None:
    """Cut a piece where ln(P) + h changes from concave to convex and back, then at its peak or its dip."""
    low, high = piece[0], piece[1]
    middle = min(max(math.floor((n - 2) / 2), low), high)  # the second difference rises until here and falls after
    enters = _first(low, middle, n, p, complement, piece, 2, True)
    leaves = _first(middle, high, n, p, complement, piece, 2, False)
    if enters >= leaves:
        enters = leaves = high  # concave throughout
    cuts = (low, enters, leaves, high)
    for i in range(3):
        left, right = cuts[i] + (i > 0), cuts[i + 1]
        if left > right:
            continue
        convex = i == 1
        turn = _first(left, right, n, p, complement, piece, 1, convex)  # the dip, or the peak
        near, far = (left, turn) if convex else (turn, left)
        _add_monotone(n, p, complement, piece, near, far, nodes, weights, state)
        if turn < right:
            near, far = (right, turn + 1) if convex else (turn + 1, right)
            _add_monotone(n, p, complement, piece, near, far, nodes, weights, state)


@kernel
def _first(
    low: float, high: float, n: float, p: float, complement: float, piece: Floats, order: int, positive: bool
) -> float:
    """The first k in [low, high) where the difference of that order of ln(P) + h is positive (or is not), or high.

    The difference changes its sign once at most, in that direction.
    """
    while low < high:
        k = math.floor((low + high) / 2)
        rise = 0.0
        if order == 1:
            rise = math.log((n - k) / (k + 1)) + math.log(p / complement) + piece[3] + piece[4] * (2 * k + 1)
        else:  # at k, of the values at k, k + 1 and k + 2
            below = math.log1p(-1 / (n - k)) if n - k > 1 else -np.inf
            rise = below + math.log1p(-1 / (k + 2)) + 2 * piece[4]
        if (rise > 0) == positive:
            high = k
        else:
            low = k + 1
    return low


@kernel
def _add_monotone(
    n: float,
    p: float,
    complement: float,
    piece: Floats,
    top: float,
    end: float,
    nodes: Floats,
    weights: Floats,
    state: Floats,
) -> None:
    """Add the terms from `top` down to `end`, on its left or right."""
    step = 1.0 if end >= top else -1.0
    peak = log_mass(top, 0.0, n, p, complement) + _h(piece, top)
    if peak < state[0] - _NEGLIGIBLE:
        return
    if peak > state[0]:
        state[1] *= math.exp(state[0] - peak)
        state[0] = peak
    k, here, j = top, peak, SMALLEST
    while step * (end - k) >= 0 and here > peak - _NEGLIGIBLE:
        left = step * (end - k) + 1
        room = 0.25 * min(k, n - k)  # away from where the mass is singular
        while 2.0 ** (j + 1) <= min(left, room) and _change(n, p, complement, piece, k, step, j + 1, here) <= _CHANGE:
            j += 1
        while j >= SMALLEST and (
            2.0**j > min(left, room) or _change(n, p, complement, piece, k, step, j, here) > _CHANGE
        ):
            j -= 1
        if j >= SMALLEST:
            offset = step * (2.0**j - 1) / 2
            for i in range(NODES):
                state[1] += weights[j, i] * _term(n, p, complement, piece, k, offset + nodes[j, i], state[0])
            k += step * 2.0**j
        else:
            for _ in range(int(min(2.0**SMALLEST, left))):
                state[1] += _term(n, p, complement, piece, k, 0.0, state[0])
                k += step
            j = SMALLEST
        if step * (end - k) >= 0:
            here = log_mass(k, 0.0, n, p, complement) + _h(piece, k)


@kernel
def _h(piece: Floats, k: float) -> float:
    value: float = piece[2] + k * (piece[3] + k * piece[4])
    return value


@kernel
def _change(
    n: float, p: float, complement: float, piece: Floats, k: float, step: float, j: int, here: float
) -> float:
    """How much ln(P) + h falls over the 2^j terms from k on."""
    last = k + step * (2.0**j - 1)
    return here - log_mass(last, 0.0, n, p, complement) - _h(piece, last)


@kernel
def _term(n: float, p: float, complement: float, piece: Floats, whole: float, part: float, scale: float) -> float:
    """P(k) (exp(h(k)) - 1) exp(-scale)."""
    h = _h(piece, whole + part)
    return math.exp(log_mass(whole, part, n, p, complement) + h - scale) * -math.expm1(-h)


_MARGIN = 1 + 1e-10
"""The result is rounded up by more than the sum errs: it is right to 1e-12 against 60 digits."""

_LARGEST = 1e5
"""If h exceeds this, no amplification is claimed: exp(h) P would lose more digits than the margin covers."""


@dataclass(frozen=True)
class Piece:
    """h(k) = constant + slope k + curve k^2 >= 0 for whole low <= k <= high.

    Attributes:
      low, high: 1 <= low <= high.
      constant, slope, curve: >= 0, finite.
    """

    low: int
    high: int
    constant: float
    slope: float
    curve: float = 0.0

    @property
    def most(self) -> float:
        """h(high), the largest value."""
        return self.constant + self.high * (self.slope + self.high * self.curve)


def log_moment(pieces: Sequence[Piece], trials: int, rate: float) -> float:
    """ln E[exp(h(K))], K ~ Binomial(trials, rate), where h(0) = 0.

    Args:
      pieces: h on 1..trials, each count in one of them; h does not fall.
      trials: Delta >= 1.
    Returns: in [0, h(trials)], rounded up by a relative 1e-10; h(trials) if trials or h are too large for a double.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some tens of microseconds per piece, for any `trials`.
    Source: docs/mathematics.md, section 7.1.
    """
    if not 0 < rate <= 1 or trials < 1:
        raise InvalidParameter(
            "the sampling rate must be above 0 and at most 1, and a unit must have at least one tuple"
        )
    most = pieces[-1].most
    if rate == 1 or trials > MAX_TRIALS or not most <= _LARGEST:
        return most
    table = np.array([(piece.low, piece.high, piece.constant, piece.slope, piece.curve) for piece in pieces], float)
    excess = float(log_growth(float(trials), rate, 1 - rate, table, *block_rules()))
    return min(most, _log1p_exp(excess) * _MARGIN)


def _log1p_exp(x: float) -> float:
    """ln(1 + exp(x)), accurate in relative terms."""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))
