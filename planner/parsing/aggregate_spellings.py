"""Rewrite aggregates that are spellings of supported ones: bool_or, bool_and, every, and arrays of quantiles."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from planner.parsing.postgres_parser import LABEL
from planner.sql.trees import around, cast_sql, copied, joined_texts, named_sql, nodes


def truth_aggregates(tree: exp.Query) -> None:
    """Rewrite `bool_or(c)` to `min((NOT (c))::int) = 0`, bool_and and every to `max((NOT (c))::int) = 0`, in place.

    Both skip NULL and are NULL without a value. NOT takes conditions only. Per person they are exact. Over people
    they are extremes, which about k of them lie beyond, so no answer hangs on one person. Windows stay as they are.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT bool_or(a > 1) FILTER (WHERE b), every(b) AS e FROM t", dialect="postgres")
    >>> truth_aggregates(tree)
    >>> tree.sql("postgres")
    'SELECT MIN(CAST((NOT (a > 1)) AS INT)) FILTER(WHERE b) = 0 AS "bool_or", MAX(CAST((NOT (b)) AS INT)) = 0 AS e \
FROM t'
    """
    for node in nodes(tree):
        found = _of_truths(node)
        whole = node.parent if isinstance(node.parent, exp.Filter) and node.arg_key == "this" else node
        if found is None or whole.parent is None or isinstance(whole.parent, exp.Window):
            continue
        kind, name, condition = found
        denied = exp.Paren(this=exp.Not(this=exp.Paren(this=condition)))
        extreme: exp.Expr = kind(this=cast_sql(denied, "INT"))
        extreme.meta.update({LABEL: node.sql("postgres"), **node.meta})
        node.replace(extreme)
        _put(whole if whole is not node else extreme, name, lambda one: exp.EQ(this=one, expression=_number(0)))


def quantile_arrays(tree: exp.Query) -> None:
    """Rewrite an array of quantiles to the text that PostgreSQL writes for it, and its element to one quantile.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT (percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY x))[2] AS median FROM t"
    >>> tree = parse_one(sql, dialect="postgres")
    >>> quantile_arrays(tree)
    >>> tree.sql("postgres")
    'SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) AS median FROM t'
    """
    for node in nodes(tree):
        function = node.this if isinstance(node, exp.WithinGroup) else None
        array = function.this if isinstance(function, (exp.PercentileCont, exp.PercentileDisc)) else None
        if not isinstance(array, exp.Array) or not array.expressions:
            continue
        whole = around(node, exp.Paren)
        whole = whole if isinstance(whole, exp.Filter) else node
        each = [_one_quantile(whole, node, quantile) for quantile in array.expressions]
        held = around(whole, exp.Paren)
        if isinstance(held, exp.Bracket):
            place = _place(held)
            if place is not None and place < len(each):
                _put(held, function.sql_name().lower(), lambda _, one=each[place]: one)
        elif isinstance(held, (exp.Select, exp.Alias)):
            texts = [part for one in each for part in (exp.Literal.string(","), cast_sql(one, "TEXT"))][1:]
            text = joined_texts([exp.Literal.string("{"), *texts, exp.Literal.string("}")])
            _put(whole, function.sql_name().lower(), lambda _, text=text: text)


def _one_quantile(whole: exp.Expr, node: exp.Expr, quantile: exp.Expr) -> exp.Expr:
    copy = copied(whole)
    one = copy if whole is node else copy.this
    one.this.set("this", copied(quantile))
    return copy


def _place(held: exp.Bracket) -> int | None:
    """The place of the element, from 0; None for others."""
    (index,) = held.expressions if len(held.expressions) == 1 else (None,)
    known = isinstance(index, exp.Literal) and index.name.isdecimal() and int(index.name) > 0
    return int(index.name) - 1 if known else None


def _put(node: exp.Expr, name: str, made: Callable[[exp.Expr], exp.Expr]) -> None:
    """Replace a node; in a select list it keeps the name that PostgreSQL gives it."""
    parent, key, index = node.parent, node.arg_key, node.index
    value = made(node)
    if isinstance(parent, exp.Select) and key == "expressions":
        value = named_sql(value, name)
    assert parent is not None and key is not None, "it stands in a statement"
    parent.set(key, value, index)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _of_truths(node: exp.Expr) -> tuple[type[exp.Expr], str, exp.Expr] | None:
    """The extreme that an aggregate of conditions is, its name and its argument; None for other nodes."""
    if isinstance(node, exp.LogicalOr):
        return exp.Min, "bool_or", node.this
    if isinstance(node, exp.LogicalAnd):
        return exp.Max, "bool_and", node.this
    every = isinstance(node, exp.Anonymous) and node.name.lower() == "every" and len(node.expressions) == 1
    return (exp.Max, "every", node.expressions[0]) if every else None
