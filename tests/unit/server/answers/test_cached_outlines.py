"""Which outlines an analyst has: of what was paid for, once each, as the ledger grows."""

from __future__ import annotations

from typing import cast

from planner.reuse.outline import Outline, ReleaseOutline
from server.answers.cached_outlines import CachedOutlines
from server.answers.encoding import encoded
from server.answers.released import Released
from server.backends.columns import Domain
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from tests.support.memory_ledger import MemoryLedger
from tests.support.released_plan import noisy_answer


def charge(analyst: str, key: str, repeats: int | None = None) -> Charge:
    return Charge(analyst, 1.0, 0.0, "r", "policy", "p", "gem", None, key, repeats)


def answer(version: int = 1, *, outlined: bool = True) -> bytes:
    outline = Outline("rows", version, (), (), (ReleaseOutline("sum", True, "cut"),)) if outlined else None
    return encoded(Released(Domain(()), (noisy_answer([1.0]),), outline))


class Desk:
    """A ledger, and who has what in it."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger({"ada": 100.0, "grace": 100.0})
        self.outlines = CachedOutlines(cast(Ledger, self.ledger))

    def reserve(self, analyst: str, key: str) -> Reservation:
        return self.ledger.reserve(charge(analyst, key))

    def keep(self, analyst: str, key: str, content: bytes) -> None:
        self.ledger.commit(self.reserve(analyst, key), content)

    def numbers(self, analyst: str = "ada", version: int = 1) -> list[int]:
        return [one.number for one in self.outlines.of(analyst, version)]


def test_the_newest_first_and_nobody_elses() -> None:
    desk = Desk()
    assert desk.numbers() == []
    desk.keep("ada", "a", answer())
    desk.keep("grace", "b", answer())
    desk.keep("ada", "c", answer())
    assert (desk.numbers(), desk.numbers("grace")) == ([3, 1], [2])


def test_what_is_open_is_looked_at_again() -> None:
    desk = Desk()
    first, second = desk.reserve("ada", "a"), desk.reserve("ada", "b")
    desk.keep("ada", "c", answer())
    assert desk.numbers() == [3]
    desk.ledger.commit(first, answer())
    desk.ledger.fail(second)
    assert desk.numbers() == [3, 1] and desk.numbers() == [3, 1]


def test_what_is_bought_is_the_buyers_under_its_own_charge() -> None:
    desk = Desk()
    desk.keep("ada", "a", answer())
    assert desk.numbers("grace") == []
    desk.ledger.commit(desk.ledger.reserve(charge("grace", "a", repeats=1)))
    (owned,) = desk.outlines.of("grace", 1)
    assert (owned.number, owned.released) == (2, 1)


def test_one_draw_of_noise_is_there_once() -> None:
    """Paid for twice it is one answer still: two of it would look like two releases."""
    desk = Desk()
    desk.keep("ada", "a", answer())
    desk.ledger.commit(desk.ledger.reserve(charge("ada", "a", repeats=1)))
    assert desk.numbers() == [1]


def test_another_load_has_its_own() -> None:
    desk = Desk()
    desk.keep("ada", "a", answer())
    assert (desk.numbers(), desk.numbers(version=2)) == ([1], [])
    desk.keep("ada", "b", answer(2))
    assert (desk.numbers(), desk.numbers(version=2)) == ([], [2])


def test_answers_without_an_outline_have_none() -> None:
    desk = Desk()
    desk.keep("ada", "a", answer(outlined=False))
    assert desk.numbers() == []
