from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.errors import CancelledEarly, TooManyQueries
from server.scheduling.fair_shares import FairQueue


def test_next_comes_who_has_least() -> None:
    turns, order, first, heard = FairQueue(2), list[str](), threading.Event(), threading.Event()

    def ask(owner: str) -> None:
        with turns.turn(owner, 20.0):
            first.wait(60)
            order.append(owner)
            if owner == "bob":
                heard.set()
            elif len(order) >= 3:
                heard.wait(20)  # whoever was given the other turn meanwhile has time to say so

    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(ask, "ann") for _ in range(6)]
        while len(turns._waiting) < 4:
            time.sleep(0.001)
        asked.append(threads.submit(ask, "bob"))
        while len(turns._waiting) < 5:
            time.sleep(0.001)
        first.set()
        for one in asked:
            one.result(60)
    assert order.index("bob") <= 3  # behind the two that had a place, and at most one that came at the same moment


def test_two_who_take_turns_delay_a_third_by_one_call_each() -> None:
    turns, order, waiting = FairQueue(2), list[str](), 0

    def ask(owner: str, begin: threading.Event | None = None) -> None:
        with turns.turn(owner, 20.0):
            if begin is not None:
                assert begin.wait(60)
            order.append(owner)

    with ThreadPoolExecutor(16) as threads:
        begin = {owner: threading.Event() for owner in ("ann", "bob")}
        asked = [threads.submit(ask, owner, event) for owner, event in begin.items()]
        while turns._places.total < 2:
            time.sleep(0.001)
        for owner in ("ann", "bob") * 4 + ("carol",):
            asked.append(threads.submit(ask, owner))
            waiting += 1
            while len(turns._waiting) < waiting:
                time.sleep(0.001)
        begin["ann"].set()  # bob's first call goes on for as long as it may
        for _ in range(2000):
            if "carol" in order:
                break
            time.sleep(0.001)
        began = order.index("carol")
        begin["bob"].set()
        for one in asked:
            one.result(60)
    assert order[:began] == ["ann"]


def test_nobody_waits_for_ever_and_places_come_back() -> None:
    turns, cancelled = FairQueue(1), threading.Event()
    with turns.turn("ann", 1.0):
        with pytest.raises(TooManyQueries), turns.turn("bob", 0.05):
            pass
        cancelled.set()
        with pytest.raises(CancelledEarly), turns.turn("bob", 20.0, cancelled):
            pass
    with pytest.raises(KeyError), turns.turn("ann", 1.0):
        raise KeyError
    with turns.turn("bob", 0.05):
        pass
    assert not turns._waiting
    assert not turns._places.total


def test_the_last_place_is_kept_for_who_holds_none() -> None:
    turns = FairQueue(3)
    held = [turns.turn("ann", 0.1) for _ in range(2)]
    with pytest.raises(TooManyQueries):
        turns.turn("ann", 0.1)
    with turns.turn("bob", 0.1), pytest.raises(TooManyQueries):
        turns.turn("carol", 0.1)
    held.pop().close()
    with turns.turn("ann", 0.1):
        pass


def test_a_place_may_be_ended_by_another_thread() -> None:
    turns = FairQueue(1)
    turn = turns.turn("ann", 0.1)
    threading.Timer(0.1, turn.close).start()
    with turns.turn("bob", 20.0):
        pass


def test_who_has_had_much_of_late_leaves_the_last_place_to_others() -> None:
    now = [0.0]
    turns = FairQueue(2, lambda: now[0])
    long, kept = turns.turn("ann", 0.1), turns.turn("bob", 0.1)
    now[0] = 120.0
    kept.close()
    with pytest.raises(TooManyQueries):
        turns.turn("bob", 0.1)
    for _ in range(20):
        with turns.turn("carol", 0.1):
            now[0] += 0.1
    now[0] += 300.0
    with turns.turn("bob", 0.1), pytest.raises(TooManyQueries):
        turns.turn("carol", 0.1)
    long.close()
    for owner in ("ann", "bob", "carol"):
        with turns.turn(owner, 0.1):
            now[0] += 60.0


def test_a_place_alone_is_anybodys() -> None:
    now = [0.0]
    turns = FairQueue(1, lambda: now[0])
    for _ in range(3):
        with turns.turn("ann", 0.1):
            now[0] += 100.0
