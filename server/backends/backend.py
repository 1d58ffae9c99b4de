"""What the pipeline needs from a database, and what all databases do alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from planner.errors import SchemaChanged
from planner.limits import MAX_PUBLIC_ROWS
from planner.plan import BackendQuery
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.schema import Column, Dialect, Table
from planner.sql.sql_types import Family, ResultType, sql_type
from server.backends.columns import Column as Values
from server.backends.columns import Domain, group_domain
from server.backends.public_rows import (
    Computed,
    Rows,
    no_value,
    not_computable,
    not_computed,
    public_rows,
    shown_sql,
)
from server.backends.query_tuples import QueryTuples, Room, query_tuples
from server.errors import BackendConnectionLost, BackendFailed, BackendUnavailable, QueryCancelled

C = TypeVar("C")

FLOATS = frozenset({Family.FLOAT})
"""What holds NaN where no decimal does."""

NUMBERS = frozenset({Family.FLOAT, Family.NUMERIC})
"""What holds NaN in PostgreSQL."""


def quoted(name: str) -> str:
    """A name in SQL, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


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
          SchemaChanged, after which no private row was read either; QueryCancelled; BackendFailed.
        """
        ...


@dataclass(frozen=True)
class Limits:
    """Public bounds of one read.

    Attributes:
      statement_ms: how long a statement, or on files the statements of one question, may take.
      public_ms: the same for queries over public tables only: they are free, so that nothing else bounds them.
      rows: the most distinct join tuples that one statement may take in.
    """

    statement_ms: int = 60_000
    public_ms: int = 15_000
    rows: int = 20_000_000


class SnapshotBackend(ABC, Generic[C]):
    """A Backend each of whose answers is of one snapshot by a connection of its own.

    An engine says how a snapshot is opened, and how a statement is run in it.

    Attributes:
      unanswering: what is said where the database does not answer, and what to do.
      valueless: what the driver raises where a public statement has no value.
      unreadable: what it raises for a statement that the database cannot read.
    """

    unanswering: ClassVar[tuple[str, str]]
    valueless: ClassVar[tuple[type[Exception], ...]] = ()
    unreadable: ClassVar[tuple[type[Exception], ...]] = ()

    @abstractmethod
    def _snapshot(self, fingerprint: str, *, free: bool = False) -> AbstractContextManager[C]:
        """One state of the database, if its schema is the one that a query was planned for; limited in time.

        Queries over public tables only are free, so that nothing else bounds them: they have limits of their own.
        """

    @abstractmethod
    def _streamed(self, connection: C, sql: str) -> AbstractContextManager[Iterable[Sequence[Any]]]:
        """The rows of a public statement as they come."""

    @abstractmethod
    def _room(self) -> Room:
        """The memory that the rows of one question may take."""

    @abstractmethod
    def _columns(self, connection: C, room: Room, statement: str, width: int) -> list[Values]:
        """The columns of a private statement."""

    @abstractmethod
    def _groups(self, connection: C, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement of public groups."""

    def _check(self, connection: C, statement: OuterStatement) -> None:
        """Refuse what would read more than it names. Raises: BackendFailed."""

    def _described(self, connection: C, sql: str) -> tuple[tuple[str, ResultType], ...]:
        """The columns of what surrounds answers."""
        raise NotImplementedError

    def check_schema(self, fingerprint: str) -> None:
        """Connect, compare the catalog, and go. Raises: BackendUnavailable, SchemaChanged."""
        try:
            with self._snapshot(fingerprint):
                pass
        except (BackendConnectionLost, BackendFailed, QueryCancelled) as error:
            message, hint = self.unanswering
            raise BackendUnavailable(message, hint=hint) from error

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """The public groups and the private join tuples of one snapshot. Raises: as `Backend.read`."""
        with self._snapshot(query.fingerprint) as connection:
            domain = group_domain(query, partial(self._groups, connection))
            room = self._room()
            return query_tuples(query, domain, partial(self._columns, connection, room), room)

    def domain(self, query: BackendQuery) -> Domain:
        """The public groups alone. Raises: as `Backend.domain`."""
        with self._snapshot(query.fingerprint, free=True) as connection:
            return group_domain(query, partial(self._groups, connection))

    def public(self, statement: PublicStatement) -> Rows:
        """The rows of a statement over public tables, as clients see them. Raises: as `Backend.public`."""
        with self._snapshot(statement.fingerprint, free=True) as connection:
            try:
                with self._streamed(connection, statement.sql) as rows:
                    return public_rows(rows, [kind for _, kind in statement.columns])
            except self.valueless as error:
                raise no_value() from error

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """What surrounds released answers: its columns, and its rows where asked. Raises: as `Backend.compute`."""
        with self._snapshot(statement.fingerprint, free=True) as connection:
            try:
                self._check(connection, statement.without_rows())
                columns = self._described(connection, statement.without_rows().columns_sql())
            except (*self.unreadable, *self.valueless) as error:
                raise not_computable(statement, _said(error)) from error
            if not rows:
                return Computed(columns)
            kinds = [kind for _, kind in columns]
            sql = statement.rows_sql(
                [shown_sql(place, kind) for place, kind in enumerate(kinds)], MAX_PUBLIC_ROWS + 1
            )
            try:
                # Over no rows the database may leave out of its plan what it reads beside them.
                self._check(connection, statement)
                with self._streamed(connection, sql) as arriving:
                    return Computed(columns, public_rows(arriving, kinds))
            except self.valueless as error:
                raise not_computed(statement, _said(error)) from error


def check_planned(found: str, planned: str) -> None:
    """Refuse a query that was planned for tables of another fingerprint. Raises: SchemaChanged."""
    if found != planned:
        raise SchemaChanged("the tables have changed since the query was planned", hint="ask again")


def _said(error: Exception) -> str:
    """The database's words, of a statement that reads nothing private."""
    diagnostic = getattr(error, "diag", None)
    told = str(error).partition("\n")[0] if diagnostic is None else diagnostic.message_primary
    return (told or "it is not SQL that it reads").rstrip(".")


@dataclass(frozen=True)
class MirrorFirst:
    """Reads one question from a copy; from the database where the copy has been replaced since it was chosen.

    Attributes:
      copy: refuses to read from another copy than the one that was chosen.
      query: the question as the copy reads it.
    """

    copy: Backend
    query: BackendQuery
    database: Backend

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """The public groups and the private join tuples, in one snapshot. Raises: as `Backend.read`."""
        try:
            return self.copy.read(self.query)
        except (BackendUnavailable, SchemaChanged):  # both are raised before a row is read
            return self.database.read(query)
