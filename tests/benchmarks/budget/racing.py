"""Many threads that ask the same few questions at once, some with hardly any budget: each nano-epsilon is found."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from server.errors import BudgetExhausted, TooManyQueries
from server.ledger.account import DATASET, Grant
from server.ledger.analyst import Act, key_hash, new_key
from server.ledger.currency import charged_epsilon, granted_epsilon
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.workers.pool import WorkerPool
from tests.benchmarks.budget.growing_data import shop
from tests.benchmarks.budget.ledger_sums import charged, spent
from tests.benchmarks.budget.levers import Levers, missing
from tests.benchmarks.budget.pipelines import pipeline_over
from tests.benchmarks.rows import Row
from tests.support.asking import ask

_QUESTIONS, _QUICK_QUESTIONS = 20_000, 400
_THREADS = 32
_SCALE = 0.01
_RICH, _POOR = 6, 2
_GRANTED, _LITTLE = 1e3, 1.0
_SEED = 22
_EPSILONS = (0.05, 0.1, 0.15)
_FINE = (
    "SELECT o_orderpriority, date_trunc('month', o_orderdate), count(*), sum(o_totalprice) FROM orders GROUP BY 1, 2"
)
_COARSE = (
    "SELECT o_orderpriority, count(*), sum(o_totalprice) FROM orders GROUP BY 1",
    "SELECT date_trunc('month', o_orderdate), count(*) FROM orders GROUP BY 1",
    "SELECT date_trunc('year', o_orderdate), count(*) FROM orders GROUP BY 1",
    "SELECT count(*) FROM orders",
    "SELECT avg(o_totalprice) FROM orders",
    "SELECT count(*) FROM orders WHERE o_orderpriority = '1-URGENT'",
    "SELECT o_orderstatus, count(*) FROM orders GROUP BY 1",
)
"""A fine question and what follows from it, but for the last one: so that with reuse threads derive and measure."""


def racing(workers: WorkerPool, quick: bool) -> list[Row]:
    """Without reuse, and with it where there is such a thing."""
    count = _QUICK_QUESTIONS if quick else _QUESTIONS
    kinds = [Levers()] if "reuse" in missing(shop(_SCALE)) else [Levers(), Levers.alone("reuse")]
    return [row for levers in kinds for row in race_questions(workers, levers, count)]


@dataclass
class _Told:
    """What one thread was told."""

    charged: dict[str, int] = field(default_factory=dict)
    answers: int = 0
    free: int = 0
    refused: int = 0
    busy: int = 0


def race_questions(workers: WorkerPool, levers: Levers, count: int) -> list[Row]:
    """Ask so many questions in as many threads as there are, and compare what everybody was told with the ledger.

    Args:
      workers: where rows are read.
      levers: what the requests say.
      count: how many questions are asked.
    """
    data = shop(_SCALE)
    names = [f"analyst-{number}" for number in range(_RICH + _POOR)]
    granted = {name: _GRANTED if number < _RICH else _LITTLE for number, name in enumerate(names)}
    rng = random.Random(_SEED)
    asked = [(rng.choice(names), rng.choice((_FINE, *_COARSE)), rng.choice(_EPSILONS)) for _ in range(count)]
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        file = folder / "data.duckdb"
        data.begun(file)
        with closing(create_ledger(folder / "ledger.sqlite", folder / "policy.ledger.json")) as ledger:
            ledger.grant(DATASET, Grant(_GRANTED, 0.5), Act("benchmark"))
            for name, epsilon in granted.items():
                ledger.add_analyst(name, key_hash(new_key()), epsilon, 0.5, act=Act("benchmark"))
            pipeline = pipeline_over(file, data.policy_text(closed_periods=False), ledger, workers)
            started = time.perf_counter()
            with ThreadPoolExecutor(_THREADS) as threads:
                each = [asked[number::_THREADS] for number in range(_THREADS)]
                told = list(threads.map(partial(_asks, pipeline, levers), each))
            seconds = time.perf_counter() - started
            said = charged(ledger)
            fault = ledger.verify().fault
            spent_by = {name: spent(ledger, f"analyst:{name}") for name in names}
            of_dataset = spent(ledger, DATASET)
    shown = {name: sum(one.charged.get(name, 0) for one in told) for name in names}
    told_apart = sum(abs(spent_by[name] - shown[name]) for name in names)
    charged_apart = sum(abs(spent_by[name] - said.of_analysts.get(name, 0)) for name in names)
    of_dataset_apart = abs(of_dataset - said.of_releases)
    over = sum(max(0, spent_by[name] - granted_epsilon(granted[name])) for name in names)
    case = f"{count:,} racing questions, {_THREADS} threads, reuse {'on' if levers.reuse else 'off'}"
    rows = [
        Row(case, "asked", count, "1"),
        Row(case, "answered", sum(one.answers for one in told), "1"),
        Row(case, "answered free", sum(one.free for one in told), "1"),
        Row(case, "refused for want of budget", sum(one.refused for one in told), "1"),
        Row(case, "told to ask again", sum(one.busy for one in told), "1"),
        Row(case, "charges", said.n_charges, "1"),
        Row(case, "accounts, apart from what their answers said", told_apart, "nano-epsilon", most=0),
        Row(case, "accounts, apart from their charges", charged_apart, "nano-epsilon", most=0),
        Row(case, "dataset's account, apart from its releases", of_dataset_apart, "nano-epsilon", most=0),
        Row(case, "spent beyond what was granted", over, "nano-epsilon", most=0),
        Row(case, "faults of the ledger", float(fault is not None), "1", most=0),
        Row(case, "questions per second", count / seconds, "1/s"),
    ]
    if not levers.reuse:
        rich = set(names[:_RICH])
        once = {(name, sql, epsilon) for name, sql, epsilon in asked if name in rich}
        expected = sum(charged_epsilon(epsilon) for _, _, epsilon in once)
        paid = sum(spent_by[name] for name in rich)
        metric = "apart from each question once to each who can pay"
        rows.append(Row(case, metric, abs(paid - expected), "nano-epsilon", most=0))
    return rows


def _asks(pipeline: Pipeline, levers: Levers, asked: Sequence[tuple[str, str, float]]) -> _Told:
    told = _Told()
    for name, sql, epsilon in asked:
        try:
            answer = ask(pipeline, levers.asked(name, sql, epsilon))
        except BudgetExhausted:
            told.refused += 1
        except TooManyQueries:
            told.busy += 1
        else:
            told.answers += 1
            told.free += not answer.epsilon
            nano = charged_epsilon(answer.epsilon) if answer.epsilon else 0
            told.charged[name] = told.charged.get(name, 0) + nano
    return told
