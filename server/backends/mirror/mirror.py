"""What the pipeline needs from a mirror."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from planner.dialect import Dialect
from planner.plan import BackendQuery, Plan
from planner.postprocessing.write_outer import OuterStatement
from planner.public.query import PublicStatement
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples


class Mirror(Protocol):
    """A copy of a database's tables, which answers while it is current."""

    def query(self, plan: Plan) -> BackendQuery | None:
        """A question's statements as the copy reads them; None where they are the database's alone to read."""
        ...

    def source(self, query: BackendQuery, data_version: int, database: Backend) -> Backend:
        """Where a question's rows are read.

        Args:
          query: from `query`.
          data_version: which load of the data the question is about.
          database: what was copied.
        Returns: the copy before the database, while it is current; else the database.
        Cost: one read of the ledger, and a look at the file.
        """
        ...


@dataclass(frozen=True)
class MirrorFirst:
    """Reads one question from a copy; from the database where the copy has been replaced since it was chosen.

    Attributes:
      copy: refuses to read from another copy than the one that was chosen.
      query: the question as the copy reads it.
      database: reads everything else.
    """

    copy: Reader
    query: BackendQuery
    database: Backend

    @property
    def dialect(self) -> Dialect:
        """That of the database."""
        return self.database.dialect

    def check_schema(self, fingerprint: str) -> None:
        """As of the database."""
        self.database.check_schema(fingerprint)

    def domain(self, query: BackendQuery) -> Domain:
        """As of the database."""
        return self.database.domain(query)

    def public(self, statement: PublicStatement) -> Rows:
        """As of the database."""
        return self.database.public(statement)

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """As of the database."""
        return self.database.compute(statement, rows=rows)

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """The public groups and the private join tuples, in one snapshot. Raises: as `Backend.read`."""
        found = self.copy.read_if_there(self.query)
        return self.database.read(query) if found is None else found


class Reader(Protocol):
    """A copy as a worker process reads it."""

    def read_if_there(self, query: BackendQuery) -> tuple[Domain, QueryTuples] | None:
        """As `Backend.read`; None where the copy is not there any more, and nothing was read."""
        ...
