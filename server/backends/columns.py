"""From a database's columns to the arrays that truncation works on."""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

import numpy as np
from numpy.typing import NDArray

from planner.errors import StatementTooComplex
from planner.limits import MAX_GROUPS, check_cells, check_keys
from planner.plan import BackendQuery
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn, RankedTuples
from privacy.truncation.loads.length_histogram import LengthHistogram
from privacy.truncation.loads.load_histogram import LoadHistogram
from privacy.units import WEIGHT_BITS
from server.backends.integer_columns import Column, Integers, whole
from server.errors import BackendFailed

_EVERY_DIGIT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Under which a numeric loses the zeros behind it, and nothing else."""

_COUNTABLE = {int, str, bool, float, Decimal, uuid.UUID}
"""Types of which equal values are equal here too. Not dates: the driver refuses those at infinity."""


@dataclass(frozen=True)
class Domain:
    """The groups of a query: public, or found among its rows and private until a release has chosen from them.

    Attributes:
      keys: per GROUP BY key, its values in order; keys of one block stand side by side, one entry per combination.
      blocks: which keys stand side by side; empty: each stands alone, in order.
      selected: how many groups there are, where they are some of all combinations; they stand in one block.
      withheld: how many groups of a public domain are not shown.
    """

    keys: tuple[tuple[object, ...], ...] = field(repr=False)
    blocks: tuple[tuple[int, ...], ...] = ()
    selected: int | None = field(default=None, repr=False)
    withheld: int = 0

    @property
    def groups(self) -> list[tuple[object, ...]]:
        """Every combination of the blocks, in the order of the group index; one empty tuple without GROUP BY."""
        columns = [[self.keys[key][place] for place in self.places(key).tolist()] for key in range(len(self.keys))]
        return list(zip(*columns, strict=True)) if columns else [()] * len(self)

    def __len__(self) -> int:
        return math.prod(self._sizes) if self.selected is None else self.selected

    @property
    def asked(self) -> int:
        """How many groups there were before some were withheld."""
        return len(self) + self.withheld

    def only(self, groups: NDArray[np.intp], withheld: int = 0) -> Domain:
        """Some of the groups, by their places; `withheld` of the others are told of."""
        every = tuple(range(len(self.keys)))
        columns = ((self.keys[key], self.places(key)[groups].tolist()) for key in every)
        keys = tuple(tuple(values[place] for place in places) for values, places in columns)
        return Domain(keys, (every,), len(groups), withheld)

    def places(self, key: int) -> NDArray[np.int64]:
        """(G,) which entry of a key each group has: it changes once in the product of all blocks after its own."""
        block = next(place for place, keys in enumerate(self.by_block) if key in keys)
        sizes = self._sizes
        return np.arange(len(self)) // max(1, math.prod(sizes[block + 1 :])) % max(1, sizes[block])

    @property
    def text(self) -> int:
        """Characters of the keys that are texts, each as often as it is shown."""
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
    """The values of every key: declared ones, or those that a statement over public tables returns now.

    A key whose values only private rows hold has none here (`found_domain`).

    Args:
      query: what is asked.
      run: executes a statement in the snapshot.
    Raises: StatementTooComplex for more groups than MAX_GROUPS, and for an answer that is too large.
    """
    by_block = query.domain_keys or tuple((key,) for key in range(len(query.domains)))
    keys: dict[int, tuple[object, ...]] = {}
    for places, statement, values in zip(by_block, query.domains, query.values, strict=True):
        if statement is None:
            assert len(places) == 1, "several keys share a domain only by a statement"
            keys[places[0]] = values or ()  # no values: the rows say what they are
        else:
            rows = run(statement)
            keys |= {key: tuple(row[column] for row in rows) for column, key in enumerate(places)}
    domain = Domain(tuple(keys[key] for key in range(len(keys))), by_block)
    if len(domain) > MAX_GROUPS:
        hint = "group by fewer or coarser keys, or ask for some of them in WHERE"
        raise StatementTooComplex(f"more than {MAX_GROUPS} groups", hint=hint)
    check_cells(len(domain), query.columns)
    check_keys(domain.text)
    return domain


def has_no_group(query: BackendQuery, domain: Domain) -> bool:
    """Does a public list of keys name none, so that no group can be there, whatever private rows hold? Public."""
    blocks = query.domain_keys or tuple((key,) for key in range(len(query.domains)))
    return any(place not in query.discovered and not domain.keys[keys[0]] for place, keys in enumerate(blocks))


def join_tuples(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> JoinTuples:
    """Code the columns o0.., k0.., w0.. of BackendQuery.join.

    Raises: BackendFailed when an owner's key has a type whose equality is not ours to decide.
    Cost: linear in the rows, with one sort per text key.
    """
    owners, group, weights = _parts(columns, query, domain)
    return JoinTuples(
        owners=owners,
        group=group,
        n_groups=len(domain),
        weights=np.array([whole(column) for column in weights], np.int64).reshape(len(weights), len(group)),
    )


def load_histogram(columns: Sequence[Column], query: BackendQuery, domain: Domain, *, n_sums: int) -> LoadHistogram:
    """Code the columns k0.., i, b, n, s of BackendQuery.loads, or of one of its distinct_loads.

    Args:
      columns: as the database returned them.
      query: whose statement they are of.
      domain: the groups.
      n_sums: how many sums the statement counts the loads of.
    Raises: BackendFailed where the database takes keys for two that are one value here: what a unit adds to both
      would be truncated twice. No type of a group key is known to have such values.
    Cost: linear in the rows, of which there are at most one per group, sum and threshold.
    """
    n_keys = len(domain.keys)
    sums, interval, units, totals = map(whole, columns[n_keys:])
    group = _apart(columns[:n_keys], domain, np.ones(len(sums), np.bool_))
    thresholds = np.array(query.thresholds, np.int64)
    return LoadHistogram(sums, group, interval, units, totals, len(domain), n_sums, thresholds)


def length_histogram(
    columns: Sequence[Column], query: BackendQuery, domain: Domain, *, n_sums: int
) -> LengthHistogram:
    """Code the columns k0.., i, b, n, s, r of statements by length: rows of sums from n_sums on say the lengths.

    Args, Raises, Cost: as of `load_histogram`, with one row more per sum and threshold.
    """
    n_keys = len(domain.keys)
    sums, interval, units, totals, shares = map(whole, columns[n_keys:])
    inside = sums < n_sums
    group = _apart(columns[:n_keys], domain, inside)
    thresholds, none = np.array(query.thresholds, np.int64), np.zeros(int((~inside).sum()), np.int64)
    counted = sums[~inside] - n_sums, none, interval[~inside], units[~inside], totals[~inside]
    return LengthHistogram(
        lengths=LoadHistogram(*counted, n_groups=1, n_sums=n_sums, thresholds=thresholds),
        sums=sums[inside],
        group=group[inside],
        interval=interval[inside],
        totals=totals[inside],
        shares=shares[inside],
        n_groups=len(domain),
    )


def _apart(keys: Sequence[Column], domain: Domain, here: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The group of each of these rows, -1 of others. Raises: BackendFailed for two keys that are one."""
    group = np.where(here, _group(keys, domain, len(here)), -1)
    spelled = list(zip(*(map(_spelled, column) for column in keys), strict=True))
    written = {(place, key) for place, key in zip(group.tolist(), spelled, strict=bool(keys)) if place >= 0}
    if len(written) > len({place for place, _ in written}):
        raise BackendFailed("two of the database's group keys are one value to the proxy")
    return group


def _spelled(value: object) -> str:
    """The same for what every database takes for one value: 1.0 and 1.00 are one numeric, 0.0 and -0.0 one double."""
    if isinstance(value, Decimal):
        return repr(value.normalize(_EVERY_DIGIT))
    return repr(value + 0.0 if isinstance(value, float) else value)


def distinct_tuples(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> DistinctTuples:
    """Code the columns o0.., k0.., v, w0 of one of BackendQuery.distinct; nothing to count is where w0 is 0.

    Raises: BackendFailed when a key or value has a type whose equality is not ours to decide.
    Cost: as `join_tuples`, and a sort of the distinct values.
    """
    owners, group, (values, weights) = _parts(columns, query, domain)
    codes = np.where(whole(weights) > 0, _value_codes(values), -1)
    return DistinctTuples(owners=owners, group=group, n_groups=len(domain), value=codes)


def ranked_tuples(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> RankedTuples:
    """Code the columns o0.., k0.., v, w0 of a statement of ranks; v is a place on the grid, or NULL.

    What the database's rounding puts below the grid lies at its lower end; `RankBatch` sees to the upper one.

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
    """The owners, the group of each row, and the columns after the keys."""
    n_owners, n_keys = len(query.relations), len(domain.keys)
    owners, keys, rest = columns[:n_owners], columns[n_owners : n_owners + n_keys], columns[n_owners + n_keys :]
    group = _group(keys, domain, len(rest[0]))
    owned = tuple(_owner(relation, column) for relation, column in zip(query.relations, owners, strict=True))
    return owned, group, rest


def _group(keys: Sequence[Column], domain: Domain, rows: int) -> NDArray[np.int64]:
    """(rows,) the group of each row, -1 for one outside the domain."""
    group = np.zeros(rows, np.int64)
    for places in domain.by_block:
        index = key_index([keys[key] for key in places], [domain.keys[key] for key in places])
        group = np.where((group < 0) | (index < 0), -1, group * len(domain.keys[places[0]]) + index)
    return group


def _owner(relation: str, column: Column) -> OwnerColumn:
    """The unit's keys as integers, or as text where text is equal exactly when the keys are."""
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
        keys = np.where(missing, "", values)  # objects: fixed width would cost every row the longest key
    elif len(kinds) == 1 and kinds <= {uuid.UUID, date}:
        keys = np.where(missing, "", values).astype(np.str_)
    else:
        raise BackendFailed("a privacy unit's key has a type that cannot be compared outside the database")
    return OwnerColumn(relation, keys, missing)


def key_index(columns: Sequence[Column], values: Sequence[Column]) -> NDArray[np.int64]:
    """The place of each combination of keys in their domain, -1 for what is not in it; NULL is a value like others.

    A policy writes 0.1, which no float is: keys with a fraction are decimals.
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
    """The rank of each value among the distinct ones; -1 for NULL. All NaN are one value, as in SQL."""
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
