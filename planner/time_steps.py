"""How finely an expression tells times apart: by days, hours or minutes, so that a series can stand for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sqlglot import exp

from planner.equalities import ColumnRef
from planner.moments import moored, not_a_number
from planner.scalar import Scalar, Span
from planner.sql_types import SqlType
from planner.trees import children

TimeStep = Literal["day", "hour", "minute"]

STEPS_PER_DAY: dict[TimeStep, int] = {"day": 1, "hour": 24, "minute": 1440}

_TELLS: dict[str, TimeStep] = {
    "YEAR": "day", "QUARTER": "day", "MONTH": "day", "WEEK": "day", "DAY": "day", "DOW": "day", "ISODOW": "day",
    "DOY": "day", "HOUR": "hour", "MINUTE": "minute",
}  # fmt: skip


def finest_step(
    trees: Iterable[exp.Expr], column: ColumnRef, kind: SqlType, declared: Span | None
) -> TimeStep | None:
    """The step of a series of times, from midnight on, over which expressions have all their values.

    Each must read the column only by date_trunc, EXTRACT or a cast to DATE of the column itself, moored as
    `planner.moments` writes it: those are the same for all times of one step. None where one reads it otherwise.

    Args:
      trees: bound SQL.
      column: of a timestamp.
      kind, declared: its type, and its declared range.
    """
    name = exp.Column(this=exp.to_identifier(column[1], quoted=True), table=exp.to_identifier(column[0], quoted=True))
    moored_name, _ = moored(Scalar(name, kind, name, lambda: not_a_number(name, kind), declared=declared))
    steps: list[TimeStep] = ["day"]
    stack = list(trees)
    while stack:
        node = stack.pop()
        read = _read(node)
        if read is not None and read[1] == moored_name:
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
    return None


def _inner(node: exp.Expr) -> exp.Expr:
    """Without parentheses and a conversion to timestamp, which keeps every time."""
    inner: exp.Expr = node.unnest()
    if isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP:
        inner = inner.this.unnest()
    return inner
