"""Convert database columns to the arrays that truncation needs, without a Python object per whole number."""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

import numpy as np
from numpy.typing import NDArray

from planner.errors import StatementTooComplex
from planner.limits import MAX_GROUPS, check_cells, check_keys
from planner.plan import BackendQuery
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn, RankedTuples
from privacy.kernel import kernel
from privacy.truncation.histograms import ContributionHistogram, NormHistogram
from privacy.units import WEIGHT_BITS
from server.errors import BackendFailed

_HEADER, _ELEMENT, _LENGTH = 20, 12, 4
"""Bytes in PostgreSQL's binary array of bigint: the header, each element with its length, and the length alone."""
_NULLS, _ROWS = slice(4, 8), slice(12, 16)
"""Where the header states whether an element is NULL, and how many elements follow."""
_LENGTH_OF_NULL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, eq=False, repr=False)
class Integers:
    """A column of whole numbers. Private.

    Both arrays are contiguous and may be written to: kernels are compiled ahead for such arrays alone.

    Attributes:
      values: (m,) int64; undefined where `missing`.
      missing: (m,) bool, true for NULL.
    """

    values: NDArray[np.int64]
    missing: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int | None]:
        for value, missing in zip(self.values.tolist(), self.missing.tolist(), strict=True):
            yield None if missing else value

    def __repr__(self) -> str:
        return "Integers(<private>)"


Column = tuple[object, ...] | Integers
"""One value per row; None for NULL."""


def whole(column: Column) -> NDArray[np.int64]:
    """The values of a column without NULL."""
    if isinstance(column, Integers):
        assert not column.missing.any(), "a count or a weight is never NULL"
        return column.values
    return np.array(column, dtype=np.int64)


def arrays_sql(statement: str, names: Sequence[str], most: int) -> str:
    """PostgreSQL's SQL that returns a row count and each column as one array.

    A row costs the driver one microsecond per value and 200 bytes. A million values in one array cost one value. The
    database holds about 30 bytes per value meanwhile. All columns are bigint, integer or smallint. At most `most` + 1
    rows are read.

    >>> arrays_sql("SELECT a FROM t", ["a"], 9)
    'SELECT count(*), array_agg("a"::bigint) FROM (SELECT * FROM (SELECT a FROM t) q LIMIT 10) r'
    """
    columns = ", ".join(f'array_agg("{name}"::bigint)' for name in names)
    rows = f"SELECT * FROM ({statement}) q LIMIT {most + 1}"
    return f"SELECT count(*), {columns} FROM ({rows}) r"


def grouped_arrays_sql(statement: str, keys: Sequence[str], names: Sequence[str], most: int) -> str:
    """PostgreSQL's SQL that returns one row per combination of keys: a row count, the keys, and the rest as arrays.

    The driver creates one object per group for a key that is not a number, rather than one per row.

    Args:
      statement: a SELECT of the keys and of bigint, integer or smallint columns.
      keys: the names of the key columns.
      names: the names of the other columns.
      most: rows to read; one more is counted.

    >>> grouped_arrays_sql("SELECT k, a FROM t", ["k"], ["a"], 9)
    'SELECT count(*), "k", array_send(array_agg("a"::bigint)) FROM (SELECT * FROM (SELECT k, a FROM t) q LIMIT 10) r \
GROUP BY "k"'
    """
    grouped = ", ".join(f'"{key}"' for key in keys)
    columns = ", ".join(f'array_send(array_agg("{name}"::bigint))' for name in names)
    rows = f"SELECT * FROM ({statement}) q LIMIT {most + 1}"
    return f"SELECT count(*), {grouped}, {columns} FROM ({rows}) r GROUP BY {grouped}"


def from_arrays(data: Sequence[bytes], rows: NDArray[np.int64]) -> Integers:
    """Decode several non-empty binary arrays of bigint into one column.

    Args:
      rows: (G,) the number of elements of each array.
    """
    words = np.frombuffer(b"".join(data), ">u4").astype(np.uint32)
    return Integers(*_behind_headers(words, rows))


def warm_up() -> None:
    """Compile or load the kernel that reads arrays, by a NULL and a number: a header, then each behind its length."""
    words = [1, 1, 20, 2, 1, 0xFFFFFFFF, 8, 0, 7]
    from_arrays([np.array(words, ">u4").tobytes()], np.array([2], np.int64))


def from_array(data: bytes | None) -> Integers:
    """Decode a binary array of bigint; None is an empty column.

    Cost: linear. An array with a NULL is decoded element by element, because a NULL is shorter than a number.
    """
    if data is None:
        return Integers(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    elements = np.frombuffer(data, np.uint8, offset=_HEADER)
    if int.from_bytes(data[_NULLS], "big"):
        return from_arrays([data], np.array([int.from_bytes(data[_ROWS], "big")], np.int64))
    values = np.ascontiguousarray(elements.reshape(-1, _ELEMENT)[:, _LENGTH:]).view(">i8").ravel().astype(np.int64)
    return Integers(values, np.zeros(len(values), np.bool_))


@kernel
def _behind_headers(
    words: NDArray[np.uint32], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Decode the elements of consecutive arrays, each behind its header."""
    values = np.zeros(rows.sum(), np.int64)
    missing = np.zeros(len(values), np.bool_)
    place = row = 0
    for most in rows:
        place += _HEADER // 4
        for _ in range(most):
            if words[place] == _LENGTH_OF_NULL:
                missing[row] = True
                place += 1
            else:
                values[row] = (np.int64(words[place + 1]) << 32) | np.int64(words[place + 2])
                place += 3
            row += 1
    return values, missing


_EVERY_DIGIT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""A context in which normalization removes trailing zeros and nothing more."""

_COUNTABLE = {int, str, bool, float, Decimal, uuid.UUID}
"""Types whose equality in Python is that of SQL. Dates are missing: the driver refuses infinite ones."""


@dataclass(frozen=True)
class Domain:
    """The groups of a query: public, or selected from private rows and private until a release has chosen from them.

    Attributes:
      keys: the values of each GROUP BY key in order; the keys of one block have one entry per combination.
      blocks: the keys that share a block; empty: each key is a block of its own, in order.
      selected: the number of groups, where they are some of all combinations in one block; None: all combinations.
      withheld: the number of groups of a public domain that are not shown.
    """

    keys: tuple[tuple[object, ...], ...] = field(repr=False)
    blocks: tuple[tuple[int, ...], ...] = ()
    selected: int | None = field(default=None, repr=False)
    withheld: int = 0

    @property
    def groups(self) -> list[tuple[object, ...]]:
        """Every group in the order of the group index; one empty tuple without GROUP BY."""
        columns = [[self.keys[key][place] for place in self.places(key).tolist()] for key in range(len(self.keys))]
        return list(zip(*columns, strict=True)) if columns else [()] * len(self)

    def __len__(self) -> int:
        return math.prod(self._sizes) if self.selected is None else self.selected

    @property
    def asked(self) -> int:
        """The number of groups before some were withheld."""
        return len(self) + self.withheld

    def only(self, groups: NDArray[np.intp], withheld: int = 0) -> Domain:
        """Select groups by their index, and count `withheld` others."""
        every = tuple(range(len(self.keys)))
        columns = ((self.keys[key], self.places(key)[groups].tolist()) for key in every)
        keys = tuple(tuple(values[place] for place in places) for values, places in columns)
        return Domain(keys, (every,), len(groups), withheld)

    def places(self, key: int) -> NDArray[np.int64]:
        """(G,) the index of each group's value within a key. It changes once in the product of all later blocks."""
        block = next(place for place, keys in enumerate(self.by_block) if key in keys)
        sizes = self._sizes
        return np.arange(len(self)) // max(1, math.prod(sizes[block + 1 :])) % max(1, sizes[block])

    @property
    def text(self) -> int:
        """The total number of characters of the keys that are texts, over all groups."""
        every = len(self)
        return sum(
            sum(len(value) for value in values if isinstance(value, str)) * (every // len(values))
            for values in self.keys
            if values
        )

    @property
    def by_block(self) -> tuple[tuple[int, ...], ...]:
        """The keys of each block."""
        return self.blocks or tuple((key,) for key in range(len(self.keys)))

    @property
    def _sizes(self) -> list[int]:
        return [len(self.keys[keys[0]]) for keys in self.by_block]


def group_domain(query: BackendQuery, run: Callable[[str], Sequence[tuple[object, ...]]]) -> Domain:
    """The values of every key: declared by the policy, or read from public tables now.

    A key whose values only private rows hold gets none here (`selected_domain`).
    Raises: StatementTooComplex for more than MAX_GROUPS groups, and for an answer that is too large.
    """
    by_block = query.domain_keys or tuple((key,) for key in range(len(query.domains)))
    keys: dict[int, tuple[object, ...]] = {}
    for places, statement, values in zip(by_block, query.domains, query.values, strict=True):
        if statement is None:
            assert len(places) == 1, "several keys share a domain only by a statement"
            keys[places[0]] = values or ()  # no values: they are selected from the rows
        else:
            rows = run(statement)
            keys |= {key: tuple(row[column] for row in rows) for column, key in enumerate(places)}
    domain = Domain(tuple(keys[key] for key in range(len(keys))), by_block)
    if len(domain) > MAX_GROUPS:
        hint = "group by fewer or coarser keys, or select some of them in WHERE"
        raise StatementTooComplex(f"more than {MAX_GROUPS} groups", hint=hint)
    check_cells(len(domain), query.columns)
    check_keys(domain.text)
    return domain


def has_no_group(query: BackendQuery, domain: Domain) -> bool:
    """Whether a public list of keys is empty, so that the answer has no group. Public."""
    every = enumerate(domain.by_block)
    return any(place not in query.discovered and not domain.keys[keys[0]] for place, keys in every)


def join_tuples(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> JoinTuples:
    """Encode the rows of BackendQuery.join.

    Its columns are o0, o1, ..., the keys of the owners; k0, k1, ..., the group keys; and w0, w1, ..., the weights.

    Raises: BackendFailed for an owner key of a type whose equality may differ from the database's.
    Cost: linear in the rows, with one sort per text key.
    """
    owners, group, weights = _parts(columns, query, domain)
    return JoinTuples(
        owners=owners,
        group=group,
        n_groups=len(domain),
        weights=np.array([whole(column) for column in weights], np.int64).reshape(len(weights), len(group)),
    )


def contribution_histogram(
    columns: Sequence[Column], query: BackendQuery, domain: Domain, *, n_sums: int
) -> ContributionHistogram:
    """Encode the columns k0.., i, b, n, s of BackendQuery.contributions, or of one of its distinct_contributions.

    Args:
      n_sums: the number of sums that the statement counts contributions to.
    Raises: BackendFailed if the database distinguishes two keys that are equal in Python. A unit's contribution to
      both would be truncated twice. No supported key type has such values.
    Cost: linear in the rows, at most one per group, sum and threshold.
    """
    n_keys = len(domain.keys)
    sums, interval, units, totals = map(whole, columns[n_keys:])
    group = _apart(columns[:n_keys], domain, np.ones(len(sums), np.bool_))
    thresholds = np.array(query.thresholds, np.int64)
    return ContributionHistogram(sums, group, interval, units, totals, len(domain), n_sums, thresholds)


def norm_histogram(columns: Sequence[Column], query: BackendQuery, domain: Domain, *, n_sums: int) -> NormHistogram:
    """Encode the columns k0.., i, b, n, s, r of statements by norm; rows of sums from n_sums on count the norms.

    Args, Raises, Cost: as `contribution_histogram`, with one more row per sum and threshold.
    """
    n_keys = len(domain.keys)
    sums, interval, units, totals, shares = map(whole, columns[n_keys:])
    inside = sums < n_sums
    group = _apart(columns[:n_keys], domain, inside)
    thresholds, none = np.array(query.thresholds, np.int64), np.zeros(int((~inside).sum()), np.int64)
    counted = sums[~inside] - n_sums, none, interval[~inside], units[~inside], totals[~inside]
    return NormHistogram(
        norms=ContributionHistogram(*counted, n_groups=1, n_sums=n_sums, thresholds=thresholds),
        sums=sums[inside],
        group=group[inside],
        interval=interval[inside],
        totals=totals[inside],
        shares=shares[inside],
        n_groups=len(domain),
    )


def _apart(keys: Sequence[Column], domain: Domain, here: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The group of each selected row, -1 for others. Raises: BackendFailed for two keys that are equal in Python."""
    group = np.where(here, _group(keys, domain, len(here)), -1)
    spelled = list(zip(*(map(_spelled, column) for column in keys), strict=True))
    written = {(place, key) for place, key in zip(group.tolist(), spelled, strict=bool(keys)) if place >= 0}
    if len(written) > len({place for place, _ in written}):
        raise BackendFailed("the proxy cannot distinguish two of the database's group keys")
    return group


def _spelled(value: object) -> str:
    """One text for all values that are equal in SQL, such as 1.0 and 1.00, or 0.0 and -0.0."""
    if isinstance(value, Decimal):
        return repr(value.normalize(_EVERY_DIGIT))
    return repr(value + 0.0 if isinstance(value, float) else value)


def distinct_tuples(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> DistinctTuples:
    """Encode the rows of one statement of BackendQuery.distinct for COUNT(DISTINCT x).

    Its columns are o0, o1, ..., the keys of the owners; k0, k1, ..., the group keys; v, the value; and w0, the
    weight. A row of weight 0 counts no value.

    Raises: BackendFailed for a key or value of a type whose equality may differ from the database's.
    Cost: as `join_tuples`, and a sort of the distinct values.
    """
    owners, group, (values, weights) = _parts(columns, query, domain)
    units = whole(weights)
    codes = np.where(units > 0, _value_codes(values), -1)
    return DistinctTuples(owners=owners, group=group, n_groups=len(domain), value=codes, weight=units)


def ranked_tuples(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> RankedTuples:
    """Encode the rows of a statement for quantiles, MIN and MAX (one of BackendQuery.distinct).

    Its columns are o0, o1, ..., the keys of the owners; k0, k1, ..., the group keys; v, the value as a position on
    the public grid, or NULL; and w0, the number of equal rows, times 2^WEIGHT_BITS.

    A position that rounding puts below the grid moves to its lower end. `RankBatch` does the same at the upper end.

    Raises: BackendFailed as `join_tuples`.
    Cost: linear in the rows.
    """
    owners, group, (places, weights) = _parts(columns, query, domain)
    if isinstance(places, Integers):
        missing, value = places.missing, places.values
    else:
        missing = np.fromiter((place is None for place in places), np.bool_, len(places))
        value = np.array([0 if place is None else place for place in places], np.int64)
    return RankedTuples(
        owners=owners,
        group=group,
        n_groups=len(domain),
        value=np.where(missing, -1, np.maximum(value, 0)),
        rows=whole(weights) >> WEIGHT_BITS,
    )


def _parts(
    columns: Sequence[Column], query: BackendQuery, domain: Domain
) -> tuple[tuple[OwnerColumn, ...], NDArray[np.int64], Sequence[Column]]:
    n_owners, n_keys = len(query.relations), len(domain.keys)
    owners, keys, rest = columns[:n_owners], columns[n_owners : n_owners + n_keys], columns[n_owners + n_keys :]
    group = _group(keys, domain, len(rest[0]))
    owned = tuple(_owner(relation, column) for relation, column in zip(query.relations, owners, strict=True))
    return owned, group, rest


def _group(keys: Sequence[Column], domain: Domain, rows: int) -> NDArray[np.int64]:
    """(rows,) the number of each row's group, or -1 for a row outside the domain."""
    group = np.zeros(rows, np.int64)
    for places in domain.by_block:
        index = key_index([keys[key] for key in places], [domain.keys[key] for key in places])
        group = np.where((group < 0) | (index < 0), -1, group * len(domain.keys[places[0]]) + index)
    return group


def _owner(relation: str, column: Column) -> OwnerColumn:
    """A unit's keys as integers, or as texts that are equal exactly when the keys are."""
    if isinstance(column, Integers):
        return OwnerColumn(relation, np.where(column.missing, 0, column.values), column.missing)
    values = np.empty(len(column), object)
    values[:] = column
    missing = np.equal(values, np.array([None], object)).astype(np.bool_)
    kinds = set(map(type, column)) - {type(None)}
    keys: NDArray[np.generic]
    if kinds <= {int}:
        keys = np.where(missing, 0, values).astype(np.int64)
    elif kinds <= {str}:
        keys = np.where(missing, "", values)  # objects: with fixed width, every row would take the longest key
    elif len(kinds) == 1 and kinds <= {uuid.UUID, date}:
        keys = np.where(missing, "", values).astype(np.str_)
    else:
        raise BackendFailed("a privacy unit's key has a type that cannot be compared outside the database")
    return OwnerColumn(relation, keys, missing)


def key_index(columns: Sequence[Column], values: Sequence[Column]) -> NDArray[np.int64]:
    """The index of each combination of keys in the domain, -1 outside; NULL is a value.

    Keys with a fraction are compared as decimals, because 0.1 in a policy is not a binary float.
    """
    if len(columns) == 1 and isinstance(columns[0], Integers):
        return _integer_index(columns[0], values[0])
    exact = [[Decimal(repr(value)) if isinstance(value, float) else value for value in column] for column in values]
    rows: Iterable[object] = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
    known: Iterable[object] = exact[0] if len(exact) == 1 else zip(*exact, strict=True)
    index = {value: place for place, value in enumerate(known)}
    return np.fromiter(map(index.get, rows, itertools.repeat(-1)), np.int64, len(columns[0]))


def _integer_index(column: Integers, values: Column) -> NDArray[np.int64]:
    place = {value: index for index, value in enumerate(values)}
    distinct, code = np.unique(column.values, return_inverse=True)
    found = np.fromiter((place.get(value, -1) for value in distinct.tolist()), np.int64, len(distinct))
    return np.where(column.missing, place.get(None, -1), found[code] if len(found) else code)


def _value_codes(column: Column) -> NDArray[np.int64]:
    """The rank of each value among the distinct ones, -1 for NULL. All NaN are one value, as in SQL."""
    if isinstance(column, Integers):
        _, codes = np.unique(column.values[~column.missing], return_inverse=True)
        ranks = np.full(len(column), -1, np.int64)
        ranks[~column.missing] = codes
        return ranks
    kinds = set(map(type, column)) - {type(None)}
    if len(kinds) > 1 or not kinds <= _COUNTABLE:
        raise BackendFailed("a counted value has a type that cannot be compared outside the database")
    known = {value for value in column if value is not None and value == value}
    rank: dict[object, int] = dict(zip(sorted(known), itertools.count()))  # type: ignore[type-var]
    nan = len(rank)
    return np.fromiter((-1 if value is None else rank.get(value, nan) for value in column), np.int64, len(column))
