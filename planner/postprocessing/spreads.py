"""Deviations and variances of private rows: computed from counts, sums and sums of squares, which are released.

    SELECT stddev_samp(x) FROM visit
      --> SELECT count(x) AS a1, sum(x) AS a2, sum(x * x) AS a3 FROM visit
      and SELECT CASE WHEN a1 > 1 THEN sqrt(greatest(0, a3 - a2 * a2 / a1) / (a1 - 1)) END FROM answer

Noise may make the difference of squares negative, where the deviation is zero, and a count less than one, where there
is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from planner.parsing.keyword_positions import LABEL
from planner.sql.trees import copied, holds

_KINDS: Mapping[type[exp.Expr], tuple[bool, bool]] = {
    exp.Stddev: (True, True),
    exp.StddevSamp: (True, True),
    exp.StddevPop: (True, False),
    exp.Variance: (False, True),
    exp.VariancePop: (False, False),
}
"""Of each: is it a root, and that of a sample, divided by one less than the count?"""


def spread(call: exp.Expr, released: Callable[[exp.Expr], exp.Expr]) -> exp.Expr | None:
    """What a deviation or variance is computed by.

    Args:
      call: an aggregate.
      released: an aggregate of the same rows to the released value that stands for it.
    Returns: None for every other aggregate, and for one of DISTINCT values.
    """
    kind = _KINDS.get(type(call))
    if kind is None or holds(call, exp.Distinct):
        return None
    rooted, sampled = kind
    value = call.this

    label = str(call.meta.get(LABEL) or type(call).__name__.lower())

    def one(what: str, made: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        aggregate = made(copied(value))
        aggregate.meta[LABEL] = f"{label}, {what}"
        return released(aggregate)

    def count() -> exp.Expr:
        return one("how many", lambda x: exp.Count(this=x, big_int=True))

    def total() -> exp.Expr:
        return one("sum", lambda x: exp.Sum(this=x))

    def square(x: exp.Expr) -> exp.Expr:
        return exp.Mul(this=exp.Paren(this=x), expression=exp.Paren(this=copied(x)))

    squares = one("sum of squares", lambda x: exp.Sum(this=square(x)))
    mean_part = exp.Div(this=exp.Mul(this=total(), expression=total()), expression=count(), typed=True)
    around = exp.Greatest(this=exp.Literal.number(0), expressions=[exp.Sub(this=squares, expression=mean_part)])
    fewer = exp.Paren(this=exp.Sub(this=count(), expression=exp.Literal.number(1))) if sampled else count()
    found: exp.Expr = exp.Div(this=around, expression=fewer, typed=True)
    enough = exp.GT(this=count(), expression=exp.Literal.number(1 if sampled else 0))
    return exp.Case(ifs=[exp.If(this=enough, true=exp.Sqrt(this=found) if rooted else found)])
