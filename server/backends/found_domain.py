"""The groups that a question's own rows hold: private, until a release has decided which of them are shown."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.plan import BackendQuery
from server.backends.columns import Domain, key_index
from server.backends.integer_columns import Column

_NO_LETTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which stands for a byte."""


def found_domain(columns: Sequence[Column], query: BackendQuery, domain: Domain) -> Domain:
    """Every combination of keys in the rows of a join, those outside of a public domain left out.

    The combinations are found jointly: a public key beside a found one adds no groups that no row is in, each of
    which one unit could bring into being.

    Args:
      columns: k0.. and what follows, of BackendQuery.join, or of BackendQuery.loads, where every row is of some unit.
      query: with a domain that the rows say.
      domain: the public ones; a key that is to be found has no values there.
    Returns: one block of all keys, in the order of the public domains and of the found values. Private.
    Cost: linear, and sorts of what is distinct.
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
        pairs = numbers * max(1, block.size) + block.index[rows]
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    first: NDArray[np.int64] = rows[np.unique(numbers, return_index=True)[1]]
    return first


class _Block:
    """Keys that are known together: the values of each, and which of them every row has."""

    def __init__(self, values: dict[int, tuple[object, ...]], index: NDArray[np.int64]) -> None:
        self.values = values
        self.index = index
        self.size = len(next(iter(values.values())))


def _known(places: Sequence[int], keys: Sequence[Column], domain: Domain) -> _Block:
    values = {place: domain.keys[place] for place in places}
    return _Block(values, key_index([keys[place] for place in places], list(values.values())))


def _found(place: int, column: Column) -> _Block:
    """The distinct values in order, NULL last; what no answer can show is no group.

    A row is left out for what it holds itself, whoever else is there: so this costs no privacy.
    """
    distinct = sorted(filter(_is_shown, set(column)), key=_null_last)
    rank: dict[object, int] = dict(zip(distinct, itertools.count()))
    index = np.fromiter(map(rank.get, column, itertools.repeat(-1)), np.int64, len(column))
    return _Block({place: tuple(distinct)}, index)


def _is_shown(value: object) -> bool:
    """Not of a text with bytes that are no UTF-8, as a file may hold one (`server.backends.spark.arrow_columns`)."""
    return not isinstance(value, str) or _NO_LETTER.search(value) is None


def _null_last(value: object) -> tuple[bool, object]:
    return value is None, value
