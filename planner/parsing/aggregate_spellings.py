"""Rewrite aggregates that are spellings of supported ones: bool_or, arrays of quantiles, and sums of hashed keys."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.parsing.postgres_parser import LABEL
from planner.sql.trees import around, cast_sql, copied, joined_texts, named_sql, nodes


def truth_aggregates(tree: exp.Query) -> None:
    """Rewrite `every(c)` to `bool_and(c)`, and name the columns of both and of bool_or as PostgreSQL does, in place.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT bool_or(a) FILTER (WHERE b), every(b) AS e FROM t", dialect="postgres")
    >>> truth_aggregates(tree)
    >>> tree.sql("postgres")
    'SELECT BOOL_OR(a) FILTER(WHERE b) AS "bool_or", BOOL_AND(b) AS e FROM t'
    """
    for node in nodes(tree):
        every = isinstance(node, exp.Anonymous) and node.name.lower() == "every" and len(node.expressions) == 1
        name = "every" if every else _TRUTHS.get(type(node))
        if name is None:
            continue
        call = exp.LogicalAnd(this=node.expressions[0]) if every else node
        if every:
            call.meta.update({LABEL: node.sql("postgres"), **node.meta})
            node.replace(call)
        whole: exp.Expr = call
        while isinstance(whole.parent, (exp.Filter, exp.Window)) and whole.arg_key == "this":
            whole = whole.parent
        if isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions":
            whole.replace(named_sql(copied(whole), name))


_TRUTHS: dict[type[exp.Expr], str] = {exp.LogicalOr: "bool_or", exp.LogicalAnd: "bool_and"}


def truth_as_extreme(node: exp.Expr) -> exp.Expr | None:
    """`bool_or(c)` as `max((true AND (c))::int) = 1`, bool_and with min; None for other nodes.

    Both skip NULL, and are NULL without a value. AND takes conditions only.
    """
    call = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(call, (exp.LogicalOr, exp.LogicalAnd)):
        return None
    truth = exp.And(this=exp.Boolean(this=True), expression=exp.Paren(this=copied(call.this)))
    kind = exp.Max if isinstance(call, exp.LogicalOr) else exp.Min
    extreme: exp.Expr = kind(this=cast_sql(exp.Paren(this=truth), "INT"))
    extreme.meta.update(call.meta)
    if isinstance(node, exp.Filter):
        extreme = exp.Filter(this=extreme, expression=copied(node.expression))
    return exp.EQ(this=extreme, expression=exp.Literal.number(1))


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
