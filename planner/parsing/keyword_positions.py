"""Where the keywords of a statement stand: the tree forgets them, and errors point at them."""

from __future__ import annotations

from collections.abc import Container, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from planner.sql.trees import nodes, position_of

_CLAUSES: dict[type[exp.Expr], str] = {
    exp.Group: "GROUP",
    exp.Having: "HAVING",
    exp.Order: "ORDER",
    exp.Limit: "LIMIT",
    exp.Fetch: "FETCH",
    exp.Offset: "OFFSET",
    exp.Distinct: "DISTINCT",
    exp.Select: "SELECT",
}


_MARKED: tuple[type[exp.Expr], ...] = (exp.Join, exp.AggFunc, *_CLAUSES)

LABEL = "label"
"""The key of an aggregate's meta that holds it as the analyst wrote it."""

_MAX_LABEL = 60

_NEVER_KEYWORDS = frozenset(
    {
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.STRING,
        TokenType.NUMBER,
        TokenType.COMMA,
        TokenType.DOT,
        TokenType.L_PAREN,
        TokenType.R_PAREN,
        TokenType.EQ,
        TokenType.LT,
        TokenType.GTE,
        TokenType.STAR,
        TokenType.DASH,
    }
)
"""Most tokens of a statement: they are passed over, not looked up."""


def mark_keywords(select: exp.Query, tokens: Sequence[Token], sql: str) -> None:
    """Give the clauses of a statement the place of their keyword, and its aggregates their text, in place.

    A clause's keyword is the last one of its kind before what the clause holds.
    """
    starts: dict[str, list[int]] = {}
    for token in tokens:
        if token.token_type not in _NEVER_KEYWORDS:
            starts.setdefault(token.text.upper().split(" ")[0], []).append(token.start)
    found = [node for node in nodes(select)[1:] if isinstance(node, _MARKED)]
    for node in found:
        if isinstance(node, exp.AggFunc):
            _mark_label(node, tokens, sql)
    clauses = [node for node in found if not isinstance(node, exp.AggFunc)]
    for node in sorted(clauses, key=lambda node: isinstance(node, exp.Select)):  # a SELECT's own place hides others
        word = (node.side or node.method) if isinstance(node, exp.Join) else _CLAUSES[type(node)]
        if word not in starts:
            continue
        inside = position_of(node)
        if inside is None and node.parent is not None:  # SELECT DISTINCT, LIMIT ALL
            inside = position_of(node.parent)
        before = [start for start in starts[word] if inside is None or start < inside]
        if before:
            node.meta["start"] = before[-1]


def _mark_label(node: exp.AggFunc, tokens: Sequence[Token], sql: str) -> None:
    """The call with its FILTER, in lower case, blanks as one."""
    index = _name_index(position_of(node), tokens)
    filtered = isinstance(node.parent, exp.Filter)
    end, groups = index + 1, 2 if filtered else 1
    depth = 0
    while end < len(tokens) and groups:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[end].token_type, 0)
        groups -= depth == 0 and tokens[end].token_type is TokenType.R_PAREN
        end += 1
    text = " ".join(sql[tokens[index].start : tokens[end - 1].end + 1].lower().split())
    (node.parent if filtered and node.parent is not None else node).meta[LABEL] = text[:_MAX_LABEL]


def function_name(position: int | None, node: exp.Func, tokens: Sequence[Token]) -> tuple[str, int | None]:
    """The function's name as the analyst wrote it, and its place.

    Args:
      position: the first place that the tree remembers of the call: its name's, or an argument's.
    """
    names = {name.lower() for name in node.sql_names()} | {node.key}
    if position is None:
        found = next((token for token in tokens if token.text.lower() in names), None)
        return (found.text.lower(), found.start + 1) if found is not None else (node.key, None)
    index = _name_index(position, tokens)
    return tokens[index].text.lower(), tokens[index].start + 1


def operator_token(position: int | None, tokens: Sequence[Token], signs: Container[str]) -> Token | None:
    """The first of some operators after a place, or before it where none is; None for what was written as a call."""
    found = [token for token in tokens if token.text in signs]
    return next((token for token in found if token.start + 1 >= (position or 1)), next(iter(found), None))


def _name_index(position: int | None, tokens: Sequence[Token]) -> int:
    """The token of the name of the innermost call around a place."""
    position = position or 1
    index = next((i for i, token in enumerate(tokens) if token.start + 1 >= position), len(tokens) - 1)
    depth = 0
    while index > 0 and not (depth == 0 and _opens(tokens, index + 1)):
        index -= 1
        depth += {TokenType.R_PAREN: 1, TokenType.L_PAREN: -1}.get(tokens[index].token_type, 0)
        depth = max(depth, 0)
    return index


def _opens(tokens: Sequence[Token], index: int) -> bool:
    """Does a call's parenthesis stand there?"""
    return index < len(tokens) and tokens[index].token_type is TokenType.L_PAREN
