"""PostgreSQL: one read-only snapshot per question, pinned settings, the plan's schema checked inside it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, ClassVar, cast

import psycopg
from psycopg import IsolationLevel, errors

from planner.errors import SchemaChanged
from planner.plan import BackendQuery
from planner.public.query import PublicStatement
from planner.rewrite import Dialect
from server.backends.catalog import read_schema
from server.backends.columns import Column, Domain, group_domain
from server.backends.public_rows import Rows, no_value, public_rows
from server.backends.query_tuples import QueryTuples, query_tuples
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    ConfigurationInvalid,
    QueryCancelled,
)

_CONNECT_TIMEOUT_S = 10
_UNREACHABLE = "is it up, and does its URL name the right host, port, database, role and password?"
_FETCH_ROWS = 65_536

# Whatever could make the same statement mean something else, or run longer than its limit.
_SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "lc_numeric": "C",
    "search_path": "pg_catalog",  # first and only: nobody else's functions or tables are meant by a plain name
    "standard_conforming_strings": "on",
    "row_security": "off",  # an error rather than silently missing rows
    "jit": "off",
    "client_connection_check_interval": "1s",  # a proxy that is gone takes its queries along
}


@dataclass(frozen=True)
class ReadLimits:
    """Public bounds of one read.

    Attributes:
      statement_ms: statement timeout.
      public_ms: the same for queries over public tables only: they are free, so that nothing else bounds them.
      rows: the most distinct join tuples that one statement may take in.
    """

    statement_ms: int = 60_000
    public_ms: int = 15_000
    rows: int = 20_000_000


@dataclass(frozen=True)
class PostgresBackend:
    """Reads join tuples from PostgreSQL over one connection per question.

    Attributes:
      url: connection URL or conninfo; holds the password, so it is in no repr.
      limits: see ReadLimits.
    """

    dialect: ClassVar[Dialect] = "postgres"

    url: str = field(repr=False)
    limits: ReadLimits = ReadLimits()

    def check_reachable(self) -> None:
        """Connect and go."""
        with connected(self.url, self.limits.statement_ms):
            pass

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        """The public groups and the private join tuples of one snapshot.

        Raises:
          BackendUnavailable: no connection; nothing was read.
          SchemaChanged: the catalog is not the plan's; no private row was read.
          BackendConnectionLost: cut off, or a serialization failure: worth one retry.
          QueryCancelled: over a limit.
          BackendFailed: any other refusal by the database; the cause is chained for the log.
        """
        with self._snapshot(query.fingerprint) as connection:
            domain = _domain(connection, query)
            return query_tuples(query, domain, partial(self._columns, connection))

    def domain(self, query: BackendQuery) -> Domain:
        """The public groups alone. Raises: as `read`."""
        with self._snapshot(query.fingerprint) as connection:
            return _domain(connection, query)

    def public(self, statement: PublicStatement) -> Rows:
        """The rows of a statement over public tables, as clients see them.

        Raises: StatementTooComplex for more than MAX_PUBLIC_ROWS; ComputationFailed for a value that is none;
          otherwise as `read`.
        """
        with self._snapshot(statement.fingerprint, self.limits.public_ms) as connection:
            try:
                with connection.cursor() as cursor:
                    # A generator, though psycopg promises less; closed early, it ends the statement.
                    streamed = cast("Generator[Any, None, None]", cursor.stream(statement.sql.encode()))
                    with closing(streamed) as rows:
                        return public_rows(_Streamed(rows), statement.types)
            except (psycopg.DataError, errors.CardinalityViolation) as error:
                raise no_value() from error

    @contextmanager
    def _snapshot(self, fingerprint: str, statement_ms: int | None = None) -> Iterator[psycopg.Connection[Any]]:
        """One transaction in which the schema is the one that the query was planned for."""
        with connected(self.url, statement_ms or self.limits.statement_ms) as connection, _translated():
            if read_schema(connection).fingerprint != fingerprint:
                raise SchemaChanged("the tables have changed since the query was planned", hint="ask again")
            yield connection

    def _columns(self, connection: psycopg.Connection[Any], statement: str, width: int) -> list[Column]:
        """A statement's columns, in blocks; by a client-side cursor: a server-side one forbids parallel plans."""
        rows: list[tuple[object, ...]] = []
        with connection.cursor(binary=True) as cursor:
            cursor.execute(statement.encode())
            while block := cursor.fetchmany(_FETCH_ROWS):
                rows.extend(block)
                if len(rows) > self.limits.rows:
                    raise QueryCancelled("the query joins more than the proxy takes in", hint="add predicates")
        return list(zip(*rows, strict=True)) if rows else [()] * width


@dataclass(frozen=True)
class _Streamed:
    """Rows as they arrive, never all of them in memory."""

    rows: Iterator[Any]

    def fetchmany(self, size: int, /) -> list[Any]:
        """The next rows."""
        return list(islice(self.rows, size))


def _domain(connection: psycopg.Connection[Any], query: BackendQuery) -> Domain:
    return group_domain(query, lambda statement: connection.execute(statement.encode()).fetchall())


@contextmanager
def connected(url: str, statement_ms: int) -> Iterator[psycopg.Connection[Any]]:
    """A connection in one read-only repeatable-read transaction with pinned settings.

    Raises: BackendUnavailable.
    """
    options = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in _SESSION.items())
    try:
        connection = psycopg.connect(
            url,
            options=f"{options} -c statement_timeout={statement_ms} -c lock_timeout={statement_ms}",
            connect_timeout=_CONNECT_TIMEOUT_S,
            application_name="noisegate",
            client_encoding="UTF8",
            prepare_threshold=None,
        )
    except psycopg.ProgrammingError:
        # Its text quotes the URL, password and all: neither it nor its chain goes further.
        hint = "postgresql://ROLE:PASSWORD@HOST/DATABASE"
        raise ConfigurationInvalid("the database's URL is not one that PostgreSQL can read", hint=hint) from None
    except psycopg.OperationalError as error:
        raise BackendUnavailable("the database cannot be reached", hint=_UNREACHABLE) from error
    with connection:
        if connection.info.parameter_status("server_encoding") != "UTF8":
            hint = "a character that has no Unicode would make the answer fail"
            raise ConfigurationInvalid("the database's encoding is not UTF8", hint=hint)
        connection.read_only = True
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        yield connection


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the database's errors into ours, none of whose words are the database's."""
    try:
        yield
    except (errors.QueryCanceled, errors.LockNotAvailable) as error:
        raise QueryCancelled("the query took longer than its limit", hint="join less, or add predicates") from error
    except (errors.SerializationFailure, errors.DeadlockDetected, errors.AdminShutdown) as error:
        raise BackendConnectionLost("the database cut the query off") from error
    except psycopg.OperationalError as error:
        raise BackendConnectionLost("the connection to the database was lost") from error
    except psycopg.Error as error:
        raise BackendFailed("the database refused the rewritten query") from error
