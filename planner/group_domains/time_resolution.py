"""How finely an expression tells times apart: by days, hours or minutes, so that a series can stand for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from sqlglot import exp

from planner.expressions.datetimes import moored, not_a_number
from planner.expressions.scalar import Scalar, Span
from planner.sql.columns import ColumnRef
from planner.sql.datetime_formats import finest
from planner.sql.sql_types import SqlType
from planner.sql.trees import children

TimeResolution = Literal["day", "hour", "minute"]

STEPS_PER_DAY: dict[TimeResolution, int] = {"day": 1, "hour": 24, "minute": 1440}

_TELLS: dict[str, TimeResolution] = {
    "YEAR": "day", "QUARTER": "day", "MONTH": "day", "WEEK": "day", "DAY": "day", "DOW": "day", "ISODOW": "day",
    "DOY": "day", "ISOYEAR": "day", "DECADE": "day", "CENTURY": "day", "MILLENNIUM": "day", "HOUR": "hour",
    "MINUTE": "minute",
}  # fmt: skip


def finest_step(
    trees: Iterable[exp.Expr], column: ColumnRef, kind: SqlType, declared: Span | None
) -> TimeResolution | None:
    """The step of a series of times, from midnight on, over which expressions have all their values.

    Each must read the column only by date_trunc, EXTRACT, to_char or a cast to DATE of the column itself, moored as
    `planner.expressions.datetimes` writes it: those are the same for all times of one step. None where one reads it
    otherwise.

    Args:
      trees: bound SQL.
      column: of a timestamp.
      kind, declared: its type, and its declared range.
    """
    name = exp.Column(this=exp.to_identifier(column[1], quoted=True), table=exp.to_identifier(column[0], quoted=True))
    itself = Scalar(name, kind, name, lambda: not_a_number(name, kind))
    forms = [moored(replace(itself, declared=within))[0] for within in (declared, None)]  # in keys and in conditions
    steps: list[TimeResolution] = ["day"]
    stack = list(trees)
    while stack:
        node = stack.pop()
        read, bucket = _read(node), _bucket(node)
        if bucket is not None and bucket[1] in forms:
            steps.append(bucket[0])
        elif read is not None and read[1] in forms:
            step = _TELLS.get(read[0])
            if step is None:
                return None
            steps.append(step)
        elif isinstance(node, exp.Column):
            if (node.table, node.name) == column:
                return None
        else:
            stack += children(node)
    return max(steps, key=STEPS_PER_DAY.__getitem__)


def _read(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """What an expression tells of its operand, and the operand."""
    if isinstance(node, exp.Extract):
        return node.this.name.upper(), _inner(node.expression)
    if isinstance(node, exp.TimestampTrunc):
        return node.args["unit"].name.upper(), _inner(node.this)
    if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.DATE:
        return "DAY", _inner(node.this)
    if isinstance(node, exp.ToChar):
        return finest(node.args["format"].name).upper(), _inner(node.this)
    return None


def _inner(node: exp.Expr) -> exp.Expr:
    """Without what keeps every time of the day: parentheses, conversions to timestamp, whole days more or less."""
    inner: exp.Expr = node.unnest()
    while True:
        stamp = isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP
        if not (stamp or (isinstance(inner, (exp.Add, exp.Sub)) and _is_days(inner.expression))):
            return inner
        inner = inner.this.unnest()


def _is_days(node: exp.Expr) -> bool:
    """An interval of whole days."""
    return isinstance(node, exp.Interval) and node.args["unit"].name.upper() in ("DAY", "WEEK", "MONTH", "YEAR")


def _bucket(node: exp.Expr) -> tuple[TimeResolution, exp.Expr] | None:
    """The step of `floor(extract(epoch FROM x) / width)`, and what it reads; None for anything else."""
    division = node.this.unnest() if isinstance(node, exp.Floor) else None
    width = division.right.unnest() if isinstance(division, exp.Div) else None
    fields = [] if division is None else list(division.find_all(exp.Extract))
    if not (isinstance(width, exp.Literal) and width.name.isdecimal()) or len(fields) != 1:
        return None
    second = fields[0].expression
    if fields[0].this.name.upper() != "EPOCH" or not isinstance(second, exp.TimestampTrunc):
        return None
    seconds = int(width.name)
    steps: dict[TimeResolution, int] = {"day": 86_400, "hour": 3_600, "minute": 60}
    step = next((step for step, size in steps.items() if seconds and seconds % size == 0), None)
    return None if step is None else (step, _inner(second.this))
