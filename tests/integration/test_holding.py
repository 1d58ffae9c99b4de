"""The end of a join that may explode is held to public moments: answer, failure, charge, cancellation."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner.policy.policy import parse_policy
from server.answers.work import Measure
from server.errors import BackendFailed, CancelledByClient, QueryFailed
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.scheduling import hold_answer
from server.scheduling.hold_answer import Cancellation, Holding
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.backends import FailingBackend
from tests.support.proxies import POLICY
from tests.support.tpch_schema import tpch_schema

QUANTUM_S = 1.0
JOIN = QueryRequest(
    "ada", "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey", epsilon=3.0
)
"""At an epsilon that pays for all moments."""
LINEAR = QueryRequest("ada", "SELECT count(*) FROM orders", epsilon=1.0)
ANALYSTS = {"ada": (90.0, 0.0)}
TICK_S = 0.01

Make = Callable[..., Pipeline]


class Clock:
    """It goes on a little whenever somebody looks at it, however long anything takes; and calls who wants to know."""

    def __init__(self) -> None:
        self.now = 0.0
        self.measured_s = 0.0
        self.looked: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        now, self.now = self.now, self.now + (TICK_S if self.now else TICK_S + self.measured_s)
        if now > self.measured_s:
            self.looked()
        return now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """By which answers are held."""
    clock = Clock()
    monkeypatch.setattr(hold_answer, "time", SimpleNamespace(monotonic=clock, sleep=lambda _: None))
    monkeypatch.setattr(hold_answer, "_LOOK_UP_S", 1e-4)
    monkeypatch.setattr("server.answers.run.Holding", partial(Holding, clock=clock))
    return clock


@pytest.fixture
def make(tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> Make:
    def pipeline(*failures: BaseException, seconds: float = 0.0, hold_all: bool = False) -> Pipeline:
        backend = FailingBackend(tmp_path / "reads", failures, seconds)
        policy = parse_policy(POLICY.read_text())
        channels = replace(policy.side_channels, answer_quantum_s=QUANTUM_S, hold_all_answers=hold_all)
        return Pipeline(replace(policy, side_channels=channels), tpch_schema(), backend, ledger, workers)

    return pipeline


@pytest.mark.parametrize("fails", [False, True])
def test_answers_and_failures_leave_at_public_moments_and_nothing_says_so_before(
    make: Make, ledger: Ledger, clock: Clock, fails: bool
) -> None:
    """Neither the ledger nor another question tells that it has ended; and its worker is free."""
    seen: list[tuple[object, ...]] = []
    for number, (measured_s, moment_s) in enumerate(((0.0, 1.0), (0.4, 1.0), (1.2, 2.0), (2.5, 4.0))):
        made = make(*([BackendFailed("broken")] * 9 if fails else []))
        request = replace(JOIN, sql=f"{JOIN.sql} WHERE a.l_orderkey <> {number}")

        def look(made: Pipeline = made, request: QueryRequest = request) -> None:
            clock.looked = lambda: None
            free = made.workers.call(abs, -1)
            seen.append((ledger.charges()[-1].settled_at_ms, type(made.find(request)), free))

        clock.now, clock.measured_s, clock.looked = 0.0, measured_s, look
        if fails:
            with pytest.raises(QueryFailed):
                ask(made, request)
        else:
            ask(made, request)
        assert moment_s <= clock.now <= moment_s + 5 * TICK_S, measured_s
        assert ledger.charges()[-1].settled_at_ms is not None
    assert seen == [(None, Measure, 1)] * 4


def test_what_is_linear_or_kept_is_not_held_unless_the_policy_says_so(make: Make, clock: Clock) -> None:
    ask(make(), LINEAR)
    assert clock.now < 0.5
    ask(make(), JOIN)
    clock.now = 0.0
    assert ask(make(), JOIN).cached
    assert clock.now < 0.5, "what is kept is free of it"
    ask(make(hold_all=True), replace(LINEAR, reuse="never"))
    assert clock.now >= QUANTUM_S


@pytest.mark.parametrize("met", ["done", "failed", "measured"])
def test_a_cancellation_looks_the_same_whatever_it_meets(
    make: Make, ledger: Ledger, clock: Clock, tmp_path: Path, met: str
) -> None:
    """Cancelled while it is held or measured: it ends one first moment after that, cancelled and charged."""
    made = make(*([BackendFailed("broken")] if met == "failed" else []), seconds=600.0 if met == "measured" else 0.0)
    cancelled = Cancellation()

    def cancel() -> None:
        if clock.now > 0.3:
            clock.looked = lambda: None  # as a cancellation looks at the clock itself
            cancelled.set()

    if met != "measured":
        clock.looked = cancel
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask, made, JOIN, cancelled)
        if met == "measured":
            _wait_for(tmp_path / "reads")
            cancelled.set()
        assert isinstance(asked.exception(120), CancelledByClient)
    assert cancelled.at is not None
    assert cancelled.at + QUANTUM_S <= clock.now <= cancelled.at + QUANTUM_S + 5 * TICK_S
    assert ledger.budget("ada").epsilon_left == 87.0
    assert isinstance(made.find(JOIN), Measure)


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + 120
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_cheap_join_that_is_not_there_at_its_one_moment_fails_at_it(make: Make, ledger: Ledger) -> None:
    """Whoever has a thousand rows: the duration of such a question tells whether it was answered, and no more."""
    made = make(seconds=60.0)
    channels = replace(made.policy.side_channels, answer_quantum_s=0.25)
    made = Pipeline(replace(made.policy, side_channels=channels), made.schema, made.backend, ledger, made.workers)
    made.workers.warm()
    begun = time.monotonic()
    with pytest.raises(QueryFailed):
        ask(made, replace(JOIN, epsilon=1.0))
    assert 2.0 <= time.monotonic() - begun < 30.0, "not after a minute, however busy the machine is"
    assert ledger.budget("ada").epsilon_left == 89.0


def test_how_long_it_is_measured_leaves_time_to_end_before_the_last_moment() -> None:
    now = [5.0]
    holding = Holding(8.0, clock=lambda: now[0], last_s=8.0)
    assert holding.limit_s == 7.0
    holding.begin()
    now[0] += 3.0
    assert holding.limit_s == 4.0
    holding.begin()
    assert holding.limit_s == 4.0, "a second attempt has what is left"
    assert Holding(1.0).limit_s == float("inf")
