"""Read all statements of a question in one snapshot, within the limits of rows and memory.

A worker that exhausts its memory may crash inside a library. So the proxy refuses rows before they arrive. The limit
follows from the types of a statement's columns, from the worker's memory and from DuckDB's share of it, all public.
Whether a question exceeds it depends on private rows, exactly as with the limit on the number of rows. The question
was charged, and the analyst sees the failure like every other failure, at the same public release intervals. Texts
have no public length, so they are counted as they arrive, in blocks of rows.

Groups that a question selects from its own rows stay private until a release has chosen among them. If no database
can sample an acyclic join, its tables are read separately and tuples are drawn by number.
"""

from __future__ import annotations

import itertools
import operator
import re
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.plan import CONSTANT, BackendQuery, Comparison, TreeColumn, TreeShape
from privacy.errors import TooLarge
from privacy.join_tuples import DistinctTuples, JoinTuples, RankedTuples
from privacy.sampling.draws import Draws, SystemDraws, bernoulli_places
from privacy.sampling.join_tree import JoinTree, TreePart
from privacy.truncation.histograms import ContributionHistogram, NormHistogram
from server.backends.columns import (
    Column,
    Domain,
    Integers,
    contribution_histogram,
    distinct_tuples,
    has_no_group,
    join_tuples,
    key_index,
    norm_histogram,
    ranked_tuples,
    whole,
)
from server.errors import BackendFailed, ConfigurationInvalid, NoGroups, QueryCancelled

RESERVED = 2 << 30
"""Address space reserved for the interpreter, libraries and compiled kernels (1.6 GB), and small objects."""

_LEAST_SHARE = 8
"""At least one part in so many of a worker's memory is for rows, whatever DuckDB gets."""

ROW_OF_OBJECTS, OBJECT = 128, 112
"""Bytes per row that arrives as a tuple, and per value: in the driver's result, the row and the column."""

TOO_MUCH = "add conditions, use a sample, or group by fewer keys; the administrator may raise memory_mb in [database]"
"""The hint for a question that exceeds its memory limit."""

KEPT = 24
"""Bytes per whole number in an array, with the arrays that encoding derives from it."""


@dataclass
class Room:
    """The memory and rows left for one question; each statement takes its share.

    Attributes:
      rows: the most rows of one statement.
      memory_bytes: memory left for rows; None: unlimited.
    """

    rows: int
    memory_bytes: int | None = None

    @classmethod
    def of_process(cls, rows: int, beside_bytes: int = 0) -> Room:
        """The room of this process, which is a worker or has no limit.

        Args:
          rows: as of Room.
          beside_bytes: memory of a database that runs in this process.
        """
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return cls(rows)
        return cls(rows, max(limit - RESERVED - beside_bytes, limit // _LEAST_SHARE))

    def most(self, row_bytes: int) -> int:
        """The most rows that may arrive at so many bytes each."""
        return self.rows if self.memory_bytes is None else min(self.rows, self.memory_bytes // max(1, row_bytes))

    def take(self, rows: int, row_bytes: int) -> None:
        """Reserve memory for rows that stay. Raises: QueryCancelled if they exceed the room."""
        if rows > self.most(row_bytes):
            raise too_many()
        if self.memory_bytes is not None:
            self.memory_bytes -= rows * row_bytes


class Blocks:
    """Collects rows that arrive as tuples, block by block.

    Args:
      room: of the question.
      width: the number of columns.
    Attributes:
      most: the most rows that fit if their texts are short; no more are requested.
    """

    def __init__(self, room: Room, width: int) -> None:
        self._room = room
        self._width = width
        self._row_bytes = ROW_OF_OBJECTS + OBJECT * width
        self.most = room.most(self._row_bytes)
        self.rows: list[tuple[object, ...]] = []

    def take(self, block: Sequence[tuple[object, ...]]) -> None:
        """Add a block. Raises: QueryCancelled if its rows or texts exceed the room."""
        if len(self.rows) + len(block) > self.most:
            raise too_many()
        self._room.take(len(block), self._row_bytes)
        if self._room.memory_bytes is not None:
            self._room.take(1, sum(sys.getsizeof(value) for row in block for value in row if isinstance(value, str)))
        self.rows.extend(block)

    def columns(self) -> list[tuple[object, ...]]:
        """The rows as columns."""
        return list(zip(*self.rows, strict=True)) if self.rows else [()] * self._width


def too_many() -> QueryCancelled:
    """The error for a question that exceeds its limit of rows or memory."""
    return QueryCancelled(
        "the query has more join rows than the proxy accepts", hint="add conditions, or use a smaller sample"
    )


def too_long() -> QueryCancelled:
    """The error for a question that exceeds its time limit."""
    return QueryCancelled("the query took longer than its limit", hint="add conditions, or join fewer tables")


def refused() -> BackendFailed:
    """The error for a rewritten query that the database rejects, without any of the database's words."""
    return BackendFailed(
        "the database refused the query that the proxy made from yours", hint="send the administrator your statement"
    )


def refuse_memory_below(memory_mb: int | None, least_mb: int, engine: str) -> None:
    """Refuse a policy whose memory limit makes every question fail.

    Raises: ConfigurationInvalid.
    """
    if memory_mb is not None and memory_mb < least_mb:
        hint = f"set memory_mb to at least {least_mb}, or remove it for the default of 4096"
        raise ConfigurationInvalid(f"database.memory_mb = {memory_mb} is too little for {engine}", hint=hint)


_NO_LETTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which stands for a byte that is not UTF-8."""


def selected_domain(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> Domain:
    """Every combination of keys among the rows of a join, restricted to the public domains.

    Combinations are selected jointly, because a public key beside a selected one must add no group without rows.

    Args:
      columns: k0.. and later columns of BackendQuery.join, or of BackendQuery.contributions.
    Returns: one block of all keys, in the order of the public domains and of the selected values. Private.
    """
    keys = columns[: len(domain.keys)]
    blocks = [
        _found(place[0], keys[place[0]]) if block in query.discovered else _known(place, keys, domain)
        for block, place in enumerate(domain.by_block)
    ]
    first = _first_rows(blocks)
    values: dict[int, tuple[object, ...]] = {}
    for block in blocks:
        places = block.index[first].tolist()
        values |= {key: tuple(column[place] for place in places) for key, column in block.values.items()}
    every = tuple(range(len(keys)))
    return Domain(tuple(values[key] for key in every), (every,), len(first))


def _first_rows(blocks: Sequence[_Block]) -> NDArray[np.int64]:
    """The first row of every combination, in the order of the combinations.

    Combinations are renumbered after each block, because the product of all sizes may exceed 64 bits.
    """
    rows = np.flatnonzero(np.all([block.index >= 0 for block in blocks], axis=0))
    numbers = np.zeros(len(rows), np.int64)
    for block in blocks:
        pairs = numbers * max(1, *map(len, block.values.values())) + block.index[rows]
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    first: NDArray[np.int64] = rows[np.unique(numbers, return_index=True)[1]]
    return first


@dataclass(frozen=True, eq=False, repr=False)
class _Block:
    """Keys of one block: the values of each key, and the value index of each row."""

    values: dict[int, tuple[object, ...]]
    index: NDArray[np.int64]


def _known(places: Sequence[int], keys: Sequence[Column], domain: Domain) -> _Block:
    values = {place: domain.keys[place] for place in places}
    return _Block(values, key_index([keys[place] for place in places], list(values.values())))


def _found(place: int, column: Column) -> _Block:
    """The distinct values in order, NULL last. A value that no answer can show is no group.

    Whether a row is omitted depends on that row only, so this costs no privacy.
    """
    distinct = sorted(filter(_is_shown, set(column)), key=lambda value: (value is None, value))
    rank: dict[object, int] = dict(zip(distinct, itertools.count()))
    index = np.fromiter(map(rank.get, column, itertools.repeat(-1)), np.int64, len(column))
    return _Block({place: tuple(distinct)}, index)


def _is_shown(value: object) -> bool:
    """Whether a value can be shown: no text with invalid UTF-8, which files may hold (`server.backends.spark`)."""
    return not isinstance(value, str) or _NO_LETTER.search(value) is None


ReadColumns = Callable[[str, int], Sequence[Column]]
"""Runs a statement and returns its columns; takes their number, for a result without rows."""

Rows = list[NDArray[np.int64]]
"""The row of each sampled tuple, per part of a join tree."""

_COMPARE: dict[Comparison, Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<>": operator.ne,
}


def sampled_columns(query: BackendQuery, read: ReadColumns, room: Room, draws: Draws | None = None) -> list[Column]:
    """The columns o0.., k0.., w0.. of a Bernoulli sample of a join's tuples; one row per tuple.

    Args:
      query: with parts and a tree; each tuple is drawn independently with probability `sampling_rate`.
      read: runs a statement in the snapshot.
      room: for the drawn tuples; `read` limits the parts.
      draws: the source of randomness; None: the operating system.
    Raises: as `read`; QueryCancelled beyond the room, and for 2^62 tuples before any draw.
    Cost: O(n log n) in the rows of the parts and the drawn tuples, with memory in proportion.
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
    """The tuples that satisfy the comparisons between two parts."""

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


Histogram = ContributionHistogram | NormHistogram
"""What a database counts in place of the join tuples of one owner."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryTuples:
    """The private data of a question in one snapshot. Private.

    Attributes:
      join: the join tuples with one weight per release that is a sum, or a histogram of units by contribution or norm
        if the database counts them; None if every release counts distinct values.
      distinct: per release, the tuples whose distinct values it counts or whose values it ranks, or a histogram of
        them; None for a sum. Releases of one statement share one object.
    """

    join: JoinTuples | Histogram | None
    distinct: tuple[DistinctTuples | RankedTuples | Histogram | None, ...]

    def regrouped(self, place: NDArray[np.int64], n_groups: int) -> QueryTuples:
        """Keep the tuples of some groups.

        Args:
          place: (G + 1,) the new index of each group, -1 for none; the last entry is for tuples without a group.
        """
        join = self.join and replace(self.join, group=place[self.join.group], n_groups=n_groups)
        made = {id(one): one and replace(one, group=place[one.group], n_groups=n_groups) for one in self.distinct}
        return QueryTuples(join, tuple(made[id(one)] for one in self.distinct))

    def __repr__(self) -> str:
        return f"QueryTuples(releases={len(self.distinct)}, <private>)"


def query_tuples(query: BackendQuery, domain: Domain, read: ReadColumns, room: Room) -> tuple[Domain, QueryTuples]:
    """Read and encode every statement of a question, in the snapshot of its public groups.

    Returns: the groups, and the tuples encoded by them. Groups selected from the rows are private.
    Raises: NoGroups before any read, if a public list of keys is empty; as `read`; QueryCancelled beyond the room;
      BackendFailed for a column of a type that cannot be compared outside of the database.
    """
    if has_no_group(query, domain):
        hint = "ask again; the answer has no rows, and is free"
        raise NoGroups("the public list of groups became empty during the query", hint=hint)
    shared = len(query.relations) + len(domain.keys)
    join: JoinTuples | Histogram | None = None
    if query.contributions is not None:
        columns = read(query.contributions, len(domain.keys) + 4 + query.by_norm)
        if query.discovered:
            domain = selected_domain(columns, query, domain)
        coded_contributions = norm_histogram if query.by_norm else contribution_histogram
        join = coded_contributions(columns, query, domain, n_sums=query.n_releases)
    elif query.join is not None or query.tree is not None:
        columns = (
            sampled_columns(query, read, room) if query.tree else read(query.join or "", shared + query.n_releases)
        )
        if query.discovered:
            domain = selected_domain(columns[len(query.relations) :], query, domain)
        join = join_tuples(columns, query, domain)
    once: dict[str, DistinctTuples | RankedTuples | Histogram] = {}
    for place, statement in enumerate(query.distinct):
        if statement is None or statement in once:
            continue
        contributions = query.distinct_contributions[place] if query.distinct_contributions else None
        if contributions is not None:
            coded_contributions = norm_histogram if query.values_by_norm else contribution_histogram
            columns = read(contributions, len(domain.keys) + 4 + query.values_by_norm)
            once[statement] = coded_contributions(columns, query, domain, n_sums=1)
        else:
            coded = ranked_tuples if place in query.ranked else distinct_tuples
            once[statement] = coded(read(statement, shared + 2), query, domain)
    return domain, QueryTuples(join, tuple(None if one is None else once[one] for one in query.distinct))
