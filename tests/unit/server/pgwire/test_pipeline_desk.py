"""Who waits behind whom: keys and budgets behind nobody, and nobody behind one analyst's many questions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import pytest

from server.asking import Asking
from server.ledger_reads import LedgerReads
from server.pgwire.desk import CatalogShape
from server.pgwire.pipeline_desk import Pipeline, PipelineDesk
from server.pgwire.shadow.shadow import ShadowDatabase
from server.query import Budget, StatementShape
from server.threads import Threads

Ask = Callable[[PipelineDesk, str], Awaitable[object]]


class Busy:
    """A catalog and a planner that answer ann only once they are let go, and a pipeline that knows a budget."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def shape(self, sql: str, oids: Sequence[int]) -> CatalogShape:
        assert "ann" not in sql or self.free.wait(20)
        return CatalogShape((), ())

    def describe(self, sql: str) -> StatementShape:
        assert "ann" not in sql or self.free.wait(20)
        return StatementShape((), (), ())

    def budget(self, analyst: str) -> Budget:
        return Budget(1.0, 0.0, 1.0, 0.0)


def _catalog(desk: PipelineDesk, analyst: str) -> Awaitable[object]:
    return desk.catalog_shape(analyst, f"SELECT '{analyst}'", ())


def _describe(desk: PipelineDesk, analyst: str) -> Awaitable[object]:
    return desk.describe(analyst, f"SELECT '{analyst}'")


def _budget(desk: PipelineDesk, analyst: str) -> Awaitable[object]:
    return desk.budget(analyst)


@pytest.mark.parametrize("others", [_catalog, _describe, _budget])
@pytest.mark.parametrize("many", [_catalog, _describe])
def test_nobody_waits_behind_one_analysts_many_questions(many: Ask, others: Ask) -> None:
    async def asked() -> object:
        busy = Busy()
        pipeline, shadow = cast(Pipeline, busy), cast(ShadowDatabase, busy)
        reads = LedgerReads(at_once=False, threads=Threads(2, 8))
        desk = PipelineDesk(pipeline, shadow, cast(Asking, None), reads, Threads(2, 8), Threads(2, 8))
        waiting = [asyncio.ensure_future(many(desk, "ann")) for _ in range(5)]
        await asyncio.sleep(0.05)
        try:
            return await asyncio.wait_for(asyncio.ensure_future(others(desk, "bob")), 5)
        finally:
            busy.free.set()
            await asyncio.gather(*waiting)

    assert asyncio.run(asked()) is not None
