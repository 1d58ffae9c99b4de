"""What sessions may ask of the rest of the proxy: blocking calls, in threads, so that no session waits for others."""

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
    """What sessions share with each other, and with other protocols.

    Attributes:
      pipeline: hands out the one in force, which knows statements.
      shadow: knows the catalog; None: nothing is known of it.
      admission: where questions wait, the same as for other protocols.
      planning: threads for describing questions, of which some take seconds.
      catalogs: threads for the shadow database, which takes seconds when somebody asks it badly: apart, so that keys
        and budgets do not wait behind it.
      outgoing: room for answers that are being read, the same as for other protocols.
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
        """The search path of sessions that set none."""
        return self.pipeline.current.policy.schemas

    def epsilons(self) -> tuple[float, float]:
        """The least and the most epsilon that the policy in force lets one question spend."""
        policy = self.pipeline.current.policy
        return policy.side_channels.min_epsilon, policy.max_epsilon

    async def describe(
        self, analyst: str, sql: str, search_path: SearchPath = None, oids: Sequence[int] = ()
    ) -> StatementShape:
        """Parameters and columns of a question, before its values are bound; free. Raises: PlannerError.

        Args:
          oids: what the client says of its parameters; 0 for what it leaves open.
        """
        ask, given = self.pipeline.current.describe, tuple(map(type_of, oids))
        return await self.planning.call_for(analyst, ask, sql, search_path, analyst, given)

    async def answer_types(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> tuple[Field, ...]:
        """The columns of a question as PostgreSQL has them, by a catalog with the same columns in every table.

        None where it does not read the question, or is not there. The arguments are those of `catalog_shape`.
        """
        try:
            return (await self.catalog_shape(analyst, sql, oids, search_path)).fields or ()
        except CatalogRefused:
            return ()

    async def catalog_shape(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> Shape:
        """Parameters and columns of a question to the catalog; `ShadowDatabase.shape`. Raises: CatalogRefused.

        Args:
          analyst: who asks, and waits behind nobody else's questions.
        """
        return await self.catalogs.call_for(analyst, self._known().shape, sql, oids, search_path)

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
        """The answer of the catalog, in one format: `ShadowDatabase.ask` for an analyst. Raises: CatalogRefused."""
        ask, more = self._known().ask, (result_format, search_path, zone)
        return await self.catalogs.call_for(analyst, ask, sql, values, formats, oids, *more)

    def _known(self) -> ShadowDatabase:
        if self.shadow is None:
            hint = "tell the custodian to start the proxy with a catalog"
            raise CatalogRefused("this proxy has no catalog to ask", "0A000", hint=hint)
        return self.shadow
