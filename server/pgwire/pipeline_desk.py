"""The desk in front of the pipeline and the shadow database: blocking calls, each in a thread of a bounded pool."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from server.asking import Asking
from server.ledger_reads import LedgerReads
from server.pgwire.desk import CatalogShape, Described
from server.pgwire.errors import CatalogRefused
from server.pgwire.results import CatalogResult
from server.pgwire.shadow.shadow import ShadowDatabase
from server.pgwire.values import oid_of
from server.query import Budget, QueryRequest, QueryResponse, StatementShape
from server.threads import Threads


class Pipeline(Protocol):
    """The part of the pipeline that sessions need; each method blocks and may be called from any thread."""

    def describe(self, sql: str) -> StatementShape:
        """Parameters and columns, before values are bound; free."""
        ...

    def budget(self, analyst: str) -> Budget:
        """What the analyst was granted and what is left."""
        ...


class PipelineDesk:
    """A Desk.

    Args:
      pipeline: knows statements and budgets.
      shadow: knows the catalog; None: nothing is known of it.
      asking: where questions wait, the same as for other protocols.
      reads: where the ledger is read.
      planning: threads for describing questions, of which some take seconds.
      catalogs: threads for the shadow database, which takes seconds when somebody asks it badly: apart, so that keys
        and budgets do not wait behind it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        shadow: ShadowDatabase | None,
        asking: Asking,
        reads: LedgerReads,
        planning: Threads,
        catalogs: Threads,
    ) -> None:
        self._pipeline = pipeline
        self._shadow = shadow
        self._asking = asking
        self._reads = reads
        self._planning = planning
        self._catalogs = catalogs

    async def describe(self, analyst: str, sql: str) -> Described:
        """Parameters and columns of a question."""
        shape = await self._planning.call_for(analyst, self._pipeline.describe, sql)
        return Described(tuple(map(oid_of, shape.parameters)), shape.columns, shape.noisy)

    async def answer(self, request: QueryRequest, cancelled: threading.Event) -> QueryResponse:
        """The answer, charged."""
        return await self._asking.answer(request, cancelled)

    async def budget(self, analyst: str) -> Budget:
        """What was granted and what is left."""
        return await self._reads.call(self._pipeline.budget, analyst)

    async def catalog_shape(self, analyst: str, sql: str, oids: Sequence[int]) -> CatalogShape:
        """Parameters and columns of a question to the catalog."""
        return await self._catalogs.call_for(analyst, self._known().shape, sql, oids)

    async def catalog(
        self,
        analyst: str,
        sql: str,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        oids: Sequence[int],
        result_format: int,
    ) -> CatalogResult:
        """The answer of the catalog."""
        return await self._catalogs.call_for(analyst, self._known().ask, sql, values, formats, oids, result_format)

    def _known(self) -> ShadowDatabase:
        if self._shadow is None:
            hint = "tell the custodian to start the proxy with a catalog"
            raise CatalogRefused("this proxy has no catalog to ask", "0A000", hint=hint)
        return self._shadow
