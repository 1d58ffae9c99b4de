"""Random acyclic joins: their numbers are their tuples, each once; without a unit's rows all others stay."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.sampling.join_tree import JoinTree, TreePart

Table = list[tuple[int, int, int]]
"""Rows of three columns with few values, so that many meet."""


@st.composite
def joins(draw: st.DrawFn) -> tuple[list[Table], list[int], list[list[tuple[int, int]]]]:
    """Tables, the parent of each, and the pairs of columns in which it meets it."""
    value = st.integers(0, 2)
    tables = draw(st.lists(st.lists(st.tuples(value, value, value), max_size=5), min_size=1, max_size=4))
    parents = [-1, *(draw(st.integers(0, place - 1)) for place in range(1, len(tables)))]
    pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=2, unique=True)
    return tables, parents, [[] if parent < 0 else draw(pairs) for parent in parents]


def numbered(tables: list[Table], parents: list[int], meets: list[list[tuple[int, int]]]) -> list[tuple[int, ...]]:
    columns = [np.array(table, np.int64).reshape(-1, 3) for table in tables]
    parts = [
        TreePart(
            len(table),
            parent,
            [columns[place][:, own] for own, _ in pairs],
            [columns[parent][:, above] for _, above in pairs],
        )
        for place, (table, parent, pairs) in enumerate(zip(tables, parents, meets, strict=True))
    ]
    tree = JoinTree(parts)
    rows = tree.rows(np.arange(tree.tuples))
    assert all(len(part) == tree.tuples for part in rows)
    return list(zip(*(part.tolist() for part in rows), strict=True))


def joined(tables: list[Table], parents: list[int], meets: list[list[tuple[int, int]]]) -> set[tuple[int, ...]]:
    return {
        rows
        for rows in itertools.product(*(range(len(table)) for table in tables))
        if all(
            tables[place][rows[place]][own] == tables[parents[place]][rows[parents[place]]][above]
            for place, pairs in enumerate(meets)
            for own, above in pairs
        )
    }


@given(joins())
def test_the_numbers_are_the_tuples_of_the_join_each_once(
    join: tuple[list[Table], list[int], list[list[tuple[int, int]]]],
) -> None:
    found = numbered(*join)
    assert len(set(found)) == len(found)
    assert set(found) == joined(*join)


@given(joins(), st.integers(0, 2))
def test_without_a_units_rows_exactly_the_other_tuples_are_numbered(
    join: tuple[list[Table], list[int], list[list[tuple[int, int]]]], unit: int
) -> None:
    """The unit owns the rows whose first column holds it; what is left is compared by value."""
    tables, parents, meets = join

    def values(tables: list[Table]) -> list[tuple[tuple[int, int, int], ...]]:
        found = numbered(tables, parents, meets)
        return sorted(tuple(tables[place][row] for place, row in enumerate(rows)) for rows in found)

    without = [[row for row in table if row[0] != unit] for table in tables]
    assert values(without) == [rows for rows in values(tables) if all(row[0] != unit for row in rows)]
