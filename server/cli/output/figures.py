"""Numbers for people: thousands separated, and no more digits than the noise leaves meaningful."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from server.query import Cell, Interval

_MAX_DECIMALS = 9


def decimals(interval: Interval | None) -> int:
    """How many decimals tell the ends of an interval apart: two significant digits of its half-width, at most 9."""
    if interval is None or interval.low is None or interval.high is None:
        return 2
    half_width = (interval.high - interval.low) / 2
    if not math.isfinite(half_width) or half_width <= 0:
        return 2
    return min(max(1 - math.floor(math.log10(half_width)), 0), _MAX_DECIMALS)


def cell_text(value: Cell, interval: Interval | None = None, *, exact: bool = False) -> str:
    """A cell of an answer as a person reads it, all digits of an exact one; text is returned as it is."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,}" if exact else f"{value:,.{decimals(interval)}f}"
    return value


def interval_text(interval: Interval | None, *, whole: bool) -> str:
    """An interval as a person reads it.

    Args:
      interval: None (a group key) gives an empty text.
      whole: the value is a whole number, so the ends are shown without decimals, rounded outwards.
    """
    if interval is None:
        return ""
    digits = 0 if whole else decimals(interval)
    low, high = _end(interval.low, digits, ROUND_FLOOR), _end(interval.high, digits, ROUND_CEILING)
    if low is None and high is None:
        return "unbounded"
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def epsilon_text(value: float) -> str:
    """A privacy parameter, shortest form that a person needs: 0.1, not 0.1000."""
    return f"{value:.6g}"


def _end(value: float | None, digits: int, rounding: str) -> str | None:
    """One end of an interval with so many decimals, rounded away from the other end."""
    if value is None:
        return None
    return f"{Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=rounding):,}"
