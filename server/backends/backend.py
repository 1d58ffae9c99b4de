"""The interface that the pipeline uses for every database, and the parts that all databases share."""

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
"""Type families that can hold NaN in databases whose decimals cannot."""

NUMBERS = frozenset({Family.FLOAT, Family.NUMERIC})
"""Type families that can hold NaN in PostgreSQL."""


def quoted(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def with_nan(table: Table, families: Collection[Family], free: Collection[str] = ()) -> Table:
    """Mark each column that may hold NaN; the planner treats such a value as missing.

    Args:
      families: the type families in which the database has NaN.
      free: columns for which an enforced constraint excludes NaN.

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


class Source(Protocol):
    """Where the rows of a question are read. Frozen and picklable: each worker process gets a copy."""

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """Read the public groups and the private join tuples in one snapshot.

        Raises: BackendUnavailable when nothing was read; BackendConnectionLost when a retry may help; SchemaChanged
          before a private row was read; QueryCancelled; BackendFailed.
        """
        ...


class Backend(Source, Protocol):
    """A database that answers BackendQueries."""

    @property
    def dialect(self) -> Dialect:
        """The SQL dialect of its statements."""
        ...

    def check_schema(self, fingerprint: str) -> None:
        """Connect, and compare the catalog with the fingerprint of a plan. Reads no table.

        Raises: BackendUnavailable when the database cannot answer for any reason; SchemaChanged.
        """
        ...

    def domain(self, query: BackendQuery) -> Domain:
        """Read only the public groups of a query. Reads no private row.

        Raises: BackendUnavailable, SchemaChanged, QueryCancelled, BackendFailed.
        """
        ...

    def public(self, statement: PublicStatement) -> Rows:
        """Run a statement over public tables. Reads no private row.

        Raises: StatementTooComplex, ComputationFailed; otherwise as `domain`.
        """
        ...

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """Run the outer part of a composed statement over released answers and public tables. Reads no private row.

        Args:
          rows: False returns the columns only.
        Raises: UnsupportedSQL if the database cannot parse the statement; otherwise as `public`.
        """
        ...


@dataclass(frozen=True)
class Limits:
    """Public bounds of one read.

    Attributes:
      statement_ms: the time limit of one statement; for files, of all statements of one question.
      public_ms: the time limit of queries over public tables, which no budget limits.
      rows: the most distinct join tuples that one statement may return.
    """

    statement_ms: int = 60_000
    public_ms: int = 15_000
    rows: int = 20_000_000


class SnapshotBackend(ABC, Generic[C]):
    """A Backend that opens one connection and one snapshot for each read.

    A subclass defines how to open a snapshot and how to run a statement in it.

    Attributes:
      unanswering: the message and the hint for a database that does not answer.
      valueless: the driver's exceptions for a public statement without a value, such as an overflow.
      unreadable: the driver's exceptions for a statement that the database cannot parse.
    """

    unanswering: ClassVar[tuple[str, str]]
    valueless: ClassVar[tuple[type[Exception], ...]] = ()
    unreadable: ClassVar[tuple[type[Exception], ...]] = ()

    @abstractmethod
    def _snapshot(self, fingerprint: str, *, free: bool = False) -> AbstractContextManager[C]:
        """Open a snapshot with a time limit, and check the schema's fingerprint.

        Args:
          free: the query reads public tables only, and has the limits of such queries.
        """

    @abstractmethod
    def _streamed(self, connection: C, sql: str) -> AbstractContextManager[Iterable[Sequence[Any]]]:
        """Run a public statement, and stream its rows."""

    @abstractmethod
    def _room(self) -> Room:
        """The memory limit for the rows of one question."""

    @abstractmethod
    def _columns(self, connection: C, room: Room, statement: str, width: int) -> list[Values]:
        """Run a private statement, and return its columns."""

    @abstractmethod
    def _groups(self, connection: C, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement that lists public groups."""

    def _check(self, connection: C, statement: OuterStatement) -> None:
        """Refuse a statement whose query plan reads tables that it does not name. Raises: BackendFailed."""

    def _described(self, connection: C, sql: str) -> tuple[tuple[str, ResultType], ...]:
        """The names and types of the columns of an outer statement."""
        raise NotImplementedError

    def check_schema(self, fingerprint: str) -> None:
        """Connect, and compare the catalog. Raises: BackendUnavailable, SchemaChanged."""
        try:
            with self._snapshot(fingerprint):
                pass
        except (BackendConnectionLost, BackendFailed, QueryCancelled) as error:
            message, hint = self.unanswering
            raise BackendUnavailable(message, hint=hint) from error

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """Read the public groups and the private join tuples of one snapshot. Raises: as `Backend.read`."""
        with self._snapshot(query.fingerprint) as connection:
            domain = group_domain(query, partial(self._groups, connection))
            room = self._room()
            return query_tuples(query, domain, partial(self._columns, connection, room), room)

    def domain(self, query: BackendQuery) -> Domain:
        """Read only the public groups. Raises: as `Backend.domain`."""
        with self._snapshot(query.fingerprint, free=True) as connection:
            return group_domain(query, partial(self._groups, connection))

    def public(self, statement: PublicStatement) -> Rows:
        """Run a statement over public tables, with its cells as clients see them. Raises: as `Backend.public`."""
        with self._snapshot(statement.fingerprint, free=True) as connection:
            try:
                with self._streamed(connection, statement.sql) as rows:
                    return public_rows(rows, [kind for _, kind in statement.columns])
            except self.valueless as error:
                raise no_value() from error

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        """Run the outer part of a composed statement. Raises: as `Backend.compute`."""
        with self._snapshot(statement.fingerprint, free=True) as connection:
            try:
                self._check(connection, statement.without_rows())
                columns = self._described(connection, statement.without_rows().columns_sql())
                kinds = [kind for _, kind in columns]
                shown = [shown_sql(place, kind) for place, kind in enumerate(kinds)]
                if statement.trial and not rows:
                    tried = statement.with_samples().rows_sql(shown, 1)
                    with self._streamed(connection, tried) as arriving:
                        list(arriving)
            except (*self.unreadable, *self.valueless) as error:
                raise not_computable(statement, _said(error)) from error
            if not rows:
                return Computed(columns)
            sql = statement.rows_sql(shown, MAX_PUBLIC_ROWS + 1)
            try:
                # Over no rows, the plan may omit tables that the statement reads otherwise.
                self._check(connection, statement)
                with self._streamed(connection, sql) as arriving:
                    return Computed(columns, public_rows(arriving, kinds, computed=True))
            except self.valueless as error:
                raise not_computed(statement, _said(error)) from error


def check_planned(found: str, planned: str) -> None:
    """Refuse a query whose plan has another schema fingerprint. Raises: SchemaChanged."""
    if found != planned:
        raise SchemaChanged("the tables have changed since the query was planned", hint="ask again")


def _said(error: Exception) -> str:
    """The database's own message about a statement that reads nothing private."""
    diagnostic = getattr(error, "diag", None)
    message = str(error).partition("\n")[0] if diagnostic is None else diagnostic.message_primary
    return (message or "the database cannot parse it").rstrip(".")


@dataclass(frozen=True)
class MirrorFirst:
    """Reads one question from a mirror, or from the database if the mirror was replaced in the meantime.

    Attributes:
      copy: reads from the mirror, and refuses any other copy than the chosen one.
      query: the question in the mirror's dialect.
    """

    copy: Backend
    query: BackendQuery
    database: Backend

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """Read the public groups and the private join tuples in one snapshot. Raises: as `Backend.read`."""
        try:
            return self.copy.read(self.query)
        except (BackendUnavailable, SchemaChanged):  # both are raised before any row is read
            return self.database.read(query)
