"""When is a scalar expression NULL? What COUNT(expression) and the denominator of AVG leave out."""

from __future__ import annotations

from sqlglot import exp

from planner.binding.scope import Scope
from planner.sql.calls import Age
from planner.sql.trees import copied

_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Extract, exp.Abs, Age)

_OF_ONE = (exp.TimestampTrunc, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.DPipe, exp.Floor, exp.Ceil, exp.Left)


def is_null(node: exp.Expr, scope: Scope) -> exp.Expr | None:
    """A condition that is true where the expression is NULL and never NULL itself; None where it never is.

    Args:
      node: its columns bound.
    Returns: a condition as an analyst might write it; `planner.expressions.predicates` makes it total.
    """
    if isinstance(node, exp.Null):
        return exp.true()
    if isinstance(node, (exp.Literal, exp.Boolean, exp.Interval, exp.DataType, exp.Var)):
        return None
    if isinstance(node, exp.Column):
        return _null(node) if scope.may_be_null(node) else None
    if isinstance(node, _STRICT):
        return _any([is_null(part, scope) for part in node.iter_expressions()])
    if isinstance(node, exp.Case) and node.args.get("this") is None:
        return _case(node, scope)
    if isinstance(node, exp.Coalesce):
        parts = [is_null(part, scope) for part in (node.this, *node.expressions)]
        return None if None in parts else exp.and_(*(part for part in parts if part is not None), copy=False)
    return _null(node)


def is_strict(node: exp.Expr, alias: str | None = None) -> bool:
    """Is it NULL whenever its columns are, as of a row that a LEFT JOIN does not find?

    Args:
      alias: of the table whose columns are meant; None: all of them, of which it has one.

    >>> from sqlglot import parse_one
    >>> texts = ("a", "date_trunc('month', a)", "lower(a || 'x')", "2 * a + 1", "coalesce(a, 0)", "1", "a IS NULL")
    >>> [is_strict(parse_one(text, dialect="postgres")) for text in texts]
    [True, True, True, True, False, False, False]
    """
    if isinstance(node, exp.Column):
        return alias is None or node.table == alias
    if isinstance(node, (*_STRICT, *_OF_ONE)):
        return any(is_strict(part, alias) for part in node.iter_expressions())
    return False


def _null(node: exp.Expr) -> exp.Is:
    return exp.Is(this=exp.Paren(this=copied(node)), expression=exp.Null())


def _any(conditions: list[exp.Expr | None]) -> exp.Expr | None:
    known = [condition for condition in conditions if condition is not None]
    return exp.or_(*known, copy=False) if known else None


def _case(node: exp.Case, scope: Scope) -> exp.Expr | None:
    """The first branch whose condition is true decides."""
    default = node.args.get("default")
    null: exp.Expr | None = exp.true() if default is None else is_null(default, scope)
    for branch in reversed(node.args["ifs"]):
        chosen = is_null(branch.args["true"], scope)
        holds = exp.Is(this=exp.Paren(this=copied(branch.this)), expression=exp.true())
        fails = exp.Is(this=exp.Paren(this=copied(branch.this)), expression=exp.true(), negate=True)
        otherwise = null if null is None or isinstance(null, exp.Boolean) else exp.Paren(this=null)
        null = _any([_both(holds, chosen), _both(fails, otherwise)])
    return null


def _both(left: exp.Expr, right: exp.Expr | None) -> exp.Expr | None:
    """left AND right, `right` None for never and TRUE for always."""
    if right is None or isinstance(right, exp.Boolean):
        return None if right is None else left
    return exp.and_(left, right, copy=False)
