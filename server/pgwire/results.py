"""Rows to send: of an answer, of the catalog, of SHOW."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.errors import UnsupportedSQL
from planner.plan import ResultType
from server.flat_answer import flat
from server.pgwire.values import Field, encode_cell, field_of, spell
from server.query import Cell, QueryResponse


class Result(ABC):
    """Rows with their columns."""

    fields: tuple[Field, ...]

    @abstractmethod
    def __len__(self) -> int:
        """How many rows."""

    @property
    def n_cells(self) -> int:
        """Rows times columns."""
        return len(self) * len(self.fields)

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """How long its texts are together."""

    def readable(self, formats: tuple[int, ...]) -> tuple[int, ...]:
        """The formats, if rows can be had in them. Raises: UnsupportedSQL."""
        return formats

    @abstractmethod
    def row(self, index: int, formats: Sequence[int]) -> list[bytes | None]:
        """The cells of a row, one format per column."""

    @abstractmethod
    def text(self, index: int) -> list[str | None]:
        """The cells of a row as PostgreSQL spells them."""


@dataclass(frozen=True)
class Table(Result):
    """Cells of our own types.

    Attributes:
      kinds: the type of each column.
      cells: rows.
    """

    fields: tuple[Field, ...]
    kinds: tuple[ResultType, ...]
    cells: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[tuple[str, ResultType]], cells: Sequence[Sequence[Cell]]) -> Table:
        """A table of named and typed columns."""
        fields = tuple(field_of(name, kind) for name, kind in columns)
        return cls(fields, tuple(kind for _, kind in columns), tuple(tuple(row) for row in cells))

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def n_bytes(self) -> int:
        """The length of its texts."""
        return sum(len(cell) for row in self.cells for cell in row if isinstance(cell, str))

    def row(self, index: int, formats: Sequence[int]) -> list[bytes | None]:
        """The cells of a row."""
        cells = self.cells[index]
        return [encode_cell(*each) for each in zip(cells, self.kinds, formats, strict=True)]

    def text(self, index: int) -> list[str | None]:
        """The cells of a row as text."""
        return [spell(cell, kind) for cell, kind in zip(self.cells[index], self.kinds, strict=True)]


def answer_table(response: QueryResponse, noisy: Sequence[bool] | None) -> Table:
    """The rows of an answer.

    Args:
      response: the answer.
      noisy: which columns are followed by their interval's ends; None: none.
    """
    if noisy is None:
        return Table.of(tuple((column.name, column.type) for column in response.columns), response.rows)
    wide = flat(response, noisy)
    return Table.of(wide.columns, wide.rows)


@dataclass(frozen=True)
class NoRows(Result):
    """Columns alone."""

    fields: tuple[Field, ...]

    def __len__(self) -> int:
        return 0

    @property
    def n_bytes(self) -> int:
        """None."""
        return 0

    def row(self, index: int, formats: Sequence[int]) -> list[bytes | None]:
        """Nobody asks for it."""
        raise IndexError(index)

    def text(self, index: int) -> list[str | None]:
        """Nobody asks for it."""
        raise IndexError(index)


@dataclass(frozen=True)
class CatalogResult(Result):
    """What the shadow database returned, in the one format that was asked for.

    Attributes:
      format: 0 text, 1 binary.
      cells: rows, as the database encoded them.
    """

    fields: tuple[Field, ...]
    format: int
    cells: tuple[tuple[bytes | None, ...], ...]

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def n_bytes(self) -> int:
        """The length of its cells."""
        return sum(len(cell) for row in self.cells for cell in row if cell is not None)

    def readable(self, formats: tuple[int, ...]) -> tuple[int, ...]:
        """A cursor was asked in one format, and is read in that one."""
        if any(format_ != self.format for format_ in formats):
            raise UnsupportedSQL("a cursor over catalogs is read as text", hint="ask without a cursor")
        return formats

    def row(self, index: int, formats: Sequence[int]) -> list[bytes | None]:
        """The cells of a row."""
        assert all(format_ == self.format for format_ in formats), "the session asks the catalog for one format"
        return list(self.cells[index])

    def text(self, index: int) -> list[str | None]:
        """The cells of a row as text."""
        assert self.format == 0, "COPY asks for text"
        return [None if cell is None else cell.decode() for cell in self.cells[index]]
