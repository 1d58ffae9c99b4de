"""What a statement over public tables may hold beyond `planner.parsing.grammar`; anything else is refused by name."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from planner.parsing.grammar import ALLOWED, Refusal, check_grammar, unknown_construct, unknown_part

_UNARY = frozenset({"this"})
_SET = frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"})

PUBLIC: dict[type[exp.Expr], frozenset[str]] = {
    **{kind: parts for kind, parts in ALLOWED.items() if kind is not exp.TableSample},
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins"}),
    exp.In: ALLOWED[exp.In] | {"query"},
    exp.Exists: _UNARY,
    exp.Min: _UNARY,
    exp.Max: _UNARY,
    exp.Union: _SET,
    exp.Intersect: _SET,
    exp.Except: _SET,
}

_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})
_KINDS = frozenset({"", "INNER", "CROSS", "OUTER"})


def check_public_grammar(tree: exp.Query, tokens: Sequence[Token]) -> None:
    """Refuse the first construct that the table does not allow. Raises: UnsupportedSQL."""
    check_grammar(tree, tokens, _refusal)


def _refusal(node: exp.Expr, root: exp.Expr) -> Refusal | None:
    if type(node) not in PUBLIC:
        return unknown_construct(node)
    if isinstance(node, exp.Join):
        if node.kind not in _KINDS or node.side not in _SIDES:
            return f"{node.kind or node.side} JOIN", "use another kind of JOIN", node
        if node.method not in ("", "NATURAL"):
            return f"{node.method} JOIN", "write ON", node
    return unknown_part(node, PUBLIC)
