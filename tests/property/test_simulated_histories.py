"""Whatever dies, is cut off, fills up or jumps: answers, charges and the ledger stay as they were promised."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from server.errors import QueryFailed, TooManyFailures
from tests.support.seeds import examples
from tests.support.simulation.history import Simulation
from tests.support.simulation.invariants import violations
from tests.support.simulation.planted import PLANTED


def test_no_history_breaks_a_promise() -> None:
    outcomes: Counter[str] = Counter()
    histories = examples(20, 1_000)
    for seed in range(histories):
        history = Simulation(seed).run()
        assert list(violations(history)) == [], f"seed {seed}"
        outcomes["answered"] += sum(one.value is not None for one in history.asked)
        outcomes["faults"] += len(history.injected)
        outcomes["broken"] += sum(one.broken for one in history.asked)
    assert all(outcomes[name] >= histories for name in ("answered", "faults", "broken")), outcomes


def test_histories_that_once_broke_one_do_not() -> None:
    """A commit whose answer was lost, and then the clock set back, or the disk full: once what was lost is a charge,
    and twice that one was given back (`test_postgres_ledger.py`). Then a sold answer that could not be read, and two
    answers to a question whose proxy was cut off."""
    for seed in (1486, 1729, 4968, 5299, 235, 4767):
        assert list(violations(Simulation(seed).run())) == [], seed


@pytest.mark.parametrize("seed", [21549])
def test_a_failure_that_nobody_was_told_of_is_one(seed: int) -> None:
    """The proxy ended after it had noted the failure and before its client heard of it. The question is refused all
    the same, or who ends proxies could have it fail again and again."""
    history = Simulation(seed).run()
    assert list(violations(history)) == []
    refused = {one.request.sql for one in history.asked if isinstance(one.error, TooManyFailures)}
    told = {one.request.sql for one in history.asked if isinstance(one.error, QueryFailed)}
    assert refused
    assert not refused & told
    none_failed = replace(history, failed=frozenset())
    assert any("refused as one that had failed" in one for one in violations(none_failed))


@pytest.mark.slow
def test_planted_bugs_are_found() -> None:
    for name, planted in PLANTED.items():
        assert any(list(violations(planted(seed).run())) for seed in range(400)), name


def test_a_history_follows_from_its_seed() -> None:
    first, again = Simulation(19).run(), Simulation(19).run()
    assert first.steps == again.steps
    assert [(one.value, one.charged, one.faults) for one in first.asked] == [
        (one.value, one.charged, one.faults) for one in again.asked
    ]
    assert first.steps != Simulation(20).run().steps


def test_a_ledger_of_yesterday_is_refused() -> None:
    refused = []
    for seed in range(10):
        simulation = Simulation(seed)
        simulation.run()
        refused.append(simulation.refused_yesterday)
    assert False not in refused
    assert refused.count(True) >= 5
