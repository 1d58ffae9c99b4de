"""to_date, to_timestamp and intervals that are written out: what tools write where people write DATE '...'."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from planner.sql.constants import constant, constant_text
from planner.sql.datetime_texts import moment_text
from planner.sql.sql_nodes import cast_sql
from planner.sql.trees import nodes

_FORMATS: dict[str, tuple[str, re.Pattern[str]]] = {
    "%Y-%m-%d": ("YYYY-MM-DD", re.compile(r"\d{4}-\d\d-\d\d")),
    "%Y-%m-%d %H:%M:%S": ("YYYY-MM-DD HH24:MI:SS", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")),
    "%Y-%m-%d %H:%M:%S.%f": ("YYYY-MM-DD HH24:MI:SS.US", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")),
}
"""By the parser library's spelling of a format: PostgreSQL's, and the texts that fill it digit by digit."""

_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")

_UNITS: dict[str, tuple[str, int | Decimal]] = {
    "year": ("MONTH", 12), "month": ("MONTH", 1), "mon": ("MONTH", 1), "week": ("DAY", 7), "day": ("DAY", 1),
    "hour": ("SECOND", 3600), "minute": ("SECOND", 60), "min": ("SECOND", 60), "second": ("SECOND", 1),
    "sec": ("SECOND", 1), "s": ("SECOND", 1),
    "microsecond": ("SECOND", Decimal("1e-6")), "u": ("SECOND", Decimal("1e-6")),
}  # fmt: skip
"""By the unit's name without the s at its end: the kind that it is counted in, and how many of it."""

_AMOUNT = re.compile(rf"([+-]?\d{{1,9}}(?:\.\d{{1,9}})?)\s*((?:{'|'.join(_UNITS)})s?)\b", re.IGNORECASE)

_CLOCK = re.compile(
    r"(?<![\d.:])(?P<sign>[+-]?)(?P<hours>\d{1,6}):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d{1,6})?)\s*\Z"
)

_INTERVAL = re.compile(rf"\s*(?:{_AMOUNT.pattern},?\s*)*(?:{_CLOCK.pattern})?\s*", re.IGNORECASE)


def written_moments(tree: exp.Query, texts: Collection[str]) -> None:
    """Write to_date and to_timestamp of literals as the casts that they are, in place.

    PostgreSQL's own reading forgives almost anything (`to_date('31', 'YYYY')`), so only texts that fill the format
    digit by digit are taken; every other call stays, and is refused by the grammar. A timestamp is one at UTC, as all
    are here.

    Args:
      tree: a statement; it is changed.
      texts: the quoted texts of the statement, as written: the tree forgets how a format was spelled.
    Cost: linear.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT to_date('1994-01-31', 'YYYY-MM-DD'), to_date('31', 'DD')"
    >>> tree = parse_one(sql, dialect="postgres")
    >>> written_moments(tree, ["1994-01-31", "YYYY-MM-DD", "31", "DD"])
    >>> tree.sql("postgres")
    "SELECT CAST('1994-01-31' AS DATE), TO_DATE('31', 'DD')"
    """
    for node in nodes(tree):
        if isinstance(node, (exp.StrToDate, exp.StrToTime)) and _fills_its_format(node, texts):
            node.replace(cast_sql(node.this, "DATE" if isinstance(node, exp.StrToDate) else "TIMESTAMP"))
        elif isinstance(node, exp.UnixToTime):
            moment = _epoch(node)
            if moment is not None:
                node.replace(moment)


def written_intervals(tree: exp.Query) -> None:
    """Write `'7 days'::interval` and `7 * INTERVAL '1 day'` as the INTERVAL of one unit that they are, in place.

    Also those that are so once the values of their placeholders are bound. Everything else stays, and is refused.

    Args:
      tree: a statement; it is changed.
    Cost: linear.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 WHERE now() - '2 hours'::interval < x + 3 * INTERVAL '1' DAY", dialect="postgres")
    >>> written_intervals(tree)
    >>> tree.sql("postgres")
    "SELECT 1 WHERE CURRENT_TIMESTAMP - INTERVAL '7200 SECOND' < x + INTERVAL '3 DAY'"
    """
    for node in reversed(nodes(tree)):  # what is inside first: a value may be an interval before it is cast to one
        written = written_interval(node)
        if written is not None:
            written.meta.update(node.meta)
            node.replace(written)


def written_interval(node: exp.Expr) -> exp.Interval | None:
    """The INTERVAL of one unit that a constant is; None for anything else."""
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.INTERVAL:
        inner = node.this.unnest()
        if isinstance(inner, exp.Interval):
            return inner
        text = constant_text(inner)
        return None if text is None else _interval(text)
    return _times(node) if isinstance(node, exp.Mul) else None


def _epoch(node: exp.UnixToTime) -> exp.Expr | None:
    """to_timestamp(seconds): a moment at UTC; None where the seconds are not written out."""
    seconds = node.this.unnest()
    sign = -1 if isinstance(seconds, exp.Neg) else 1
    written = seconds.this.unnest() if isinstance(seconds, exp.Neg) else seconds
    whole = isinstance(written, exp.Literal) and not written.is_string and _SECONDS.fullmatch(written.name)
    if not whole or len([part for part in node.args.values() if part is not None]) > 1:
        return None
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=sign * int(Decimal(written.name) * 1_000_000))
    except OverflowError:
        return None
    literal = exp.Literal.string(f"{moment_text(moment)}+00")
    literal.meta.update(written.meta)
    return cast_sql(literal, "TIMESTAMPTZ")


def _interval(text: str) -> exp.Interval | None:
    """The interval of a text of one kind of units: months and years, days and weeks, or whole seconds."""
    if not text.strip() or not _INTERVAL.fullmatch(text):
        return None
    amounts: dict[str, Decimal] = {}
    for number, unit in _AMOUNT.findall(text):
        kind, size = _UNITS[unit.lower().removesuffix("s") or "s"]
        amounts[kind] = amounts.get(kind, Decimal()) + Decimal(number) * size
    clock = _CLOCK.search(text)
    if clock is not None:
        passed = 3600 * int(clock["hours"]) + 60 * int(clock["minutes"]) + Decimal(clock["seconds"])
        amounts["SECOND"] = amounts.get("SECOND", Decimal()) + (-passed if clock["sign"] == "-" else passed)
    found = [(kind, amount) for kind, amount in amounts.items() if amount]
    if len(found) > 1 or any(amount != int(amount) for _, amount in found):
        return None
    kind, amount = found[0] if found else ("DAY", Decimal())
    return exp.Interval(this=exp.Literal.string(str(int(amount))), unit=exp.var(kind))


def _times(node: exp.Mul) -> exp.Interval | None:
    """A whole number times an interval."""
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


def _fills_its_format(node: exp.Expr, texts: Collection[str]) -> bool:
    text, format_ = _text(node.this), _text(node.args.get("format"))
    if text is None or format_ not in _FORMATS:
        return False
    spelling, pattern = _FORMATS[format_]
    return spelling in texts and pattern.fullmatch(text) is not None


def _text(node: exp.Expr | None) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None
