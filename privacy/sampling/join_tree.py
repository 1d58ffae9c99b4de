"""The tuples of an acyclic join, numbered without being built: how many there are, and which rows the n-th holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacy.errors import TooLarge
from privacy.join_tuples import Private
from privacy.sampling.draws import MAX_THINGS
from privacy.units import Ints

_CLOSE = 4
"""The most entries of a table of keys per row; keys further apart are searched for."""


@dataclass(frozen=True, eq=False, repr=False)
class TreePart(Private):
    """The rows of one part of a join, and how they match those of the part above. Private.

    Attributes:
      rows: m, the number of rows.
      parent: the index of the parent part, below this part's own; -1 for the first part.
      own: the join columns of this part: int64 arrays of length m, without NULL.
      above: the join columns of the parent, in the same order, with one entry per row of the parent. Two rows match
        if all columns are equal; without columns every row matches every row.
    """

    rows: int
    parent: int = -1
    own: Sequence[Ints] = ()
    above: Sequence[Ints] = ()


@dataclass(frozen=True, eq=False, repr=False)
class _Branch:
    """The rows of a part sorted by what they match.

    Attributes:
      order: (m,) the rows, those with one key side by side.
      ends: (m,) the running total of tuples of the part and all below it, in that order.
      first: per row of the part above, the total before the rows that it matches.
      width: per row of the part above, the total of the rows that it matches.
    """

    order: Ints
    ends: Ints
    first: Ints
    width: Ints


class JoinTree:
    """An acyclic join as a tree of parts, in which every row knows how many tuples lie below it.

    A row's number is the product, over the parts below, of the sum of the numbers of the rows that it matches. The
    first part's numbers add up to the number of tuples. So tuple n is in the row of the first part whose range of
    running totals holds n. The rest of n is written in digits, one for each part below. A digit's base is the number
    of that part's tuples that the row matches, and the digit is the n of its part. (Yannakakis 1981 for the
    semi-joins; Carmeli et al., PODS 2020, for direct access.)

    Args:
      parts: at least one, parents first.
    Raises: TooLarge for 2^62 tuples or more.
    Cost: O(rows log rows), for any number of tuples.
    """

    def __init__(self, parts: Sequence[TreePart]) -> None:
        self._parts = parts
        self._branches: list[_Branch | None] = [None] * len(parts)
        numbers = [np.ones(part.rows, np.int64) for part in parts]
        for place in range(len(parts) - 1, 0, -1):
            part = parts[place]
            branch = _branch(part, numbers[place], parts[part.parent].rows)
            self._branches[place] = branch
            numbers[part.parent] = _product(numbers[part.parent], branch.width)
        self._ends = _running(numbers[0])

    @property
    def tuples(self) -> int:
        """How many tuples the join has. Private."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def rows(self, places: Ints) -> list[Ints]:
        """The row of each part, for some tuples by their numbers from 0.

        Args:
          places: (k,) in [0, tuples).
        Returns: per part (k,) rows.
        Cost: O(k log rows) for each part.
        """
        left: list[Ints] = [places]
        found: list[Ints] = []
        for place, part in enumerate(self._parts):
            branch = self._branches[place]
            if branch is None:
                ends, order = self._ends, None
                target = left[0]
            else:
                above = found[part.parent]
                width = branch.width[above]
                rest = left[part.parent]
                left[part.parent] = rest // width
                ends, order = branch.ends, branch.order
                target = branch.first[above] + rest % width
            at = np.searchsorted(ends, target, side="right")
            within = target - np.where(at > 0, ends[at - 1], 0)
            if branch is None:
                left[0] = within
            else:
                left.append(within)
            found.append(at if order is None else order[at])
        return found


def _branch(part: TreePart, numbers: Ints, rows_above: int) -> _Branch:
    own, above = _codes(part, rows_above)
    order = np.argsort(own, kind="stable")
    ends = _running(numbers[order])
    totals = np.concatenate([np.zeros(1, np.int64), ends])
    in_order = own[order]
    begin, end = _met(in_order, above)
    return _Branch(order, ends, totals[begin], totals[end] - totals[begin])


def _met(keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Where each wanted key begins and ends among the sorted ones; by a table for dense keys."""
    low, high = (int(keys[0]), int(keys[-1])) if len(keys) else (0, -1)
    if high - low >= _CLOSE * (len(keys) + len(wanted)):
        return np.searchsorted(keys, wanted, side="left"), np.searchsorted(keys, wanted, side="right")
    starts = np.zeros(high - low + 3, np.int64)  # the last is of no key: it begins and ends at the end
    np.cumsum(np.bincount(keys - low, minlength=high - low + 1), out=starts[1:-1])
    starts[-1] = starts[-2]
    slot = np.where((wanted >= low) & (wanted <= high), wanted - low, high - low + 1)
    return starts[slot], starts[slot + 1]


def _codes(part: TreePart, rows_above: int) -> tuple[Ints, Ints]:
    """One number per row of the part and of the part above, equal exactly where all columns are."""
    if not part.own:
        return np.zeros(part.rows, np.int64), np.zeros(rows_above, np.int64)
    codes = np.concatenate([part.own[0], part.above[0]])
    for own, above in zip(part.own[1:], part.above[1:], strict=True):
        values, more = np.unique(np.concatenate([own, above]), return_inverse=True)
        _, codes = np.unique(codes, return_inverse=True)  # below m, so that the product is below 2^62
        codes = codes * max(1, len(values)) + more
    return codes[: part.rows], codes[part.rows :]


def _product(numbers: Ints, more: Ints) -> Ints:
    if len(numbers) and int(numbers.max()) * int(more.max()) >= MAX_THINGS:
        raise TooLarge("a join of 2^62 tuples or more")
    return numbers * more


def _running(numbers: Ints) -> Ints:
    """The sums of the first, the first two, ...; none of them wraps around."""
    if float(numbers.sum(dtype=np.float64)) >= MAX_THINGS / 2:
        raise TooLarge("a join of 2^62 tuples or more")
    return np.cumsum(numbers)
