"""Who waits behind whom: keys and budgets behind nobody, and nobody behind one analyst's many questions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from server.admission import Admission, LedgerReads
from server.connections import Outgoing
from server.ledger.balance import RemainingQuestions
from server.ledger.ledger import Ledger
from server.pgwire.gateway import Gateway
from server.pgwire.result_rows import Shape
from server.pgwire.settings import SearchPath
from server.pgwire.shadow import ShadowDatabase
from server.query import Budget, StatementShape
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.thread_pool import ThreadPool

Ask = Callable[[Gateway, str], Awaitable[object]]


class Busy:
    """A catalog and a planner that answer ann only once they are let go, and a pipeline that knows a budget."""

    def __init__(self) -> None:
        self.free = threading.Event()

    @property
    def current(self) -> Busy:
        return self

    def remembered(self, *statement: object) -> None:
        return None

    def shape(self, sql: str, oids: Sequence[int], search_path: SearchPath = None) -> Shape:
        assert "ann" not in sql or self.free.wait(60)
        return Shape((), ())

    def describe(
        self,
        sql: str,
        search_path: SearchPath = None,
        analyst: str = "",
        given: tuple[str | None, ...] = (),
    ) -> StatementShape:
        assert "ann" not in sql or self.free.wait(60)
        return StatementShape((), (), ())

    def remaining_questions(self, analyst: str) -> RemainingQuestions:
        return RemainingQuestions((), None, 0, None)

    def budget(self, analyst: str) -> Budget:
        return Budget(1.0, 0.0, 1.0, 0.0)


def _catalog(gateway: Gateway, analyst: str) -> Awaitable[object]:
    return gateway.catalog_shape(analyst, f"SELECT '{analyst}'", ())


def _describe(gateway: Gateway, analyst: str) -> Awaitable[object]:
    return gateway.describe(analyst, f"SELECT '{analyst}'")


def _read(gateway: Gateway, analyst: str) -> Awaitable[object]:
    return gateway.reads.call(len, analyst)


def test_nobody_waits_behind_one_analysts_many_questions() -> None:
    others_cases: list[Ask] = [_catalog, _describe, _read]
    manys: list[Ask] = [_catalog, _describe]
    for others in others_cases:
        for many in manys:
            _nobody_waits_behind_one_analysts_many_questions(many, others)


def _nobody_waits_behind_one_analysts_many_questions(many: Ask, others: Ask) -> None:
    async def asked() -> object:
        busy = Busy()
        pipeline, shadow = cast(ReloadablePipeline, busy), cast(ShadowDatabase, busy)
        reads = LedgerReads(cast(Ledger, busy), at_once=False, threads=ThreadPool(2, 8))
        gateway = Gateway(
            pipeline, shadow, cast(Admission, None), reads, ThreadPool(2, 8), ThreadPool(2, 8), Outgoing()
        )
        waiting = [asyncio.ensure_future(many(gateway, "ann")) for _ in range(5)]
        await asyncio.sleep(0.05)
        try:
            return await asyncio.wait_for(asyncio.ensure_future(others(gateway, "bob")), 60)
        finally:
            busy.free.set()
            await asyncio.gather(*waiting)

    assert asyncio.run(asked()) is not None
