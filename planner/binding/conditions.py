"""Conditions in one form, so that spellings of one question have one plan, and when a scalar expression is NULL.

What is NULL is left out by COUNT(expression) and the denominator of AVG.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import pairwise
from operator import itemgetter

from sqlglot import exp

from planner.binding.bound_query import BoundSemiJoin, BoundTable
from planner.binding.scope import Scope
from planner.sql.trees import (
    MIRRORED,
    Age,
    TextDate,
    bound_column,
    children,
    column_ref,
    columns_of,
    copied,
    replaced,
)

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
_OF_TEXTS = (exp.StrToDate, TextDate)
"""NULL for NULL, but for other texts, too."""


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


def is_strict(node: exp.Expr) -> bool:
    """Whether an expression is NULL if its columns are, as where a LEFT JOIN finds no row.

    >>> from sqlglot import parse_one
    >>> texts = ("a", "date_trunc('month', a)", "lower(a || 'x')", "2 * a + 1", "coalesce(a, 0)", "1", "a IS NULL")
    >>> [is_strict(parse_one(text, dialect="postgres")) for text in texts]
    [True, True, True, True, False, False, False]
    """
    if isinstance(node, exp.Column):
        return True
    if isinstance(node, (*_STRICT, *_OF_ONE, *_OF_TEXTS)):
        return any(is_strict(part) for part in node.iter_expressions())
    return False


class Absent(Enum):
    """What an expression is where the rows of some tables are missing, so that their columns are NULL."""

    NULL = "NULL"
    TRUE = "true"
    FALSE = "false"
    ZERO = "zero"
    VALUE = "another value"
    UNKNOWN = "unknown"


_TRUTH = {True: Absent.TRUE, False: Absent.FALSE}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Like, exp.ILike)


def absent(node: exp.Expr, aliases: Collection[str]) -> Absent:
    """Return what an expression is without the rows of these tables, whatever the others hold.

    >>> from sqlglot import parse_one
    >>> texts = ("t.a + u.b", "coalesce(t.a, 0)", "CASE WHEN t.a IS NULL THEN 0 ELSE 1 END", "t.a > 1 AND u.b = 1")
    >>> [absent(parse_one(text), {"t"}).value for text in texts]
    ['NULL', 'zero', 'zero', 'unknown']
    """
    if isinstance(node, exp.Column):
        return Absent.NULL if node.table in aliases else Absent.UNKNOWN
    if isinstance(node, exp.Literal):
        return Absent.ZERO if not node.is_string and Decimal(node.name) == 0 else Absent.VALUE
    if isinstance(node, (exp.Null, exp.Boolean)):
        return Absent.NULL if isinstance(node, exp.Null) else _TRUTH[bool(node.this)]
    if isinstance(node, exp.Is):
        return _tested(node, absent(node.this, aliases))
    if isinstance(node, exp.Not):
        known = absent(node.this, aliases)
        return {Absent.TRUE: Absent.FALSE, Absent.FALSE: Absent.TRUE}.get(known, known)
    if isinstance(node, exp.Connector):
        return _connected(node, {absent(part, aliases) for part in node.flatten()})
    if isinstance(node, exp.Case) and node.args.get("this") is None:
        for branch in node.args["ifs"]:
            chosen = absent(branch.this, aliases)
            if chosen in (Absent.TRUE, Absent.UNKNOWN):
                return chosen if chosen is Absent.UNKNOWN else absent(branch.args["true"], aliases)
        default = node.args.get("default")
        return Absent.NULL if default is None else absent(default, aliases)
    if isinstance(node, exp.Coalesce):
        found = (absent(part, aliases) for part in (node.this, *node.expressions))
        return next((one for one in found if one is not Absent.NULL), Absent.NULL)
    if isinstance(node, (exp.Paren, exp.Cast)):
        return absent(node.this, aliases)
    if isinstance(node, (*_STRICT, *_OF_ONE, *_OF_TEXTS, *_COMPARED)):
        read = [node.this] if isinstance(node, (exp.In, exp.Between)) else node.iter_expressions()
        return Absent.NULL if any(absent(part, aliases) is Absent.NULL for part in read) else Absent.UNKNOWN
    return Absent.UNKNOWN


def required(
    tables: Sequence[BoundTable], predicates: Sequence[exp.Expr]
) -> tuple[tuple[BoundTable, ...], tuple[exp.Expr, ...]]:
    """Return the tables and conditions of a join whose optional private rows are required where WHERE refuses NULLs.

    `LEFT JOIN t ON p WHERE t.x > 1` keeps no row without a partner, so it is the inner join.
    """
    tables, predicates = list(tables), list(predicates)
    for place in reversed(range(len(tables))):
        entry = tables[place]
        refused = any(absent(one, {entry.alias}) in (Absent.NULL, Absent.FALSE) for one in predicates)
        if entry.optional and refused:
            predicates += entry.outer or ()
            tables[place] = replace(entry, outer=None, optional=False)
    return tuple(tables), normal_form(predicates)


def absent_rows(
    tables: Sequence[BoundTable], predicates: Sequence[exp.Expr], read: Sequence[exp.Expr]
) -> tuple[tuple[BoundTable, ...], tuple[exp.Expr, ...], tuple[BoundSemiJoin, ...]]:
    """Make NOT EXISTS of optional rows that must be absent: `LEFT JOIN t ON p WHERE t.id IS NULL`.

    A row of t that is there has no NULL in a column that is never NULL, or that ON compares. So a tuple passes where
    there is none, and once. The join stays if something else reads t, or if ON reads other optional rows.

    Returns: tables, conditions and semi-joins of the question.
    """
    kept, found = list(tables), []
    optional = {entry.alias for entry in tables if entry.optional}
    for entry in reversed(tables):
        if not entry.optional or entry.person is not None or entry.sample is not None or entry.label is not None:
            continue
        on = entry.outer or ()
        tests = [one for one in predicates if entry.alias in _aliases([one])]
        wanted = [_wants_null(one) for one in tests]
        beside = [*read, *(one for other in kept if other != entry for one in other.outer or ())]
        alone = entry.alias not in _aliases(beside) and not _aliases(on) & (optional - {entry.alias})
        if alone and None not in wanted and not _never_null(entry).isdisjoint(wanted):
            kept.remove(entry)
            predicates = [one for one in predicates if one not in tests]
            alias = f"{entry.alias}_none"  # no owner that a proof adds has such a name
            inside = (replace(entry, alias=alias, outer=None, optional=False),)
            conditions = normal_form(replaced(one, partial(_renamed, entry.alias, alias)) for one in on)
            found.append(BoundSemiJoin(inside, conditions, True, _ANTI, entry.position))
    return tuple(kept), tuple(predicates), tuple(found)


_ANTI = "LEFT JOIN with IS NULL"


def _renamed(old: str, new: str, node: exp.Expr) -> exp.Expr | None:
    return bound_column(new, node.name) if isinstance(node, exp.Column) and node.table == old else None


def _aliases(conditions: Iterable[exp.Expr]) -> set[str]:
    return {column.table for one in conditions for column in columns_of(one)}


def _wants_null(condition: exp.Expr) -> str | None:
    """Return the name of the column that a condition wants to be NULL; None for other conditions."""
    wanted = isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)
    tested = condition.this.unnest() if wanted and not condition.args.get("negate") else None
    return tested.name if isinstance(tested, exp.Column) else None


def _never_null(entry: BoundTable) -> set[str]:
    """Return the columns that are not NULL in any row that a LEFT JOIN finds."""
    compared = {
        side.name
        for one in entry.outer or ()
        if isinstance(one, exp.EQ)
        for side in (one.this, one.expression)
        if isinstance(side, exp.Column) and side.table == entry.alias
    }
    return compared | {column.name for column in entry.table.columns if not column.nullable}


def without_unread(
    tables: Sequence[BoundTable], predicates: Sequence[exp.Expr], read: Iterable[exp.Expr]
) -> tuple[BoundTable, ...]:
    """Leave out LEFT JOINs to private rows that neither change nor multiply what is on their left.

    So it is if a key finds at most one row, and neither a condition nor an expression of `read` reads it.
    """
    kept = list(tables)
    trees = [*predicates, *read]
    for entry in reversed(tables):
        beside = [*trees, *(one for other in kept if other != entry for one in other.outer or ())]
        unread = all(column.table != entry.alias for tree in beside for column in columns_of(tree))
        if entry.optional and unread and _finds_one(entry):
            kept.remove(entry)
    return tuple(kept)


def _finds_one(entry: BoundTable) -> bool:
    """Do the conditions of a LEFT JOIN equate a whole key with values of other tables?"""
    pairs = [
        (one.args[side], one.args[other])
        for one in entry.outer or ()
        if isinstance(one, exp.EQ)
        for side, other in (("this", "expression"), ("expression", "this"))
    ]
    found = {
        column.name
        for column, value in pairs
        if isinstance(column, exp.Column)
        and column.table == entry.alias
        and all(one.table != entry.alias for one in columns_of(value))
    }
    return any(found.issuperset(key) for key in entry.table.keys)


def _tested(node: exp.Is, known: Absent) -> Absent:
    """IS NULL, TRUE or FALSE, perhaps negated."""
    if known is Absent.UNKNOWN:
        return known
    wanted = absent(node.expression, ())
    return _TRUTH[(known is wanted) != bool(node.args.get("negate"))]


def _connected(node: exp.Connector, parts: set[Absent]) -> Absent:
    """AND and OR."""
    decides, passes = (Absent.FALSE, Absent.TRUE) if isinstance(node, exp.And) else (Absent.TRUE, Absent.FALSE)
    if decides in parts:
        return decides
    if not parts <= {passes, Absent.NULL}:
        return Absent.UNKNOWN
    return passes if parts == {passes} else Absent.NULL


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
