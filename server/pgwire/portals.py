"""Prepared statements, portals, and the bytes that an analyst's sessions hold.

A portal is a statement with values and a position in its rows. Statements, bound values and unread rows count per
analyst, over all sessions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from planner.binding.placeholders import Value
from server.errors import WireError
from server.lru_cache import cached_bytes
from server.pgwire.result_rows import Result, Shape
from server.pgwire.settings import SearchPath
from server.pgwire.statements.commands import Command, Question
from server.pgwire.wire_values import bound_values
from server.scheduling.fair_shares import FairShares

MOST_OF_ONE = 128 << 20
"""The most bytes of all sessions of one analyst."""


class Holding:
    """The bytes of one session, as a share of its analyst's limit.

    Args:
      shares: bytes per analyst; used on the event loop.
    """

    def __init__(self, shares: FairShares, analyst: str) -> None:
        self._shares = shares
        self._analyst = analyst
        self._n_bytes = 0

    def hold(self, n_bytes: int) -> None:
        """Set the session's bytes; 0 at its end."""
        self._shares.give_back(self._analyst, self._n_bytes)
        self._shares.take(self._analyst, n_bytes)
        self._n_bytes = n_bytes

    def check(self, own: int, more: int = 0) -> None:
        """Check whether the session may hold `more` in addition to `own` bytes. Raises: WireError."""
        self.hold(own)
        if self._shares.refusal(self._analyst, more) is not None:
            hint = f"DEALLOCATE or CLOSE some; the limit is {self._shares.of_one >> 20} MiB"
            raise WireError("your sessions hold too many statements, values and rows", "53200", hint=hint)


OUTSIDE = -1
"""The depth of a cursor whose transaction was committed; no rollback closes it."""


@dataclass(frozen=True)
class Prepared:
    """A prepared statement.

    Attributes:
      command: None for the empty statement.
      shape: its columns under the settings `asked_as`.
      asked_as: the settings that change its columns.
    """

    command: Command | None
    oids: tuple[int, ...]
    shape: Shape
    asked_as: tuple[bool, bool, SearchPath]

    @cached_property
    def n_bytes(self) -> int:
        """Its size in memory."""
        return cached_bytes((self.command, self.oids, self.shape))


@dataclass
class Portal:
    """A statement with values.

    Attributes:
      command: None for the empty statement.
      raw: the values and formats as sent, for the catalog.
      formats: one per result column.
      hold: survives the commit of its transaction.
      depth: the number of savepoints before it in its open transaction; or `OUTSIDE`.
    """

    command: Command | None
    shape: Shape
    values: tuple[Value, ...] = field(default=(), repr=False)
    raw: tuple[tuple[bytes | None, ...], tuple[int, ...]] = field(default=((), ()), repr=False)
    formats: tuple[int, ...] = ()
    result: Result | None = field(default=None, repr=False)
    place: int = 0
    hold: bool = False
    depth: int = 0

    @classmethod
    def bound(
        cls,
        command: Command | None,
        shape: Shape,
        raw: tuple[tuple[bytes | None, ...], tuple[int, ...]],
        formats: tuple[int, ...],
        code: str,
    ) -> Portal:
        """A statement with values as sent; the catalog decodes its own.

        Raises: WireError of this SQLSTATE for a wrong number of values; as `bound_values`.
        """
        wanted, came = len(shape.parameters), len(raw[0])
        if came != wanted:
            raise WireError(f"the statement has {wanted} parameters, but {came} values were bound", code)
        catalog = isinstance(command, Question) and command.catalog
        return cls(command, shape, () if catalog else bound_values(*raw, shape.parameters), raw, formats)

    def outlives(self, *, committed: bool) -> bool:
        """Whether the portal survives the end of the current transaction."""
        return self.depth == OUTSIDE or (self.hold and committed)

    @cached_property
    def _bound_bytes(self) -> int:
        return cached_bytes((self.command, self.shape, self.values, self.raw, self.formats))

    @property
    def memory_bytes(self) -> int:
        """Its size in memory."""
        return self._bound_bytes + (0 if self.result is None else self.result.memory_bytes)
