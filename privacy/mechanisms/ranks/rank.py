"""Ranks that are asked for: a quantile of rows, or the value that about k privacy units lie beyond."""

from __future__ import annotations

from dataclasses import dataclass

from privacy.errors import InvalidParameter

PARTS = 1 << 20
"""A quantile is a whole number of these parts; what that leaves is far below any noise."""

_MOST_TAU = _MOST_BEYOND = 1 << 32


@dataclass(frozen=True)
class Rank:
    """A rank that is asked for, as the value v where its offset changes its sign.

        offset(v) = below A(v) - above B(v) + shift,   A: what lies at v or below it, B: what lies above it

    The offset only grows with v. Of a quantile q it is PARTS ((1 - q) A - q B): a row that passes from one side to
    the other moves it by PARTS. Of an extreme it is k - B, or A - k, in people.

    Attributes:
      quantile: q in [0, 1]; None for an extreme.
      beyond: k >= 0, of an extreme: how many privacy units should lie beyond it.
      highest: is it the largest values' side that k is counted from?
    """

    quantile: float | None = None
    beyond: int = 0
    highest: bool = True

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            raise InvalidParameter("a quantile lies between 0 and 1")
        if not 0 <= self.beyond <= _MOST_BEYOND:
            raise InvalidParameter("a number of people is between 0 and 2^32")

    @property
    def below(self) -> int:
        """What a weight of one at v or below it adds to the offset."""
        if self.quantile is None:
            return 0 if self.highest else 1
        return PARTS - self._parts

    @property
    def above(self) -> int:
        """What a weight of one above v takes from the offset."""
        if self.quantile is None:
            return 1 if self.highest else 0
        return self._parts

    @property
    def shift(self) -> int:
        """What the offset has without rows."""
        if self.quantile is not None:
            return 0
        return self.beyond if self.highest else -self.beyond

    @property
    def height(self) -> float:
        """Ranks of one batch rise with it."""
        if self.quantile is not None:
            return self.quantile
        return -self.beyond if self.highest else self.beyond

    def caps(self, tau: int) -> tuple[int, int]:
        """What one unit may add to A, and to B: tau, and the side that weighs less more of it, at most 2^32.

        That costs nothing: of a 90th percentile a unit may have 9 tau rows below the value where it may have tau
        above it, which weigh the same. A unit with more rows than that on both sides then adds nothing to the offset,
        as one does whose rows are spread as all are.

        Args:
          tau: a number of rows.
        """
        if not self.below or not self.above:
            return tau, tau
        more, less = (max(tau, tau * side // other) for side, other in self._sides)
        return min(more, _MOST_TAU), min(less, _MOST_TAU)

    def moves(self, tau: int) -> int:
        """By how much a unit moves the offset of every v at most, that adds no more than `caps` to A and to B.

        Where rows of it come, A and B grow: the offset moves by below times the one or by above times the other, or
        by less.
        """
        under, over = self.caps(tau)
        return max(self.below * under, self.above * over)

    @property
    def _sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return (self.above, self.below), (self.below, self.above)

    @property
    def _parts(self) -> int:
        assert self.quantile is not None, "of a quantile"
        return round(self.quantile * PARTS)
