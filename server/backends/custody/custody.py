"""What the custodian's side needs of a database, at the start of the proxy and to check a policy against the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Protocol

from psycopg import sql

from planner.policy.draft import Estimates
from planner.schema import Schema
from server.backends.backend import Backend

Statement = sql.Composed | bytes
"""PostgreSQL's SQL of a SELECT of one number."""


class Misfit(Exception):
    """The database finds no sense in comparing a column with what the policy declares of it."""


class Custody(Protocol):
    """A database in one snapshot, whose exact numbers no analyst may see."""

    @property
    def name(self) -> str:
        """What the database is called."""
        ...

    @property
    def backend(self) -> Backend:
        """What answers from this database, in the state that this snapshot has where it can tell one from another."""
        ...

    def namespaces(self) -> Sequence[str]:
        """The schemas that the role may use."""
        ...

    def schema(self, namespaces: Sequence[str]) -> Schema:
        """The structure of these schemas."""
        ...

    def left_out(self, namespaces: Sequence[str]) -> Iterable[tuple[str, str]]:
        """What else they hold, with the reason why no answer can be about it."""
        ...

    def estimates(self, schema: Schema, today: date) -> Estimates:
        """What the database's statistics say of the rows, without a look at them."""
        ...

    def refuse_unsafe_role(self) -> None:
        """Refuse a role that may do more than SELECT. Raises: UnsafeRole."""
        ...

    def check_readable(self, schema: Schema) -> None:
        """Refuse values that a question fails by when it reads their column: that it fails tells that they are there.

        Raises: ConfigurationInvalid.
        """
        ...

    def count(self, statement: Statement) -> int:
        """The number that a statement selects. Raises: Misfit; BackendFailed."""
        ...

    def whole_numbers(self, statement: str) -> Sequence[tuple[int, ...]]:
        """The rows of a statement in the database's own dialect that selects whole numbers. Raises: BackendFailed."""
        ...
