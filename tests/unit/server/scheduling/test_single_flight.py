"""One at a time per key."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.errors import CancelledEarly, TooManyQueries
from server.scheduling.single_flight import SingleFlight


def test_who_comes_second_waits_for_the_first() -> None:
    flights = SingleFlight()
    made: list[int] = []
    together = threading.Barrier(8)

    def panel(number: int) -> None:
        together.wait()
        with flights.alone("question", 20.0):
            if not made:
                made.append(number)

    with ThreadPoolExecutor(8) as panels:
        list(panels.map(panel, range(8)))
    assert len(made) == 1
    assert len(flights) == 0


def test_other_keys_do_not_wait() -> None:
    flights = SingleFlight()
    with flights.alone("one", 20.0), flights.alone("another", 20.0):
        assert len(flights) == 2


def test_a_failure_lets_the_next_one_in() -> None:
    flights = SingleFlight()
    with pytest.raises(ZeroDivisionError), flights.alone("question", 20.0):
        raise ZeroDivisionError
    with flights.alone("question", 20.0):
        assert len(flights) == 1
    assert len(flights) == 0


def test_nobody_waits_for_ever_and_who_cancels_does_not_wait() -> None:
    flights, cancelled = SingleFlight(), threading.Event()
    cancelled.set()
    with flights.alone("question", 20.0), ThreadPoolExecutor(1) as other:

        def ask(wait_s: float, cancelled: threading.Event | None) -> None:
            with flights.alone("question", wait_s, cancelled):
                raise AssertionError("the first one has it")

        with pytest.raises(TooManyQueries):
            other.submit(ask, 0.05, None).result(60)
        with pytest.raises(CancelledEarly):
            other.submit(ask, 20.0, cancelled).result(60)
        assert len(flights) == 1
    assert len(flights) == 0
