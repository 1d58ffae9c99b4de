"""Result rows with their columns: of answers, of the catalog, and of SHOW."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain, repeat, zip_longest

from planner.errors import UnsupportedSQL
from planner.sql import zones
from planner.sql.datetimes import zoned_text
from planner.sql.sql_types import ResultType
from server.answer_columns import blocks_of
from server.connections import Held
from server.errors import WireError
from server.ledger.account import analyst_account, guarantee
from server.ledger.balance import RemainingQuestions
from server.pgwire.errors import CatalogRefused
from server.pgwire.wire_values import Field, can_be_sent, encode_cell, field_of, oid_of
from server.query import Cell, QueryResponse, ResultColumn
from server.results.flat_table import Columns, flat, flat_columns

_CELL_BYTES = 64
_TIMESTAMPTZ = oid_of("timestamptz")
_WIDEST = 4


@dataclass(frozen=True)
class Shape:
    """A statement's description before it runs.

    Attributes:
      parameters: the OID of each `$n`.
      fields: its columns; None: it returns no rows.
      noisy: per column of the answer, whether its interval follows; None: without intervals.
    """

    parameters: tuple[int, ...] = ()
    fields: tuple[Field, ...] | None = None
    noisy: tuple[bool, ...] | None = None


class Result(ABC):
    """Rows with their columns."""

    fields: tuple[Field, ...]

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Its size in memory."""

    @abstractmethod
    def rows(self, places: range, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
        """Encode the cells of some rows, one format per column.

        Raises: UnsupportedSQL, before the first row, for formats that it cannot have.
        """

    def texts(self, places: range) -> Iterator[list[str | None]]:
        """The cells of some rows in PostgreSQL's text format. Raises: as `rows`."""
        for row in self.rows(places, (0,) * len(self.fields)):
            yield [None if cell is None else cell.decode() for cell in row]


@dataclass(frozen=True)
class Table(Result):
    """Cells of our own types, sent as their columns' types.

    Attributes:
      cells: rows, which may be computed when read.
      held: counts the answer's bytes; released with the table.
      zone: the session's, in which moments are written.
    """

    fields: tuple[Field, ...]
    cells: Sequence[tuple[Cell, ...]]
    held: Held | None = field(default=None, compare=False, repr=False)
    zone: str = zones.UTC

    @classmethod
    def of(cls, columns: Sequence[tuple[str, ResultType]], cells: Sequence[tuple[Cell, ...]]) -> Table:
        """A table of named and typed columns."""
        return cls(tuple(field_of(name, kind) for name, kind in columns), cells)

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def memory_bytes(self) -> int:
        """Its size in memory, with four bytes per character."""
        texts = 0  # rows that are computed when read are counted elsewhere
        if isinstance(self.cells, tuple):
            texts = sum(len(cell) for row in self.cells for cell in row if isinstance(cell, str))
        return _CELL_BYTES * len(self.cells) * len(self.fields) + _WIDEST * texts

    def rows(self, places: range, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
        """Encode the cells of some rows."""
        moments = [place for place, one in enumerate(self.fields) if one.oid == _TIMESTAMPTZ]
        moments = [] if zones.is_utc(self.zone) else moments
        for some in blocks_of(places, len(self.fields)):
            for row in self.cells[some.start : some.stop]:
                encoded = [encode_cell(*each) for each in zip(row, self.fields, formats, strict=True)]
                for place in moments:
                    encoded[place] = self._in_zone(row[place], place, formats[place])
                yield encoded

    def _in_zone(self, cell: Cell, place: int, format_: int) -> bytes | None:
        """A moment in the session's zone; one without a zone, such as a month of a date, begins there."""
        if cell is None:
            return None
        text = str(cell).replace("T", " ")
        if "+00" not in text:
            with suppress(ValueError, OverflowError):
                text = zoned_text(str(zones.instant(datetime.fromisoformat(text), self.zone)))
        if format_:
            return encode_cell(text, self.fields[place], format_)
        return (zones.text_in(text, self.zone) if "+00" in text else zoned_text(text)).encode()


def answer_fields(
    columns: Sequence[ResultColumn], described: Sequence[Field], noisy: Sequence[bool] | None = None
) -> tuple[Field, ...]:
    """The columns of an answer as the protocol describes them.

    Args:
      described: PostgreSQL's description of them; empty: none.
      noisy: which columns are followed by their interval; None: none.
    """
    own = tuple((column.name, column.type) for column in columns)
    wide = own if noisy is None else flat_columns(own, noisy)
    known = described if len(described) == len(own) else ()
    each = zip_longest(known, noisy or ())
    spread: Iterator[Field | None] = chain.from_iterable(
        ((one, None, None) if ends else (one,)) for one, ends in each
    )
    beside = chain(spread, repeat(None))  # the marks come last
    return tuple(field_of(name, kind, one) for (name, kind), one in zip(wide, beside, strict=False))


def answer_table(
    response: QueryResponse,
    noisy: Sequence[bool] | None,
    fields: tuple[Field, ...],
    held: Held | None = None,
    zone: str = zones.UTC,
) -> Table:
    """The rows of an answer.

    Args:
      noisy: which columns are followed by their interval; None: none.
      fields: the columns that the client has seen, with those of the intervals.
      held: counts the answer's bytes.
      zone: the session's.
    Raises: WireError if the client has seen other columns.
    """
    columns: Columns = tuple((column.name, column.type) for column in response.columns)
    rows = response.rows
    if noisy is not None:
        wide = flat(response, noisy)
        columns, rows = wide.columns, wide.rows
    if len(columns) != len(fields) or not all(map(can_be_sent, (kind for _, kind in columns), fields)):
        hint = "prepare it again: the answer is cached and free"
        raise WireError("the statement's columns have changed since it was described", "0A000", hint=hint)
    return Table(fields, rows, held, zone)


@dataclass(frozen=True)
class CatalogResult(Result):
    """The result of the shadow catalog, each column in the requested format.

    Attributes:
      formats: of each column: 0 text, 1 binary.
      cells: rows, as the database encoded them.
    """

    fields: tuple[Field, ...]
    formats: tuple[int, ...]
    cells: tuple[tuple[bytes | None, ...], ...]

    @classmethod
    def mixed(cls, one: CatalogResult, other: CatalogResult, formats: tuple[int, ...]) -> CatalogResult:
        """Combine the text and binary results of one statement, because libpq requests one format for all columns.

        Raises: CatalogRefused if their numbers of rows differ.
        """
        if len(one) != len(other):
            raise CatalogRefused("the catalog changed during the query", "40001", hint="try again")
        by_format = {result.formats[0]: result.cells for result in (one, other)}
        columns = list(enumerate(formats))
        cells = (tuple(by_format[format_][row][at] for at, format_ in columns) for row in range(len(one)))
        return cls(one.fields, formats, tuple(cells))

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def memory_bytes(self) -> int:
        """Its size in memory."""
        texts = sum(len(cell) for row in self.cells for cell in row if cell is not None)
        return _CELL_BYTES * len(self.cells) * len(self.fields) + texts

    def rows(self, places: range, formats: Sequence[int]) -> Iterator[list[bytes | None]]:
        """The cells of some rows, in the formats of the request; a cursor has texts."""
        if tuple(formats) != self.formats:
            raise UnsupportedSQL(
                "a cursor on system tables returns text only", hint="list tables and columns without a cursor"
            )
        return (list(self.cells[place]) for place in places)


_COLUMNS: tuple[tuple[str, ResultType], ...] = (
    ("epsilon", "float8"),
    ("delta", "float8"),
    ("epsilon_left", "float8"),
    ("delta_left", "float8"),
    ("questions_left", "int8"),
    ("protects", "text"),
)


def budget_table(analyst: str, remaining: RemainingQuestions) -> Table:
    """One row: the analyst's own account, and how many more questions like the last ones all accounts can pay for."""
    own = next(one for one in remaining.accounts if one.name == analyst_account(analyst))
    amounts = (own.grant.epsilon, own.grant.delta, own.epsilon_left, own.delta_left)
    return Table.of(_COLUMNS, [(*amounts, remaining.questions_left, guarantee(own))])
