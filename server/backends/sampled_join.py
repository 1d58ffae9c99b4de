"""The sample of an acyclic join that no database makes: its parts are read, and its tuples are drawn by number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.plan import CONSTANT, BackendQuery, Comparison, TreeColumn, TreeShape
from privacy.errors import TooLarge
from privacy.sampling.bernoulli import bernoulli_places
from privacy.sampling.draws import Draws, SystemDraws
from privacy.sampling.join_tree import JoinTree, TreePart
from server.backends.integer_columns import Column, Integers, whole
from server.backends.room import KEPT, Room, too_many

ReadColumns = Callable[[str, int], Sequence[Column]]
"""Runs a statement and returns its columns; told how many there are, for a result without rows."""

Rows = list[NDArray[np.int64]]
"""Per part of a tree, the row that each of some tuples holds."""

_COMPARE: dict[Comparison, Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<>": operator.ne,
}


def sampled_columns(query: BackendQuery, read: ReadColumns, room: Room, draws: Draws | None = None) -> list[Column]:
    """The columns o0.., k0.., w0.. that the join would show, of a Bernoulli sample of its tuples; a row per tuple.

    Args:
      query: with parts and a tree; `sampling_rate` is the chance of each tuple, independently.
      read: bound to a snapshot: the parts are of one state of the data.
      room: for the tuples that are drawn, beside the parts.
      draws: where the randomness comes from; None: the operating system.
    Raises: what `read` raises; QueryCancelled for more than there is room for, and for 2^62 tuples before any draw.
    Cost: what the parts have in rows, and what is drawn; both with a logarithm, and memory for as much.
    """
    assert query.tree is not None and query.sampling_rate is not None, "a sample along a tree"
    shape = query.tree
    columns = [read(statement, max(1, width)) for statement, width in zip(query.parts, shape.widths, strict=True)]
    try:
        tree = JoinTree(list(_parts(shape, columns)))
    except TooLarge as error:
        raise too_many() from error
    drawn: list[Rows] = []
    row_bytes = KEPT * (len(columns) + len(shape.outputs))
    most, count = room.most(row_bytes), 0
    for places in bernoulli_places(tree.tuples, query.sampling_rate, draws or SystemDraws()):
        rows = _passing(shape, columns, tree.rows(places))
        drawn.append(rows)
        count += len(rows[0])
        if count > most:
            raise too_many()
    every = [np.concatenate([np.zeros(0, np.int64), *(rows[part] for rows in drawn)]) for part in range(len(columns))]
    return [_shown(columns, every, output) for output in shape.outputs]


def _parts(shape: TreeShape, columns: Sequence[Sequence[Column]]) -> Iterator[TreePart]:
    for part, (parent, meets) in enumerate(zip(shape.parents, shape.meets, strict=True)):
        own = [whole(columns[part][mine]) for mine, _ in meets]
        above = [whole(columns[parent][other]) for _, other in meets]
        yield TreePart(len(columns[part][0]), parent, own, above)


def _passing(shape: TreeShape, columns: Sequence[Sequence[Column]], rows: Rows) -> Rows:
    """The tuples that pass what compares columns of two parts."""

    def values(column: TreeColumn) -> NDArray[np.int64]:
        part, place = column
        return whole(columns[part][place])[rows[part]]

    passing = np.ones(len(rows[0]), np.bool_)
    for left, compared, right in shape.comparisons:
        passing &= _COMPARE[compared](values(left), values(right))
    return [of_part[passing] for of_part in rows]


def _shown(columns: Sequence[Sequence[Column]], rows: Rows, output: TreeColumn) -> Column:
    part, place = output
    if part == CONSTANT:
        return Integers(np.full(len(rows[0]), place, np.int64), np.zeros(len(rows[0]), np.bool_))
    column = columns[part][place]
    if isinstance(column, Integers):
        return Integers(column.values[rows[part]], column.missing[rows[part]])
    values = np.empty(len(column), object)
    values[:] = column
    return tuple(values[rows[part]].tolist())
