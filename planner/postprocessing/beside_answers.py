"""Joins of private rows with answers: the groups of the rows are released, and the join with answers is computed.

    SELECT d, w, sum(c) FROM visit JOIN (SELECT w AS top FROM visit GROUP BY w ORDER BY count(*) DESC LIMIT 3) AS t
    ON w = top GROUP BY d, w
      --> SELECT d AS k1, w AS k2, sum(c) AS a1 FROM visit GROUP BY 1, 2
      and SELECT k1, k2, sum(a1) FROM answer, (SELECT ...) AS t WHERE k2 = top GROUP BY k1, k2

The join reads some columns of the private rows, so the rows are grouped by those columns too. All rows of a group
match the same rows of the answers, so their counts and sums add up as post-processing. The added columns must be
possible group keys: a join on `amount` would ask for a group per amount, which planning refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.expressions.predicates import conjuncts
from planner.sql.trees import columns_of, conjunction, holds

OfAnswers = Callable[[exp.Column], bool | None]
"""Does a column belong to an answer? None if it may belong to either side."""


@dataclass(frozen=True)
class BesideAnswers:
    """The parts of a SELECT that use released answers instead of private rows.

    Attributes:
      items: the answers in FROM.
      conditions: those on columns of answers, or of the form `x IN (an answer)`.
      of_answers: a function: is this column one of an answer?
    """

    items: tuple[exp.Expr, ...]
    conditions: tuple[exp.Expr, ...]
    of_answers: OfAnswers


def part_from_answers(
    select: exp.Select,
    items: Sequence[exp.Expr],
    of_answers: OfAnswers,
    asks_answers: Callable[[exp.Query], bool],
) -> BesideAnswers | None:
    """Take the clauses that read answers out of a SELECT, in place.

    Args:
      select: reads private rows and answers.
      items: the answers in its FROM.
      of_answers: does a column belong to one of them?
      asks_answers: does a subquery of a condition read answers?
    Returns: None if the join is not by conditions on columns: outer joins, USING, NATURAL, LATERAL.
    """
    joins = select.args.get("joins") or []
    theirs = {id(item) for item in items}
    first = select.args["from_"].this
    rows = [] if id(first) in theirs else [exp.Join(this=first)]
    conditions: list[exp.Expr] = []
    for join in joins:
        moved = not rows or id(join.this) in theirs
        if join.side and moved:
            return None
        if moved or not join.side:
            if join.method or join.args.get("using") or join.kind not in ("", "INNER", "CROSS"):
                return None
            conditions += [] if join.args.get("on") is None else conjuncts(join.args["on"])
            join = exp.Join(this=join.this)
        if id(join.this) not in theirs:
            rows.append(join)
    where = select.args.get("where")
    conditions += [] if where is None else conjuncts(where.this)
    if any(isinstance(item, exp.Lateral) for item in items) or not rows:
        return None
    out: list[exp.Expr] = []
    kept: list[exp.Expr] = []
    for condition in conditions:
        test = condition
        while isinstance(test, (exp.Not, exp.Paren)):
            test = test.this
        if isinstance(test, exp.In) and test.args.get("query") is not None:
            (out if asks_answers(test.args["query"].unnest()) else kept).append(condition)
            continue
        if holds(condition, exp.Query):
            kept.append(condition)
            continue
        found = {of_answers(column) for column in columns_of(condition)}
        if None in found:
            return None
        (out if True in found else kept).append(condition)
    if not items and not out:
        return None
    select.set("from_", exp.From(this=rows[0].this))
    select.set("joins", rows[1:])
    left = conjunction(kept)
    select.set("where", exp.Where(this=left) if left is not None else None)
    return BesideAnswers(tuple(items), tuple(out), of_answers)
