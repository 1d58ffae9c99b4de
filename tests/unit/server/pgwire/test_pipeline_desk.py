from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import cast

from server.asking import Asking
from server.ledger_reads import LedgerReads
from server.pgwire.desk import CatalogShape
from server.pgwire.pipeline_desk import Pipeline, PipelineDesk
from server.pgwire.shadow.shadow import ShadowDatabase
from server.query import Budget
from server.threads import Threads


class Busy:
    """A catalog that answers nobody until it is let go, and a pipeline that knows a budget."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def shape(self, sql: str, oids: Sequence[int]) -> CatalogShape:
        assert self.free.wait(20)
        return CatalogShape((), ())

    def budget(self, analyst: str) -> Budget:
        return Budget(1.0, 0.0, 1.0, 0.0)


def test_budgets_and_keys_do_not_wait_behind_the_catalog() -> None:
    async def asked() -> Budget:
        busy = Busy()
        pipeline, shadow = cast(Pipeline, busy), cast(ShadowDatabase, busy)
        lookups = Threads(1, 1)
        reads = LedgerReads(at_once=False, threads=lookups)
        desk = PipelineDesk(pipeline, shadow, cast(Asking, None), reads, lookups, Threads(1, 8))
        waiting = [asyncio.ensure_future(desk.catalog_shape("SELECT 1", ())) for _ in range(4)]
        await asyncio.sleep(0.05)
        try:
            return await asyncio.wait_for(desk.budget("ann"), 5)
        finally:
            busy.free.set()
            await asyncio.gather(*waiting)

    assert asyncio.run(asked()).epsilon_left == 1.0
