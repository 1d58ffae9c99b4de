"""ln sum over k of P(K = k) (exp(h(k)) - 1), for a binomial K and an h made of parabolas: compiled loops.

Every term is positive and nothing is subtracted. The sum runs outwards from each of its peaks in blocks over which
the terms change by a constant factor at most, so it takes some dozens of blocks, whatever n is. On a linear piece
P(k) exp(s k) = M^n P'(k) with a tilted rate (the generating function of DP-S4S, Lemma 3.2): the peak is its mean.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.sampling.growth.binomial import log_mass
from privacy.sampling.growth.block_rule import NODES, SMALLEST

_NEGLIGIBLE = 75.0
"""Terms below exp(-75) of the largest are left out; those after them fall further."""

_CHANGE = 5.0
"""A block ends where ln(term) has changed by as much; a rule of 16 nodes then errs by less than 1e-14."""


@kernel
def log_growth(
    n: float,
    p: float,
    complement: float,
    pieces: NDArray[np.float64],
    nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
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
    n: float,
    p: float,
    complement: float,
    piece: NDArray[np.float64],
    nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
    state: NDArray[np.float64],
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
    low: float,
    high: float,
    n: float,
    p: float,
    complement: float,
    piece: NDArray[np.float64],
    order: int,
    positive: bool,
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
    piece: NDArray[np.float64],
    top: float,
    end: float,
    nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
    state: NDArray[np.float64],
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
def _h(piece: NDArray[np.float64], k: float) -> float:
    value: float = piece[2] + k * (piece[3] + k * piece[4])
    return value


@kernel
def _change(
    n: float, p: float, complement: float, piece: NDArray[np.float64], k: float, step: float, j: int, here: float
) -> float:
    """How much ln(P) + h falls over the 2^j terms from k on."""
    last = k + step * (2.0**j - 1)
    return here - log_mass(last, 0.0, n, p, complement) - _h(piece, last)


@kernel
def _term(
    n: float, p: float, complement: float, piece: NDArray[np.float64], whole: float, part: float, scale: float
) -> float:
    """P(k) (exp(h(k)) - 1) exp(-scale)."""
    h = _h(piece, whole + part)
    return math.exp(log_mass(whole, part, n, p, complement) + h - scale) * -math.expm1(-h)
