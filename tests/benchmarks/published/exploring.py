"""Sample-and-explore and simple sampling beside NT, SDE and RM, R2T, Laplace noise and our default, on a small graph.

The graph is the densest part of a social network: enough to count, and small enough for RM to end on its triangles
(not on its paths). As in the paper: epsilon 4, delta 1e-8, the mean of the middle 60% of relative errors, and for
each reference the parameter that is best for the data, which is not private.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.published.graph_references import Pattern, naive_truncation, recursive, smooth_distance
from tests.benchmarks.published.picture import draw
from tests.benchmarks.published.side_by_side import side_by_side
from tests.benchmarks.rows import Row
from tests.support.graph_joins import PATTERNS, counted, edge_file
from tests.support.papers.laplace_global import LaplaceGlobal
from tests.support.papers.sample_and_explore import RepeatedExploration
from tests.support.papers.simple_sampling import PublicPopulation
from tests.support.scalar_study.case import ScalarCase
from tests.support.scalar_study.contenders import UnitSampler, answers, on_tuples, released
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

_GRAPH = "Deezer HU+RO"
_NODES, _QUICK_NODES = 80, 40
_DEGREE = 128
"""The public bound on degrees: beyond the largest one, as in the paper."""

_EPSILON, _DELTA = 4.0, 1e-8
_RUNS, _QUICK_RUNS = 100, 10
_RATES = (1 / 4, 1 / 16, 1 / 64)
_BOUNDS = tuple(1 << power for power in range(2, 8))

Values = NDArray[np.float64]


def exploring(quick: bool, folder: Path) -> list[Row]:
    """Relative error and time of each mechanism, per pattern."""
    if not edge_file(_GRAPH).is_file():
        print(f"skipped: subgraphs, for want of {edge_file(_GRAPH)}")
        return []
    names = ("triangles", "2-paths")
    found = side_by_side(_studied, [(name, quick) for name in names])
    panels = {name: lines for name, (_, lines) in zip(names, found, strict=True)}
    title = f"Sample and explore: error against time, epsilon {_EPSILON:g}"
    draw("published_exploring", title, panels, "seconds", "relative error, %", folder, "xy")
    return [row for rows, _ in found for row in rows]


def _studied(name: str, quick: bool) -> tuple[list[Row], dict[str, tuple[list[float], list[float]]]]:
    """Rows and lines of one pattern."""
    pattern = _pattern(_densest(_QUICK_NODES if quick else _NODES), name)
    at = f"{name} of {pattern.n_nodes} nodes, epsilon {_EPSILON:g}"
    rows = [Row(at, "occurrences", float(len(pattern.nodes)), "1")]
    lines: dict[str, tuple[list[float], list[float]]] = {}
    _releases(pattern, name, 1)[0][2]()  # so that no time is that of compiling
    for label, line, release in _releases(pattern, name, _QUICK_RUNS if quick else _RUNS):
        started = time.process_time()
        values, runs = release()
        seconds = (time.process_time() - started) / runs
        error = _trimmed(values, len(pattern.nodes))
        rows += [
            Row(at, f"{label}, middle 60% of {len(values)} runs", 100 * error, "%"),
            Row(at, f"{label}, time", seconds, "s"),
        ]
        lines.setdefault(line, ([], []))
        lines[line][0].append(seconds)
        lines[line][1].append(100 * error)
    return rows, lines


def _trimmed(values: Values, truth: int) -> float:
    """The mean of relative errors without the best and the worst fifth."""
    errors = np.sort(np.abs(values - truth) / truth)
    cut = len(errors) // 5
    return float(errors[cut : len(errors) - cut].mean())


def _densest(nodes: int) -> NDArray[np.int64]:
    """(e, 2) edges among the nodes of the highest degrees in the innermost core, numbered anew."""
    found = duckdb.execute(f"SELECT src, dst FROM '{edge_file(_GRAPH)}'").fetchnumpy()
    edges = np.stack([np.asarray(found["src"], np.int64), np.asarray(found["dst"], np.int64)], axis=1)
    least = 1
    while True:
        inside, size = edges, -1
        while size != len(inside):
            size = len(inside)
            inside = inside[(np.bincount(inside.ravel())[inside] >= least).all(axis=1)] if size else inside
        if len(np.unique(inside)) < nodes:
            break
        edges, least = inside, least + 1
    chosen = np.argsort(-np.bincount(edges.ravel()), kind="stable")[:nodes]
    among = edges[np.isin(edges, chosen).all(axis=1)]
    return np.unique(among.ravel(), return_inverse=True)[1].reshape(-1, 2).astype(np.int64)


def _pattern(edges: NDArray[np.int64], name: str) -> Pattern:
    """The occurrences, by the SQL that the other benchmarks count with."""
    with duckdb.connect() as connection:
        src, dst = edges.min(axis=1).tolist(), edges.max(axis=1).tolist()
        connection.execute("CREATE TABLE e AS SELECT unnest(?) AS src, unnest(?) AS dst", [src, dst])
        connection.execute("CREATE TABLE s AS SELECT src a, dst b FROM e UNION ALL SELECT dst, src FROM e")
        columns = connection.execute(PATTERNS[name]).fetchnumpy()
    nodes = np.stack([np.asarray(column, np.int64) for column in columns.values()], axis=1)
    return Pattern(edges, nodes, int(edges.max()) + 1, name == "2-paths")


def _releases(pattern: Pattern, name: str, runs: int) -> list[tuple[str, str, Callable[[], tuple[Values, int]]]]:
    """Label, line of the picture, and what releases values and says how often it did all of its work."""
    per_unit = pattern.of_one_node(_DEGREE)
    collaborators = _DEGREE**2 if pattern.paths else _DEGREE
    tuples = counted(tuple(np.ascontiguousarray(column) for column in pattern.nodes.T))
    case = ScalarCase(name, tuples, per_unit, collaborators, pattern.n_nodes, True)
    entropy, draws = SimulatedEntropy(11), SeededDraws(12)

    def whole(kind: str) -> tuple[Values, int]:
        (answer,) = answers(case, 1.0, 1, np.random.default_rng(2))
        return released(on_tuples(kind, case, _EPSILON, 1.0), answer, runs, 1.0, entropy), 1

    def laplace() -> tuple[Values, int]:
        (answer,) = answers(case, 1.0, 1, np.random.default_rng(2))
        return released(LaplaceGlobal(_EPSILON, float(per_unit), gap=case.gap), answer, runs, 1.0, entropy), 1

    def best(reference: Callable[[int], Values]) -> Callable[[], tuple[Values, int]]:
        return lambda: (
            min((reference(bound) for bound in _BOUNDS), key=lambda values: _trimmed(values, len(pattern.nodes))),
            len(_BOUNDS),
        )

    def explored(drawn: int) -> tuple[Values, int]:
        made = [
            RepeatedExploration(
                _EPSILON, drawn, collaborators, PublicPopulation(pattern.n_nodes), float(bound), _DELTA
            )
            for bound in _BOUNDS
        ]
        filed = made[0].prepare(tuples)
        found = [one.release_prepared(filed, draws, entropy, runs).values for one in made]
        return min(found, key=lambda values: _trimmed(values, len(pattern.nodes))), len(made) * runs

    def simple(rate: float) -> tuple[Values, int]:
        sampler = UnitSampler(case, rate, "simple_sampling")
        sample = sampler.prepared()
        times = max(2, runs // 5)
        return np.concatenate([sampler.released(_EPSILON, sample(draws), 1, entropy) for _ in range(times)]), times

    ours = [("default (gem)", lambda: whole("gem")), ("r2t", lambda: whole("r2t")), ("laplace", laplace)]
    references: list[tuple[str, Callable[[], tuple[Values, int]]]] = [
        ("nt", best(lambda bound: naive_truncation(pattern, bound, _EPSILON, _DELTA, runs, entropy))),
        ("sde", best(lambda bound: smooth_distance(pattern, bound, _EPSILON, _DELTA, runs, entropy))),
    ]
    if not pattern.paths:
        references.append(("rm", lambda: (recursive(pattern, _EPSILON, max(5, runs // 5), entropy), 1)))
    sampled = [
        *((f"sample and explore, k = {k}", "sample and explore", lambda k=k: explored(k)) for k in (4, 16, 64, 256)),
        *(
            (f"simple sampling, 1/{1 / rate:g} of tuples", "simple sampling", lambda rate=rate: simple(rate))
            for rate in _RATES
        ),
    ]
    return [*((label, label, release) for label, release in [*ours, *references]), *sampled]
