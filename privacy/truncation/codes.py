"""Numbers for keys of any kind: ranks, privacy units of several columns, provenance sets.

A unit has one code per (relation, key), in the order of the keys. So codes depend on which units occur, not on the
order of rows. A tuple's group and provenance set are one or a few integers, sorted in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import OwnerColumn, Private
from privacy.kernel import kernel
from privacy.units import Bools, Int32s, Ints

_DIGIT = 8
_BUCKETS = 1 << _DIGIT
"""256 places to write to at a time: as many as the first level of cache and its page table follow."""

_SIGN_BIT = np.int64(-(2**63))


def row_type(count: int) -> type[np.signedinteger]:
    """The type that numbers so many rows: four bytes if they suffice, else eight."""
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64


def radix_sort(keys: Ints, rows: NDArray[np.integer], bits: int) -> tuple[Ints, NDArray[np.integer]]:
    """Sort keys, stably, and their rows along with them.

    Args:
      keys: (m,) unsigned numbers below 2^bits in the bit patterns of int64; overwritten.
      rows: (m,) anything that goes with them; overwritten.
      bits: 0 to 64.
    Returns: both, sorted. Ascending keys are returned as they are.
    Cost: two reads, and a read and a write per eight bits in which the keys differ. Memory of a second copy.
    """
    if _ascends(keys):
        return keys, rows
    other_keys, other_rows = np.empty_like(keys), np.empty_like(rows)
    counts = _counts(keys, -(-bits // _DIGIT))
    for digit, count in enumerate(counts):
        if count.max() == len(keys):
            continue
        starts = np.cumsum(count) - count
        _distribute(keys, rows, other_keys, other_rows, starts, digit * _DIGIT)
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return keys, rows


@kernel
def _ascends(keys: Ints) -> bool:
    """Whether no key is below the one before, as unsigned numbers."""
    for i in range(1, len(keys)):  # noqa: SIM110 - a loop that numba compiles
        if (keys[i] ^ _SIGN_BIT) < (keys[i - 1] ^ _SIGN_BIT):
            return False
    return True


@kernel
def _counts(keys: Ints, digits: int) -> Ints:
    """(digits, 256) how often each value of each digit occurs, the lowest digit first."""
    counts = np.zeros((digits, _BUCKETS), np.int64)
    for key in keys:
        for digit in range(digits):
            counts[digit, (key >> (digit * _DIGIT)) & (_BUCKETS - 1)] += 1
    return counts


@kernel
def _distribute(
    keys: Ints, rows: NDArray[np.integer], to_keys: Ints, to_rows: NDArray[np.integer], starts: Ints, shift: int
) -> None:
    """Write every key to the next place of its digit's bucket; `starts` moves on."""
    for i in range(len(keys)):
        digit = (keys[i] >> shift) & (_BUCKETS - 1)
        place = starts[digit]
        starts[digit] = place + 1
        to_keys[place] = keys[i]
        to_rows[place] = rows[i]


_NOBODY = -1
_DENSE = 2
"""Distances serve as numbers if there is a key for at least every second one; tables by number then stay small."""

_TABLE_SLACK = 1 << 16
"""A table of ranks may be this much longer than four times the keys."""

_LIMIT = np.iinfo(np.int32).max
_LOWEST, _HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)


def write_integer_codes(keys: list[Ints], missing: list[Bools], codes: list[Int32s], first: int) -> int:
    """Write first + a number that rises with the key and is the same in all columns, -1 where the key is missing.

    Dense keys are numbered by their distance from the smallest one, all others by their rank among the distinct ones.

    Args:
      keys: columns of (m,) keys.
      missing: (m,) for each, true where there is no key.
      codes: (m,) for each, to be written.
      first: the code of the smallest key.
    Returns: how many numbers there are, at most the number of keys; not all of them need occur.
    Raises: InvalidParameter if a code would exceed an int32.
    Cost: two passes for dense keys, three with a table of ranks for gaps, else a linear sort of the keys.
    """
    low, high, count = _extent_of_all(keys, missing)
    if high - low < count // _DENSE:
        _check_size(first, high - low + 1)
        for column, absent, code in zip(keys, missing, codes, strict=True):
            _subtract(column, absent, low, first, code)
        return high - low + 1
    if high - low > 4 * count + _TABLE_SLACK:
        return _sorted_codes(keys, missing, codes, first, low, high, count)
    table = np.zeros(max(high - low + 1, 0), np.int32)
    for column, absent in zip(keys, missing, strict=True):
        _mark(column, absent, low, table)
    size = _rank(table)
    _check_size(first, size)
    for column, absent, code in zip(keys, missing, codes, strict=True):
        _look_up(column, absent, low, table, first, code)
    return size


def _check_size(first: int, size: int) -> None:
    if first + size > _LIMIT:
        raise InvalidParameter("more privacy units than an int32 can number")


def _extent_of_all(keys: list[Ints], missing: list[Bools]) -> tuple[int, int, int]:
    """The smallest and the largest key and how many there are; (0, -1) and 0 without any."""
    extents = [_extent(column, absent) for column, absent in zip(keys, missing, strict=True)]
    count = sum(extent[2] for extent in extents)
    if not count:
        return 0, -1, 0
    return min(int(extent[0]) for extent in extents), max(int(extent[1]) for extent in extents), count


def _sorted_codes(
    keys: list[Ints], missing: list[Bools], codes: list[Int32s], first: int, low: int, high: int, count: int
) -> int:
    """Ranks of scattered keys, sorted with their places."""
    m = len(keys[0])
    places = np.empty(count, row_type(len(keys) * m))
    joined = np.empty(count, np.int64)
    start = 0
    for i, (column, absent) in enumerate(zip(keys, missing, strict=True)):
        start = _collect(column, absent, low, i * m, joined, places, start)
    joined, places = radix_sort(joined, places, (high - low).bit_length())
    size = _count_distinct(joined)
    _check_size(first, size)
    flat = np.full(len(keys) * m, _NOBODY, np.int32)
    _write_ranks(joined, places, first, flat)
    for i, code in enumerate(codes):
        code[:] = flat[i * m : (i + 1) * m]
    return size


@kernel
def _extent(keys: Ints, missing: Bools) -> tuple[int, int, int]:
    """The smallest and the largest key and the number of keys."""
    low, high, count = _HIGHEST, _LOWEST, 0
    for i in range(len(keys)):
        if not missing[i]:
            low, high, count = min(low, keys[i]), max(high, keys[i]), count + 1
    return low, high, count  # type: ignore[return-value] # numba's integers are Python's here


@kernel
def _subtract(keys: Ints, missing: Bools, low: int, first: int, codes: Int32s) -> None:
    """Write first + key - low."""
    for i in range(len(keys)):
        codes[i] = _NOBODY if missing[i] else first + keys[i] - low


@kernel
def _mark(keys: Ints, missing: Bools, low: int, table: Int32s) -> None:
    """Set table[key - low] to 1 for every key."""
    for i in range(len(keys)):
        if not missing[i]:
            table[keys[i] - low] = 1


@kernel
def _rank(table: Int32s) -> int:
    """Replace marks by the number of marks before, and return how many there are."""
    total = 0
    for i in range(len(table)):
        mark = table[i]
        table[i] = total
        total += mark
    return total


@kernel
def _look_up(keys: Ints, missing: Bools, low: int, table: Int32s, first: int, codes: Int32s) -> None:
    """Write first + table[key - low]."""
    for i in range(len(keys)):
        codes[i] = _NOBODY if missing[i] else first + table[keys[i] - low]


@kernel
def _collect(
    keys: Ints, missing: Bools, low: int, offset: int, joined: Ints, places: NDArray[np.integer], start: int
) -> int:
    """Append key - low, an unsigned number, and offset + row; returns the new length."""
    for i in range(len(keys)):
        if not missing[i]:
            joined[start] = keys[i] - low
            places[start] = offset + i
            start += 1
    return start


@kernel
def _count_distinct(keys: Ints) -> int:
    """How many different keys there are in a sorted array."""
    size = min(len(keys), 1)
    for i in range(1, len(keys)):
        size += keys[i] != keys[i - 1]
    return size


@kernel
def _write_ranks(keys: Ints, places: NDArray[np.integer], first: int, codes: Int32s) -> None:
    """Write the rank of every key of a sorted array to its place."""
    code = first
    for i in range(len(keys)):
        code += i > 0 and keys[i] != keys[i - 1]
        codes[places[i]] = code


_WORD = 63


@dataclass(frozen=True, repr=False)
class KeyFormat(Private):
    """Fields of fixed width: the group first, then the owners ascending, then 0 for missing owners.

    Attributes:
      n_groups, n_codes, positions: what has to fit; some are private and never printed.
    """

    n_groups: int
    n_codes: int
    positions: int

    @cached_property
    def group_bits(self) -> int:
        """Width of a group."""
        return (self.n_groups - 1).bit_length()

    @cached_property
    def code_bits(self) -> int:
        """Width of an owner, whose field holds its code + 1."""
        return max(1, self.n_codes.bit_length())

    @cached_property
    def ends(self) -> Ints:
        """(words + 1,) the positions in word w are ends[w] up to ends[w + 1]; a field lies in one word."""
        ends, room = [0], _WORD - self.group_bits
        for position in range(self.positions):
            if room < self.code_bits:
                ends.append(position)
                room = _WORD
            room -= self.code_bits
        return np.array([*ends, self.positions], np.int64)

    def bits(self, word: int) -> int:
        """Width of a word."""
        fields = int(self.ends[word + 1] - self.ends[word])
        return fields * self.code_bits + (self.group_bits if word == 0 else 0)


def provenance_keys(codes: Int32s, group: Ints, form: KeyFormat) -> tuple[Ints, NDArray[np.integer]]:
    """The keys of the tuples that have an owner and a group, and the rows of these tuples.

    Args:
      codes: (positions, m) owners, -1 where missing; a unit may occur twice in a tuple. Overwritten.
      group: (m,) -1 where there is none.
    Returns: (words, alive) int64 and (alive,) rows.
    Cost: one pass.
    """
    words = len(form.ends) - 1
    keys, rows = np.empty((words, len(group)), np.int64), np.empty(len(group), row_type(len(group)))
    alive = _pack(codes, group, form.ends, form.code_bits, keys, rows, np.empty(len(codes), np.int32))
    return keys[:, :alive], rows[:alive]


def sort_keys(keys: Ints, rows: NDArray[np.integer], form: KeyFormat) -> tuple[Ints, NDArray[np.integer]]:
    """Sort keys and rows lexicographically by words. Cost: a linear sort per word."""
    if len(keys) == 1:
        sorted_word, rows = radix_sort(keys[0], rows, form.bits(0))
        return sorted_word[None, :], rows
    order = np.arange(len(rows), dtype=rows.dtype)
    for word in range(len(keys) - 1, -1, -1):
        _, order = radix_sort(keys[word][order], order, form.bits(word))
    return keys[:, order], rows[order]


@kernel
def _pack(
    codes: Int32s, group: Ints, ends: Ints, bits: int, keys: Ints, rows: NDArray[np.integer], owners: Int32s
) -> int:
    """Fill keys and rows of tuples with an owner and a group; returns how many those are."""
    alive = 0
    positions = codes.shape[0]
    for t in range(len(group)):
        size = 0
        for position in range(positions):
            code = codes[position, t]
            if code < 0:
                continue
            place = size
            while place > 0 and owners[place - 1] > code:
                place -= 1
            if place > 0 and owners[place - 1] == code:
                continue
            for i in range(size, place, -1):
                owners[i] = owners[i - 1]
            owners[place] = code
            size += 1
        if size == 0 or group[t] < 0:
            continue
        key = group[t]
        for word in range(len(ends) - 1):
            for position in range(ends[word], ends[word + 1]):
                key = (key << bits) | (owners[position] + 1 if position < size else 0)
            keys[word, alive] = key
            key = 0
        rows[alive] = t
        alive += 1
    return alive


NO_OWNER = -1
"""The code of a position that has no owner."""

_SIGN = np.uint64(1 << 63)


def owner_codes(owners: Sequence[OwnerColumn], n_tuples: int) -> tuple[Int32s, int]:
    """Code the privacy units of every owner position.

    Units of one relation are numbered in the order of their keys, relations by their first position. So codes depend
    on which units occur, not on the order of the rows. Not all codes need occur.

    Args:
      owners: one column per position, all of n_tuples rows.
      n_tuples: m.
    Returns: (positions, m) int32 codes, NO_OWNER where missing, and how many codes there are, at most one for each
      position of each tuple.
    Raises, cost: as `codes_by_relation`.
    """
    codes, relations = codes_by_relation(owners, n_tuples)
    return codes, relations[-1][1] if relations else 0


def codes_by_relation(owners: Sequence[OwnerColumn], n_tuples: int) -> tuple[Int32s, tuple[tuple[str, int], ...]]:
    """`owner_codes`, and the relation of each code.

    Returns: the codes, and the relations in the order of their codes, each with the code after its last.
    Raises: InvalidParameter if lengths differ, the keys of a relation cannot be compared, or there are more units
      than an int32 can number.
    Cost: three passes for dense integers, a linear sort for other integers; a hash for strings and objects; a sort
      for the rest.
    """
    codes = np.empty((len(owners), n_tuples), np.int32)
    n_units, ends = 0, []
    for relation in dict.fromkeys(owner.relation for owner in owners):
        positions = [i for i, owner in enumerate(owners) if owner.relation == relation]
        n_units += _write_codes(
            [_checked(owners[i], n_tuples) for i in positions], [codes[i] for i in positions], n_units
        )
        ends.append((relation, n_units))
    return codes, tuple(ends)


def _checked(owner: OwnerColumn, n_tuples: int) -> OwnerColumn:
    """The column, if it is as long as the others."""
    if owner.keys.shape != (n_tuples,) or owner.missing.shape != (n_tuples,):
        raise InvalidParameter("an owner column must have one entry per tuple")
    return OwnerColumn(owner.relation, owner.keys, np.ascontiguousarray(owner.missing, bool))


def _write_codes(columns: list[OwnerColumn], codes: list[Int32s], first: int) -> int:
    """Fill in the codes of one relation, from `first` on; returns how many units it has."""
    dtype = _common_type([column.keys for column in columns if not column.missing.all()] or [columns[0].keys])
    if dtype.kind in "iu":
        keys = [_as_int64(column.keys, dtype) for column in columns]
        return write_integer_codes(keys, [column.missing for column in columns], codes, first)
    present = [np.flatnonzero(~column.missing) for column in columns]
    joined = np.concatenate([column.keys[rows] for column, rows in zip(columns, present, strict=True)], dtype=dtype)
    code, size = _codes(joined)
    start = 0
    for rows, column in zip(present, codes, strict=True):
        column.fill(NO_OWNER)
        column[rows] = code[start : start + len(rows)] + first
        start += len(rows)
    return size


def _common_type(columns: list[NDArray[np.generic]]) -> np.dtype[np.generic]:
    """The type that holds every key of one relation, refusing types whose union would lose digits."""
    kinds = {column.dtype.kind for column in columns}
    dtype = np.result_type(*columns) if len(kinds) == 1 or kinds <= set("iu") else None
    if dtype is None or (kinds <= set("iu") and dtype.kind not in "iu"):
        raise InvalidParameter("the key columns of a relation have types that cannot be compared exactly")
    return dtype


def _as_int64(keys: NDArray[np.generic], dtype: np.dtype[np.generic]) -> Ints:
    """Integers in the same order; unsigned ones of 64 bits are moved down by 2^63."""
    if dtype == np.uint64:
        return (keys.astype(np.uint64) ^ _SIGN).view(np.int64)
    return np.ascontiguousarray(keys, np.int64)


def _codes(keys: NDArray[np.generic]) -> tuple[Ints, int]:
    """Rank of each key among the distinct keys, and how many those are."""
    if keys.dtype.kind in "USO":
        return _hashed_codes(keys)
    distinct, code = np.unique(keys, return_inverse=True)
    return code.astype(np.int64), len(distinct)


def _hashed_codes(keys: NDArray[np.generic]) -> tuple[Ints, int]:
    """Strings and objects: hashing m keys and sorting the distinct ones is faster than sorting m keys."""
    values = keys.tolist()
    try:
        distinct = sorted(set(values))
    except (TypeError, ArithmeticError):
        raise InvalidParameter("the keys of a relation cannot be hashed and sorted") from None
    rank = dict(zip(distinct, range(len(distinct)), strict=True))
    return np.fromiter(map(rank.__getitem__, values), np.int64, len(values)), len(distinct)
