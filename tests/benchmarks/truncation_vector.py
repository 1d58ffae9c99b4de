"""The vector program on TPC-H Q5 by nation and MathOverflow paths by year, against cvxpy with Clarabel.

Threshold selection is the scan of a sparse vector at the published parameters with its noise fixed: at zero, and
at drawn values. Data come from ../shared/data (left out where absent) and tpchgen-cli; nothing is kept.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.join_tuples import CompactJoinTuples, JoinTuples, OwnerColumn
from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_program.norms import squared_norms
from privacy.papers.vector_program.patterns import build_core
from privacy.papers.vector_program.reference import ReferenceVectorSolver
from privacy.papers.vector_program.search import VectorInstance
from privacy.thresholds import Thresholds
from privacy.truncation.encode import compact
from privacy.units import ONE
from server.demo.tpch import generate
from tests.benchmarks.rows import Row
from tests.support.shared_data import shared_data

Answer = TypeVar("Answer")

_SHARED = shared_data("sx_mathoverflow") / "c2a.parquet"
_EPSILON = 4.0 / 5.0
"""Of the selection: a fifth of epsilon = 4, as in DP-S4S, algorithm 5."""

_BETA = 0.1
_THRESHOLDS = Thresholds(0, 24)
_SEEDS = 5
_CLARABEL_S = 60.0
_QUICK_CLARABEL_S = 10.0
_BAR_S = 5.0

_Q5 = """
SELECT c_custkey AS a, s_suppkey AS b, c_nationkey AS g,
  sum(floor(l_extendedprice::double * (1 - l_discount::double) / 105000.0 * 1073741824)::bigint)::bigint AS w
FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
GROUP BY ALL
"""
_EDGES = """
CREATE TABLE edge AS SELECT DISTINCT src::integer AS src, dst::integer AS dst, y - min(y) OVER () AS y
FROM (SELECT src, dst, year(to_timestamp(ts) AT TIME ZONE 'UTC') AS y FROM '{path}' WHERE src <> dst)
"""
_PATHS = (
    "SELECT src AS a, dst AS b, y AS g, 1 AS n FROM edge",
    "SELECT x.src AS a, x.dst AS b, z.dst AS c, x.y AS g, 1 AS n "
    "FROM edge x JOIN edge z ON x.dst = z.src AND x.y = z.y WHERE x.src <> z.dst",
    "SELECT l[1] AS a, l[2] AS b, l[3] AS c, l[4] AS d, g, count(*) AS n FROM ("
    "SELECT list_sort([x.src, x.dst, z.src, z.dst]) AS l, x.y AS g "
    "FROM edge x JOIN edge m ON x.dst = m.src AND x.y = m.y JOIN edge z ON m.dst = z.src AND z.y = m.y "
    "WHERE x.src <> m.dst AND x.src <> z.dst AND x.dst <> z.dst AND x.y = {year}) GROUP BY ALL",
)
"""Directed paths within a year without a repeated node; the third already one row per set of nodes."""


def run(quick: bool) -> list[Row]:
    """Measure every data set; 3-paths only in a full run: they take 3 GB."""
    rows: list[Row] = []
    for case, tuples in _instances(quick):
        rows += _measure(case, tuples, quick)
    return rows


def _instances(quick: bool) -> Iterator[tuple[str, CompactJoinTuples]]:
    wanted = os.environ.get("CASES", "q5,1,2,3" if not quick else "q5,1,2").split(",")
    if "q5" in wanted:
        yield "TPC-H Q5 by nation", _tpch_q5(0.1 if quick else 1.0)
    if not _SHARED.exists():
        print(f"skipped: MathOverflow paths, for want of {_SHARED}")
        return
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '6GB'")
    connection.execute(_EDGES.format(path=_SHARED))
    for length in (length for length in (1, 2, 3) if str(length) in wanted):
        yield f"MathOverflow {length}-paths by year", _paths(connection, length)


def _tpch_q5(scale: float) -> CompactJoinTuples:
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        generate(Path(folder), scale)
        for table in ("customer", "orders", "lineitem", "supplier"):
            connection.execute(f"CREATE VIEW {table} AS FROM '{folder}/{table}.csv'")
        found = connection.execute(_Q5).fetchnumpy()
    owners = tuple(_column(name, found[key]) for name, key in (("customer", "a"), ("supplier", "b")))
    return compact(JoinTuples(owners, found["g"].astype(np.int64), 25, found["w"].astype(np.int64)[None]))


def _column(relation: str, keys: NDArray[np.generic]) -> OwnerColumn:
    return OwnerColumn(relation, np.asarray(keys, np.int64), np.zeros(len(keys), bool))


def _paths(connection: duckdb.DuckDBPyConnection, length: int) -> CompactJoinTuples:
    n_years = int(connection.execute("SELECT max(y) + 1 FROM edge").fetchall()[0][0])
    if length == 3:
        return _sorted_sets(connection, n_years)
    found = connection.execute(_PATHS[length - 1]).fetchnumpy()
    owners = tuple(_column("user", found[key]) for key in "abc"[: length + 1])
    weights = found["n"].astype(np.int64)[None] * ONE
    return compact(JoinTuples(owners, found["g"].astype(np.int64), n_years, weights))


def _sorted_sets(connection: duckdb.DuckDBPyConnection, n_years: int) -> CompactJoinTuples:
    """3-paths year by year, merged and sorted by the database: they are in the compact form as they arrive."""
    years = [connection.execute(_PATHS[2].format(year=year)).fetchnumpy() for year in range(n_years)]
    units = np.concatenate([np.stack([found[key] for key in "abcd"], 1).astype(np.int32) for found in years]).ravel()
    sizes = [len(found["n"]) for found in years]
    weights = np.concatenate([found["n"].astype(np.int64) for found in years])[None] * ONE
    del years
    occurs = np.bincount(units) > 0
    code = (np.cumsum(occurs) - 1).astype(np.int32)
    m = sum(sizes)
    group = np.repeat(np.arange(n_years), sizes)
    return CompactJoinTuples(np.arange(m + 1) * 4, code[units], int(occurs.sum()), group, n_years, weights)


def _stops(seed: int | None) -> NDArray[np.int64]:
    """Threshold minus noise per level, in steps; no noise without a seed. Nothing here is published."""
    size = len(_THRESHOLDS)
    theta = 6 / _EPSILON * math.log(6 / _BETA)
    noise = np.zeros(size)
    if seed is not None:
        rng = np.random.default_rng(seed)
        theta += rng.laplace(0, 2 / _EPSILON)
        noise = rng.laplace(0, 4 / _EPSILON, size)
    return np.floor((theta - noise) * WHOLE).astype(np.int64)


def _measure(case: str, tuples: CompactJoinTuples, quick: bool) -> list[Row]:
    rows = [Row(case, "join tuples, merged", float(len(tuples.group)), "1")]
    _selected(tuples, _stops(None))  # compiles, and reads the memory once
    runs = [_selected(tuples, _stops(seed)) for seed in (None, *range(2 if quick else _SEEDS))]
    prepared, seconds = [run[0] for run in runs], [run[1] for run in runs]
    _, _, level, final, gap = runs[0]
    rows += [
        Row(case, "prepare, best", min(prepared), "s"),
        Row(case, "select without noise", seconds[0], "s"),
        Row(case, "select, median", float(np.median(seconds)), "s"),
        Row(case, "select, worst", max(seconds), "s", most=_BAR_S),
        Row(case, "chosen threshold", float(_THRESHOLDS.taus[level]), "W"),
        Row(case, "removed there, E", final, "persons"),
        Row(case, "proved gap", gap, "persons"),
    ]
    return rows + _against_clarabel(case, tuples, level, final, quick)


def _selected(tuples: CompactJoinTuples, stops: NDArray[np.int64]) -> tuple[float, float, int, float, float]:
    """Seconds to prepare and to select (with the final value); the level, its value and the gap."""
    start = time.perf_counter()
    instance = VectorInstance(tuples)
    middle = time.perf_counter()
    level = instance.select(_THRESHOLDS, stops)
    assert level is not None
    removal = instance.removal(int(_THRESHOLDS.units[level]))
    end = time.perf_counter()
    return middle - start, end - middle, level, removal.removed / WHOLE, (removal.removed - removal.lower) / WHOLE


def _against_clarabel(case: str, tuples: CompactJoinTuples, level: int, ours: float, quick: bool) -> list[Row]:
    """One threshold, cold: the chosen one. The core that Clarabel gets is merged and presolved by us."""
    tau = int(_THRESHOLDS.units[level])
    _, seconds = _best(lambda: VectorInstance(tuples).removal(tau))
    limit = _QUICK_CLARABEL_S if quick else _CLARABEL_S
    rows = [Row(case, "one threshold, ours", seconds, "s")]
    norms = squared_norms(tuples, 0)
    over = norms.exceed(tau)
    core = build_core(tuples, 0, over, np.flatnonzero(over), np.zeros(tuples.n_units), tau)
    patterns = core.patterns
    weights = np.rint(patterns.weight).astype(np.int64)[None]
    small = CompactJoinTuples(
        patterns.indptr, patterns.columns, len(core.columns), patterns.group, tuples.n_groups, weights
    )
    solver = replace(ReferenceVectorSolver(), time_limit_s=limit)
    for name, program in (("presolved core", small), ("raw program", tuples)):
        rows += _clarabel(case, name, program, tau, ours, seconds, solver)
    _, alone = _best(lambda: VectorInstance(small).removal(tau))
    return [*rows, Row(case, "presolved core, ours", alone, "s")]


def _clarabel(
    case: str,
    name: str,
    program: CompactJoinTuples,
    tau: int,
    ours: float,
    seconds: float,
    solver: ReferenceVectorSolver,
) -> list[Row]:
    """Its time, ratio and difference; where it is hopeless to even write the program down, say so."""
    if len(program.units) > _HOPELESS:
        print(f"skipped: Clarabel on the {name} of {case}: {len(program.units)} entries do not fit into cvxpy")
        return [Row(case, f"Clarabel, {name}: too large to be tried, entries", float(len(program.units)), "1")]
    theirs, spent = _best(lambda: _published(solver, program, tau))
    ended = "finished" if theirs is not None else "gave up"
    rows = [
        Row(case, f"Clarabel, {name}: {ended} after", spent, "s"),
        Row(case, f"Clarabel, {name}: slower by", spent / seconds, "1"),
    ]
    if theirs is not None:
        rows.append(Row(case, f"Clarabel, {name}: difference of E", abs(theirs - ours) / max(1.0, theirs), "1"))
    return rows


def _published(solver: ReferenceVectorSolver, program: CompactJoinTuples, tau: int) -> float | None:
    try:
        return solver.published(program, 0, tau)
    except SolverFailed:
        return None


def _best(work: Callable[[], Answer]) -> tuple[Answer, float]:
    """The answer and the seconds of the fastest of up to five runs; no further ones once a second has passed."""
    began, fastest = time.perf_counter(), math.inf
    for _ in range(5):
        start = time.perf_counter()
        answer = work()
        fastest = min(fastest, time.perf_counter() - start)
        if time.perf_counter() - began > 1.0:
            break
    return answer, fastest


_HOPELESS = 1_500_000
