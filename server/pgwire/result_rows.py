"""Rows to send, with their columns: of an answer, of the catalog, of SHOW, and of `SHOW noisegate.budget`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat, zip_longest

from planner.errors import UnsupportedSQL
from planner.sql.sql_types import ResultType
from server.answer_columns import blocks_of
from server.connections import Held
from server.errors import WireError
from server.ledger.account import analyst_account, guarantee
from server.ledger.balance import Outlook
from server.pgwire.errors import CatalogRefused
from server.pgwire.wire_values import Field, can_be_sent, encode_cell, field_of
from server.query import Cell, QueryResponse, ResultColumn
from server.results.flat_table import Columns, flat, flat_columns

_CELL_BYTES = 64
_WIDEST = 4


@dataclass(frozen=True)
class Shape:
    """What is known of a statement before it runs.

    Attributes:
      parameters: the OID of each `$n`.
      fields: its columns; None: it returns no rows.
      noisy: per column of the answer, is it followed by its interval? None: no intervals are asked for.
    """

    parameters: tuple[int, ...] = ()
    fields: tuple[Field, ...] | None = None
    noisy: tuple[bool, ...] | None = None


class Result(ABC):
    """Rows with their columns."""

    fields: tuple[Field, ...]

    @abstractmethod
    def __len__(self) -> int:
        """How many rows."""

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """What it takes of memory."""

    @abstractmethod
    def rows(self, places: range, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
        """The cells of some rows, one format per column; encoded when they are asked for.

        Raises: UnsupportedSQL, at once, where rows are not to be had in these formats.
        """

    def texts(self, places: range) -> Iterator[list[str | None]]:
        """The cells of some rows as PostgreSQL spells them. Raises: as `rows`."""
        for row in self.rows(places, (0,) * len(self.fields)):
            yield [None if cell is None else cell.decode() for cell in row]


@dataclass(frozen=True)
class Table(Result):
    """Cells of our own types, sent as their columns' types.

    Attributes:
      cells: rows, which may be made when they are read.
      held: the room that they take, let go with the table.
    """

    fields: tuple[Field, ...]
    cells: Sequence[tuple[Cell, ...]]
    held: Held | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, columns: Sequence[tuple[str, ResultType]], cells: Sequence[tuple[Cell, ...]]) -> Table:
        """A table of named and typed columns."""
        return cls(tuple(field_of(name, kind) for name, kind in columns), cells)

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def memory_bytes(self) -> int:
        """What it takes of memory, a text at its widest: four bytes a character."""
        texts = 0  # of rows that are made when they are read, which hold room of their own
        if isinstance(self.cells, tuple):
            texts = sum(len(cell) for row in self.cells for cell in row if isinstance(cell, str))
        return _CELL_BYTES * len(self.cells) * len(self.fields) + _WIDEST * texts

    def rows(self, places: range, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
        """The cells of some rows."""
        for some in blocks_of(places, len(self.fields)):
            for row in self.cells[some.start : some.stop]:
                yield [encode_cell(*each) for each in zip(row, self.fields, formats, strict=True)]


def answer_fields(
    columns: Sequence[ResultColumn], told: Sequence[Field], noisy: Sequence[bool] | None = None
) -> tuple[Field, ...]:
    """The columns of an answer as clients are told of them.

    Args:
      told: what PostgreSQL says of them; empty: nothing.
      noisy: which are followed by their interval's ends; None: none.
    """
    own = tuple((column.name, column.type) for column in columns)
    wide = own if noisy is None else flat_columns(own, noisy)
    known = told if len(told) == len(own) else ()
    each = zip_longest(known, noisy or ())
    spread: Iterator[Field | None] = chain.from_iterable(
        ((one, None, None) if ends else (one,)) for one, ends in each
    )
    beside = chain(spread, repeat(None))  # the marks stand behind
    return tuple(field_of(name, kind, one) for (name, kind), one in zip(wide, beside, strict=False))


def answer_table(
    response: QueryResponse, noisy: Sequence[bool] | None, fields: tuple[Field, ...], held: Held | None = None
) -> Table:
    """The rows of an answer.

    Args:
      noisy: which columns are followed by their interval's ends; None: none.
      fields: the columns, those of the ends among them, as the client was told of them.
      held: the room that the answer takes.
    Raises: WireError where the client was told of other columns.
    """
    columns: Columns = tuple((column.name, column.type) for column in response.columns)
    rows = response.rows
    if noisy is not None:
        wide = flat(response, noisy)
        columns, rows = wide.columns, wide.rows
    if len(columns) != len(fields) or not all(map(can_be_sent, (kind for _, kind in columns), fields)):
        hint = "prepare it anew: what was charged is kept, and free"
        raise WireError("the statement's columns have changed since it was described", "0A000", hint=hint)
    return Table(fields, rows, held)


@dataclass(frozen=True)
class CatalogResult(Result):
    """What the shadow database returned, each column in the format that was asked for.

    Attributes:
      formats: of each column: 0 text, 1 binary.
      cells: rows, as the database encoded them.
    """

    fields: tuple[Field, ...]
    formats: tuple[int, ...]
    cells: tuple[tuple[bytes | None, ...], ...]

    @classmethod
    def mixed(cls, one: CatalogResult, other: CatalogResult, formats: tuple[int, ...]) -> CatalogResult:
        """One statement's rows, of which PostgreSQL's own library takes either all columns as text or all as binary.

        Raises: CatalogRefused where the two have different numbers of rows.
        """
        if len(one) != len(other):
            raise CatalogRefused("the catalog changed meanwhile", "40001", hint="try again")
        by_format = {result.formats[0]: result.cells for result in (one, other)}
        columns = list(enumerate(formats))
        cells = (tuple(by_format[format_][row][at] for at, format_ in columns) for row in range(len(one)))
        return cls(one.fields, formats, tuple(cells))

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def memory_bytes(self) -> int:
        """What it takes of memory."""
        texts = sum(len(cell) for row in self.cells for cell in row if cell is not None)
        return _CELL_BYTES * len(self.cells) * len(self.fields) + texts

    def rows(self, places: range, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
        """The cells of some rows, in the formats that they were asked in: a cursor's are text."""
        if tuple(formats) != self.formats:
            raise UnsupportedSQL("a cursor over catalogs is read as text", hint="ask without a cursor")
        return (list(self.cells[place]) for place in places)


_COLUMNS: tuple[tuple[str, ResultType], ...] = (
    ("epsilon", "float8"),
    ("delta", "float8"),
    ("epsilon_left", "float8"),
    ("delta_left", "float8"),
    ("questions_left", "int8"),
    ("protects", "text"),
)


def budget_table(analyst: str, outlook: Outlook) -> Table:
    """One row: the analyst's own account, and how many more questions like the last ones all who pay can pay for."""
    own = next(one for one in outlook.accounts if one.name == analyst_account(analyst))
    amounts = (own.grant.epsilon, own.grant.delta, own.epsilon_left, own.delta_left)
    return Table.of(_COLUMNS, [(*amounts, outlook.questions_left, guarantee(own))])
