"""The public grid of a column's values, and the rank that an aggregate such as median or max asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.sql.sql_types import ResultType

MOST_STEPS = 1 << 22
"""The most steps of a grid. The error of an answer grows with the logarithm of their number."""


@dataclass(frozen=True)
class Grid:
    """A grid of values `low + step * place`, with `place` in [0, n_codes).

    Attributes:
      low: the value of place 0. Dates count days since 1970, timestamps seconds.
      step: the distance between two places, > 0.
      n_codes: the number of places.
      type: the type of the value in an answer.
    """

    low: float
    step: float
    n_codes: int
    type: ResultType

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

    @property
    def digits(self) -> int | None:
        """The decimal places of a value; None if the step is no power of ten."""
        places = -round(math.log10(self.step))
        return max(0, places) if math.isclose(10.0**-places, self.step, rel_tol=1e-9) else None


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
