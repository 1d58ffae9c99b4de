"""Prepared statements and portals, and how many bytes the sessions of each analyst keep.

A portal is a statement with its values, on the way through its rows. Statements, bound values and rows yet to be
fetched are counted per analyst, over all sessions.
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
"""Bytes of all sessions of one analyst together."""


class Holding:
    """What one session keeps, of what all sessions of its analyst keep together: nothing yet.

    Args:
      shares: bytes that are kept for whom, by one server; used on its event loop only.
    """

    def __init__(self, shares: FairShares, analyst: str) -> None:
        self._shares = shares
        self._analyst = analyst
        self._n_bytes = 0

    def hold(self, n_bytes: int) -> None:
        """The session keeps so many bytes now; none when it ends."""
        self._shares.give_back(self._analyst, self._n_bytes)
        self._shares.take(self._analyst, n_bytes)
        self._n_bytes = n_bytes

    def check(self, own: int, more: int = 0) -> None:
        """May the session, which keeps `own` bytes, keep `more`? Raises: WireError."""
        self.hold(own)
        if self._shares.refusal(self._analyst, more) is not None:
            hint = f"DEALLOCATE or CLOSE some: {self._shares.of_one >> 20} MiB is the most"
            raise WireError("your sessions keep too many statements, values and rows", "53200", hint=hint)


OUTSIDE = -1
"""The depth of a cursor whose transaction was committed: no rollback closes it."""


@dataclass(frozen=True)
class Prepared:
    """A prepared statement.

    Attributes:
      command: what it does; None: the empty statement.
      shape: what it looks like under the settings `asked_as`.
      asked_as: the settings that change its columns.
    """

    command: Command | None
    oids: tuple[int, ...]
    shape: Shape
    asked_as: tuple[bool, bool, SearchPath]

    @cached_property
    def n_bytes(self) -> int:
        """What it takes of memory."""
        return cached_bytes((self.command, self.oids, self.shape))


@dataclass
class Portal:
    """A statement with its values.

    Attributes:
      command: what it does; None: the empty statement.
      raw: the same as they were sent, with their formats, for the catalog.
      formats: one per column of the result.
      hold: does it outlive its transaction, if that is committed?
      depth: how many savepoints came before it in its transaction, which is not over; or `OUTSIDE`.
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
        """A statement with values as they were sent; the catalog reads its own.

        Raises: WireError of this SQLSTATE for more or fewer values than it has parameters; as `bound_values`.
        """
        wanted, came = len(shape.parameters), len(raw[0])
        if came != wanted:
            raise WireError(f"the statement has {wanted} parameters, {came} values came", code)
        catalog = isinstance(command, Question) and command.catalog
        return cls(command, shape, () if catalog else bound_values(*raw, shape.parameters), raw, formats)

    def outlives(self, *, committed: bool) -> bool:
        """Is it there after the transaction that ends now?"""
        return self.depth == OUTSIDE or (self.hold and committed)

    @cached_property
    def _bound_bytes(self) -> int:
        """What the statement and its values take of memory."""
        return cached_bytes((self.command, self.shape, self.values, self.raw, self.formats))

    @property
    def memory_bytes(self) -> int:
        """What it takes of memory."""
        return self._bound_bytes + (0 if self.result is None else self.result.memory_bytes)
