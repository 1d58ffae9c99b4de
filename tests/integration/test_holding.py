"""The end of a join that may explode is held to public moments: answer, failure, charge, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from planner.policy.policy import parse_policy
from server.errors import BackendFailed, CancelledByClient, QueryFailed, ServerError
from server.found import ToMeasure
from server.ledger.ledger import Ledger
from server.ledger.sqlite.open import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.scheduling.hold_answer import Cancellation
from server.workers.pool import WorkerLimits, WorkerPool
from tests.support.asking import ask
from tests.support.backends import FailingBackend
from tests.support.proxies import POLICY
from tests.support.tpch_schema import tpch_schema

QUANTUM_S = 1.0
JOIN = QueryRequest(
    "ada", "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey", epsilon=1.0
)
LINEAR = QueryRequest("ada", "SELECT count(*) FROM orders", epsilon=1.0)

Make = Callable[..., Pipeline]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """One worker, which has answered both questions: the first time it compiles."""
    pool = WorkerPool(WorkerLimits(workers=1, call_s=60.0), preload="server.pipeline")
    folder = tmp_path_factory.mktemp("warm")
    ledger = create_ledger(folder / "ledger.sqlite", folder / "marker.json")
    ledger.add_analyst("ada", "0" * 64, epsilon=9.0, delta=0.0)
    backend = FailingBackend(folder / "reads")
    for request in (JOIN, LINEAR):
        ask(Pipeline(parse_policy(POLICY.read_text()), tpch_schema(), backend, ledger, pool), request)
    ledger.close()
    yield pool
    pool.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    ledger.add_analyst("ada", "0" * 64, epsilon=9.0, delta=0.0)
    yield ledger
    ledger.close()


@pytest.fixture
def make(tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> Make:
    def pipeline(*failures: BaseException, seconds: float = 0.0, hold_all: bool = False) -> Pipeline:
        backend = FailingBackend(tmp_path / "reads", failures, seconds)
        policy = parse_policy(POLICY.read_text())
        channels = replace(policy.side_channels, answer_quantum_s=QUANTUM_S, hold_all_answers=hold_all)
        return Pipeline(replace(policy, side_channels=channels), tpch_schema(), backend, ledger, workers)

    return pipeline


def _timed(
    pipeline: Pipeline, request: QueryRequest, cancelled: threading.Event | None = None
) -> tuple[float, ServerError | None]:
    pipeline.question(request)  # planned before: what is timed is the measurement
    begun = time.monotonic()
    try:
        ask(pipeline, request, cancelled)
    except ServerError as error:
        return time.monotonic() - begun, error
    return time.monotonic() - begun, None


@pytest.mark.parametrize(("seconds", "moment_s"), [(0.0, QUANTUM_S), (0.4, QUANTUM_S), (1.2, 2 * QUANTUM_S)])
@pytest.mark.parametrize("fails", [False, True])
def test_answers_and_failures_leave_at_public_moments(
    make: Make, ledger: Ledger, seconds: float, moment_s: float, fails: bool
) -> None:
    took, error = _timed(make(*([BackendFailed("broken")] if fails else []), seconds=seconds), JOIN)
    moment = max(QUANTUM_S * 2**place for place in range(6) if QUANTUM_S * 2**place <= took)
    assert moment >= moment_s
    assert took < moment + 0.5
    assert isinstance(error, QueryFailed) if fails else error is None
    record = ledger.charges()[0]
    assert record.settled_at_ms is not None
    assert record.settled_at_ms - record.reserved_at_ms >= 1000 * moment_s - 10


def test_until_then_nothing_says_that_it_has_ended_and_its_worker_is_free(make: Make, ledger: Ledger) -> None:
    pipeline = make()
    _timed(pipeline, replace(LINEAR, epsilon=0.5))  # a worker that has just begun compiles
    _timed(pipeline, replace(JOIN, epsilon=0.5))
    with ThreadPoolExecutor() as threads:
        held = threads.submit(_timed, pipeline, JOIN)
        time.sleep(QUANTUM_S / 2)
        assert not held.done()
        assert ledger.charges()[-1].settled_at_ms is None
        assert isinstance(pipeline.find(JOIN), ToMeasure)
        took, error = _timed(pipeline, LINEAR)  # by the one worker that there is
        assert error is None
        assert took < QUANTUM_S / 2
        assert held.result()[0] >= QUANTUM_S
    kept, _ = _timed(pipeline, JOIN)
    assert kept < QUANTUM_S / 2, "what is kept is free of it"


def test_all_answers_are_held_where_the_policy_says_so(make: Make) -> None:
    took, _ = _timed(make(hold_all=True), LINEAR)
    assert took >= QUANTUM_S


_ATTEMPTS = 8
"""Of which one on a quiet moment of the machine is enough: what is busy adds time, and never takes any."""

_LATE_S = 0.4


@pytest.mark.parametrize(
    ("seconds", "failures"),
    [(0.0, ()), (30.0, ()), (0.0, (BackendFailed("broken"),) * _ATTEMPTS)],
    ids=["done", "measured", "failed"],
)
def test_a_cancellation_looks_the_same_whatever_it_meets(
    make: Make, ledger: Ledger, tmp_path: Path, seconds: float, failures: tuple[BaseException, ...]
) -> None:
    """Cancelled while it is measured or held: it ends one first moment after that, cancelled and charged."""
    made = make(*failures, seconds=seconds)
    price = 9.0 / _ATTEMPTS
    after: list[float] = []
    for attempt in range(_ATTEMPTS):
        request = replace(JOIN, sql=f"{JOIN.sql} WHERE a.l_orderkey <> {attempt}", epsilon=price)
        made.question(request)  # planned before: what is timed is the measurement
        cancelled, reads = Cancellation(), _reads(tmp_path)
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(_timed, made, request, cancelled)
            while _reads(tmp_path) == reads:
                time.sleep(0.01)
            time.sleep(QUANTUM_S / 4)  # so that what can be done by now is done, and held
            cancelled.set()
            _, error = asked.result()
        ended = time.monotonic()
        assert ledger.budget("ada").epsilon_left == pytest.approx(9.0 - (attempt + 1) * price)
        if not isinstance(error, CancelledByClient):
            continue  # the machine stood still, and it had left before: of that there are other tests
        assert cancelled.at is not None
        assert ended - cancelled.at >= QUANTUM_S, "no sooner, whatever was there"
        assert isinstance(made.find(request), ToMeasure)
        after.append(ended - cancelled.at)
        if after[-1] <= QUANTUM_S + _LATE_S:
            return
    pytest.fail(f"cancelled {len(after)} times, and never told at the moment: {after}")


def _reads(folder: Path) -> int:
    log = folder / "reads"
    return len(log.read_text().splitlines()) if log.exists() else 0
