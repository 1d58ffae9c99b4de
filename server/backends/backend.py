"""What the pipeline needs from a database."""

from __future__ import annotations

from typing import Protocol

from planner.dialect import Dialect
from planner.plan import BackendQuery
from planner.postprocessing.write_outer import OuterStatement
from planner.public.query import PublicStatement
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples


class Backend(Protocol):
    """A database that answers BackendQueries. Frozen and picklable: worker processes get a copy."""

    @property
    def dialect(self) -> Dialect:
        """What its statements are written in."""
        ...

    def check_schema(self, fingerprint: str) -> None:
        """Connect, compare the catalog with that of a plan, and go; reads no table.

        Raises: BackendUnavailable for whatever keeps it from answering; SchemaChanged.
        """
        ...

    def domain(self, query: BackendQuery) -> Domain:
        """The public groups alone; reads no private row.

        Raises: BackendUnavailable, SchemaChanged, QueryCancelled, BackendFailed.
        """
        ...

    def public(self, statement: PublicStatement) -> Rows:
        """The rows of a statement over public tables; reads no private row.

        Raises: StatementTooComplex, ComputationFailed; otherwise as `domain`.
        """
        ...

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """What surrounds released answers; reads public tables and no private row.

        Args:
          rows: else the columns alone, over answers without rows.
        Raises: UnsupportedSQL for what the database cannot read; as `public`.
        """
        ...

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """The public groups and the private join tuples, in one snapshot.

        Raises: BackendUnavailable when nothing was read; BackendConnectionLost when a retry is worth it;
          SchemaChanged; QueryCancelled; BackendFailed.
        """
        ...
