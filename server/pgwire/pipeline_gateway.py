"""The gateway to the pipeline and the shadow database: blocking calls, each in a thread of a bounded pool."""

from __future__ import annotations

from collections.abc import Sequence

from planner.sql.zones import UTC
from server.admission import Admission, LedgerReads
from server.connections import Outgoing
from server.pgwire.errors import CatalogRefused
from server.pgwire.gateway import CatalogShape, Described, SearchPath
from server.pgwire.result_rows import CatalogResult
from server.pgwire.shadow import ShadowDatabase
from server.pgwire.wire_values import Field, oid_of, type_of
from server.reloadable_pipeline import ReloadablePipeline
from server.scheduling.thread_pool import ThreadPool


class PipelineGateway:
    """A Gateway.

    Args:
      pipeline: hands out the one in force, which knows statements.
      shadow: knows the catalog; None: nothing is known of it.
      admission: where questions wait, the same as for other protocols.
      reads: of budgets.
      planning: threads for describing questions, of which some take seconds.
      catalogs: threads for the shadow database, which takes seconds when somebody asks it badly: apart, so that keys
        and budgets do not wait behind it.
      outgoing: room for answers that are being read, the same as for other protocols.
    """

    def __init__(
        self,
        pipeline: ReloadablePipeline,
        shadow: ShadowDatabase | None,
        admission: Admission,
        reads: LedgerReads,
        planning: ThreadPool,
        catalogs: ThreadPool,
        outgoing: Outgoing,
    ) -> None:
        self._pipeline = pipeline
        self._shadow = shadow
        self.admission = admission
        self.reads = reads
        self._planning = planning
        self._catalogs = catalogs
        self.outgoing = outgoing

    @property
    def schemas(self) -> tuple[str, ...]:
        """The search path of sessions that set none."""
        return self._pipeline.current.policy.schemas

    def epsilons(self) -> tuple[float, float]:
        """The bounds of the policy in force."""
        policy = self._pipeline.current.policy
        return policy.side_channels.min_epsilon, policy.max_epsilon

    async def describe(
        self, analyst: str, sql: str, search_path: SearchPath = None, oids: Sequence[int] = ()
    ) -> Described:
        """Parameters and columns of a question."""
        given = tuple(map(type_of, oids))
        ask = self._pipeline.current.describe
        shape = await self._planning.call_for(analyst, ask, sql, search_path, analyst, given)
        return Described(tuple(map(oid_of, shape.parameters)), shape.columns, shape.noisy)

    async def answer_types(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> tuple[Field, ...]:
        """The columns of a question as PostgreSQL has them, by a catalog with the same columns in every table.

        Args:
          analyst, sql, oids, search_path: as of `Gateway.answer_types`.
        """
        try:
            return (await self.catalog_shape(analyst, sql, oids, search_path)).fields
        except CatalogRefused:
            return ()

    async def catalog_shape(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> CatalogShape:
        """Parameters and columns of a question to the catalog.

        Args:
          analyst, sql, oids, search_path: as of `Gateway.catalog_shape`.
        """
        return await self._catalogs.call_for(analyst, self._known().shape, sql, oids, search_path)

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
        """The answer of the catalog.

        Args:
          analyst, sql, values, formats, oids, result_format, search_path, zone: as of `Gateway.catalog`.
        """
        ask = self._known().ask
        more = result_format, search_path, zone
        return await self._catalogs.call_for(analyst, ask, sql, values, formats, oids, *more)

    def _known(self) -> ShadowDatabase:
        if self._shadow is None:
            hint = "tell the custodian to start the proxy with a catalog"
            raise CatalogRefused("this proxy has no catalog to ask", "0A000", hint=hint)
        return self._shadow
