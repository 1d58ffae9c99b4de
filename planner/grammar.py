"""The grammar: every construct that an analyst may write, with the parts of it that may be present.

Everything that is not in this one table is refused by name. The table is closed on purpose: a part of a
construct that a new version of the parser learns is refused until somebody proves it sound here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from planner.errors import UnsupportedSQL
from planner.positions import position_of

_BINARY = frozenset({"this", "expression"})
_UNARY = frozenset({"this"})

ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset({"expressions", "from_", "joins", "where", "group"}),
    exp.From: _UNARY,
    exp.Table: frozenset({"this", "db", "alias"}),
    exp.TableAlias: _UNARY,
    exp.Join: frozenset({"this", "on", "using", "kind"}),
    exp.Where: _UNARY,
    exp.Group: frozenset({"expressions"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Star: frozenset(),
    exp.Count: frozenset({"this", "big_int"}),
    exp.Sum: _UNARY,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _UNARY,
    exp.Null: frozenset(),
    exp.Paren: _UNARY,
    exp.Neg: _UNARY,
    exp.Add: _BINARY,
    exp.Sub: _BINARY,
    exp.Mul: _BINARY,
    exp.Div: frozenset({"this", "expression", "typed", "safe"}),
    exp.EQ: _BINARY,
    exp.NEQ: _BINARY,
    exp.LT: _BINARY,
    exp.LTE: _BINARY,
    exp.GT: _BINARY,
    exp.GTE: _BINARY,
    exp.And: _BINARY,
    exp.Or: _BINARY,
    exp.Not: _UNARY,
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Is: _BINARY | {"negate"},
    exp.Like: _BINARY | {"negate"},
    exp.Case: frozenset({"ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "nested"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Var: _UNARY,
}

_PARTS = {
    "with_": ("WITH", "write the tables of the CTE into FROM"),
    "distinct": ("DISTINCT", "use GROUP BY over a public key"),
    "having": ("HAVING", "filter the released rows on your side"),
    "order": ("ORDER BY", "sort the released rows on your side"),
    "limit": ("LIMIT", "cut the released rows on your side"),
    "offset": ("OFFSET", "cut the released rows on your side"),
    "fetch": ("FETCH", "cut the released rows on your side"),
    "windows": ("WINDOW", None),
    "qualify": ("QUALIFY", None),
    "laterals": ("LATERAL", "join the tables themselves"),
    "locks": ("FOR UPDATE", None),
    "into": ("SELECT INTO", None),
    "sample": ("TABLESAMPLE", None),
    "cube": ("CUBE", "group by plain columns"),
    "rollup": ("ROLLUP", "group by plain columns"),
    "grouping_sets": ("GROUPING SETS", "group by plain columns"),
    "totals": ("WITH TOTALS", "group by plain columns"),
    "catalog": ("a database name before the schema name", "write schema.table"),
    "only": ("ONLY", None),
    "method": ("NATURAL JOIN", "name the columns: JOIN ... USING (column)"),
    "side": ("JOIN", "use an inner JOIN; rows without a partner have no sound answer here"),
    "symmetric": ("BETWEEN SYMMETRIC", "write the lower bound first"),
    "query": ("a subquery in IN", "join the table instead"),
    "unnest": ("UNNEST", "write IN (value, ...)"),
}

_NAMES: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Subquery: ("a subquery", "join the tables in one SELECT"),
    exp.Exists: ("EXISTS", "join the table instead; EXISTS is not monotone in one person's rows"),
    exp.Any: ("ANY", "write IN (value, ...)"),
    exp.All: ("ALL", "compare with one value"),
    exp.Window: ("a window function", None),
    exp.Distinct: ("DISTINCT inside an aggregate", None),
    exp.Filter: ("FILTER", "write SUM(CASE WHEN condition THEN value ELSE 0 END)"),
    exp.Avg: ("AVG", "ask for SUM(x) and COUNT(x) and divide them"),
    exp.Min: ("MIN", "one person decides a minimum, so it has no useful private answer"),
    exp.Max: ("MAX", "one person decides a maximum, so it has no useful private answer"),
    exp.TableSample: ("TABLESAMPLE", None),
    exp.Lateral: ("LATERAL", "join the tables themselves"),
    exp.Values: ("VALUES", None),
    exp.Mod: ("the operator %", None),
    exp.ByteString: ("an escape string E'...'", "write a plain string '...'"),
    exp.ILike: ("ILIKE", "use LIKE"),
    exp.SimilarTo: ("SIMILAR TO", "use LIKE"),
    exp.RegexpLike: ("a regular expression", "use LIKE"),
    exp.RegexpILike: ("a regular expression", "use LIKE"),
    exp.Escape: ("LIKE ... ESCAPE", "write a backslash before a literal % or _"),
    exp.NullSafeEQ: ("IS NOT DISTINCT FROM", "use = and IS NULL"),
    exp.NullSafeNEQ: ("IS DISTINCT FROM", "use <> and IS NULL"),
    exp.Dot: ("a name of more than three parts", "write schema.table.column"),
    exp.Rollup: ("ROLLUP", "group by plain columns"),
    exp.Cube: ("CUBE", "group by plain columns"),
    exp.GroupingSets: ("GROUPING SETS", "group by plain columns"),
    exp.Placeholder: ("a placeholder", "write the value into the statement"),
    exp.Parameter: ("a placeholder", "write the value into the statement"),
}


_FUNCTION = "the function"
_JOIN_KINDS = frozenset({"", "INNER", "CROSS"})


def check_grammar(select: exp.Expr, tokens: Sequence[Token]) -> None:
    """Refuse the first construct that the table does not allow.

    Args:
      select: the tree of a statement.
      tokens: its tokens, to point at keywords, whose place the tree forgets.
    Raises: UnsupportedSQL.
    """
    for node in select.walk(bfs=False):
        refusal = _refusal(node, select)
        if refusal is None:
            continue
        name, hint, near = refusal
        position = position_of(near)
        if isinstance(node, exp.Func) and name == _FUNCTION:
            name = f"{name} {_word_at(position, tokens)}"
        keyword = _keyword_position(name, tokens, position)
        raise UnsupportedSQL(f"{name} is not supported", hint=hint, position=keyword or position or position_of(node))


def _refusal(node: exp.Expr, root: exp.Expr) -> tuple[str, str | None, exp.Expr] | None:
    """What is wrong with this node itself: its name, a hint, and the node to point at."""
    allowed = ALLOWED.get(type(node))
    if allowed is None:
        return *_construct(node), node
    if isinstance(node, exp.Select) and node is not root:
        return *_NAMES[exp.Subquery], node
    if isinstance(node, exp.Join) and not node.side and node.kind not in _JOIN_KINDS:
        return f"{node.kind} JOIN", "use an inner JOIN", node
    if isinstance(node, exp.Case) and node.args.get("this") is not None:
        return "CASE x WHEN", "write CASE WHEN x = 1 THEN ...", node
    for part, value in node.args.items():
        if value and part not in allowed:
            inner = value[0] if isinstance(value, list) else value
            name, hint = _PARTS.get(part, (f"the part {part!r} of {type(node).__name__}", None))
            name = f"{value} JOIN" if part == "side" else name
            return name, hint, inner if isinstance(inner, exp.Expr) else node
    return None


def _construct(node: exp.Expr) -> tuple[str, str | None]:
    name, hint = _NAMES.get(type(node), (None, None))
    if name is None and isinstance(node, exp.Func):
        return _FUNCTION, None
    return name or f"the construct {type(node).__name__}", hint


def _word_at(position: int | None, tokens: Sequence[Token]) -> str:
    """The function's name as the analyst wrote it."""
    return next((token.text.lower() for token in tokens if token.start + 1 == position), "here")


def _keyword_position(name: str, tokens: Sequence[Token], before: int | None) -> int | None:
    """Where the keyword that names the construct stands: the last one up to `before`, the first one otherwise."""
    word = name.split()[0]
    starts = [token.start + 1 for token in tokens if word.isupper() and token.text.upper().split(" ")[0] == word]
    earlier = [start for start in starts if before is None or start <= before]
    return earlier[-1] if earlier and before is not None else next(iter(starts), None)
