"""Two analysts who pool what they learn: the dataset's account holds what both say, each release once."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from server.ledger.account import DATASET, Grant
from server.ledger.analyst import Act, key_hash, new_key
from server.ledger.currency import charged_epsilon
from server.ledger.sqlite import create_ledger
from server.workers.pool import WorkerPool
from tests.benchmarks.budget.dashboards import asked, recorded
from tests.benchmarks.budget.growing_data import shop
from tests.benchmarks.budget.ledger_sums import charged, spent
from tests.benchmarks.budget.levers import Levers, missing
from tests.benchmarks.budget.pipelines import pipeline_over
from tests.benchmarks.rows import Row
from tests.support.asking import ask

_SCALE = 0.01
_EPSILON = 0.125
_GRANTED = 1e3
_ANALYSTS = ("ada", "grace")
_OVERLAP = 4


def pooled(workers: WorkerPool) -> list[Row]:
    """Without reuse, and with it where there is such a thing."""
    data = shop(_SCALE)
    kinds = [Levers()] if "reuse" in missing(data) else [Levers(), Levers.alone("reuse")]
    return [row for levers in kinds for row in _pooled(workers, levers)]


def _pooled(workers: WorkerPool, levers: Levers) -> list[Row]:
    """Ada asks a dashboard's first charts and Grace its last ones, so that some are both's."""
    data = shop(_SCALE)
    dashboard = recorded()[0]
    questions = [asked(dashboard, chart, None, data.first).sql for chart in dashboard.charts]
    half = (len(questions) + _OVERLAP) // 2
    told: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        file = folder / "data.duckdb"
        data.begun(file)
        with closing(create_ledger(folder / "ledger.sqlite", folder / "policy.ledger.json")) as ledger:
            ledger.grant(DATASET, Grant(_GRANTED, 0.5), Act("benchmark"))
            pipeline = pipeline_over(file, data.policy_text(closed_periods=False), ledger, workers)
            shown = {}
            for name, own in zip(_ANALYSTS, (questions[:half], questions[-half:]), strict=True):
                ledger.add_analyst(name, key_hash(new_key()), _GRANTED, 0.5, act=Act("benchmark"))
                answers = [ask(pipeline, levers.asked(name, sql, _EPSILON)) for sql in own]
                shown[name] = sum(charged_epsilon(one.epsilon) for one in answers if one.epsilon)
                told[name] = {one.charge.answer_key for one in ledger.charges(name)}
            verified = ledger.verify()
            said = charged(ledger)
            apart = abs(spent(ledger, DATASET) - said.of_releases)
            own_apart = sum(abs(spent(ledger, f"analyst:{name}") - shown[name]) for name in _ANALYSTS)
    case = f"two analysts who pool, reuse {'on' if levers.reuse else 'off'}"
    both = len(told["ada"] & told["grace"])
    return [
        Row(case, "releases that both were told", both, "1"),
        Row(case, "epsilon of the dataset", said.of_releases / 1e9, "epsilon"),
        Row(case, "epsilon of both analysts' accounts together", sum(shown.values()) / 1e9, "epsilon"),
        Row(case, "dataset's account, apart from the sum of all releases", apart, "nano-epsilon", most=0),
        Row(case, "analysts' accounts, apart from what their answers said", own_apart, "nano-epsilon", most=0),
        Row(case, "faults of the ledger", float(verified.fault is not None), "1", most=0),
    ]
