"""Failures are few, on every proxy and over restarts; so are charges that are given back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from server.errors import RateLimited, TooManyFailures, TooManyOwnQueries, TooManyQueries
from server.ledger.analyst import key_hash
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.ledger.writes.reserve import (
    MAX_CRASHED,
    MAX_DATASET_FAILURES,
    MAX_FAILURES,
    MAX_GIVEN_BACK,
    OWN_FAILURES,
    PAUSE_MS,
    WINDOW_MS,
)
from tests.support.charging import claim
from tests.unit.server.ledger.charges import ACT
from tests.unit.server.ledger.suite.ledger_case import Clock, LedgerCase, Reopen, soon


def _question(number: int, analyst: str = "ada") -> Charge:
    return Charge(analyst, 1e-6, 0.0, "request", "policy", f"plan {number}", "gem", answer_key=f"{analyst} {number}")


def _claimed(book: Ledger, number: int, analyst: str = "ada") -> Reservation:
    claimed = claim(book, _question(number, analyst))
    assert claimed is not None
    return claimed


def _fail(book: Ledger, number: int, analyst: str = "ada") -> None:
    book.fail(_claimed(book, number, analyst))


class Failures(LedgerCase):
    def test_a_day_has_so_many_failures_on_all_proxies(self, ledger: Ledger, reopen: Reopen, clock: Clock) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        proxies = ledger, reopen()
        for number in range(MAX_FAILURES):
            _fail(proxies[number % 2], number)
        for book in (*proxies, reopen()):
            with pytest.raises(TooManyFailures, match=str(MAX_FAILURES)):
                claim(book, _question(MAX_FAILURES))
        _fail(ledger, MAX_FAILURES, "eve")
        clock.seconds += WINDOW_MS / 1000 - 1
        with pytest.raises(TooManyFailures):
            claim(ledger, _question(MAX_FAILURES))
        clock.seconds += 1
        _fail(ledger, 0)

    def test_a_query_fails_once_a_day(self, ledger: Ledger, reopen: Reopen, clock: Clock) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        _fail(ledger, 1)
        _fail(ledger, 1, "eve")
        with pytest.raises(TooManyFailures, match="failed already"):
            claim(reopen(), _question(1))
        _fail(reopen(), 2)
        clock.seconds += WINDOW_MS / 1000
        _fail(ledger, 1)

    def test_a_dataset_has_so_many_failures_of_all_analysts(self, ledger: Ledger) -> None:
        analysts = [f"a{number}" for number in range(MAX_DATASET_FAILURES // MAX_FAILURES)]
        for analyst in analysts:
            ledger.add_analyst(analyst, key_hash(f"ng_{analyst}"), 1.0, 0.0)
            for number in range(MAX_FAILURES):
                _fail(ledger, number, analyst)
        for number in range(OWN_FAILURES):  # nobody else can use these up
            _fail(ledger, number)
        with pytest.raises(TooManyFailures, match=str(MAX_DATASET_FAILURES)):
            claim(ledger, _question(OWN_FAILURES))
        for analyst in analysts[:1]:
            ledger.set_enabled(analyst, True, ACT)
        _fail(ledger, OWN_FAILURES)

    def test_of_the_failures_of_all_those_under_way_take_a_place(self, ledger: Ledger) -> None:
        analysts = [f"a{number}" for number in range(MAX_DATASET_FAILURES // MAX_FAILURES)]
        for analyst in analysts:
            ledger.add_analyst(analyst, key_hash(f"ng_{analyst}"), 1.0, 0.0)
            for number in range(MAX_FAILURES):
                _claimed(ledger, number, analyst)
        for number in range(OWN_FAILURES):
            _claimed(ledger, number)
        with pytest.raises(TooManyQueries):
            claim(ledger, _question(OWN_FAILURES))

    def test_an_administrator_lets_an_analyst_ask_again(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        for analyst in ("ada", "eve"):
            for number in range(MAX_FAILURES):
                _fail(ledger, number, analyst)
        ledger.set_enabled("ada", True, ACT)
        _fail(reopen(), 0)  # the same query, too
        with pytest.raises(TooManyFailures, match="failed already"):
            claim(ledger, _question(0))
        with pytest.raises(TooManyFailures, match=str(MAX_FAILURES)):
            claim(ledger, _question(MAX_FAILURES, "eve"))
        assert [one.kind for one in ledger.entries(acts_only=True)][-1] == "enabled" and ledger.verify().fault is None

    def test_what_is_cancelled_is_no_failure(self, ledger: Ledger) -> None:
        for number in range(MAX_FAILURES + 1):
            ledger.fail(_claimed(ledger, number), cancelled=True)
        _fail(ledger, 0)

    def test_a_crash_of_the_proxy_is_no_failure_of_an_analyst(self, ledger: Ledger, reopen: Reopen) -> None:
        for number in range(MAX_FAILURES - 1):
            _fail(ledger, number)
        crashing = reopen()
        _claimed(crashing, MAX_FAILURES)
        crashing.close()
        assert len(soon(ledger.recover)) == 1
        _fail(ledger, MAX_FAILURES)
        with pytest.raises(TooManyFailures, match=str(MAX_FAILURES)):
            claim(ledger, _question(MAX_FAILURES + 1))

    def test_a_hundred_crashes_of_one_analyst_a_day_are_too_many(self, ledger: Ledger, reopen: Reopen) -> None:
        for first in range(0, MAX_CRASHED, MAX_FAILURES):
            crashing = reopen()
            for number in range(first, first + MAX_FAILURES):
                _claimed(crashing, number)
            crashing.close()
            assert len(soon(ledger.recover)) == MAX_FAILURES
        with pytest.raises(TooManyFailures, match="when a proxy ended"):
            claim(ledger, _question(MAX_CRASHED))
        ledger.set_enabled("ada", True, ACT)
        ledger.commit(_claimed(ledger, MAX_CRASHED), b"noisy")

    def test_the_places_of_those_under_way_are_taken(self, ledger: Ledger, reopen: Reopen) -> None:
        proxies, together = (ledger, reopen()), Barrier(30)

        def ask(number: int) -> str:
            together.wait(timeout=60)
            try:
                _fail(proxies[number % 2], number)
            except (TooManyFailures, TooManyQueries):
                return "refused"
            return "failed"

        with ThreadPoolExecutor(30) as threads:
            outcomes = list(threads.map(ask, range(30)))
        assert outcomes.count("failed") == MAX_FAILURES
        assert [charge.state for charge in ledger.charges()] == ["failed"] * MAX_FAILURES

    def test_more_than_may_fail_are_never_under_way(self, ledger: Ledger, reopen: Reopen) -> None:
        held = [_claimed(ledger, number) for number in range(MAX_FAILURES)]
        with pytest.raises(TooManyOwnQueries):
            claim(reopen(), _question(MAX_FAILURES))
        ledger.commit(held[0], b"noisy")
        _fail(reopen(), MAX_FAILURES)

    def test_what_is_given_back_again_and_again_is_taken_slowly(
        self, ledger: Ledger, reopen: Reopen, clock: Clock
    ) -> None:
        for number in range(MAX_GIVEN_BACK):
            ledger.release(_claimed(ledger, number))
        entries = len(ledger.entries())
        for book in (ledger, reopen()):
            with pytest.raises(RateLimited) as refused:
                claim(book, _question(1))
            assert refused.value.retry_after_s == PAUSE_MS / 1000
        assert len(ledger.entries()) == entries
        clock.seconds += PAUSE_MS / 1000
        ledger.commit(_claimed(ledger, 1), b"noisy")
        ledger.release(_claimed(ledger, 2))
        ledger.release(_claimed(ledger, 3))
