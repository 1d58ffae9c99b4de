"""`"shop"."public"."orders"`: the data set's own name before a schema's, as dbt and PostgreSQL itself allow it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from planner.parsing.parse import Statement, read
from planner.sql.trees import fold, nodes


def read_of(sql: str, name: str) -> Statement:
    """A statement over the data set of this name. Raises: as `planner.parsing.parse.read`."""
    statement = read(sql)
    if any(before.token_type is after.token_type is TokenType.DOT for before, after in _pairs(statement.tokens)):
        without_database(statement.tree, name)
    return statement


def _pairs(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    """Each token and the one after the next: two dots are as far apart in `a.b.c`."""
    return zip(tokens, itertools.islice(tokens, 2, None), strict=False)


def without_database(tree: exp.Query, name: str) -> None:
    """Leave the data set's name out where it stands before a schema, in place; any other is refused by the grammar.

    Cost: linear.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT shop.public.t.a FROM Shop.public.t JOIN other.public.u", dialect="postgres")
    >>> without_database(tree, "shop")
    >>> tree.sql("postgres")
    'SELECT public.t.a FROM public.t, other.public.u'
    """
    for node in nodes(tree):
        if isinstance(node, (exp.Table, exp.Column)):
            database = node.args.get("catalog")
            if database is not None and fold(database) == name:
                node.set("catalog", None)
