from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from planner.errors import StatementTooComplex
from planner.limits import MAX_PUBLIC_BYTES, MAX_PUBLIC_ROWS
from server.backends.public_rows import public_rows


class Rows:
    """A cursor over rows that are there."""

    def __init__(self, rows: Sequence[tuple[object, ...]]) -> None:
        self._rows = rows
        self.place = 0

    def fetchmany(self, size: int, /) -> Sequence[tuple[object, ...]]:
        self.place += size
        return self._rows[self.place - size : self.place]


def test_an_answer_is_bounded_in_rows_and_in_bytes() -> None:
    assert public_rows(Rows([("a", 1)]), ("text", "int8")) == (("a", 1),)
    with pytest.raises(StatementTooComplex, match="rows"):
        public_rows(Rows([(1,)] * (MAX_PUBLIC_ROWS + 1)), ("int8",))
    long = "a" * (1 << 16)
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows(Rows([(long,)] * (MAX_PUBLIC_BYTES >> 16)), ("text",))
    assert len(public_rows(Rows([(long,)] * 100), ("text",))) == 100
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows(Rows([(1,) * 64] * MAX_PUBLIC_ROWS), ("int8",) * 64)


def test_texts_count_as_what_they_take_in_memory() -> None:
    for letter, taken, refused in [("a", 400, 600), ("\N{CAT FACE}", 100, 150)]:
        long = letter * (1 << 16)
        assert len(public_rows(Rows([(long,)] * taken), ("text",))) == taken, letter
        with pytest.raises(StatementTooComplex, match="32 MiB"):
            public_rows(Rows([(long,)] * refused), ("text",))


def test_numbers_that_become_texts_count_as_texts() -> None:
    assert public_rows(Rows([(Decimal(7),), (Decimal("12345678901234567891"),)]), ("numeric",)) == (
        (7,),
        ("12345678901234567891",),
    )
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows(Rows([(Decimal("1e100000"),)] * 500), ("numeric",))


def test_no_more_is_taken_in_than_may_be_answered() -> None:
    rows = Rows([("a" * (1 << 20),)] * 10_000)
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows(rows, ("text",))
    assert rows.place <= 100
