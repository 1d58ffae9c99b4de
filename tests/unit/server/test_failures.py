"""Failures are few, whoever asks at the same time, and take no memory for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from server.errors import TooManyFailures, TooManyOwnQueries
from server.failures import MAX_FAILURES, WINDOW_S, FailureLimit


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def _fail(limit: FailureLimit, plan_hash: str, analyst: str = "ada") -> None:
    with limit.attempt(analyst, plan_hash) as attempt:
        attempt.fail()


def test_what_succeeds_or_raises_uncharged_gives_its_place_back() -> None:
    limit = FailureLimit()
    for number in range(3 * MAX_FAILURES):
        with limit.attempt("ada", "one"):
            pass
        with pytest.raises(ValueError, match="refused"), limit.attempt("ada", str(number)):
            raise ValueError("refused")
    assert not limit._accounts


def test_a_day_has_so_many_failures() -> None:
    clock = Clock()
    limit = FailureLimit(clock)
    for number in range(MAX_FAILURES):
        _fail(limit, str(number))
    with pytest.raises(TooManyFailures):
        _fail(limit, "another")
    _fail(limit, "another", "grace")
    clock.now = WINDOW_S
    _fail(limit, "0")


def test_a_plan_fails_once_a_day() -> None:
    clock = Clock()
    limit = FailureLimit(clock)
    _fail(limit, "one")
    _fail(limit, "one", "grace")
    with pytest.raises(TooManyFailures, match="failed already"):
        _fail(limit, "one")
    _fail(limit, "two")
    clock.now = WINDOW_S
    _fail(limit, "one")


def test_the_places_of_those_under_way_are_taken() -> None:
    limit, together = FailureLimit(), Barrier(80)

    def ask(number: int) -> str:
        together.wait(timeout=60)
        try:
            _fail(limit, str(number))
        except (TooManyFailures, TooManyOwnQueries):
            return "refused"
        return "failed"

    with ThreadPoolExecutor(80) as threads:
        outcomes = list(threads.map(ask, range(80)))
    assert outcomes.count("failed") == MAX_FAILURES


def test_more_than_may_fail_are_never_under_way() -> None:
    limit = FailureLimit()
    attempts = [limit.attempt("ada", str(number)) for number in range(MAX_FAILURES)]
    for attempt in attempts:
        attempt.__enter__()
    with pytest.raises(TooManyOwnQueries):
        _fail(limit, "another")
    attempts[0].__exit__(None, None, None)
    _fail(limit, "another")
    for attempt in attempts[1:]:
        attempt.__exit__(None, None, None)
    assert limit._accounts["ada"].under_way == 0
