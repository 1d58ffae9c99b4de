"""One at a time per key."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.answers.single_flight import SingleFlight


def test_who_comes_second_waits_for_the_first() -> None:
    flights = SingleFlight()
    made: list[int] = []
    together = threading.Barrier(8)

    def panel(number: int) -> None:
        together.wait()
        with flights.alone("question"):
            if not made:
                made.append(number)

    with ThreadPoolExecutor(8) as panels:
        list(panels.map(panel, range(8)))
    assert len(made) == 1
    assert len(flights) == 0


def test_other_keys_do_not_wait() -> None:
    flights = SingleFlight()
    with flights.alone("one"), flights.alone("another"):
        assert len(flights) == 2


def test_a_failure_lets_the_next_one_in() -> None:
    flights = SingleFlight()
    with pytest.raises(ZeroDivisionError), flights.alone("question"):
        raise ZeroDivisionError
    with flights.alone("question"):
        assert len(flights) == 1
    assert len(flights) == 0
