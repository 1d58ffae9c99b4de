"""Where the keywords of a statement stand: the tree forgets them, and errors point at them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from planner.positions import position_of

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


def mark_keywords(select: exp.Select, tokens: Sequence[Token]) -> None:
    """Give the clauses of a statement the place of their keyword, in place.

    A clause's keyword is the last one of its kind before what the clause holds.
    """
    starts: dict[str, list[int]] = {}
    for token in tokens:
        starts.setdefault(token.text.upper().split(" ")[0], []).append(token.start)
    nodes = [node for node in select.find_all(exp.Join, *_CLAUSES) if node is not select]
    for node in sorted(nodes, key=lambda node: isinstance(node, exp.Select)):  # a SELECT's own place hides others
        word = (node.side or node.method) if isinstance(node, exp.Join) else _CLAUSES[type(node)]
        if word not in starts:
            continue
        inside = position_of(node)
        if inside is None and node.parent is not None:  # SELECT DISTINCT, LIMIT ALL
            inside = position_of(node.parent)
        before = [start for start in starts[word] if inside is None or start < inside]
        if before:
            node.meta["start"] = before[-1]


def function_name(position: int | None, node: exp.Func, tokens: Sequence[Token]) -> tuple[str, int | None]:
    """The function's name as the analyst wrote it, and its place.

    Args:
      position: the first place that the tree remembers of the call: its name's, or an argument's.
    """
    names = {name.lower() for name in node.sql_names()} | {node.key}
    if position is None:
        found = next((token for token in tokens if token.text.lower() in names), None)
        return (found.text.lower(), found.start + 1) if found is not None else (node.key, None)
    index = next((i for i, token in enumerate(tokens) if token.start + 1 >= position), len(tokens) - 1)
    depth = 0
    while index > 0 and not (depth == 0 and _opens(tokens, index + 1)):
        index -= 1
        depth += {TokenType.R_PAREN: 1, TokenType.L_PAREN: -1}.get(tokens[index].token_type, 0)
        depth = max(depth, 0)
    return tokens[index].text.lower(), tokens[index].start + 1


def _opens(tokens: Sequence[Token], index: int) -> bool:
    """Does a call's parenthesis stand there?"""
    return index < len(tokens) and tokens[index].token_type is TokenType.L_PAREN
