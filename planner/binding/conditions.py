"""Conditions in one form, so that spellings of one question have one plan, and when a scalar expression is NULL.

What is NULL is left out by COUNT(expression) and the denominator of AVG.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import itemgetter

from sqlglot import exp

from planner.binding.scope import Scope
from planner.sql.trees import MIRRORED, Age, children, column_ref, copied

_Key = tuple[bool, tuple[str, ...]]


def normal_form(conditions: Iterable[exp.Expr]) -> tuple[exp.Expr, ...]:
    """Sort the conditions of a conjunction, without repetition and TRUE; columns come before literals.

    Conditions cannot fail, so neither their order nor that of their sides has a meaning.

    >>> from sqlglot import parse_one
    >>> [condition.sql() for condition in normal_form(map(parse_one, ["b.y > a.x", "3 < a.x", "a.x > 3"]))]
    ['a.x > 3', 'a.x < b.y']
    """
    keyed = [_oriented(condition) for condition in conditions if condition != exp.true()]
    keyed.sort(key=itemgetter(0))
    repeated = [False, *(one == other for one, other in pairwise(keyed))]  # equal keys do not prove equal trees
    return tuple(condition for (_, condition), again in zip(keyed, repeated, strict=False) if not again)


def _oriented(condition: exp.Expr) -> tuple[_Key, exp.Expr]:
    """Return the condition with the smaller side on the left, and its sort key."""
    mirrored = MIRRORED.get(type(condition))
    if mirrored is None:
        return _key(condition), condition
    left, right = _key(condition.this), _key(condition.expression)
    if right < left:
        left, right = right, left
        condition = mirrored(this=condition.expression, expression=condition.this)
    return (left[0] and right[0], (type(condition).__name__, *left[1], *right[1])), condition


def _key(node: exp.Expr) -> _Key:
    """Return a sort key: the words in tree order, constants last. Equal keys do not prove equal trees."""
    if isinstance(node, exp.Column):
        return False, column_ref(node)
    words: list[str] = []
    constant = True
    stack: list[exp.Expr] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, exp.Column):
            constant = False
            words += column_ref(current)
            continue
        words.append(type(current).__name__)
        words += [
            str(value)
            for value in current.args.values()
            if value is not None and not isinstance(value, (exp.Expr, list))
        ]
        stack += reversed(children(current))
    return constant, tuple(words)


_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Extract, exp.Abs, Age)

_OF_ONE = (exp.TimestampTrunc, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.DPipe, exp.Floor, exp.Ceil, exp.Left)


def is_null(node: exp.Expr, scope: Scope) -> exp.Expr | None:
    """Return a condition that is true where the expression is NULL, and otherwise false; None if it never is NULL.

    The condition is SQL as an analyst might write it; `planner.expressions.predicates` makes it total.
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
    """Whether an expression is NULL if its columns (of `alias`, or all) are, as where a LEFT JOIN finds no row.

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
    """Return when a CASE is NULL: its first true branch decides."""
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
    """Return left AND right; `right` is None for never and TRUE for always."""
    if right is None or isinstance(right, exp.Boolean):
        return None if right is None else left
    return exp.and_(left, right, copy=False)
