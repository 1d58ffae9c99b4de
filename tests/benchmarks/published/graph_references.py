"""NT, SDE and RM for counts of subgraphs, node-private, as references: slow, and with a parameter to choose.

They protect a node with all its edges, and no part of it. Nothing of this is in the product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from privacy.entropy import Entropy

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_STEP = 2.0**-10
"""Noise is whole numbers of it."""


@dataclass(frozen=True)
class Pattern:
    """A subgraph pattern in a graph.

    Attributes:
      edges: (e, 2) of nodes below n_nodes, each once.
      nodes: (m, k) the nodes of each occurrence.
      n_nodes: how many.
      paths: is it the path of two edges, or the triangle?
    """

    edges: Ints
    nodes: Ints
    n_nodes: int
    paths: bool

    def of_one_node(self, degree: int) -> int:
        """How many occurrences one node of a graph of so large degrees is in, at most."""
        pairs = degree * (degree - 1) // 2
        return 3 * pairs if self.paths else pairs

    def left(self, gone: NDArray[np.bool_]) -> int:
        """How many occurrences have none of these nodes."""
        return int((~gone[self.nodes].any(axis=1)).sum())

    @property
    def degrees(self) -> Ints:
        """(n_nodes,) of each node."""
        return np.bincount(self.edges.ravel(), minlength=self.n_nodes)


def smoothness(epsilon: float, delta: float) -> float:
    """beta of a smooth sensitivity for Laplace noise of scale 2 S / epsilon, (epsilon, delta)-DP."""
    return math.log1p(epsilon / (2 * math.log(2 / delta)))


def naive_truncation(
    pattern: Pattern, bound: int, epsilon: float, delta: float, runs: int, entropy: Entropy
) -> Floats:
    """NT: without all nodes of a degree above the bound, and noise for the smooth sensitivity of leaving them out.

    Of k changed nodes and one more, those of degree in [bound - k, bound + k + 1] may come in or go out, and the
    k + 1 themselves; each is in at most `of_one_node(bound)` occurrences.
    Source: Kasiviswanathan, Nissim, Raskhodnikova and Smith (TCC 2013), section 4.
    """
    beta, degrees = smoothness(epsilon, delta), np.sort(pattern.degrees)
    k = np.arange(pattern.n_nodes + 1)
    near = np.searchsorted(degrees, bound + k + 1, "right") - np.searchsorted(degrees, bound - k, "left")
    spread = float((np.exp(-beta * k) * (1 + k + near)).max())
    scale = 2 * spread * pattern.of_one_node(bound) / epsilon
    return pattern.left(pattern.degrees > bound) + _laplace(scale, runs, entropy)


def smooth_distance(
    pattern: Pattern, bound: int, epsilon: float, delta: float, runs: int, entropy: Entropy
) -> Floats:
    """SDE: a linear program says how far the graph is from one of degrees up to the bound, and which nodes to empty.

    x_u + x_v + w_uv >= 1 on edges, sum_v w_uv <= bound, minimise sum x: nodes of x >= 1/4 are emptied, the others
    then have degrees of at most 2 bound; 4 sum x is the distance at least, and moves by 4 per node.
    Source: Blocki, Blum, Datta and Sheffet (ITCS 2013), section 4.
    """
    n, m = pattern.n_nodes, len(pattern.edges)
    ends = csr_array((np.ones(2 * m), (np.repeat(np.arange(m), 2), pattern.edges.ravel())), shape=(m, n))
    program: Any = vstack([hstack([-ends, -eye_array(m)]), hstack([csr_array((n, n)), ends.T])])
    right = np.concatenate([np.full(m, -1.0), np.full(n, float(bound))])
    solved = _solved(np.concatenate([np.ones(n), np.zeros(m)]), program, right, bounds=(0, 1))
    distance = 4 * float(solved.fun)
    slow = smoothness(epsilon, delta) / 4
    farthest = max(distance, 1 / slow - 2.5)
    spread = (2 * farthest + 5) * math.exp(-slow * (farthest - distance))
    scale = 2 * spread * pattern.of_one_node(2 * bound) / epsilon
    return pattern.left(solved.x[:n] >= 0.25) + _laplace(scale, runs, entropy)


def recursive(pattern: Pattern, epsilon: float, runs: int, entropy: Entropy) -> Floats:
    """RM: a private bound on what one node adds once some are left out, and the count that no node exceeds it in.

    Half of epsilon for the bound, whose logarithm moves by beta = epsilon / 5; theta = 1, mu = 1/2. The program of
    the count is dual to truncation: so what differs from our default is how the threshold is found.
    Source: Chen and Zhou (SIGMOD 2013), section 5, its efficient version.
    """
    beta, mu = epsilon / 5, 0.5
    low, high = -1, pattern.n_nodes
    while high - low > 1:
        middle = (low + high) // 2
        enough = 2 * _largest_share(pattern, middle) <= math.exp(min(50.0, middle * beta))
        low, high = (low, middle) if enough else (middle, high)
    noise = _laplace(beta / (epsilon / 2), runs, entropy)
    thresholds = np.exp(high * beta + mu + noise)
    totals = np.array([_at_most(pattern, one) for one in thresholds])
    released: Floats = totals + np.array([_laplace(one / (epsilon / 2), 1, entropy)[0] for one in thresholds])
    return released


def _members(pattern: Pattern) -> Any:
    """(m, n_nodes) which node is in which occurrence."""
    m, k = pattern.nodes.shape
    places = np.repeat(np.arange(m), k), pattern.nodes.ravel()
    return csr_array(coo_array((np.ones(m * k), places), shape=(m, pattern.n_nodes)))


def _largest_share(pattern: Pattern, out: int) -> float:
    """The least that the largest node can be left with when nodes of so much weight in all are left out."""
    members, (m, n) = _members(pattern), (len(pattern.nodes), pattern.n_nodes)
    program: Any = vstack(
        [
            hstack([-members, -eye_array(m), csr_array((m, 1))]),
            hstack([csr_array((n, n)), members.T, csr_array(-np.ones((n, 1)))]),
        ]
    )
    cost = np.zeros(n + m + 1)
    cost[-1] = 1
    equal = csr_array(np.concatenate([np.ones(n), np.zeros(m + 1)])[None])
    bounds = [(0.0, 1.0)] * (n + m) + [(0.0, None)]
    right = np.concatenate([np.full(m, -1.0), np.zeros(n)])
    return float(_solved(cost, program, right, equal, [float(out)], bounds=bounds).fun)


def _at_most(pattern: Pattern, threshold: float) -> float:
    """The most of all occurrences, in parts, such that no node is in more than the threshold."""
    members = _members(pattern)
    right = np.full(pattern.n_nodes, threshold)
    return -float(_solved(-np.ones(len(pattern.nodes)), members.T, right, bounds=(0, 1)).fun)


_LINPROG: Any = linprog
"""Its types know no sparse arrays."""


def _solved(*program: Any, **options: Any) -> Any:
    """The optimum, by HiGHS."""
    return _LINPROG(*program, **options, method="highs")


def _laplace(scale: float, runs: int, entropy: Entropy) -> Floats:
    return entropy.laplace(scale / _STEP, runs).astype(np.float64) * _STEP
