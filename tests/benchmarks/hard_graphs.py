"""Triangles at epsilon 0.1 of graphs with hubs, cliques and heavy tails: does every draw come in time, and how near.

Seconds are of the processor, from join tuples to the noisy count. CASES="hub;cliques" asks about those alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import OwnerColumn
from privacy.registry import EachGroup, measurement
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from tests.benchmarks.rows import Row
from tests.support.graph_joins import PATTERNS, tuples_of
from tests.support.hard_graphs import Edges, bipartite, cliques, hub, hubs, power_law, preferential, simple, stars

_PEOPLE, _DEGREE = 100_000, 10
_EPSILON, _GAP = 0.1, 0.01
_DRAWS, _QUICK_DRAWS = 20, 2
_MOST_S = 10.0


def _attached() -> Edges:
    return preferential(_PEOPLE, _DEGREE, 1)


_GRAPHS: dict[str, Callable[[], Edges]] = {
    "attachment": _attached,
    "hub": lambda: simple(_attached(), hub(5_000, 40, 2)),
    "cliques": lambda: simple(_attached(), cliques(40, 100, _PEOPLE, 3)),
    "hub and cliques": lambda: simple(_attached(), hub(5_000, 40, 2), cliques(40, 100, 5_000, 3)),
    "cliques of the popular": lambda: simple(_attached(), cliques(40, 100, 1_000, 3)),
    "cliques alone": lambda: cliques(40, 100, 4_000, 3),
    "hubs": lambda: hubs(20_000, 200, 5_000, 20, 1),
    "power law": lambda: power_law(_PEOPLE, 20, 2.1, 4),
    "stars of cliques": lambda: stars(1_000, 40, 5),
    "bipartite": lambda: bipartite(_PEOPLE, 1_000_000, 1),
}
_QUICK_GRAPHS: dict[str, Callable[[], Edges]] = {"hub": lambda: simple(preferential(2_000, 5), hub(500, 20))}


def run(quick: bool) -> list[Row]:
    """Every graph, or those that CASES names."""
    graphs = _QUICK_GRAPHS if quick else _GRAPHS
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name] or list(graphs)
    return [row for name in wanted for row in _graph(name, graphs[name](), _QUICK_DRAWS if quick else _DRAWS)]


def _graph(name: str, edges: Edges, draws: int) -> list[Row]:
    tuples = tuples_of(edges, PATTERNS["triangles"])
    count = len(tuples.group)
    gem = measurement("gem", EachGroup(_EPSILON, gap=_GAP, whole=True))
    seconds, errors, taus = [], [], []
    for _ in range(draws + 1):  # the first one compiles
        started = time.process_time()
        answer = gem.release(truncate(encode(tuples), 0, gem.thresholds, gem.gap), OpendpEntropy())
        seconds.append(time.process_time() - started)
        errors.append(abs(float(answer.values[0]) - count) / max(count, 1))
        taus.append(float(answer.tau[0]))
    print(f"{name}: {count} triangles, {median(seconds[1:]):.1f} s, at most {max(seconds[1:]):.1f} s", flush=True)
    return [
        Row(name, "edges", edges.shape[1], "1"),
        Row(name, "triangles", count, "1"),
        Row(name, "most triangles of one person", _most(tuples.owners), "1"),
        Row(name, "median", median(seconds[1:]), "s"),
        Row(name, f"largest of {draws} draws", max(seconds[1:]), "s", most=_MOST_S),
        Row(name, "relative error, median", median(errors[1:]), "1"),
        Row(name, "tau, median", median(taus[1:]), "1"),
    ]


def _most(owners: tuple[OwnerColumn, ...]) -> int:
    return int(np.bincount(np.concatenate([owner.keys for owner in owners])).max(initial=0))
