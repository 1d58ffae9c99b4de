"""A DuckDB backend that opens its file once, instead of once per question: a hundred thousand take an hour less."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from planner.schema import Schema
from server.backends.duckdb import DuckdbBackend, DuckdbLimits


@dataclass
class Opened:
    """What stays open.

    Attributes:
      connections: by their limits, with what closes each.
    """

    connections: dict[DuckdbLimits, duckdb.DuckDBPyConnection] = field(default_factory=dict)
    closing: list[object] = field(default_factory=list)
    schema: list[Schema] = field(default_factory=list)


@dataclass(frozen=True)
class KeptConnections(DuckdbBackend):
    """As DuckdbBackend, over a file that nobody writes: for one thread.

    Attributes:
      opened: shared by all copies.
    """

    opened_before: Opened = field(default_factory=Opened, compare=False)

    @classmethod
    def over(cls, file: Path) -> KeptConnections:
        """Of any state of the file: two files of the same tables are then the same to the planner, plans and all."""
        return cls(file, limits=replace(DuckdbLimits(), threads=1))

    @contextmanager
    def _connected(self, limits: DuckdbLimits) -> Iterator[duckdb.DuckDBPyConnection]:
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

    def close(self) -> None:
        """Close what is open."""
        for entered in self.opened_before.closing:
            entered.__exit__(None, None, None)  # type: ignore[attr-defined]  # contexts that were entered
        self.opened_before.closing.clear()
        self.opened_before.connections.clear()
