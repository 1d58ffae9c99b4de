"""Where questions wait: answers that are kept need no thread where the ledger is a local file."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from server.asking import Asking
from server.ledger_reads import LedgerReads
from server.query import QueryRequest, QueryResponse
from server.threads import Threads
from tests.unit.server.http.fakes import answer


class Shelf:
    """Has one question's answer on the shelf, and notes in which thread it was asked for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []

    def kept_answer(self, request: QueryRequest) -> QueryResponse | None:
        self._note("kept")
        return answer(request) if request.sql == "kept" else None

    def answer(self, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        self._note("answer")
        return answer(request)

    def _note(self, what: str) -> None:
        self.asked.append((what, threading.current_thread() is threading.main_thread()))


@pytest.mark.parametrize(
    ("local", "sql", "asked"),
    [
        (True, "kept", [("kept", True)]),
        (True, "fresh", [("kept", True), ("answer", False)]),
        (False, "kept", [("answer", False)]),
    ],
)
def test_a_question_waits_in_a_thread_unless_its_answer_is_at_hand(
    local: bool, sql: str, asked: list[tuple[str, bool]]
) -> None:
    async def ask() -> Shelf:
        shelf, threads = Shelf(), Threads(1, 1)
        response = await Asking(shelf, threads, LedgerReads(local, threads)).answer(QueryRequest("ada", sql))
        assert response.budget == answer(QueryRequest("ada", sql)).budget
        return shelf

    assert asyncio.run(ask()).asked == asked


@pytest.mark.parametrize("local", [True, False])
def test_a_read_returns_and_raises_what_the_ledger_does(local: bool) -> None:
    def read(number: int, *, fail: bool = False) -> tuple[int, bool]:
        if fail:
            raise KeyError(number)
        return number, threading.current_thread() is threading.main_thread()

    async def both() -> Any:
        reads = LedgerReads(local, Threads(1, 1))
        with pytest.raises(KeyError):
            await reads.call(read, 2, fail=True)
        return await reads.call(read, 1)

    assert asyncio.run(both()) == (1, local)
