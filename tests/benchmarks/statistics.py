"""Errors of averages, histograms, spreads, quantiles and extremes, of rows and of numbers per person, at epsilon 1.

Through the pipeline over DuckDB files: a generated hospital, a question-and-answer site where its data is, and TPC-H,
people protected in each. Quantiles are compared with mechanisms that know more or do less
(`tests/benchmarks/quantile_references.py`), and the hospital's statistics with other libraries and the best of some
bounds set by hand, where there are environments for them (`tests/support/statistics_study/peers.py`).
CASES="hospital;travel;tpch;peers" runs those alone. A question that is refused is a row that says why.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from planner.errors import PlannerError
from server.errors import QueryFailed
from server.query import Cell
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.quantile_references import (
    Column,
    best_fixed_tau,
    joint_exponential,
    rank_errors,
    smooth_sensitivity_median,
)
from tests.benchmarks.rows import Row
from tests.golden.stackexchange.load import folder as travel_folder
from tests.support.statistics_study.data import Data, Measure, hospital, tpch, travel
from tests.support.statistics_study.peers import LIMIT_S, PeerAnswers, answers, environments

_EPSILON = 1.0
_RUNS, _QUICK_RUNS, _PEER_RUNS = 7, 3, 5  # a release of ranks takes a second
_DRAWS = 41
_PATIENTS, _QUICK_PATIENTS = 60_000, 6_000
_PEER_PATIENTS = 6_000  # some libraries need a minute for an answer about more
_SCALE, _QUICK_SCALE = 0.1, 0.01
_FIVE = (0.1, 0.25, 0.5, 0.75, 0.9)
_HALF = (0.5,)
_ALONE = tuple((q,) for q in _FIVE)
_SEED = 7
_BINS = 10
_NEAREST = 20
_LIKELY = 0.05
"""The chance with which a maximum may be further off than the figure beside its bar says."""

_AVERAGE_BAR, _SPREAD_BAR, _RANK_BAR = 1.0, 2.0, 1.0
"""In per cent: of averages and of histograms of numbers per person, of spreads, and of the rank of a quantile."""

_OF_ORACLE = _OF_PEERS = 1.2
"""The most that an error may be of the oracle's, and of another library's with its best bounds."""

Releases = list[Sequence[tuple[Cell, ...]]]


def run(quick: bool) -> list[Row]:
    """Every data set that is there, and the other libraries; a quick run is too small for bars."""
    runs, patients = (_QUICK_RUNS, _QUICK_PATIENTS) if quick else (_RUNS, _PATIENTS)
    sections: dict[str, Callable[[WorkerPool], Iterator[Row]]] = {
        "hospital": lambda workers: _about(hospital(workers, runs, patients)),
        "travel": lambda workers: _about(travel(workers, runs)),
        "tpch": lambda workers: _about(tpch(workers, runs, _QUICK_SCALE if quick else _SCALE)),
        "peers": lambda workers: _against_peers(hospital(workers, min(runs, _PEER_RUNS), _PEER_PATIENTS)),
    }
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name]
    wanted = wanted or (["hospital"] if quick else list(sections))
    assert set(wanted) <= set(sections), f"CASES names some of: {'; '.join(sections)}"
    rows: list[Row] = []
    with _workers() as workers:
        for name in wanted:
            if name == "travel" and not travel_folder().is_dir():
                print(f"{name} is left out: {travel_folder()} is not there")
            elif name == "peers" and not environments():
                print(f"{name} are left out: NOISEGATE_PEERS names no folder with an environment of theirs")
            else:
                rows += sections[name](workers)
    return [replace(row, most=None) for row in rows] if quick else rows


@contextmanager
def _workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=300.0), preload="server.pipeline")
    try:
        pool.warm()
        yield pool
    finally:
        pool.close()


def _about(data: Data) -> Iterator[Row]:
    """Everything that is asked of one data set."""
    tables = data.tables
    table, owner = tables.valued
    value, n, x = tables.value, tables.n, Measure("x", tables.value.low, tables.value.high, tables.value.step)
    yield from _number(data, "avg(n)", tables.per_person, most=_AVERAGE_BAR)
    yield from _histogram(data)
    yield from _number(data, "stddev_samp(n)", tables.per_person, most=_SPREAD_BAR)
    yield from _number(data, f"avg({value.sql})", table, tables.owned, most=_AVERAGE_BAR)
    yield from _number(data, f"stddev_samp({value.sql})", table, tables.owned, most=_SPREAD_BAR)
    pair, first, second = tables.pair
    yield from _number(data, f"corr({first}, {second})", pair, tables.owned, relative=False)
    key = tables.people[1]
    per_person, one_each = (_Source(tables.per_person, key), _Source(tables.one_each, owner))
    rows = _Source(table, owner)
    for function, asked in (("percentile_cont", (*_ALONE, _FIVE)), ("percentile_disc", (_HALF, _FIVE))):
        for quantiles in asked:
            yield from _quantiles(data, rows, value, quantiles, _spelt(function, quantiles, value))
    yield from _quantiles(data, rows, value, _HALF, (f"median({value.sql})",))
    for source, measure in ((per_person, n), (one_each, x)):
        yield from _quantiles(data, source, measure, _HALF, (f"median({measure.sql})",), one_row_each=True)
        spelt = _spelt("percentile_cont", _FIVE, measure)
        yield from _quantiles(data, source, measure, _FIVE, spelt, one_row_each=True)
    if tables.group is not None:
        by_group = _Source(tables.with_people, f"r.{owner}", tables.group)
        for quantiles in (*_ALONE, _FIVE):
            yield from _quantiles(data, by_group, value, quantiles, _spelt("percentile_cont", quantiles, value))
    for measure, source in ((value, rows), (tables.moment, rows), (n, per_person)):
        for side in ("max", "min"):
            yield from _extreme(data, source, measure, side)
    yield from _extreme(data, rows, value, "max", nearest=_NEAREST)
    if tables.shared is not None:
        table, owner, measure = tables.shared
        several = _Source(table, owner)
        for quantiles in (*_ALONE, _FIVE):
            yield from _of_several(data, several, measure, quantiles)
        for side in ("max", "min"):
            yield from _extreme(data, several, measure, side)


@dataclass(frozen=True)
class _Source:
    """What stands after FROM, where each row's person is in it, and what it is grouped by."""

    sql: str
    owner: str = ""
    group: str | None = None


def _spelt(function: str, quantiles: Sequence[float], measure: Measure) -> tuple[str, ...]:
    return tuple(f"{function}({q:g}) WITHIN GROUP (ORDER BY {measure.sql})" for q in quantiles)


def _question(aggregates: Sequence[str], source: _Source) -> str:
    keys = [source.group] if source.group else []
    grouped = f" GROUP BY {source.group}" if source.group else ""
    return f"SELECT {', '.join([*keys, *aggregates])} FROM {source.sql}{grouped}"


def _released(data: Data, case: str, sql: str) -> tuple[Releases, list[Row]]:
    """What was released, with its time; or nothing, with the reason."""
    started = time.perf_counter()
    try:
        releases = data.released(sql, _EPSILON)
    except PlannerError as refusal:
        return [], [Row(case, f"refused: {refusal}", 1, "refused")]
    except QueryFailed as failure:
        return [], [Row(case, f"failed: {failure}", 1, "failed")]
    return releases, [Row(case, "one release", (time.perf_counter() - started) / len(releases), "s")]


def _number(
    data: Data, aggregate: str, source: str, owned: str = "TRUE", *, relative: bool = True, most: float | None = None
) -> Iterator[Row]:
    """The error of one number: of what is true, or as it stands."""
    case = f"{data.name}: {aggregate} of {_shown(_Source(source))}"
    releases, rows = _released(data, case, f"SELECT {aggregate} FROM {source}")
    if releases:
        ((truth,),) = data.exact(f"SELECT {aggregate} FROM {source} WHERE {owned}")
        errors = [abs(_float(answer[0][0]) - float(truth)) for answer in releases]
        if relative:
            yield Row(case, "error, median", 100 * median(errors) / abs(float(truth)), "%", most=most)
        else:
            yield Row(case, "absolute error, median", median(errors), "1", most=most)
    yield from rows


def _histogram(data: Data) -> Iterator[Row]:
    """How far the shares of people in each bin are off, on average over the bins."""
    sql = f"SELECT least(n, {_BINS}), count(*) FROM {data.tables.per_person} GROUP BY 1"
    case = f"{data.name}: histogram of n, {_BINS + 1} bins"
    releases, rows = _released(data, case, sql)
    if releases:
        truth = {int(key): float(count) for key, count in data.exact(sql)}
        people = sum(truth.values())
        errors = []
        for answer in releases:
            found = {int(_float(key)): _float(count) for key, count in answer}
            apart = [abs(found.get(key, 0.0) - truth.get(key, 0.0)) for key in truth.keys() | found.keys()]
            errors.append(sum(apart) / len(apart) / people)
        yield Row(case, "mean difference of shares, median", 100 * median(errors), "%", most=_AVERAGE_BAR)
    yield from rows


def _quantiles(
    data: Data,
    source: _Source,
    measure: Measure,
    quantiles: Sequence[float],
    aggregates: Sequence[str],
    *,
    one_row_each: bool = False,
) -> Iterator[Row]:
    """Ranks of released quantiles, beside those of the references; over all groups, quantiles and releases.

    Each quantile of a reference but of JointExp has an equal part of epsilon; people are in one group each.
    """
    function = aggregates[0].partition("(")[0]
    which = "" if function == "median" else f" at {', '.join(f'{q:g}' for q in quantiles)}"
    asked = f"{function}({measure.sql}){which}"
    case = f"{data.name}: {asked} of {_shown(source)}"
    columns = data.columns(measure, source.sql, source.owner, source.group)
    rng, each = np.random.default_rng(_SEED), _EPSILON / len(quantiles)
    tau, oracle = best_fixed_tau(list(columns.values()), quantiles, each, _DRAWS, rng)
    fine_tau, fine = best_fixed_tau(list(columns.values()), quantiles, each, _DRAWS, rng, jitter=True)
    releases, rows = _released(data, case, _question(aggregates, source))
    if releases:
        cells = list(_cells(releases, columns, measure, quantiles))
        error = median(column.rank_error(place, q) for column, q, place in cells)
        off = median(
            0.0 if _within_a_step(column, place, q) else column.rank_error(place, q) for column, q, place in cells
        )
        floor = median(1 / len(column.values) for column in columns.values())
        yield Row(case, "rank error, median", 100 * error, "%")
        yield Row(case, "rank error but for one step, median", 100 * off, "%", most=_RANK_BAR)
        yield Row(case, "rank error, of the oracle's", error / max(oracle, floor), "1", most=_OF_ORACLE)
        yield Row(case, "rank error, of the oracle's where no rows are equal", error / max(fine, floor), "1")
    yield Row(case, f"oracle's exponential mechanism, tau {tau}: rank error, median", 100 * oracle, "%")
    yield Row(case, f"the same where no rows are equal, tau {fine_tau}: rank error, median", 100 * fine, "%")
    if one_row_each:
        yield from _one_row_each(case, columns[None], quantiles)
    yield from rows


def _of_several(data: Data, source: _Source, measure: Measure, quantiles: Sequence[float]) -> Iterator[Row]:
    """Ranks of quantiles of rows that belong to several people each, which no reference here knows."""
    sql = _question(_spelt("percentile_cont", quantiles, measure), source)
    which = ", ".join(f"{q:g}" for q in quantiles)
    case = f"{data.name}: percentile_cont({measure.sql}) at {which} of {_shown(source)}, several owners each"
    columns = data.columns(measure, source.sql, source.owner, None)
    releases, rows = _released(data, case, sql)
    if releases:
        cells = list(_cells(releases, columns, measure, quantiles))
        error = median(
            0.0 if _within_a_step(column, place, q) else column.rank_error(place, q) for column, q, place in cells
        )
        yield Row(case, "rank error but for one step, median", 100 * error, "%", most=_RANK_BAR)
    yield from rows


def _one_row_each(case: str, column: Column, quantiles: Sequence[float]) -> Iterator[Row]:
    """Mechanisms for one row per person."""
    rng = np.random.default_rng(_SEED)
    joint = rank_errors(column, quantiles, joint_exponential(column, quantiles, _EPSILON, _DRAWS, rng))
    yield Row(case, "JointExp: rank error, median", 100 * float(np.median(joint)), "%")
    if len(quantiles) == 1:
        smooth = smooth_sensitivity_median(column, _EPSILON, _DRAWS, rng)[:, None]
        error = float(np.median(rank_errors(column, quantiles, smooth)))
        yield Row(case, "smooth sensitivity: rank error, median", 100 * error, "%")


def _cells(
    releases: Releases, columns: dict[Cell, Column], measure: Measure, quantiles: Sequence[float]
) -> Iterator[tuple[Column, float, float]]:
    """Each released quantile with its column; a group that is not shown has none."""
    for answer in releases:
        for row in answer:
            keys, values = row[: -len(quantiles)], row[-len(quantiles) :]
            for q, value in zip(quantiles, values, strict=True):
                yield columns[keys[0] if keys else None], q, measure.place(value)


def _within_a_step(column: Column, place: float, q: float) -> bool:
    low, high = (float(np.quantile(column.values, q, method=side)) for side in ("lower", "higher"))
    return low - 1 <= place <= high + 1


def _extreme(data: Data, source: _Source, measure: Measure, side: str, nearest: int = 0) -> Iterator[Row]:
    """How many people have a row beyond a released maximum or minimum; with `nearest`, how far from so many."""
    aggregate = f"{side}({measure.sql}, {nearest})" if nearest else f"{side}({measure.sql})"
    case = f"{data.name}: {aggregate} of {_shown(source)}"
    releases, rows = _released(data, case, _question([aggregate], source))
    if releases:
        column = data.columns(measure, source.sql, source.owner)[None]
        beyond = [column.people_beyond(measure.place(answer[0][0]), side == "max") for answer in releases]
        apart = [abs(people - nearest) for people in beyond]
        words = f"people beyond, from {nearest}" if nearest else "people beyond"
        worst, likely = (3 * math.log(1 / beta) / _EPSILON for beta in (1 / measure.steps, _LIKELY))
        yield Row(case, f"{words}, median", median(apart), "people")
        yield Row(case, f"{words}, 95% (at most {likely:.3g} was hoped)", float(np.quantile(apart, 0.95)), "people")
        yield Row(case, f"{words}, largest", max(apart), "people", most=None if nearest else worst)
    yield from rows


def _against_peers(data: Data) -> Iterator[Row]:
    """The hospital's statistics, beside what each library makes of them with the best of its bounds."""
    tables = data.tables
    questions = {
        "count of visits": ("count(*)", "visit"),
        "average cost": ("avg(cost)", "visit"),
        "median cost": ("median(cost)", "visit"),
        "spread of cost": ("stddev_samp(cost)", "visit"),
        "visits per patient": ("avg(n)", tables.per_person),
    }
    ours: dict[str, float] = {}
    truths: dict[str, float] = {}
    for name, (aggregate, source) in questions.items():
        sql = f"SELECT {aggregate} FROM {source}"
        truths[name] = float(data.exact(sql)[0][0])
        releases, rows = _released(data, f"peers: {name}", sql)
        if releases:
            ours[name] = median(abs(_float(answer[0][0]) - truths[name]) for answer in releases)
            yield Row(f"peers: {name}", "error, median", 100 * ours[name] / truths[name], "%")
        yield from rows
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder:
        data.export(Path(folder))
        with ThreadPoolExecutor(len(environments())) as programs:
            asked = {
                peer: programs.submit(answers, peer, python, Path(folder), _EPSILON, data.runs)
                for peer, python in environments().items()
            }
        for peer, answered in asked.items():
            try:
                found = answered.result()
            except subprocess.CalledProcessError as error:
                yield Row(f"peers: {peer}", f"failed: {error}", 1, "failed")
                continue
            for name in questions:
                yield from _best(name, peer, [one for one in found if one.question == name], truths[name], ours)


def _best(name: str, peer: str, found: list[PeerAnswers], truth: float, ours: dict[str, float]) -> Iterator[Row]:
    """One question of one library, with the bounds that make its median error least."""
    case = f"peers: {name}"
    tried = [(median(abs(value - truth) for value in one.values), one.bounds) for one in found if one.values]
    if not tried:
        reason = next((one.refused for one in found), "")
        words = f"{peer} refuses: {reason}" if reason else f"{peer}: no answer within {LIMIT_S:g} s"
        yield Row(case, words, 1, "refused" if reason else "failed")
        return
    error, bounds = min(tried)
    yield Row(case, f"{peer}, {bounds}: error, median", 100 * error / truth, "%")
    if name in ours:
        yield Row(case, f"ours, of {peer}'s", ours[name] / error, "1", most=_OF_PEERS)


def _float(cell: Cell) -> float:
    """A released number; what is missing is wrong by any measure."""
    return math.inf if cell is None else float(cell)


def _shown(source: _Source) -> str:
    words = "people" if source.sql.startswith("(") else source.sql.partition(" ")[0]
    return f"{words} by {source.group}" if source.group else words
