"""to_date and to_timestamp of a text that is written out: what tools write where people write DATE '...'."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot import exp

from planner.sql_nodes import cast_sql
from planner.trees import nodes

_FORMATS: dict[str, tuple[str, re.Pattern[str]]] = {
    "%Y-%m-%d": ("YYYY-MM-DD", re.compile(r"\d{4}-\d\d-\d\d")),
    "%Y-%m-%d %H:%M:%S": ("YYYY-MM-DD HH24:MI:SS", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")),
    "%Y-%m-%d %H:%M:%S.%f": ("YYYY-MM-DD HH24:MI:SS.US", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")),
}
"""By the parser library's spelling of a format: PostgreSQL's, and the texts that fill it digit by digit."""


def written_moments(tree: exp.Query, texts: Collection[str]) -> None:
    """Write to_date and to_timestamp of literals as the casts that they are, in place.

    PostgreSQL's own reading forgives almost anything (`to_date('31', 'YYYY')`), so only texts that fill the format
    digit by digit are taken; every other call stays, and is refused by the grammar. A moment is one at UTC, as all
    are here.

    Args:
      tree: a statement; it is changed.
      texts: the quoted texts of the statement, as written: the tree forgets how a format was spelled.
    Cost: linear.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT to_date('1994-01-31', 'YYYY-MM-DD'), to_date('31', 'DD')"
    >>> tree = parse_one(sql, dialect="postgres")
    >>> written_moments(tree, ["1994-01-31", "YYYY-MM-DD", "31", "DD"])
    >>> tree.sql("postgres")
    "SELECT CAST('1994-01-31' AS DATE), TO_DATE('31', 'DD')"
    """
    for node in nodes(tree):
        if isinstance(node, (exp.StrToDate, exp.StrToTime)) and _fills_its_format(node, texts):
            node.replace(cast_sql(node.this, "DATE" if isinstance(node, exp.StrToDate) else "TIMESTAMP"))


def _fills_its_format(node: exp.Expr, texts: Collection[str]) -> bool:
    text, format_ = _text(node.this), _text(node.args.get("format"))
    if text is None or format_ not in _FORMATS:
        return False
    spelling, pattern = _FORMATS[format_]
    return spelling in texts and pattern.fullmatch(text) is not None


def _text(node: exp.Expr | None) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None
