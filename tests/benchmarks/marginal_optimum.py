"""The least error that independent noise on marginals can have, whatever the shares: the bar's own limit.

Apart from the product's code, so that one checks the other: a table over balanced keys falls apart into one subspace
per set of keys (its grand mean, main effects, interactions), in which weighted least squares of all measured
marginals have a precision that is a sum over them. Shares of epsilon are searched for from many starts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

_STARTS = 20
_PENALTY = 1e3
Keys = frozenset[int]


def least_error(sizes: Sequence[int], questions: Sequence[Keys], worst: float) -> float:
    """Root mean square error over all groups, of what each question has alone with an equal share of epsilon.

    Args:
      sizes: how many values each key has.
      questions: the keys of each count.
      worst: no question's own root mean square error may be above this much of what it has alone.
    """
    groups = np.array([math.prod(sizes[key] for key in keys) for keys in questions], np.float64)
    measured = [
        frozenset(found) for n in range(len(sizes) + 1) for found in itertools.combinations(range(len(sizes)), n)
    ]

    def loss(logits: NDArray[np.float64]) -> float:
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        variances = np.array([_variance(sizes, measured, shares, keys) for keys in questions]) / len(questions) ** 2
        beyond = np.maximum(0.0, np.sqrt(variances) - worst).sum()
        return float(np.sqrt(groups @ variances / groups.sum()) + _PENALTY * beyond)

    search = partial(minimize, method="Nelder-Mead", options={"maxiter": 8_000, "xatol": 1e-6, "fatol": 1e-8})
    starts = (np.random.default_rng(seed).normal(size=len(measured)) for seed in range(_STARTS))
    return min(float(search(loss, start).fun) for start in starts)


def _variance(sizes: Sequence[int], measured: Sequence[Keys], shares: NDArray[np.float64], keys: Keys) -> float:
    """Of a cell of a marginal, in multiples of a release with the whole epsilon."""
    each = _merged(sizes, keys)
    total = 0.0
    for effect in (one for one in measured if one <= keys):
        precision = sum(
            share**2 * _merged(sizes, one) for share, one in zip(shares, measured, strict=True) if effect <= one
        )
        total += math.prod(sizes[key] - 1 for key in effect) * each / precision
    return total * each / math.prod(sizes)


def _merged(sizes: Sequence[int], keys: Keys) -> int:
    """How many of the finest cells one cell of a marginal has."""
    return math.prod(size for key, size in enumerate(sizes) if key not in keys)
