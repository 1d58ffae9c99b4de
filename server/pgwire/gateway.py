"""The services that sessions use. Blocking calls run in threads, so no session waits for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.sql.zones import UTC
from server.admission import Admission, LedgerReads
from server.connections import Outgoing
from server.pgwire.errors import CatalogRefused
from server.pgwire.result_rows import CatalogResult, Shape
from server.pgwire.settings import SearchPath
from server.pgwire.shadow import ShadowDatabase
from server.pgwire.wire_values import Field, type_of
from server.query import StatementShape
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.thread_pool import ThreadPool


@dataclass
class Gateway:
    """The services of all sessions, shared with the other protocols.

    Attributes:
      pipeline: the pipeline in force.
      shadow: the shadow catalog; None: no catalog.
      admission: the queue of questions.
      planning: threads that describe questions, which may take seconds.
      catalogs: threads for the shadow catalog, apart from keys and budgets, because its queries may take seconds.
      outgoing: limits the answers that are being read.
    """

    pipeline: ReloadablePipeline
    shadow: ShadowDatabase | None
    admission: Admission
    reads: LedgerReads
    planning: ThreadPool
    catalogs: ThreadPool
    outgoing: Outgoing

    @property
    def schemas(self) -> tuple[str, ...]:
        """The default search path."""
        return self.pipeline.current.policy.schemas

    def epsilons(self) -> tuple[float, float]:
        """The smallest and largest epsilon of one question, by the policy in force."""
        policy = self.pipeline.current.policy
        return policy.side_channels.min_epsilon, policy.max_epsilon

    async def describe(
        self, analyst: str, sql: str, search_path: SearchPath = None, oids: Sequence[int] = ()
    ) -> StatementShape:
        """Describe a question before its values are bound; free. Raises: PlannerError.

        Args:
          oids: the client's parameter types; 0 where it gives none.
        """
        ask, given = self.pipeline.current.describe, tuple(map(type_of, oids))
        return await self.planning.call_for(analyst, ask, sql, search_path, analyst, given)

    async def answer_types(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> tuple[Field, ...]:
        """The columns of a question with PostgreSQL's types, from the shadow catalog; empty if it cannot tell."""
        try:
            return (await self.catalog_shape(analyst, sql, oids, search_path)).fields or ()
        except CatalogRefused:
            return ()

    async def catalog_shape(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> Shape:
        """Describe a query of the catalog (`ShadowDatabase.shape`). Raises: CatalogRefused.

        Args:
          analyst: for fair shares of the threads.
        """
        shadow = self._known()
        known = shadow.remembered(sql, oids, search_path)
        if known is not None:
            return known
        return await self.catalogs.call_for(analyst, shadow.shape, sql, oids, search_path)

    async def catalog(
        self,
        analyst: str,
        sql: str,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        oids: Sequence[int],
        result_format: int,
        search_path: SearchPath = None,
        zone: str = UTC,
    ) -> CatalogResult:
        """Run a query of the catalog (`ShadowDatabase.ask`), with all columns in one format. Raises:
        CatalogRefused.
        """
        ask, more = self._known().ask, (result_format, search_path, zone)
        return await self.catalogs.call_for(analyst, ask, sql, values, formats, oids, *more)

    def _known(self) -> ShadowDatabase:
        if self.shadow is None:
            hint = "ask the administrator to start the proxy with a catalog"
            raise CatalogRefused("this proxy has no catalog", "0A000", hint=hint)
        return self.shadow
