"""Answers that follow from kept ones: 500 generated pairs, their values, their intervals, and what they leave out.

Each finer question is measured once; each coarser one has to follow from it for nothing. Its values are compared with
the sums of the kept ones, its intervals with so many simulated sums of the kept answers' noises, and what it says of
rows that it lacks with what the database counts.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from privacy.noisy_answer import NoisyAnswer
from server.answers.released import Released
from server.answers.work import Measure
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.derived_pairs import (
    AGGREGATES,
    COARSER,
    KEPT,
    Pair,
    finer,
    hospital_policy,
    load_hospital,
    pairs,
    says_what_it_lacks,
    totals,
)

_QUICK_KEPT = 2
_DRAWS = 20_000
_FAR = 4.5
"""Standard deviations by which the share of so many draws may fall short of a confidence: of a thousand sums one in
three hundred runs."""
_EPSILON = 5.0
_CLOSE, _NOTHING = 1e-12, 1e-9


@dataclass
class _Found:
    """What the pairs came to."""

    pairs: int = 0
    wrong: int = 0
    silent: int = 0
    charged: float = 0.0
    uncovered: int = 0
    sums: int = 0
    coverage: list[float] = field(default_factory=list)


def rollups(workers: WorkerPool, quick: bool) -> list[Row]:
    """All pairs, or those of two kept answers."""
    found = _Found()
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        file = load_hospital(folder / "hospital.duckdb")
        with duckdb.connect(file, read_only=True) as rows:
            rows.execute("USE public; SET TimeZone = 'UTC'")
            for seed in range(_QUICK_KEPT if quick else KEPT):
                with closing(create_ledger(folder / f"{seed}.sqlite", folder / f"{seed}.json")) as ledger:
                    ledger.add_analyst("ada", "0" * 64, epsilon=1e6, delta=0.01)
                    backend = DuckdbBackend(file, "public")
                    pipeline = Pipeline(hospital_policy(), backend.schema(), backend, ledger, workers)
                    _of_one_cached(pipeline, rows, seed, found)
    case = f"{found.pairs} roll-ups of kept answers"
    return [
        Row(case, "pairs that were generated", found.pairs, "1", least=None if quick else KEPT * COARSER),
        Row(case, "of which a value is not the sum of the kept ones", found.wrong, "1", most=0),
        Row(case, "of which rows are lacking that the answer does not speak of", found.silent, "1", most=0),
        Row(case, "epsilon that they were charged", found.charged, "epsilon", most=0),
        Row(case, f"sums whose noise was simulated, {_DRAWS:,} times each", found.sums, "1"),
        Row(case, "of which the interval covers less often than it says", found.uncovered, "1", most=0),
        Row(case, "coverage of 95% intervals, the least", min(found.coverage), "1"),
        Row(case, "coverage of 95% intervals, mean", float(np.mean(found.coverage)), "1"),
    ]


def _of_one_cached(pipeline: Pipeline, rows: duckdb.DuckDBPyConnection, seed: int, found: _Found) -> None:
    """Measure a finer question, and derive coarser ones."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    kept = finer(draw)
    ask(pipeline, QueryRequest("ada", kept.sql(AGGREGATES), epsilon=_EPSILON, request_id="kept"))
    (charge,) = pipeline.ledger.charges("ada")
    released = pipeline.cached.released_to(charge.charge.answer_key, "ada")
    assert released is not None, "it was paid for"
    for pair in pairs(kept.kept, draw):
        request = QueryRequest("ada", pair.sql(AGGREGATES), request_id="r", reuse="only")
        looked_up = pipeline.find(request)
        answer = pipeline.finish(looked_up, request)
        found.pairs += 1
        found.charged += answer.epsilon
        found.silent += not says_what_it_lacks(pair, answer, rows)
        if not isinstance(looked_up, Measure):
            continue  # it is that very question
        groups = (
            partial(pipeline.planning.groups, looked_up.question.query, "ada") if pair.keys else lambda: Domain(())
        )
        derived = pipeline.deciding.reusing.find(looked_up.question, "ada", groups)
        assert derived is not None, "it was answered"
        found.wrong += not _adds_up(pair, released, derived.domain, derived.noisy)
        _simulate(pair, released, derived.domain, derived.noisy, rng, found)


def _adds_up(pair: Pair, released: Released, domain: Domain, noisy: Sequence[NoisyAnswer]) -> bool:
    wanted = totals(released, pair.group)
    return set(wanted) <= set(domain.groups) and all(
        math.isclose(float(one.values[number]), wanted.get(_named(group), [0.0] * len(noisy))[place],
                     rel_tol=_CLOSE, abs_tol=_NOTHING)
        for number, group in enumerate(domain.groups)
        for place, one in enumerate(noisy)
    )  # fmt: skip


def _simulate(
    pair: Pair,
    released: Released,
    domain: Domain,
    noisy: Sequence[NoisyAnswer],
    rng: np.random.Generator,
    found: _Found,
) -> None:
    """Of each release one group, at random, that kept groups go to: how often its interval covers their noises."""
    goes = [pair.group(values) for values in released.domain.groups]
    there = [number for number, group in enumerate(domain.groups) if _named(group) in goes]
    if not there:
        return
    number = int(rng.choice(there))
    parts = [place for place, group in enumerate(goes) if group == _named(domain.groups[number])]
    for own, derived in zip(released.noisy, noisy, strict=True):
        draws = getattr(rng, {"laplace": "laplace", "gaussian": "normal"}[own.noise])
        noise = sum(draws(0.0, own.noise_scale[part], _DRAWS) for part in parts)
        low = derived.low[number] - derived.values[number]
        high = derived.high[number] - derived.values[number]
        covered = float(np.mean((-noise >= low) & (-noise <= high)))
        confidence = derived.confidence
        found.sums += 1
        found.uncovered += covered < confidence - _FAR * math.sqrt(confidence * (1 - confidence) / _DRAWS)
        found.coverage.append(covered)


def _named(group: Any) -> tuple[Any, ...]:
    return tuple(group)
