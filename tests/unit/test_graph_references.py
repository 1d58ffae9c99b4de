"""NT, SDE and RM count what they are said to count, on a clique of six beside a star of thirty."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.benchmarks.published.graph_references import (
    Pattern,
    naive_truncation,
    recursive,
    smooth_distance,
    smoothness,
)
from tests.support.replay_entropy import ConstantEntropy
from tests.support.simulated_entropy import SimulatedEntropy

pytestmark = pytest.mark.slow

CLIQUE = list(itertools.combinations(range(6), 2))
EDGES = np.array([*CLIQUE, *((6, leaf) for leaf in range(7, 37))])
TRIANGLES = Pattern(EDGES, np.array(list(itertools.combinations(range(6), 3))), 37, paths=False)
ENDS = [(6, a, b) for a, b in itertools.combinations(range(7, 37), 2)]
PATHS = Pattern(EDGES, np.array(ENDS), 37, paths=True)
NOISELESS = ConstantEntropy()


def test_a_bound_on_degrees_leaves_out_the_hub_and_not_the_clique() -> None:
    assert naive_truncation(TRIANGLES, 8, 1.0, 1e-6, 1, NOISELESS).tolist() == [20.0]
    assert naive_truncation(TRIANGLES, 4, 1.0, 1e-6, 1, NOISELESS).tolist() == [0.0]
    assert naive_truncation(PATHS, 8, 1.0, 1e-6, 1, NOISELESS).tolist() == [0.0]
    assert naive_truncation(PATHS, 32, 1.0, 1e-6, 1, NOISELESS).tolist() == [435.0]
    assert smooth_distance(TRIANGLES, 8, 1.0, 1e-6, 1, NOISELESS).tolist() == [20.0]
    assert smooth_distance(PATHS, 8, 1.0, 1e-6, 1, NOISELESS).tolist() == [0.0]
    assert smooth_distance(PATHS, 32, 1.0, 1e-6, 1, NOISELESS).tolist() == [435.0]


def test_nodes_beyond_the_bound_or_near_it_cost_noise() -> None:
    """Bound 16: nobody is within it until 10 nodes changed. Bound 5, the clique's degree: all six at once."""
    spreads = [
        np.abs(naive_truncation(TRIANGLES, bound, 4.0, 1e-3, 4000, SimulatedEntropy(1)) - count).mean()
        / TRIANGLES.of_one_node(bound)
        for bound, count in ((16, 20), (5, 20))
    ]
    assert spreads[1] > 1.2 * spreads[0]
    near = [1 + k + (6 if k >= 0 else 0) + (30 if k >= 4 else 0) + (1 if k >= 24 else 0) for k in range(38)]
    beta = smoothness(4.0, 1e-3)
    expected = 2 / 4.0 * max(np.exp(-beta * k) * one for k, one in enumerate(near))
    assert spreads[1] == pytest.approx(expected, rel=0.08)


def test_the_recursive_mechanism_counts_what_no_node_exceeds() -> None:
    """Each node of the clique is in ten triangles: from a threshold of ten on all are counted."""
    found = recursive(TRIANGLES, 4.0, 3, NOISELESS)
    assert 0 < found[0] <= 20
    assert np.ptp(found) == 0
    assert recursive(TRIANGLES, 40.0, 1, NOISELESS)[0] == pytest.approx(20.0)
