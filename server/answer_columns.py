"""The cells of an answer, held by column and made into rows when they are read.

An answer may have a million cells. As objects of Python, each with its interval and its bound, they would take half a
gigabyte; as arrays they take some forty bytes each, and whoever reads them makes a few rows at a time.
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
"""Cells of a piece of an answer: made and written within a millisecond or two."""


@dataclass(frozen=True, eq=False)
class CellColumn(Generic[T]):
    """One column.

    Attributes:
      arrays: (n,) or (n, k) each.
      made: from the same places of each array, as lists, to cells; cells that are always None need none.
    """

    arrays: tuple[NDArray[Any], ...]
    made: Callable[..., list[T]] | None

    def cells(self, places: slice) -> list[T] | None:
        """Some cells; None where they all are None."""
        return None if self.made is None else self.made(*(array[places].tolist() for array in self.arrays))

    @property
    def n_bytes(self) -> int:
        """What its arrays take."""
        return sum(array.nbytes for array in self.arrays)


NOTHING: CellColumn[Any] = CellColumn((), None)
"""A column of None."""


class MadeRows(Sequence[tuple[T, ...]]):
    """Rows, each a tuple that is made anew whenever it is asked for. To be read in slices, or by iteration."""

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
        """What its arrays take; the texts of keys belong to the groups."""
        return sum(column.n_bytes for column in self._columns)

    def has(self, column: int) -> bool:
        """May a cell of the column be something else than None?"""
        return self._columns[column].made is not None

    def _made(self, places: slice) -> tuple[tuple[T, ...], ...]:
        n_rows = len(range(self._n_rows)[places])
        read = (column.cells(places) for column in self._columns)
        return tuple(zip(*([None] * n_rows if cells is None else cells for cells in read), strict=True)) or (
            ((),) * n_rows
        )


def blocks(rows: Sequence[T], columns: int, least: int = 0) -> Iterator[Sequence[T]]:
    """The rows, some hundred cells at a time.

    Args:
      columns: of each row.
      least: how many blocks there are at least, if only empty ones.
    """
    if not rows and least:
        yield rows[:0]
    for places in blocks_of(range(len(rows)), columns):
        yield rows[places.start : places.stop]


def blocks_of(places: range, columns: int) -> Iterator[range]:
    """The places of rows, one after the other, some hundred cells at a time."""
    step = max(1, CELLS_AT_ONCE // max(1, columns))
    return (places[start : start + step] for start in range(0, len(places), step))
