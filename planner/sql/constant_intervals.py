"""Constant intervals as PostgreSQL reads them, part by part, and the seconds of an age."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import reduce

from sqlglot import exp

from planner.sql.literals import constant, constant_text
from planner.sql.trees import copied

_UNITS: dict[str, tuple[str, int | Decimal]] = {
    "year": ("MONTH", 12), "month": ("MONTH", 1), "mon": ("MONTH", 1), "week": ("DAY", 7), "day": ("DAY", 1),
    "quarter": ("MONTH", 3), "decade": ("MONTH", 120), "hr": ("SECOND", 3600),
    "hour": ("SECOND", 3600), "minute": ("SECOND", 60), "min": ("SECOND", 60), "second": ("SECOND", 1),
    "sec": ("SECOND", 1), "s": ("SECOND", 1),
    "microsecond": ("SECOND", Decimal("1e-6")), "u": ("SECOND", Decimal("1e-6")),
}  # fmt: skip
"""By singular unit name: the unit that counts it, and the factor."""

_AMOUNT = re.compile(rf"([+-]?\s*\d{{1,9}}(?:\.\d{{1,9}})?)\s*((?:{'|'.join(_UNITS)})s?)\b", re.IGNORECASE)

_CLOCK = re.compile(
    r"(?<![\d.:])(?P<sign>[+-]?)(?P<hours>\d{1,6}):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d{1,6})?)\s*\Z"
)

_INTERVAL = re.compile(rf"\s*(?:{_AMOUNT.pattern},?\s*)*(?:{_CLOCK.pattern})?\s*", re.IGNORECASE)


def interval_parts(node: exp.Expr) -> list[exp.Interval]:
    """The INTERVALs of one unit each that add up to a constant; empty for anything else."""
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal):
        unit = "" if node.args.get("unit") is None else node.text("unit")
        return _parts_of(f"{node.this.name} {unit}")
    one = written_interval(node)
    if one is not None or not (isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.INTERVAL):
        return [] if one is None else interval_parts(one)
    text = constant_text(node.this.unnest())
    return [] if text is None else _parts_of(text)


def written_interval(node: exp.Expr) -> exp.Interval | None:
    """The INTERVAL of one unit that equals a constant; None for anything else."""
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.INTERVAL:
        inner = node.this.unnest()
        if isinstance(inner, exp.Interval):
            return inner
        text = constant_text(inner)
        return None if text is None else _interval(text)
    return _times(node) if isinstance(node, exp.Mul) else None


def _interval(text: str) -> exp.Interval | None:
    """The interval of a text with one kind of unit: months and years, days and weeks, or whole seconds."""
    parts = _parts_of(text)
    return parts[0] if len(parts) == 1 else None


def _parts_of(text: str) -> list[exp.Interval]:
    """Months, days and whole seconds of a text, in this order; empty if it cannot be read."""
    if not text.strip() or not _INTERVAL.fullmatch(text):
        return []
    amounts: dict[str, Decimal] = {"MONTH": Decimal(), "DAY": Decimal()}
    for number, unit in _AMOUNT.findall(text):
        kind, size = _UNITS[unit.lower().removesuffix("s") or "s"]
        amounts[kind] = amounts.get(kind, Decimal()) + Decimal("".join(number.split())) * size
    clock = _CLOCK.search(text)
    if clock is not None:
        passed = 3600 * int(clock["hours"]) + 60 * int(clock["minutes"]) + Decimal(clock["seconds"])
        amounts["SECOND"] = amounts.get("SECOND", Decimal()) + (-passed if clock["sign"] == "-" else passed)
    found = [(kind, amount) for kind, amount in amounts.items() if amount] or [("DAY", Decimal())]
    if any(amount != int(amount) for _, amount in found):
        return []
    return [exp.Interval(this=exp.Literal.string(str(int(amount))), unit=exp.var(kind)) for kind, amount in found]


def _times(node: exp.Mul) -> exp.Interval | None:
    """The product of a whole number and an interval."""
    interval, count = constant(node.left), constant(node.right)
    if isinstance(count, exp.Interval):
        interval, count = count, interval
    sign = -1 if isinstance(count, exp.Neg) else 1
    count = count.this.unnest() if isinstance(count, exp.Neg) else count
    whole = (
        isinstance(count, exp.Literal) and count.name.isascii() and count.name.isdecimal() and len(count.name) < 10
    )
    if not (isinstance(interval, exp.Interval) and whole and re.fullmatch(r"-?[0-9]{1,9}", interval.this.name)):
        return None
    amount = exp.Literal.string(str(sign * int(count.name) * int(interval.this.name)))
    return exp.Interval(this=amount, unit=interval.args.get("unit"))


OF_AGE = {"YEAR": 31_104_000, "MONTH": 2_592_000, "DAY": 86_400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
"""The seconds of each part of an age, as PostgreSQL compares intervals: a month has 30 days."""


def added_up(age: exp.Expr, lengths: dict[str, int]) -> exp.Expr:
    """The sum of the parts of an age, each in seconds."""
    parts: list[exp.Expr] = [
        exp.Mul(this=_extract(field, copied(age)), expression=exp.Literal.number(length))
        for field, length in lengths.items()
    ]
    return reduce(lambda total, part: exp.Add(this=total, expression=part), parts)


def _extract(field: str, of: exp.Expr) -> exp.Extract:
    written = exp.Extract(this=exp.var(field), expression=of)
    written.meta.update(of.meta)
    return written
