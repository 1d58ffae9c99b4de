"""Queries that stand for something simpler, TABLE and a SELECT of a constant; and the counts that no LIMIT takes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.errors import InvalidSyntax
from planner.parsing.syntax.lexer import Lexeme
from planner.sql.trees import nodes, position_of

_BEFORE_A_QUERY = frozenset({"(", "UNION", "INTERSECT", "EXCEPT"})
_OF_SETS = frozenset({"ALL", "DISTINCT"})
_OF_ROWS = (exp.AggFunc, exp.Column, exp.Query, exp.Star, exp.Window)
_VALUES = (exp.Between, exp.Binary, exp.Case, exp.Cast, exp.Func, exp.If, exp.Neg, exp.Not, exp.Paren)


def written_tables(lexemes: Sequence[Lexeme]) -> list[Lexeme]:
    """TABLE where a query begins, as the SELECT * FROM that it stands for, in its place.

    >>> [lexeme.text for lexeme in written_tables([Lexeme("TABLE", "TABLE", 0), Lexeme("#name", "t", 6)])]
    ['SELECT', '*', 'FROM', 't']
    """
    written: list[Lexeme] = []
    before = ["(", "("]
    for lexeme in lexemes:
        begins = before[-1] in _BEFORE_A_QUERY or (before[-1] in _OF_SETS and before[-2] in _BEFORE_A_QUERY)
        if lexeme.symbol == "TABLE" and begins:
            written += [Lexeme(text, text, lexeme.start) for text in ("SELECT", "*", "FROM")]
        else:
            written.append(lexeme)
        before.append(lexeme.symbol)
    return written


def constant_subqueries(tree: exp.Query) -> None:
    """Write `(SELECT DATE '2024-01-01')` as its constant, wherever a value may stand, and EXISTS of it as true.

    EXISTS (SELECT FROM t) asks for no column: it gets one.
    """
    for node in nodes(tree):
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Select) and not node.this.expressions:
            node.this.set("expressions", [exp.Literal.number(1)])
        if isinstance(node, exp.Exists) and _constant(node.this) is not None:
            node.replace(exp.Boolean(this=True))
        elif isinstance(node, exp.Subquery) and isinstance(node.parent, _VALUES) and node.arg_key != "query":
            constant = _constant(node.this) if node.is_wrapper else None
            if constant is not None:
                node.replace(exp.Paren(this=constant))


def _constant(select: exp.Expr) -> exp.Expr | None:
    """The one value of a SELECT that reads nothing; None for any other."""
    parts = [part for part, value in select.args.items() if value] if isinstance(select, exp.Select) else []
    if parts != ["expressions"] or len(select.expressions) != 1:
        return None
    value: exp.Expr = select.expressions[0].unalias()
    return None if any(isinstance(node, _OF_ROWS) for node in nodes(value)) else value


def check_row_counts(tree: exp.Expr) -> None:
    """Refuse what no LIMIT, OFFSET or FETCH can be, before anything is asked. Raises: InvalidSyntax."""
    for node in nodes(tree):
        if not isinstance(node, (exp.Limit, exp.Offset, exp.Fetch)):
            continue
        name = type(node).__name__.upper()
        count = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
        while isinstance(count, (exp.Paren, exp.Cast)):
            count = count.this
        if isinstance(count, exp.Neg) and isinstance(count.this, exp.Literal):
            raise InvalidSyntax(f"{name} is not negative", hint="write 0 or more", position=position_of(node))
        if isinstance(count, exp.Literal) and count.is_string and not count.name.strip().isdecimal():
            hint = "write the number of rows"
            raise InvalidSyntax(f"{name} takes a whole number", hint=hint, position=position_of(node))
