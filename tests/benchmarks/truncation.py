"""Truncation against a pass over memory, the plain linear program, and the SQL join; growth in time and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median

import numpy as np

from privacy.entropy import OpendpEntropy
from privacy.join_tuples import JoinTuples
from privacy.mechanisms.measurement import Measurement
from privacy.registry import EachGroup, measurement
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.benchmarks.rows import Row
from tests.support.graph_joins import GRAPHS, edge_file, graph_tuples
from tests.support.growing_joins import GENERATORS, Generator
from tests.support.peak_memory import measured
from tests.support.plain_formulation import plain_thresholds
from tests.support.tpch_q5 import q5_by_nation

_RUNS, _QUICK_RUNS = 11, 3
_PLAIN_LIMIT_S = {"edges": 120.0, "triangles": 120.0, "2-paths": 600.0}
_QUICK_PLAIN_LIMIT_S = 5.0
_SIZES = (10_000, 100_000, 1_000_000, 5_000_000, 20_000_000)
_QUICK_SIZES = (10_000, 100_000)
_SENSITIVITY = {"edges": 2.0**10, "triangles": 2.0**20, "2-paths": 2.0**20, "rectangles": 2.0**30}
"""What a unit may add at most when degrees are at most 1024, as the papers assume of these graphs."""

_BARS = {"Deezer HU+RO": (20, 0.05), "Enron": (100, 0.25)}
"""The longer of: so many passes over the provenance columns, so many seconds."""


def run(quick: bool) -> list[Row]:
    """Every section, or those that CASES="a;b" names; graphs whose files are absent are left out, with a word."""
    sections: dict[str, Callable[[bool], list[Row]]] = {graph: partial(_graph, graph) for graph in GRAPHS}
    sections |= {"join": _against_the_join, "growth": _growth}
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name] or list(sections)
    rows: list[Row] = []
    for name in wanted:
        if name in GRAPHS and not edge_file(name).is_file():
            print(f"{name} is left out: {edge_file(name)} is not there")
            continue
        rows += sections[name](quick)
    return rows


def _graph(graph: str, quick: bool) -> list[Row]:
    rows = []
    runs = _QUICK_RUNS if quick else _RUNS
    for pattern in ("edges", "triangles") if quick else ("edges", "triangles", "2-paths"):
        tuples = graph_tuples(graph, pattern)
        rows += _releases(graph, pattern, tuples, runs)
        if graph == "Deezer HU+RO":
            limit = _QUICK_PLAIN_LIMIT_S if quick else _PLAIN_LIMIT_S[pattern]
            rows += _against_the_program(f"{graph}, {pattern}", pattern, tuples, limit)
    if graph == "Deezer HU+RO" and not quick:
        rows += _rectangles(graph, runs)
    return rows


def _mechanisms(pattern: str, owners: int, epsilons: tuple[float, float]) -> dict[str, Measurement]:
    """Complete mechanisms on counts, as the server makes them for so many owners per tuple."""
    gap = 0.0 if owners <= 2 else 0.01
    return {
        f"r2t, eps {epsilons[0]:g}": measurement(
            "r2t", EachGroup(epsilons[0], gap=gap, global_sensitivity=_SENSITIVITY[pattern])
        ),
        f"gem, eps {epsilons[1]:g}": measurement("gem", EachGroup(epsilons[1], gap=gap, whole=True)),
    }


def _release(tuples: JoinTuples, mechanism: Measurement) -> None:
    """From join tuples to noisy answers."""
    mechanism.release(truncate(encode(tuples), 0, mechanism.thresholds, mechanism.gap), OpendpEntropy())


def _releases(graph: str, pattern: str, tuples: JoinTuples, runs: int) -> list[Row]:
    """Complete mechanisms, coding included, against passes over the provenance columns."""
    case = f"{graph}, {pattern}"
    one_pass = min(_seconds(lambda: [np.bincount(owner.keys) for owner in tuples.owners]) for _ in range(5))
    passes, floor = _BARS[graph]
    bar = max(passes * one_pass, floor)
    rows = [
        Row(case, "join tuples", len(tuples.group), "tuples"),
        Row(case, "one pass over the provenance columns", one_pass, "s"),
        Row(case, f"bar: {passes} passes or {floor:g} s", bar, "s"),
    ]
    for name, mechanism in _mechanisms(pattern, len(tuples.owners), (0.8, 1.0)).items():
        _release(tuples, mechanism)
        times = [_seconds(partial(_release, tuples, mechanism)) for _ in range(runs)]
        rows += [
            Row(case, f"{name}, median", median(times), "s"),
            Row(case, f"{name}, largest", max(times), "s"),
            Row(case, f"{name}, in passes", median(times) / one_pass, "1"),
            Row(case, f"{name}, of the bar", median(times) / bar, "1"),
        ]
    return rows


def _against_the_program(case: str, pattern: str, tuples: JoinTuples, limit_s: float) -> list[Row]:
    """Complete r2t, and of edges its ladder without pruning, against a cold LP without presolve per threshold."""
    mechanism = next(iter(_mechanisms(pattern, len(tuples.owners), (0.8, 1.0)).values()))
    pruned = min(_seconds(partial(_release, tuples, mechanism)) for _ in range(3))
    plain = plain_thresholds(tuples, mechanism.thresholds.taus.tolist(), limit_s)
    atleast = "" if plain.finished else ", at least"
    rows = [
        Row(
            case, "plain program, whole ladder" if plain.finished else "plain program, unfinished", plain.seconds, "s"
        ),
        Row(case, "plain program, thresholds finished", len(plain.values), "1"),
        Row(case, f"complete r2t, times faster{atleast}", plain.seconds / pruned, "1"),
    ]
    if pattern != "edges":  # where every threshold is cheap enough to be solved for its own sake
        return rows
    ours = min(_seconds(partial(_unpruned, tuples, mechanism)) for _ in range(3))
    values = _unpruned(tuples, mechanism)[::-1][: len(plain.values)]
    apart = max((abs(ours - plain) / plain for ours, plain in zip(values, plain.values, strict=True)), default=0.0)
    return [
        *rows,
        Row(case, "plain program's values, largest relative distance", apart, "1"),
        Row(case, "whole ladder without pruning", ours, "s"),
        Row(case, f"whole ladder, times faster{atleast}", plain.seconds / ours, "1"),
        Row(case, "gap, as a share of the threshold", mechanism.gap, "1"),
    ]


def _unpruned(tuples: JoinTuples, mechanism: Measurement) -> list[float]:
    """Every threshold solved, in normalised weight."""
    answer = truncate(encode(tuples), 0, mechanism.thresholds, mechanism.gap)
    return [answer.solve(0, index) / ONE for index in range(len(mechanism.thresholds))]


def _rectangles(graph: str, runs: int) -> list[Row]:
    """Four owners at a small budget: every value certified to the gap, or the release would have failed."""
    tuples = graph_tuples(graph, "rectangles")
    rows = [Row(f"{graph}, rectangles", "join tuples", len(tuples.group), "tuples")]
    for name, mechanism in _mechanisms("rectangles", 4, (0.1, 0.1)).items():
        times = [_seconds(partial(_release, tuples, mechanism)) for _ in range(runs)]
        rows += [
            Row(f"{graph}, rectangles", f"{name}, median", median(times), "s"),
            Row(f"{graph}, rectangles", f"{name}, largest", max(times), "s"),
        ]
    return rows


def _against_the_join(quick: bool) -> list[Row]:
    """TPC-H Q5 by nation, customers and suppliers private: all that follows the join, against the join."""
    scale = 0.1 if quick else 1.0
    case = f"TPC-H Q5 by nation, scale {scale:g}"
    tuples, join_s = q5_by_nation(scale)
    mechanism = measurement("gem", EachGroup(4.0, groups_per_unit=1))
    _release(tuples, mechanism)
    times = [_seconds(lambda: _release(tuples, mechanism)) for _ in range(_QUICK_RUNS if quick else _RUNS)]
    return [
        Row(case, "provenance pairs", len(tuples.group), "tuples"),
        Row(case, "the join on DuckDB", join_s, "s"),
        Row(case, "gem, eps 4, 25 groups, median", median(times), "s"),
        Row(case, "gem, of the join", median(times) / join_s, "1"),
    ]


def _growth(quick: bool) -> list[Row]:
    """Complete gem from join tuples on: the slope of log time against log tuples, bytes per tuple and owner."""
    sizes = _QUICK_SIZES if quick else _SIZES
    rows = []
    for (name, generator), owners in product(GENERATORS.items(), (1, 2, 3)):
        case = f"{name}, {owners} owner{'s' if owners > 1 else ''}"
        work = [
            measured(partial(generator, size, owners), partial(_grown, generator, owners), partial(_gem, owners))
            for size in sizes
        ]
        slope = np.polyfit(np.log(sizes), np.log([done.seconds for done in work]), 1)[0]
        rows += [
            Row(case, f"gem, {size:g} tuples", done.seconds, "s") for size, done in zip(sizes, work, strict=True)
        ]
        rows += [
            Row(case, "slope of log time against log tuples", float(slope), "1"),
            Row(case, "peak memory", work[-1].peak_bytes / (sizes[-1] * owners), "bytes per tuple and owner"),
        ]
    return rows


def _grown(generator: Generator, owners: int) -> None:
    """A small run, so that nothing is compiled or loaded while time is taken."""
    _gem(owners, generator(_SIZES[0], owners))


def _gem(owners: int, tuples: JoinTuples) -> None:
    mechanism = measurement(
        "gem", EachGroup(1.0, gap=0.0 if owners <= 2 else 0.01, whole=bool(np.all(tuples.weights == ONE)))
    )
    _release(tuples, mechanism)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
