"""What a session may ask of the rest of the proxy. All of it waits without holding up other sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from planner.sql.zones import UTC
from server.admission import Admission, LedgerReads
from server.connections import Outgoing
from server.pgwire.result_rows import CatalogResult
from server.pgwire.wire_values import Field
from server.query import ResultColumn


@dataclass(frozen=True)
class Described:
    """What is known of a question before its values are bound; free.

    Attributes:
      parameters: the OID of each `$n`.
      columns: of the answer.
      noisy: per column, is it a noisy number, with an interval?
    """

    parameters: tuple[int, ...]
    columns: tuple[ResultColumn, ...]
    noisy: tuple[bool, ...]


@dataclass(frozen=True)
class CatalogShape:
    """The same of a question to the catalog, whose types may be any of PostgreSQL's."""

    parameters: tuple[int, ...]
    fields: tuple[Field, ...]


SearchPath = tuple[str, ...] | None
"""The schemas in which a session looks for tables; None: as the policy says."""


class Gateway(Protocol):
    """What sessions share with each other, and with other protocols.

    Attributes:
      admission: answers questions.
      reads: of budgets.
      outgoing: room for answers that are being read.
    """

    admission: Admission
    reads: LedgerReads
    outgoing: Outgoing

    @property
    def schemas(self) -> tuple[str, ...]:
        """The search path of sessions that set none."""
        ...

    def epsilons(self) -> tuple[float, float]:
        """The least and the most epsilon that the policy in force lets one question spend."""
        ...

    async def describe(
        self, analyst: str, sql: str, search_path: SearchPath = None, oids: Sequence[int] = ()
    ) -> Described:
        """Parameters and columns of a question.

        Args:
          oids: what the client says of its parameters; 0 for what it leaves open.
        Raises: PlannerError.
        """
        ...

    async def answer_types(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> tuple[Field, ...]:
        """The columns of a question as PostgreSQL has them; none where it does not read it, or is not there.

        Args:
          analyst, sql, oids, search_path: as of `catalog_shape`.
        """
        ...

    async def catalog_shape(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> CatalogShape:
        """Parameters and columns of a question to the catalog.

        Args:
          analyst: who asks, and waits behind nobody else's questions.
          sql: one statement.
          oids: what the client says of its parameters; 0 for what it leaves open.
          search_path: the session's.
        Raises: CatalogRefused.
        """
        ...

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
        """The answer of the catalog, in one format.

        Args:
          analyst: who asks.
          sql: the statement.
          values, formats, oids: of the parameters, as they were sent.
          result_format: 0 for text, 1 for binary.
          zone: the session's time zone.
        Raises: CatalogRefused.
        """
        ...
