"""The cells of an answer, stored by column and made into rows when they are read.

An answer may have a million cells. As Python objects, with intervals and thresholds, they would take half a gigabyte.
As arrays they take about forty bytes each, and a reader makes a few rows at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

_AT_ONCE = 256

CELLS_AT_ONCE = 1_000
"""Cells of one piece of an answer: made and written within two milliseconds."""


@dataclass(frozen=True, eq=False)
class CellColumn(Generic[T]):
    """One column.

    Attributes:
      arrays: (n,) or (n, k) each.
      made: makes cells from slices of the arrays, as lists; None if every cell is None.
    """

    arrays: tuple[NDArray[Any], ...]
    made: Callable[..., list[T]] | None

    def cells(self, places: slice) -> list[T] | None:
        """The cells at some places; None if all are None."""
        return None if self.made is None else self.made(*(array[places].tolist() for array in self.arrays))

    @property
    def n_bytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)


NOTHING: CellColumn[Any] = CellColumn((), None)
"""A column of None."""


class MadeRows(Sequence[tuple[T, ...]]):
    """Rows that are made whenever they are read. Read them in slices, or by iteration."""

    @overload
    def __getitem__(self, place: int) -> tuple[T, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[T, ...], ...]: ...

    def __getitem__(self, place: int | slice) -> tuple[T, ...] | tuple[tuple[T, ...], ...]:
        if isinstance(place, slice):
            return self._made(place)
        at = range(len(self))[place]  # negative ones count from the end, those outside are refused
        return self._made(slice(at, at + 1))[0]

    @abstractmethod
    def _made(self, places: slice) -> tuple[tuple[T, ...], ...]: ...


class LazyRows(MadeRows[T]):
    """Rows of columns.

    Args:
      columns: of `n_rows` cells each.
    """

    def __init__(self, columns: Sequence[CellColumn[Any]], n_rows: int) -> None:
        self._columns = tuple(columns)
        self._n_rows = n_rows

    def __len__(self) -> int:
        return self._n_rows

    def __iter__(self) -> Iterator[tuple[T, ...]]:
        starts = range(0, self._n_rows, _AT_ONCE)
        return chain.from_iterable(self._made(slice(start, start + _AT_ONCE)) for start in starts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as lists: equal to tuples of the same rows

    def __repr__(self) -> str:
        return f"<{self._n_rows} rows of {len(self._columns)} columns>"

    @property
    def n_bytes(self) -> int:
        """The bytes of the arrays, without the texts of group keys."""
        return sum(column.n_bytes for column in self._columns)

    def has(self, column: int) -> bool:
        """Whether a cell of the column may be something other than None."""
        return self._columns[column].made is not None

    def _made(self, places: slice) -> tuple[tuple[T, ...], ...]:
        n_rows = len(range(self._n_rows)[places])
        read = (column.cells(places) for column in self._columns)
        return tuple(zip(*([None] * n_rows if cells is None else cells for cells in read), strict=True)) or (
            ((),) * n_rows
        )


def blocks(rows: Sequence[T], columns: int, least: int = 0) -> Iterator[Sequence[T]]:
    """The rows, about a thousand cells at a time.

    Args:
      least: yield at least this many blocks, even empty ones.
    """
    if not rows and least:
        yield rows[:0]
    for places in blocks_of(range(len(rows)), columns):
        yield rows[places.start : places.stop]


def blocks_of(places: range, columns: int) -> Iterator[range]:
    """The places of rows, about a thousand cells at a time."""
    step = max(1, CELLS_AT_ONCE // max(1, columns))
    return (places[start : start + step] for start in range(0, len(places), step))
