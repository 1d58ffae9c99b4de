"""What the custodian's side needs of a database, at the start of the proxy and to check a policy against the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from typing import Protocol

from psycopg import sql

from planner.policy.draft import Estimates
from planner.schema import Schema
from server.backends.backend import Backend
from server.backends.custody.file_urls import FILE_URLS

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

    def count(self, statement: Statement) -> int:
        """The number that a statement selects. Raises: Misfit; BackendFailed."""
        ...


def open_custody(url: str, namespaces: Sequence[str], statement_ms: int) -> AbstractContextManager[Custody]:
    """Connect to what a URL names.

    Args:
      url: of PostgreSQL; or of files, with an absolute path.
      namespaces: the schemas that a policy names, for the backend.
      statement_ms: how long a statement may take; 0: any time.
    Raises: ConfigurationInvalid, BackendUnavailable.
    """
    return _files(url) if url.startswith(FILE_URLS) else _postgres(url, namespaces, statement_ms)


@contextmanager
def _files(url: str) -> Iterator[Custody]:
    from server.backends.custody.files import opened_files  # DuckDB is an extra

    with opened_files(url) as custody:
        yield custody


@contextmanager
def _postgres(url: str, namespaces: Sequence[str], statement_ms: int) -> Iterator[Custody]:
    from server.backends.custody.postgres import PostgresCustody
    from server.backends.postgres import connected

    with connected(url, statement_ms) as connection:
        yield PostgresCustody(connection, url, tuple(namespaces))
