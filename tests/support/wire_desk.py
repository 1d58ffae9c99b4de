"""A desk that answers everything alike, for tests of sessions: what was asked stands in `asked`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from planner.errors import RowsNotShown, UnknownTable
from server.errors import BudgetExhausted, CancelledByClient
from server.pgwire.desk import CatalogShape, Described
from server.pgwire.results import CatalogResult
from server.pgwire.values import Field
from server.query import Budget, Interval, QueryRequest, QueryResponse, ResultColumn

COLUMNS = (ResultColumn("nation", "text"), ResultColumn("count", "int8"))
ROWS = (("FRANCE", 12), ("PERU", 7), ("CHINA", -1))
BUDGET = Budget(10.0, 0.0, 9.0, 0.0)


class WireDesk:
    """Answers three rows, refuses `nowhere` and `each`, is exhausted by `dear`, waits at `slow` till cancelled."""

    def __init__(self) -> None:
        self.asked: list[QueryRequest] = []
        self.catalog_asked: list[str] = []
        self.weak: tuple[bool, ...] = ()

    async def describe(self, analyst: str, sql: str) -> Described:
        """Two columns, and a parameter if the text has one."""
        if "nowhere" in sql:
            raise UnknownTable("there is no table nowhere", position=sql.index("nowhere") + 1)
        if "each" in sql:
            raise RowsNotShown("it would show rows")
        return Described((20,) if "$1" in sql else (), COLUMNS, (False, True))

    async def answer(self, request: QueryRequest, cancelled: threading.Event) -> QueryResponse:
        """Three rows."""
        await self.describe(request.analyst, request.sql)
        if "dear" in request.sql:
            raise BudgetExhausted("only 1 is left")
        if "foreign" in request.sql:
            raise ValueError("secret 4711")
        if "slow" in request.sql:
            assert await asyncio.to_thread(cancelled.wait, 10)
            raise CancelledByClient("cancelled; it was charged")
        self.asked.append(request)
        intervals = tuple((None, Interval(float(count) - 2, None)) for _, count in ROWS)
        return QueryResponse(
            COLUMNS, ROWS, intervals, 0.95, "truncated_full", "gem", 1.0, 0.0, BUDGET, "r", self.weak
        )

    async def budget(self, analyst: str) -> Budget:
        """Nine of ten."""
        return BUDGET

    async def catalog_shape(self, analyst: str, sql: str, oids: Sequence[int]) -> CatalogShape:
        """One column."""
        return CatalogShape(tuple(oids), (Field("relname", 19, 64),))

    async def catalog(
        self,
        analyst: str,
        sql: str,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        oids: Sequence[int],
        result_format: int,
    ) -> CatalogResult:
        """One row."""
        self.catalog_asked.append(sql)
        return CatalogResult((Field("relname", 19, 64),), result_format, ((b"orders",),))
