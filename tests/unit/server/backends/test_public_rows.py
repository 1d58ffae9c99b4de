from __future__ import annotations

from decimal import Decimal

import pytest

from planner.errors import StatementTooComplex
from planner.limits import MAX_PUBLIC_BYTES, MAX_PUBLIC_ROWS
from server.backends.public_rows import public_rows


def test_an_answer_is_bounded_in_rows_and_in_bytes() -> None:
    assert public_rows([("a", 1)], ("text", "int8")) == (("a", 1),)
    with pytest.raises(StatementTooComplex, match="rows"):
        public_rows([(1,)] * (MAX_PUBLIC_ROWS + 1), ("int8",))
    long = "a" * (1 << 16)
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows([(long,)] * (MAX_PUBLIC_BYTES >> 16), ("text",))
    assert len(public_rows([(long,)] * 100, ("text",))) == 100
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows([(1,) * 64] * MAX_PUBLIC_ROWS, ("int8",) * 64)


def test_texts_count_as_what_they_take_in_memory() -> None:
    for letter, taken, refused in [("a", 400, 600), ("\N{CAT FACE}", 100, 150)]:
        long = letter * (1 << 16)
        assert len(public_rows([(long,)] * taken, ("text",))) == taken, letter
        with pytest.raises(StatementTooComplex, match="32 MiB"):
            public_rows([(long,)] * refused, ("text",))


def test_numbers_that_become_texts_count_as_texts() -> None:
    assert public_rows([(Decimal(7),), (Decimal("12345678901234567891"),)], ("numeric",)) == (
        (7,),
        ("12345678901234567891",),
    )
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows([(Decimal("1e100000"),)] * 500, ("numeric",))


def test_no_more_is_taken_in_than_may_be_answered() -> None:
    rows = iter([("a" * (1 << 20),)] * 10_000)
    with pytest.raises(StatementTooComplex, match="32 MiB"):
        public_rows(rows, ("text",))
    assert len(list(rows)) >= 10_000 - 100
