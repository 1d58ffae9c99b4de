"""What one question may still take in: the policy's number of rows, and what a worker's memory has room for.

A worker that asks the system for more memory than it has fails wherever it is just then; some libraries end the
process. So rows are refused before they arrive: how many of them there is room for follows from the types of a
statement's columns, from the worker's limit and from what DuckDB may hold beside them, all of them public. It is the
same footing as the number of rows: whether a question ends by it depends on private rows, it was charged, and the
analyst hears of it what they hear of every failure, at the same public moments where its join may explode.
Texts have no public length. They are counted as they arrive, in blocks of rows.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from server.errors import ConfigurationInvalid, QueryCancelled

RESERVED = 2 << 30
"""Address space of the interpreter, its libraries and the compiled kernels, 1.6 GB, and of everything small."""

_LEAST_SHARE = 8
"""One part in so many of a worker's memory is for rows, however much DuckDB was given."""

ROW_OF_OBJECTS, OBJECT = 128, 112
"""Bytes of a row that arrives as a tuple, and of each value: in the driver's result, in the row, in a column."""

TOO_MUCH = "add predicates, sample, or group by less; the custodian may raise memory_mb in [database]"
"""What helps a question that needs more memory than it may have."""

KEPT = 24
"""Bytes of a whole number in an array: with what is made of it while it is coded, per value of a row."""


@dataclass
class Room:
    """Of one question; each statement takes from what the ones before it have left.

    Attributes:
      rows: the most of one statement.
      memory_bytes: what is left for rows; None: there is no limit.
    """

    rows: int
    memory_bytes: int | None = None

    @classmethod
    def of_process(cls, rows: int, beside_bytes: int = 0) -> Room:
        """The room of this process, which is a worker or has no limit.

        Args:
          rows: as of Room.
          beside_bytes: what a database that runs in the process may hold.
        """
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return cls(rows)
        return cls(rows, max(limit - RESERVED - beside_bytes, limit // _LEAST_SHARE))

    def most(self, row_bytes: int) -> int:
        """How many rows may be asked for, each of which takes so many bytes while they arrive."""
        return self.rows if self.memory_bytes is None else min(self.rows, self.memory_bytes // max(1, row_bytes))

    def take(self, rows: int, row_bytes: int) -> None:
        """Rows that stay, so many bytes each. Raises: QueryCancelled where they are more than there is room for."""
        if rows > self.most(row_bytes):
            raise too_many()
        if self.memory_bytes is not None:
            self.memory_bytes -= rows * row_bytes


class Blocks:
    """Rows that arrive as tuples, a block at a time.

    Args:
      room: of the question.
      width: columns.
    Attributes:
      most: rows for which there is room, if their texts are short: more need not be asked for.
      rows: those that have arrived.
    """

    def __init__(self, room: Room, width: int) -> None:
        self._room = room
        self._row_bytes = ROW_OF_OBJECTS + OBJECT * width
        self.most = room.most(self._row_bytes)
        self.rows: list[tuple[object, ...]] = []

    def take(self, block: Sequence[tuple[object, ...]]) -> None:
        """Add a block. Raises: QueryCancelled for more rows, or longer texts, than there is room for."""
        if len(self.rows) + len(block) > self.most:
            raise too_many()
        self._room.take(len(block), self._row_bytes)
        if self._room.memory_bytes is not None:
            self._room.take(1, sum(sys.getsizeof(value) for row in block for value in row if isinstance(value, str)))
        self.rows.extend(block)

    def columns(self, width: int) -> list[tuple[object, ...]]:
        """The rows as columns."""
        return list(zip(*self.rows, strict=True)) if self.rows else [()] * width


def too_many() -> QueryCancelled:
    """The refusal of a question that takes in more than its limit."""
    return QueryCancelled("the query joins more than the proxy takes in", hint="add predicates, or sample less")


def refuse_memory_below(memory_mb: int | None, least_mb: int, engine: str) -> None:
    """Refuse a policy under which every question would fail: who asks would be told to join less, to no avail.

    Args:
      memory_mb: of the policy's `[database]`; None: it says nothing.
      least_mb: with which the engine works.
    Raises: ConfigurationInvalid.
    """
    if memory_mb is not None and memory_mb < least_mb:
        hint = f"memory_mb = {least_mb} is the least that works; without it {engine} has 4096"
        raise ConfigurationInvalid(f"database.memory_mb = {memory_mb} is too little for {engine}", hint=hint)
