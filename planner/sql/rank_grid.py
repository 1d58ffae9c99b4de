"""The public grid of a column's values, and the rank that an aggregate such as median or max asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.sql.sql_types import ResultType

MOST_STEPS = 1 << 22
"""The most steps of a grid. The error of an answer grows with the logarithm of their number."""

RATIO = 1 + 2.0**-10
"""Of two neighbours on a grid by size: a thousandth apart."""


@dataclass(frozen=True)
class Grid:
    """A grid of values `low + step * place`, with `place` in [0, n_codes).

    By size, the values are 0 and ±step, ±step r, ±step r^2, and so on, for r = `RATIO`.

    Attributes:
      low: the value of place 0. Dates count days since 1970, timestamps seconds.
      step: the distance between two places, > 0.
      n_codes: the number of places.
      type: the type of the value in an answer.
      zero: of a grid by size, the place of 0, which may be outside of it; None: the steps are even.
    """

    low: float
    step: float
    n_codes: int
    type: ResultType
    zero: int | None = None

    @classmethod
    def over(cls, low: float, high: float, step: float | None, kind: ResultType) -> Grid:
        """The grid of a range. A grid with too many steps is made coarser by powers of ten.

        Args:
          low, high: the ends of the range, finite.
          step: the distance between two values; None cuts the range into 2^20 steps.
          kind: the type of the values in an answer.

        >>> Grid.over(0.0, 90.0, 1.0, "int8").n_codes, Grid.over(0.0, 1e6, 0.01, "float8").step
        (91, 1.0)
        """
        width = high - low
        if width <= 0:
            return cls(low, 1.0, 1, kind)
        fine = width / 2**20 if step is None else step
        while width / fine >= MOST_STEPS:
            fine *= 10
        return cls(low, fine, math.floor(width / fine + 0.5) + 1, kind)

    @classmethod
    def by_size(cls, low: float, high: float, step: float, kind: ResultType) -> Grid:
        """The grid by size of a range that is too wide for even steps; a database's logarithm may end one place off.

        The step is at least 2^-600 of the range, so that no quotient by it overflows.

        >>> grid = Grid.by_size(0.0, 2.0**30, 1.0, "int8")
        >>> grid.n_codes, [grid.at(grid.zero + place) for place in (0, 1, 2000)]
        (21307, [0.0, 1.0, 7.0])
        """
        step = max(step, max(abs(low), abs(high)) * 2.0**-600)
        first, last = _by_size(low / step) - (low != 0), _by_size(high / step) + (high != 0)
        return cls(low, step, last - first + 1, kind, -first)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        return self.at(0), self.at(self.n_codes - 1)

    def at(self, place: float) -> float:
        """The value at a place, which may lie between two."""
        if self.zero is None:
            return self.low + self.step * place
        place = min(max(place, -0.5), self.n_codes - 0.5) - self.zero
        size = RATIO ** (abs(place) - 1) if abs(place) > 1 else abs(place)
        steps = round(size) if place == round(place) and size < 1 << 53 else size
        return math.copysign(self.step * steps, place)

    @property
    def digits(self) -> int | None:
        """The decimal places of a value; None if the step is no power of ten."""
        places = -round(math.log10(self.step))
        return max(0, places) if math.isclose(10.0**-places, self.step, rel_tol=1e-9) else None


def _by_size(steps: float) -> int:
    """The place, from that of 0, of so many steps."""
    return int(math.copysign(math.floor(math.log(max(abs(steps), 1 / RATIO), RATIO) + 1.5), steps))


@dataclass(frozen=True)
class AskedRank:
    """The rank that an aggregate asks for.

    Attributes:
      quantile: q in [0, 1]; None for an extreme.
      beyond: for an extreme, how many privacy units should lie beyond it; None: as many as the noise requires.
      highest: for an extreme, is it the largest value?
    """

    quantile: float | None = None
    beyond: int | None = None
    highest: bool = True
