"""Values by their rank: the public grid that a column's values are placed on, and which rank is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.sql.sql_types import ResultType

MOST_STEPS = 1 << 22
"""The finest grid: what an answer is off by grows with the logarithm of the number of its values."""


@dataclass(frozen=True)
class Grid:
    """Where values lie: `low + step * place`, `place` in [0, n_codes).

    Attributes:
      low: the value of place 0: a number, days since 1970 for a date, seconds for a timestamp.
      step: > 0, from one place to the next.
      n_codes: how many places there are.
      type: of the value in an answer.
    """

    low: float
    step: float
    n_codes: int
    type: ResultType

    @classmethod
    def over(cls, low: float, high: float, step: float | None, kind: ResultType) -> Grid:
        """The grid of a range.

        Args:
          low, high: its ends, finite.
          step: the distance of two values; None: any, so the range is cut into 2^20. A grid that were too fine is
            made coarser by powers of ten.
          kind: of the values in an answer.

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
        """The decimal places that a value has; None where the step is no power of ten."""
        places = -round(math.log10(self.step))
        return max(0, places) if math.isclose(10.0**-places, self.step, rel_tol=1e-9) else None


@dataclass(frozen=True)
class AskedRank:
    """Which rank.

    Attributes:
      quantile: q in [0, 1]; None for an extreme.
      beyond: of an extreme, how many privacy units should lie beyond it; None: so many as noise asks for.
      highest: of an extreme: is it the largest value?
    """

    quantile: float | None = None
    beyond: int | None = None
    highest: bool = True
