"""Every statement of a question, read in one snapshot, within the room the policy and the memory leave.

The room. A worker that asks the system for more memory than it has fails wherever it is just then; some libraries end
the process. So rows are refused before they arrive: how many of them there is room for follows from the types of a
statement's columns, from the worker's limit and from what DuckDB may hold beside them, all of them public. It is the
same footing as the number of rows: whether a question ends by it depends on private rows, it was charged, and the
analyst hears of it what they hear of every failure, at the same public moments where its join may explode.
Texts have no public length. They are counted as they arrive, in blocks of rows.

The groups that a question's own rows hold are private until a release has decided which of them are shown. Of the
sample of an acyclic join that no database makes, the parts are read, and the tuples are drawn by number.
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
from server.errors import ConfigurationInvalid, NoGroups, QueryCancelled

RESERVED = 2 << 30
"""Address space of the interpreter, its libraries and the compiled kernels, 1.6 GB, and of everything small."""

_LEAST_SHARE = 8
"""One part in so many of a worker's memory is for rows, however much DuckDB was given."""

ROW_OF_OBJECTS, OBJECT = 128, 112
"""Bytes of a row that arrives as a tuple, and of each value: in the driver's result, in the row, in a column."""

TOO_MUCH = "add predicates, sample, or group by less; the custodian may raise memory_mb in [database]"
"""What helps a question that needs more memory than it may have."""

KEPT = 24
"""Bytes of a whole number in an array: with what is made of it while it is coded, per value of a row."""


@dataclass
class Room:
    """Of one question; each statement takes from what the ones before it have left.

    Attributes:
      rows: the most of one statement.
      memory_bytes: what is left for rows; None: there is no limit.
    """

    rows: int
    memory_bytes: int | None = None

    @classmethod
    def of_process(cls, rows: int, beside_bytes: int = 0) -> Room:
        """The room of this process, which is a worker or has no limit.

        Args:
          rows: as of Room.
          beside_bytes: what a database that runs in the process may hold.
        """
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return cls(rows)
        return cls(rows, max(limit - RESERVED - beside_bytes, limit // _LEAST_SHARE))

    def most(self, row_bytes: int) -> int:
        """How many rows may be asked for, each of which takes so many bytes while they arrive."""
        return self.rows if self.memory_bytes is None else min(self.rows, self.memory_bytes // max(1, row_bytes))

    def take(self, rows: int, row_bytes: int) -> None:
        """Rows that stay, so many bytes each. Raises: QueryCancelled where they are more than there is room for."""
        if rows > self.most(row_bytes):
            raise too_many()
        if self.memory_bytes is not None:
            self.memory_bytes -= rows * row_bytes


class Blocks:
    """Rows that arrive as tuples, a block at a time.

    Args:
      room: of the question.
      width: columns.
    Attributes:
      most: rows for which there is room, if their texts are short: more need not be asked for.
    """

    def __init__(self, room: Room, width: int) -> None:
        self._room = room
        self._width = width
        self._row_bytes = ROW_OF_OBJECTS + OBJECT * width
        self.most = room.most(self._row_bytes)
        self.rows: list[tuple[object, ...]] = []

    def take(self, block: Sequence[tuple[object, ...]]) -> None:
        """Add a block. Raises: QueryCancelled for more rows, or longer texts, than there is room for."""
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
    """The refusal of a question that takes in more than its limit."""
    return QueryCancelled("the query joins more than the proxy takes in", hint="add predicates, or sample less")


def too_long() -> QueryCancelled:
    """The refusal of a question that takes longer than its limit."""
    return QueryCancelled("the query took longer than its limit", hint="add predicates, or join less")


def refuse_memory_below(memory_mb: int | None, least_mb: int, engine: str) -> None:
    """Refuse a policy under which every question would fail: who asks would be told to join less, to no avail.

    Raises: ConfigurationInvalid.
    """
    if memory_mb is not None and memory_mb < least_mb:
        hint = f"memory_mb = {least_mb} is the least that works; without it {engine} has 4096"
        raise ConfigurationInvalid(f"database.memory_mb = {memory_mb} is too little for {engine}", hint=hint)


_NO_LETTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which stands for a byte."""


def found_domain(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> Domain:
    """Every combination of keys in the rows of a join, those outside of a public domain left out.

    The combinations are found jointly: a public key beside a found one adds no groups that no row is in, each of
    which one unit could bring into being.

    Args:
      columns: k0.. and what follows, of BackendQuery.join, or of BackendQuery.loads, where every row is of some
        unit.
    Returns: one block of all keys, in the order of the public domains and of the found values. Private.
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

    Combinations are numbered anew after each block: the product of all sizes may be beyond 64 bits, where groups of
    different keys would be one, and another one whenever somebody's row brings a new value.
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
    """Keys that are known together: the values of each, and which of them every row has."""

    values: dict[int, tuple[object, ...]]
    index: NDArray[np.int64]


def _known(places: Sequence[int], keys: Sequence[Column], domain: Domain) -> _Block:
    values = {place: domain.keys[place] for place in places}
    return _Block(values, key_index([keys[place] for place in places], list(values.values())))


def _found(place: int, column: Column) -> _Block:
    """The distinct values in order, NULL last; what no answer can show is no group.

    A row is left out for what it holds itself, whoever else is there: so this costs no privacy.
    """
    distinct = sorted(filter(_is_shown, set(column)), key=lambda value: (value is None, value))
    rank: dict[object, int] = dict(zip(distinct, itertools.count()))
    index = np.fromiter(map(rank.get, column, itertools.repeat(-1)), np.int64, len(column))
    return _Block({place: tuple(distinct)}, index)


def _is_shown(value: object) -> bool:
    """Not of a text with bytes that are no UTF-8, as a file may hold one (`server.backends.spark`)."""
    return not isinstance(value, str) or _NO_LETTER.search(value) is None


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


Histogram = ContributionHistogram | NormHistogram
"""What a database counts in place of the tuples of one owner."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryTuples:
    """What one snapshot holds of a question. Private.

    Attributes:
      join: the join tuples with one weight per release that is a sum, or how many units have how much of it, or what
        units of each length have, where the database counts them; None when every release counts distinct values.
      distinct: per release, the tuples whose distinct values it counts, or how many units have how many of them, or
        what units of each length have, where the database counts them, or the tuples whose values it ranks; None for
        a sum. Releases of one statement have the same object.
    """

    join: JoinTuples | Histogram | None
    distinct: tuple[DistinctTuples | RankedTuples | Histogram | None, ...]

    def regrouped(self, place: NDArray[np.int64], n_groups: int) -> QueryTuples:
        """The tuples of some groups alone.

        Args:
          place: (G + 1,) the new index of each group, -1 for none; the last entry is that of tuples of no group.
        """
        join = self.join and replace(self.join, group=place[self.join.group], n_groups=n_groups)
        made = {id(one): one and replace(one, group=place[one.group], n_groups=n_groups) for one in self.distinct}
        return QueryTuples(join, tuple(made[id(one)] for one in self.distinct))

    def __repr__(self) -> str:
        return f"QueryTuples(releases={len(self.distinct)}, <private>)"


def query_tuples(query: BackendQuery, domain: Domain, read: ReadColumns, room: Room) -> tuple[Domain, QueryTuples]:
    """Read and code every statement of a question, in the snapshot that its public groups are of.

    Returns: the groups, and the tuples coded by them. Where keys are found among the rows, the groups are
      private.
    Raises: NoGroups before anything is read, where a public list of keys is empty; what `read` raises;
      QueryCancelled
      for more than there is room for; BackendFailed for a column of a type that cannot be compared outside the
      database.
    """
    if has_no_group(query, domain):
        hint = "ask again: the answer then has no row, and is free"
        raise NoGroups("the public list of the groups became empty while this was asked", hint=hint)
    shared = len(query.relations) + len(domain.keys)
    join: JoinTuples | Histogram | None = None
    if query.contributions is not None:
        columns = read(query.contributions, len(domain.keys) + 4 + query.by_norm)
        if query.discovered:
            domain = found_domain(columns, query, domain)
        coded_contributions = norm_histogram if query.by_norm else contribution_histogram
        join = coded_contributions(columns, query, domain, n_sums=query.n_releases)
    elif query.join is not None or query.tree is not None:
        columns = (
            sampled_columns(query, read, room) if query.tree else read(query.join or "", shared + query.n_releases)
        )
        if query.discovered:
            domain = found_domain(columns[len(query.relations) :], query, domain)
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
