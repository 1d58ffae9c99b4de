"""A DuckDB backend that opens its file once, instead of once per question: a hundred thousand take an hour less."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from planner.schema import Schema
from server.backends.duckdb import DuckdbBackend, DuckdbLimits, Spare


@dataclass
class Opened:
    """What stays open.

    Attributes:
      connections: by their limits, with what closes each.
      uses: how often one was asked for: who did not, has learned nothing of the file.
    """

    connections: dict[DuckdbLimits, duckdb.DuckDBPyConnection] = field(default_factory=dict)
    closing: list[object] = field(default_factory=list)
    schema: list[Schema] = field(default_factory=list)
    uses: int = 0


@dataclass(frozen=True)
class KeptConnections(DuckdbBackend):
    """As DuckdbBackend, over a file that nobody writes: for one thread.

    Attributes:
      opened_before: shared by all copies.
      kinds: the types of the columns of a question's statements, shared with who reads the neighbour.
    """

    opened_before: Opened = field(default_factory=Opened, compare=False)
    kinds: dict[str, list[str]] = field(default_factory=dict, compare=False)

    @classmethod
    def over(cls, file: Path) -> KeptConnections:
        """Of any state of the file: two files of the same tables are then the same to the planner, plans and all."""
        return cls(file, limits=replace(DuckdbLimits(), threads=1))

    def beside(self, file: Path) -> KeptConnections:
        """Over another file of the same tables, whose statements have columns of the same types."""
        return replace(self.over(file), kinds=self.kinds)

    @contextmanager
    def _connected(self, limits: DuckdbLimits, spare: Spare | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        self.opened_before.uses += 1
        known = self.opened_before.connections.get(limits)
        if known is None:
            entering = super()._connected(limits)
            known = entering.__enter__()
            self.opened_before.closing.append(entering)
            self.opened_before.connections[limits] = known
        try:
            yield known
        finally:
            with suppress(duckdb.Error):  # where no transaction was begun
                known.rollback()

    def _schema(self, connection: duckdb.DuckDBPyConnection) -> Schema:
        if not self.opened_before.schema:
            self.opened_before.schema.append(super()._schema(connection))
        return self.opened_before.schema[0]

    def _kinds(self, connection: duckdb.DuckDBPyConnection, statement: str) -> list[str]:
        """Once for both databases: they have one catalog, and types follow from it and the statement alone."""
        if statement not in self.kinds:
            self.kinds[statement] = super()._kinds(connection, statement)
        return self.kinds[statement]

    @property
    def uses(self) -> int:
        """How often a connection was asked for."""
        return self.opened_before.uses

    def close(self) -> None:
        """Close what is open."""
        for entered in self.opened_before.closing:
            entered.__exit__(None, None, None)  # type: ignore[attr-defined]  # contexts that were entered
        self.opened_before.closing.clear()
        self.opened_before.connections.clear()
