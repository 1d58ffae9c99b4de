"""Sums of a smooth function over very many consecutive integers from a few of its values."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

NODES = 16
"""Values per block. The rule is exact for polynomials of degree 31."""

SMALLEST = 5
"""Blocks of 2^5 integers and more have a rule; shorter ones are summed term by term."""

LARGEST = 50


@cache
def block_rules() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
