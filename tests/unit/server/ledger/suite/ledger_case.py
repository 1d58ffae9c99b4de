"""What all tests of the suite have in common: their fixtures by type, and the check after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from server.ledger.ledger import Ledger

T = TypeVar("T")

Reopen = Callable[[], Ledger]
"""Opens the ledger of the test once more, beside what is open; closed after the test."""


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def __call__(self) -> float:
        return self.seconds


_PATIENCE_S = 60.0


def soon(look: Callable[[], T]) -> T:
    """What is found once the store has noticed that a connection ended, which PostgreSQL does a moment later."""
    deadline = time.monotonic() + _PATIENCE_S
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def states(ledger: Ledger) -> list[str]:
    return [record.state for record in ledger.charges()]


def left(ledger: Ledger, analyst: str | None = None) -> dict[str, float]:
    return {account.name: account.epsilon_left for account in ledger.accounts(analyst)}


class LedgerCase:
    """To be inherited with the fixtures `ledger` (ada may spend epsilon 1, delta 1e-6), `clock` and `reopen`."""

    @pytest.fixture(autouse=True)
    def _verified_afterwards(self, reopen: Reopen) -> Iterator[None]:
        """Whatever a test did, the ledger follows from its entries."""
        yield
        assert reopen().verify().fault is None
