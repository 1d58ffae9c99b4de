"""Divisions: NULL where the divisor is zero, as everywhere here.

A noisy count may be zero where no true one is, and PostgreSQL would end the whole statement.
"""

from __future__ import annotations

from sqlglot import exp

from planner.sql.trees import nodes


def guard_divisions(outer: exp.Query) -> None:
    """Write `a / b` as `a / NULLIF(b, 0)`, in place, wherever b is not a number that stands in the statement.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT a / b, a / 100, a % (b + 1)", dialect="postgres")
    >>> guard_divisions(tree)
    >>> tree.sql("postgres")
    'SELECT a / NULLIF(b, 0), a / 100, a % NULLIF((b + 1), 0)'
    >>> tree = parse_one("SELECT a / -2, a / 0", dialect="postgres")
    >>> guard_divisions(tree)
    >>> tree.sql("postgres")
    'SELECT a / -2, a / NULLIF(0, 0)'
    """
    for node in nodes(outer):
        if isinstance(node, (exp.Div, exp.Mod)):
            divisor = node.expression
            if not _constant(divisor.unnest()):
                node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))


def _constant(divisor: exp.Expr) -> bool:
    """Is it a number that stands in the statement and is not zero, or guarded already?"""
    if isinstance(divisor, (exp.Nullif, exp.Interval)):
        return True
    number = divisor.this.unnest() if isinstance(divisor, exp.Neg) else divisor
    return isinstance(number, exp.Literal) and (number.is_string or float(number.name) != 0)
