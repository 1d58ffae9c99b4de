"""Arrays as texts: of a client's million elements no more are read than one beyond what is permitted."""

from __future__ import annotations

import pytest

from planner.binding.placeholders import MAX_ELEMENTS
from planner.sql import literals
from planner.sql.literals import array_elements
from server.pgwire.wire_values import ARRAY_PARAMETERS

NUMERIC_ARRAY = 1231


def test_one_element_more_than_permitted_is_read() -> None:
    for most, read in ((3, 4), (5, 5), (9, 5)):
        assert array_elements("{a,b,NULL,d,e}", most) == ("a", "b", None, "d", "e")[:read]


def test_a_bound_array_is_read_as_far_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    matched = 0
    pattern = literals._ELEMENT

    class Counting:
        def match(self, text: str, place: int) -> object:
            nonlocal matched
            matched += 1
            return pattern.match(text, place)

    monkeypatch.setattr(literals, "_ELEMENT", Counting())
    found = ARRAY_PARAMETERS[NUMERIC_ARRAY].text(b"{" + b"1," * 500_000 + b"1}")
    assert len(found) == matched == MAX_ELEMENTS + 1, "what is refused for its length, with its place"
