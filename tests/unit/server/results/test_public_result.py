"""What is free takes room for its texts, too: nothing else bounds what one client has the process hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.postprocessing.interval_ends import ShownIntervals
from planner.public.relation import PublicStatement
from server.backends.public_rows import Computed
from server.connections import Outgoing
from server.errors import OwnAnswersTooLarge
from server.postprocessing.computed_response import computed_response
from server.query import Budget, QueryResponse
from server.results.public_result import public_response

BUDGET = Budget(1.0, 0.0, 1.0, 0.0)
TEXTS = 4 * 1_000 * 100


def rows() -> tuple[tuple[int, str], ...]:
    """Read anew, as each question does."""
    return tuple((number, "\N{CAT FACE}" * 1_000) for number in range(100))


def free() -> QueryResponse:
    statement = PublicStatement("SELECT 1", (("n", "int8"), ("t", "text")), "schema", ("number",))
    return public_response(statement, rows(), BUDGET, "r")


def test_a_text_counts_as_what_it_takes() -> None:
    assert TEXTS < free().n_bytes < 1.2 * TEXTS
    composition: Any = SimpleNamespace(shown=ShownIntervals(), parts=())
    computed = computed_response(composition, (), Computed((("n", "int8"), ("t", "text")), rows()), BUDGET, "r")
    assert computed.n_bytes == free().n_bytes, "so does one that was computed from answers"


def test_large_texts_need_room_while_they_are_read() -> None:
    room = Outgoing(4 * TEXTS)
    held = room.hold("ada", free())
    with pytest.raises(OwnAnswersTooLarge):
        room.hold("ada", free())
    held.close()
