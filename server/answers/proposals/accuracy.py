"""Accuracy targets, and the accuracy that an answer reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from planner.errors import InvalidSetting
from server.query import QueryResponse

Basis = Literal["public", "released", "kept"]
"""`public`: holds for all data; `released`: expected from the analyst's earlier answer; `kept`: that very answer."""

LEAST_ACCURACY = 1e-100
"""The smallest target, so that a quotient by it stays finite."""


@dataclass(frozen=True)
class Accuracy:
    """The widest intervals allowed. Exactly one of the three is set.

    Attributes:
      interval_width: the widest interval from end to end, in the answer's unit; > 0.
      max_relative_error: the largest distance of an end from its value, in multiples of the value; > 0. Clipped rows
        do not count.
      max_absolute_error: the same in the answer's unit, for all rows; > 0.
    """

    interval_width: float | None = None
    max_relative_error: float | None = None
    max_absolute_error: float | None = None

    def __post_init__(self) -> None:
        if len([one for one in self._all if one is not None]) != 1:
            raise InvalidSetting("give exactly one of interval_width, max_relative_error and max_absolute_error")
        if not (math.isfinite(self.wanted) and self.wanted > 0):
            raise InvalidSetting("an accuracy target must be a positive number")
        if self.wanted < LEAST_ACCURACY:
            raise InvalidSetting(
                f"an accuracy target must be at least {LEAST_ACCURACY:g}", hint="no epsilon reaches a smaller one"
            )

    @property
    def wanted(self) -> float:
        """The one of the three limits that is set."""
        return next(one for one in self._all if one is not None)

    @property
    def _all(self) -> tuple[float | None, ...]:
        return self.interval_width, self.max_relative_error, self.max_absolute_error

    @property
    def is_relative(self) -> bool:
        """Whether the limit is relative to a value, which must have been released before."""
        return self.max_relative_error is not None

    def __str__(self) -> str:
        if self.max_relative_error is not None:
            return f"a relative error of {self.shown(self.max_relative_error)}"
        what = "an interval width" if self.interval_width is not None else "an error"
        return f"{what} of {self.shown(self.wanted)}"

    def shown(self, amount: float) -> str:
        """Format an amount for people: relative errors in percent."""
        return f"{100 * amount:.4g}%" if self.is_relative else f"{amount:,.6g}"

    def reached(self, answer: QueryResponse) -> float:
        """Return the target that an answer's worst interval reaches; infinite where an interval is open."""
        if self.interval_width is not None:
            return widest(answer)
        if self.max_absolute_error is not None:
            return worst_error(answer)
        return worst_relative_error(answer)


def worst_error(answer: QueryResponse) -> float:
    """Return the largest distance of an interval's end from its value; 0 without intervals."""
    errors = [
        max(_open(interval.high) - value, value - _open(interval.low, -1))
        for row, intervals in answer.as_released()
        for value, interval in zip(row, intervals, strict=True)
        if interval is not None and isinstance(value, int | float)
    ]
    return max(errors, default=0.0)


def widest(answer: QueryResponse) -> float:
    """Return the widest interval of an answer; 0 without intervals."""
    ends = [interval for _, row in answer.as_released() for interval in row if interval is not None]
    return max((_open(one.high) - _open(one.low, -1) for one in ends), default=0.0)


def worst_relative_error(answer: QueryResponse) -> float:
    """Return the largest relative distance of an end from its value; infinite if every row is clipped."""
    errors = [
        max(_open(interval.high) - value, value - _open(interval.low, -1)) / abs(value) if value else math.inf
        for (row, intervals), cut in zip(answer.as_released(), answer.clipped, strict=True)
        if not cut
        for value, interval in zip(row, intervals, strict=True)
        if interval is not None and isinstance(value, int | float)
    ]
    return max(errors, default=math.inf)


def _open(end: float | None, sign: int = 1) -> float:
    return sign * math.inf if end is None else end


@dataclass(frozen=True)
class Proposal:
    """A proposed epsilon.

    Attributes:
      epsilon: the smallest that is expected to be enough, rounded up to three digits.
      delta: of the charge.
      charge: the price now: epsilon, or 0 where such an answer is cached and paid for.
      epsilon_left: of the analyst's budget.
      interval_width: the widest interval to expect.
      relative_error: the largest one to expect; None where no value is known.
      basis: what it rests on.
      reason: the same as a sentence.
    """

    epsilon: float
    delta: float
    charge: float
    epsilon_left: float
    interval_width: float
    relative_error: float | None
    basis: Basis
    reason: str
