"""What a session may ask of the rest of the proxy. All of it waits without holding up other sessions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from server.pgwire.results import CatalogResult
from server.pgwire.values import Field
from server.query import Budget, QueryRequest, QueryResponse, ResultColumn


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


class Desk(Protocol):
    """Answers questions, whatever protocol asks them."""

    async def describe(self, analyst: str, sql: str) -> Described:
        """Parameters and columns of a question. Raises: PlannerError."""
        ...

    async def answer(self, request: QueryRequest, cancelled: threading.Event) -> QueryResponse:
        """The answer, charged; setting `cancelled` ends it early, and the charge stands.

        Raises: what the pipeline raises.
        """
        ...

    async def budget(self, analyst: str) -> Budget:
        """What was granted and what is left."""
        ...

    async def catalog_shape(self, analyst: str, sql: str, oids: Sequence[int]) -> CatalogShape:
        """Parameters and columns of a question to the catalog.

        Args:
          analyst: who asks, and waits behind nobody else's questions.
          sql: one statement.
          oids: what the client says of its parameters; 0 for what it leaves open.
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
    ) -> CatalogResult:
        """The answer of the catalog, in one format. Raises: CatalogRefused."""
        ...
