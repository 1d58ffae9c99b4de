"""Noisegate beside SmartNoise SQL, Qrlew, OpenDP, PipelineDP and Tumult: the same rows, the same epsilon, user level.

Each library has an environment of its own, made on demand under `.noisegate/peers`, and a program in
`tests/benchmarks/peers/comparison`; each is given the best of some bounds, as a custodian sets them who has looked at
the rows. Noisegate has the policies of `data.py` and no bound on what a person adds. CASES="SmartNoise SQL;Qrlew"
asks those libraries alone; SECONDS_OF_LIBRARIES=400 is what each program may take; QUICK=1 installs no library.
LIBRARIES=kept asks Noisegate alone, and keeps what the libraries said, where they were asked of the same rows;
with OWN="visits;edges" it asks those questions, and keeps the rest as it was, which is said.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from planner.errors import PlannerError
from server.errors import QueryFailed
from tests.benchmarks.comparison.data import DATA_SETS, exact, write
from tests.benchmarks.comparison.kept import Kept
from tests.benchmarks.comparison.ours import Noisegate, one_worker
from tests.benchmarks.comparison.peers import PEERS, NotInstalled, Peer, settings
from tests.benchmarks.comparison.program_text import sql_lines
from tests.benchmarks.comparison.questions import QUESTIONS, Question
from tests.benchmarks.comparison.verdicts import (
    Answer,
    Answered,
    Said,
    Verdict,
    as_answer,
    best_of_bounds,
    contribution_bounds,
    declared_bounds,
    median_error,
    ratio,
    verdict,
)
from tests.benchmarks.one_owner import in_hindsight
from tests.benchmarks.rows import Row

_FOLDER = Path(".noisegate") / "benchmarks" / "comparison"
_EPSILON = 1.0
_DRAWS, _QUICK_DRAWS = 7, 2
_OWN_DRAWS = 41
"""Of Noisegate. A library makes as many where that takes no longer than 20 seconds (`peers/comparison/asked.py`)."""

_LOADS = {"visits": "SELECT count(*) FROM visit GROUP BY patient_id"}
"""What each person adds to a sum of which it is known what the best bound in hindsight is worth."""

_STORED = Path(__file__).parents[1] / "results" / "comparison.json"
_PEOPLE = {"hospital": 1_500, "shop": 1_000, "graph": 500}
_QUICK_PEOPLE = {"hospital": 600, "shop": 400, "graph": 300}
_LIMIT_S, _QUICK_LIMIT_S = 1_000.0, 40.0
_OF_BEST, _RIGHT = 1.2, 20.0
"""The most that our error may be of the best peer's, and, in per cent, an error that is an answer."""


@dataclass(frozen=True)
class _Setting:
    """What everybody is asked, and of what."""

    epsilon: float
    draws: int
    own_draws: int
    limit_s: float
    files: Mapping[str, Path]
    truths: Mapping[str, Answer]


def run(quick: bool) -> list[Row]:
    """Every question to every system; a quick run is too small for bars."""
    people = _QUICK_PEOPLE if quick else _PEOPLE
    files = {name: write(data, _FOLDER, people[name]) for name, data in DATA_SETS.items()}
    setting = _Setting(
        _EPSILON,
        _QUICK_DRAWS if quick else _DRAWS,
        _QUICK_DRAWS if quick else _OWN_DRAWS,
        _QUICK_LIMIT_S if quick else float(os.environ.get("SECONDS_OF_LIBRARIES", _LIMIT_S)),
        files,
        {name: as_answer(exact(files[one.data.name], one.truth)) for name, one in QUESTIONS.items()},
    )
    if not quick and os.environ.get("LIBRARIES") == "kept":
        return _beside_kept(setting)
    wanted = [name for name in os.environ.get("CASES", "").split(";") if name]
    peers = [peer for peer in PEERS if not wanted or peer.name in wanted]
    with ThreadPoolExecutor(len(PEERS)) as programs:
        asked = {peer: programs.submit(_asked, peer, setting, people, quick) for peer in peers}
        ours, rows = _ours(setting)
        said = {peer: one.result() for peer, one in asked.items()}
    _note(said, ours)
    for question in QUESTIONS.values():
        rows += _beside(question, ours.get(question.name), said, setting)
    return [replace(row, least=None, most=None) for row in rows] if quick else rows


def _beside_kept(setting: _Setting) -> list[Row]:
    """Noisegate's answers, and what libraries said of the same rows before. Raises: Changed."""
    kept = Kept.of(json.loads(_STORED.read_text()))
    kept.check()
    asked = [name for name in os.environ.get("OWN", "").split(";") if name] or list(QUESTIONS)
    ours, rows = _ours(setting, asked)
    rows.append(kept.said)
    left = [name for name in QUESTIONS if name not in asked]
    rows += [kept.said_of_ours(left)] if left else []
    for name, question in QUESTIONS.items():
        if name not in asked:
            rows += kept.whole[name]
            continue
        rows += [*_of_ours(question, ours.get(name), setting), *kept.rows[name]]
        rows += _compared(question, ours.get(name), kept.errors(name), setting)
    return rows


def _note(said: Mapping[Peer, tuple[Said, Said]], ours: Mapping[str, Answered]) -> None:
    """Keep what was released beside the data, for whoever looks at a row."""
    document = {peer.name: [asdict(one) for one in both] for peer, both in said.items()}
    document["Noisegate"] = [{name: asdict(one) for name, one in ours.items()}]
    (_FOLDER / "said.json").write_text(json.dumps(document))


def _asked(peer: Peer, setting: _Setting, people: Mapping[str, int], quick: bool) -> tuple[Said, Said]:
    """What a library says of all rows, and of those without the person by whom it may fail to protect."""
    nothing = Said({}, {})
    if quick and not peer.is_installed:
        return replace(nothing, failed="not installed, and a quick run installs nothing"), nothing
    try:
        peer.install()
    except NotInstalled as error:
        return replace(nothing, failed=str(error)), nothing
    told = settings(setting.epsilon, setting.draws, QUESTIONS, setting.truths)
    said = peer.asked(_FOLDER, told, setting.limit_s)
    without = nothing
    for name, data in DATA_SETS.items():
        asked = {one.name: one.departs for one in QUESTIONS.values() if one.departs and one.data.name == name}
        asked = {one: departs for one, departs in asked.items() if one in said.answered}
        if asked:
            ((key,),) = exact(setting.files[name], next(iter(asked.values())))
            folder = _FOLDER / f"without-{peer.folder}"
            for other in DATA_SETS.values():
                write(other, folder, people[other.name], int(str(key)) if other is data else None)
            bounds = {one: said.answered[one][0].bounds for one in asked}
            told = settings(setting.epsilon, setting.draws, asked, setting.truths, bounds=bounds)
            again = peer.asked(folder, told, setting.limit_s / 5)
            without = Said({**without.answered, **again.answered}, {**without.refused, **again.refused})
    return said, without


def _ours(setting: _Setting, asked: Collection[str] = QUESTIONS) -> tuple[dict[str, Answered], list[Row]]:
    """Noisegate's answers, and what it says where it has none."""
    found: dict[str, Answered] = {}
    rows: list[Row] = []
    with one_worker() as workers:
        for name, question in QUESTIONS.items():
            if name not in asked:
                continue
            proxy = Noisegate(question.data, setting.files[question.data.name], workers)
            try:
                found[name] = proxy.answered(question.sql, setting.epsilon, setting.own_draws)
            except (PlannerError, QueryFailed) as failure:
                rows.append(Row(name, f"Noisegate refuses: {failure}", 1, "refused", most=0))
    return found, rows


def _beside(
    question: Question, ours: Answered | None, said: Mapping[Peer, tuple[Said, Said]], setting: _Setting
) -> Iterator[Row]:
    """One question: ours, each library's, and how they compare."""
    name, truth = question.name, setting.truths[question.name]
    yield from _of_ours(question, ours, setting)
    right: list[float] = []
    for peer, (all_rows, without) in said.items():
        found = verdict(question.name, truth, all_rows, without)
        yield from _of_peer(name, peer, found, all_rows, truth)
        if found.kind == "answers":
            right.append(found.error)
    yield from _compared(question, ours, right, setting)


def _of_ours(question: Question, ours: Answered | None, setting: _Setting) -> Iterator[Row]:
    """What Noisegate makes of one question, and what its user writes."""
    name, truth = question.name, setting.truths[question.name]
    error = median_error(ours, truth) if ours else float("inf")
    if ours:
        ranges, keys = declared_bounds(question.data.policy, question.columns)
        yield Row(name, f"Noisegate: relative error, median of {len(ours.answers)}", 100 * error, "%")
        yield Row(name, "Noisegate: one release, median", median(ours.seconds), "s")
        yield Row(name, "Noisegate: lines of the question", sql_lines(question.sql), "1")
        yield Row(name, "Noisegate: lines with the policy", sql_lines(question.sql + question.data.policy), "1")
        yield Row(
            name, "Noisegate: bounds on what a person adds", contribution_bounds(question.data.policy), "1", most=0
        )
        yield Row(name, "Noisegate: ranges declared", ranges, "1")
        yield Row(name, "Noisegate: lists of keys declared", keys, "1")


def _compared(question: Question, ours: Answered | None, right: Sequence[float], setting: _Setting) -> Iterator[Row]:
    """Our error beside those of the libraries that answer, and beside the best bound there is."""
    name, truth = question.name, setting.truths[question.name]
    error = median_error(ours, truth) if ours else float("inf")
    if name in _LOADS:
        loads = np.array(exact(setting.files[question.data.name], _LOADS[name]), float)[:, 0]
        best = in_hindsight(loads, setting.epsilon, 0.5) / loads.sum()
        yield Row(name, "the best bound in hindsight with all of epsilon: expected median error", 100 * best, "%")
        yield Row(name, "Noisegate's error, of the best bound's in hindsight", error / best, "1")
    yield Row(name, "libraries that answer what was asked", len(right), "1")
    if right:
        bar = _OF_BEST if question.one_owner else None
        yield Row(name, "Noisegate's error, of the best library's", ratio(error, min(right), truth), "1", most=bar)
    else:
        yield Row(name, "Noisegate's error where every library refuses or is wrong", 100 * error, "%", most=_RIGHT)


def _of_peer(name: str, peer: Peer, found: Verdict, said: Said, truth: Answer) -> Iterator[Row]:
    """What one library makes of one question, and what its user writes."""
    if found.kind in ("refuses", "fails"):
        yield Row(name, f"{peer.name} {found.words}", 1, "refused" if found.kind == "refuses" else "failed")
        return
    best = best_of_bounds(said.answered[name], truth)
    assert best is not None
    _, answered = best
    bounds = f", {answered.bounds}" if answered.bounds else ""
    yield Row(name, f"{peer.name}{bounds}: relative error, median of {len(answered.answers)}", 100 * found.error, "%")
    if found.kind == "silently wrong":
        yield Row(name, f"{peer.name} silently wrong: {found.words}", found.times, "1")
    yield Row(name, f"{peer.name}: one release, median", median(answered.seconds), "s")
    text = peer.text[name]
    lists = [bound for bound in text.bounds if bound in ("wards", "segments", "bands", "candidates")]
    yield Row(name, f"{peer.name}: lines of its program", text.lines, "1")
    yield Row(name, f"{peer.name}: bounds typed in", len(text.bounds) - len(lists), "1")
    yield Row(name, f"{peer.name}: lists typed in", len(lists), "1")
