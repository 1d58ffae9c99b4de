"""No hard instance: triangles of dense graphs, where most thresholds cut most people, at large and small epsilon."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import JoinTuples
from privacy.mechanisms.measurement import Measurement
from privacy.registry import EachGroup, measurement
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from tests.benchmarks.rows import Row
from tests.support.dense_graphs import dense_triangles
from tests.support.graph_joins import counted

_GRAPHS = {
    "4,000 people in 40 cliques": (4_000, 40, 120, 40),
    "80,000 people in 400 cliques": (80_000, 400, 205, 40),
}
_QUICK_GRAPHS = {"800 people in 20 cliques": (800, 20, 60, 30)}
_EPSILONS = (1.0, 0.1)
_RUNS, _QUICK_RUNS = 11, 3
_GAP = 0.01
"""eta of three owners, as the planner has it."""
_MEDIAN_PASSES, _MOST_PASSES = 600, 2_000


def dense_graphs(quick: bool) -> list[Row]:
    """Complete releases of counts of triangles against passes over the provenance columns, measured in between."""
    rows = []
    for name, shape in (_QUICK_GRAPHS if quick else _GRAPHS).items():
        tuples = counted(tuple(dense_triangles(*shape)))
        rows += [
            Row(name, "triangles", len(tuples.group), "tuples"),
            Row(name, "one pass over the provenance columns", min(_pass(tuples) for _ in range(5)), "s"),
        ]
        for epsilon in _EPSILONS:
            rows += _releases(name, tuples, epsilon, _QUICK_RUNS if quick else _RUNS)
    return rows


def _releases(name: str, tuples: JoinTuples, epsilon: float, runs: int) -> list[Row]:
    gem = measurement("gem", EachGroup(epsilon, gap=_GAP, whole=True))
    _release(tuples, gem)
    seconds, passes, taus = [], [], []
    for _ in range(runs):
        one_pass = min(_pass(tuples) for _ in range(5))  # each time: what others do on a machine changes
        seconds.append(_seconds(lambda: taus.append(_release(tuples, gem))))
        passes.append(seconds[-1] / one_pass)
    case = f"{name}, gem at epsilon {epsilon:g}"
    return [
        Row(case, "median", median(seconds), "s"),
        Row(case, "largest", max(seconds), "s"),
        Row(case, "median, in passes", median(passes), "1", most=_MEDIAN_PASSES),
        Row(case, "largest, in passes", max(passes), "1", most=_MOST_PASSES),
        Row(case, "tau, median", median(taus), "1"),
        Row(case, "gap, as a share of the threshold", gem.gap, "1"),
    ]


def _release(tuples: JoinTuples, gem: Measurement) -> float:
    """From join tuples to a noisy count; its threshold."""
    answer = truncate(encode(tuples), 0, gem.thresholds, gem.gap)
    return float(gem.release(answer, OpendpEntropy()).tau[0])


def _pass(tuples: JoinTuples) -> float:
    return _seconds(partial(_count, tuples))


def _count(tuples: JoinTuples) -> None:
    for owner in tuples.owners:
        np.bincount(owner.keys)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
