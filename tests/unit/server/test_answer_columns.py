"""Rows that are made when they are read are those that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.answer_columns import CELLS_AT_ONCE, NOTHING, CellColumn, LazyRows, blocks


def rows(n_rows: int) -> LazyRows[float | None]:
    return LazyRows([CellColumn((np.arange(float(n_rows)),), lambda values: values), NOTHING], n_rows)


@given(st.integers(0, 600), st.slices(600))
def test_slices_and_iteration_are_those_of_a_tuple(n_rows: int, place: slice) -> None:
    made, meant = rows(n_rows), tuple((float(number), None) for number in range(n_rows))
    assert made == meant and meant == made and tuple(made) == meant and len(made) == n_rows
    assert made[place] == meant[place]


def test_single_rows_are_found_from_both_ends() -> None:
    made = rows(3)
    assert (made[0], made[-1]) == ((0.0, None), (2.0, None))
    with pytest.raises(IndexError):
        made[3]
    assert made != rows(2) and made != ((9.0, None),) * 3 and made.n_bytes == 24


def test_blocks_are_small_and_all() -> None:
    for columns in [1, 3, 5 * CELLS_AT_ONCE]:
        for n_rows in [0, 1, 2_500]:
            found = list(blocks(range(n_rows), columns))
            assert [place for block in found for place in block] == list(range(n_rows)), (columns, n_rows)
            assert all(0 < len(block) <= max(1, CELLS_AT_ONCE // columns) for block in found), (columns, n_rows)


def test_rows_without_columns_are_rows() -> None:
    assert LazyRows([], 2) == ((), ())
