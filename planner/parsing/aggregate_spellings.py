"""Rewrite aggregates that are spellings of supported ones: bool_or, arrays of quantiles, and sums of hashed keys."""

from __future__ import annotations

from collections.abc import Sequence

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
        whole = whole if whole is not node else extreme
        _put(whole, name, exp.EQ(this=copied(whole), expression=exp.Literal.number(0)))


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
        function = node.this if isinstance(node, exp.WithinGroup) else node
        if function is node or not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)):
            continue
        array, name = function.this, function.sql_name().lower()
        if not isinstance(array, exp.Array) or not array.expressions:
            continue
        whole = around(node, exp.Paren)
        whole = whole if isinstance(whole, exp.Filter) else node
        each = [_one_quantile(whole, node, quantile) for quantile in array.expressions]
        held = around(whole, exp.Paren)
        if isinstance(held, exp.Bracket):
            place = _place(held, function)
            if 0 <= place < len(each):
                _put(held, name, each[place])
        elif isinstance(held, (exp.Select, exp.Alias)):
            texts = [part for one in each for part in (exp.Literal.string(","), cast_sql(one, "TEXT"))][1:]
            text = joined_texts([exp.Literal.string("{"), *texts, exp.Literal.string("}")])
            _put(whole, name, text)


def _one_quantile(whole: exp.Expr, node: exp.Expr, quantile: exp.Expr) -> exp.Expr:
    copy = copied(whole)
    one = copy if whole is node else copy.this
    one.this.set("this", copied(quantile))
    return copy


def _place(held: exp.Bracket, function: exp.Expr) -> int:
    """The place of the element, from 0; -1 if it is not known.

    The library counts from 0, but keeps what is written behind a function that it takes for a number.
    """
    index = held.expressions[0]
    if len(held.expressions) > 1 or not isinstance(index, exp.Literal) or not index.name.isdecimal():
        return -1
    return int(index.name) - isinstance(function, exp.PercentileCont)


SUM_BY_KEY = "sum by key"
"""In the notes of SUM(DISTINCT x, key): it adds up x once for each key, as `symmetric_sums` writes it."""


def symmetric_sums(tree: exp.Query) -> None:
    """Rewrite `sum(DISTINCT x + hash(key)) - sum(DISTINCT hash(key))` to a sum of x over distinct (x, key), in place.

    Looker writes it for the one side of a fan-out. Both are equal where the key determines x and no hashes collide.
    A hash is a sum of terms that read columns by MD5 alone, always of the same key.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT sum(DISTINCT x + ('x' || md5(k))::bit(64)) - sum(DISTINCT ('x' || md5(k))::bit(64)) FROM t"
    >>> tree = parse_one(sql, dialect="postgres")
    >>> symmetric_sums(tree)
    >>> print(*tree.find(exp.Distinct).expressions)
    x k
    """
    for node in nodes(tree):
        if not isinstance(node, exp.Sub):
            continue
        whole, hashes = (_added_once(part.unnest()) for part in (node.this, node.expression))
        keys = [one.this for term in hashes for one in term.find_all(exp.MD5)]
        values = whole[: len(whole) - len(hashes)]
        hashed = bool(keys) and all(key == keys[0] for key in keys) and whole[len(values) :] == hashes
        if not hashed or len(values) != 1 or any(not column.find_ancestor(exp.MD5) for column in _columns(hashes)):
            continue
        total = exp.Sum(this=exp.Distinct(expressions=[copied(values[0]), copied(keys[0])]))
        total.meta.update({**node.this.unnest().meta, SUM_BY_KEY: True})
        node.replace(total)


def _columns(terms: Sequence[exp.Expr]) -> list[exp.Column]:
    return [column for term in terms for column in term.find_all(exp.Column)]


def _added_once(node: exp.Expr) -> list[exp.Expr]:
    """The terms of the argument of SUM(DISTINCT ...); nothing for other nodes."""
    argument = node.this if isinstance(node, exp.Sum) and isinstance(node.this, exp.Distinct) else None
    if argument is None or len(argument.expressions) != 1:
        return []
    terms: list[exp.Expr] = []
    waiting = [argument.expressions[0]]
    while waiting:
        term = waiting.pop().unnest()
        if isinstance(term, exp.Add):
            waiting += [term.expression, term.this]
        else:
            terms.append(term)
    return terms


def _put(node: exp.Expr, name: str, value: exp.Expr) -> None:
    """Replace a node; in a select list it keeps the name that PostgreSQL gives it."""
    listed = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    node.replace(named_sql(value, name) if listed else value)


def _of_truths(node: exp.Expr) -> tuple[type[exp.Expr], str, exp.Expr] | None:
    """The extreme that an aggregate of conditions is, its name and its argument; None for other nodes."""
    if isinstance(node, exp.LogicalOr):
        return exp.Min, "bool_or", node.this
    if isinstance(node, exp.LogicalAnd):
        return exp.Max, "bool_and", node.this
    every = isinstance(node, exp.Anonymous) and node.name.lower() == "every" and len(node.expressions) == 1
    return (exp.Max, "every", node.expressions[0]) if every else None
