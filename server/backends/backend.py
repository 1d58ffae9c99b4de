"""What the pipeline needs from a database and from a mirror, and which columns every catalog marks as able to hold
NaN.

Which columns of a table may hold NaN: what every catalog says of its tables once it has read them.

What the pipeline needs from a database.

What the pipeline needs from a mirror.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

from planner.plan import BackendQuery, Plan
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.schema import Column, Dialect, Table
from planner.sql.sql_types import Family, sql_type
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples

FLOATS = frozenset({Family.FLOAT})
"""What holds NaN where no decimal does."""

NUMBERS = frozenset({Family.FLOAT, Family.NUMERIC})
"""What holds NaN in PostgreSQL."""


def with_nan(table: Table, families: Collection[Family], free: Collection[str] = ()) -> Table:
    """The table, with a mark at each column that may hold NaN, and so may be missing.

    Args:
      families: the types that the database has NaN of.
      free: the columns of which a constraint that is enforced keeps it.

    >>> table = Table("t", "public", (Column("k", "numeric", False), Column("f", "real", False)), (("k",),), ())
    >>> [column.nan for column in with_nan(table, NUMBERS).columns]
    [False, True]
    """
    keys = {name for key in table.keys for name in key}
    keys |= {name for key in table.foreign_keys for name in key.columns}

    def marked(column: Column) -> Column:
        if column.name in keys or sql_type(column.type).family not in families:
            return column
        kept_out = column.name in free
        return replace(column, nan_free=True) if kept_out else replace(column, nullable=True, nan=True)

    return replace(table, columns=tuple(map(marked, table.columns)))


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
