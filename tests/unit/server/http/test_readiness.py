from __future__ import annotations

import pytest

from server.errors import BackendUnavailable, LedgerUnavailable
from server.http.services import Readiness


class World:
    """A database that comes and goes, and a clock."""

    def __init__(self) -> None:
        self.looks = 0
        self.now = 0.0
        self.wrong: Exception | None = None

    def check(self) -> None:
        self.looks += 1
        if self.wrong is not None:
            raise self.wrong


def test_it_looks_once_however_often_it_is_asked() -> None:
    world = World()
    readiness = Readiness(world.check, lambda: world.now)
    for _ in range(10):
        readiness.raise_if_not()
    assert world.looks == 1
    world.now = 5.0
    readiness.raise_if_not()
    assert world.looks == 2


def test_what_was_wrong_is_said_until_it_looks_again() -> None:
    world = World()
    readiness = Readiness(world.check, lambda: world.now)
    world.wrong = LedgerUnavailable("gone")
    for _ in range(3):
        with pytest.raises(LedgerUnavailable):
            readiness.raise_if_not()
    assert world.looks == 1
    world.now, world.wrong = 6.0, BackendUnavailable("gone, too")
    with pytest.raises(BackendUnavailable):
        readiness.raise_if_not()
    world.now, world.wrong = 12.0, None
    readiness.raise_if_not()


def test_a_fault_of_our_own_is_not_remembered_as_an_answer() -> None:
    world = World()
    readiness = Readiness(world.check, lambda: world.now)
    world.wrong = KeyError("a bug")
    with pytest.raises(KeyError):
        readiness.raise_if_not()
    world.wrong = None
    readiness.raise_if_not()
    assert world.looks == 2
