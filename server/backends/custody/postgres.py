"""PostgreSQL in its custodian's hands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import psycopg
from psycopg import errors

from planner.policy.database_limits import DatabaseLimits
from planner.policy.draft import Estimates
from planner.schema import Schema
from server.backends.catalog import read_namespaces, read_schema
from server.backends.custody.custody import Misfit, Statement
from server.backends.custody.estimates import read_estimates
from server.backends.custody.left_out import read_left_out
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.role import refuse_unsafe_role
from server.errors import BackendFailed

_MISFIT = (psycopg.DataError, errors.UndefinedFunction, errors.DatatypeMismatch)


@dataclass(frozen=True)
class PostgresCustody:
    """One read-only snapshot.

    Attributes:
      connection: from `server.backends.postgres.connected`.
      url: of the same database.
      named: the schemas that the policy names.
      limits: of a question.
    """

    connection: psycopg.Connection[Any]
    url: str = field(default="", repr=False)
    named: tuple[str, ...] = ()
    limits: DatabaseLimits = DatabaseLimits()

    @property
    def name(self) -> str:
        """As PostgreSQL calls the database."""
        return self.connection.info.dbname

    @property
    def backend(self) -> PostgresBackend:
        """By connections of its own."""
        return PostgresBackend(self.url, ReadLimits.of_policy(self.limits), self.named)

    def namespaces(self) -> Sequence[str]:
        """The schemas that the role may use."""
        return read_namespaces(self.connection)

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure of these schemas."""
        return read_schema(self.connection, tuple(namespaces))

    def left_out(self, namespaces: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What else they hold."""
        return read_left_out(self.connection, tuple(namespaces))

    def estimates(self, schema: Schema, today: date) -> Estimates:
        """From the planner's statistics."""
        return read_estimates(self.connection, schema, today)

    def refuse_unsafe_role(self) -> None:
        """Refuse a role that may do more than SELECT. Raises: UnsafeRole."""
        refuse_unsafe_role(self.connection)

    def check_readable(self, schema: Schema) -> None:
        """PostgreSQL holds no value that it cannot read."""

    def count(self, statement: Statement) -> int:
        """The number that a statement selects. Raises: Misfit; BackendFailed."""
        try:
            with self.connection.transaction():
                row = self.connection.execute(statement).fetchone()
        except _MISFIT as error:
            raise Misfit from error
        except psycopg.Error as error:
            raise BackendFailed("the database refused to count", hint="may the role SELECT it?") from error
        assert row is not None, "an aggregate without GROUP BY returns one row"
        return int(row[0])

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """The rows of a statement that selects whole numbers. Raises: BackendFailed."""
        try:
            with self.connection.transaction():
                found = self.connection.execute(statement.encode()).fetchall()
        except psycopg.Error as error:
            raise BackendFailed("the database refused to compare rows", hint="may the role SELECT them?") from error
        return [tuple(map(int, row)) for row in found]
