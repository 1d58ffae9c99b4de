"""A tuple's group and provenance set as one or a few integers, whose order is that of the compact form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.codes.radix_sort import radix_sort, row_type

_WORD = 63


@dataclass(frozen=True)
class KeyFormat:
    """Fields of fixed width, the group first, then the owners ascending, those that are missing as 0 at the end.

    Attributes:
      n_groups, n_codes, positions: what has to fit; all public or private counts, never printed.
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
    def ends(self) -> NDArray[np.int64]:
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

    def __repr__(self) -> str:
        return "KeyFormat(<private>)"


def provenance_keys(
    codes: NDArray[np.int32], group: NDArray[np.int64], form: KeyFormat
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
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


def sort_keys(
    keys: NDArray[np.int64], rows: NDArray[np.integer], form: KeyFormat
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
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
    codes: NDArray[np.int32],
    group: NDArray[np.int64],
    ends: NDArray[np.int64],
    bits: int,
    keys: NDArray[np.int64],
    rows: NDArray[np.integer],
    owners: NDArray[np.int32],
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
