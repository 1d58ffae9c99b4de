"""The grammar: every construct that an analyst may write, with the parts of it that may be present.

Everything that is not in this one table is refused by name. The table is closed on purpose: a part of a
construct that a new version of the parser learns is refused until somebody proves it sound here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from planner import functions
from planner.errors import UnsupportedSQL
from planner.instead import instead
from planner.keywords import function_name
from planner.positions import position_of
from planner.trees import nodes, preorder

_BINARY = frozenset({"this", "expression"})
_UNARY = frozenset({"this"})

ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    **functions.PARTS,
    exp.Select: frozenset(
        {"expressions", "from_", "joins", "where", "group", "with_", "distinct", "having", "order", "limit", "offset"}
    ),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Subquery: frozenset({"this", "alias", "joins"}),
    exp.From: _UNARY,
    exp.Table: frozenset({"this", "db", "alias", "joins", "sample"}),
    exp.TableSample: frozenset({"method", "percent"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Join: frozenset({"this", "on", "using", "kind", "method", "side"}),
    exp.Having: _UNARY,
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Filter: _BINARY,
    exp.Avg: _UNARY,
    exp.Where: _UNARY,
    exp.Group: frozenset({"expressions"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Star: frozenset(),
    exp.Count: frozenset({"this", "big_int"}),
    exp.Sum: _UNARY,
}

_LEVELS = (
    "each level would be released and charged like a query of its own, and its noisy totals would not add up; "
    "group by plain columns, and add their rows up or ask for the totals in a second query"
)

_PARTS = {
    "recursive": ("RECURSIVE", "write WITH alone, and join the table to itself as many times as the path is long"),
    "windows": ("WINDOW", None),
    "all": ("GROUP BY ALL", "name the group keys: GROUP BY 1, 2"),
    "false": ("IF", "write CASE WHEN condition THEN a ELSE b END"),
    "qualify": ("QUALIFY", None),
    "laterals": ("LATERAL", "join the tables themselves"),
    "locks": ("FOR UPDATE", None),
    "into": ("INTO", None),
    "sample": ("TABLESAMPLE", "sample a table itself"),
    "seed": ("REPEATABLE", "leave it out: a sample that can be drawn again protects nobody"),
    "cube": ("CUBE", _LEVELS),
    "rollup": ("ROLLUP", _LEVELS),
    "grouping_sets": ("GROUPING SETS", _LEVELS),
    "totals": ("WITH TOTALS", _LEVELS),
    "catalog": ("a database name before the schema name", "write schema.table"),
    "only": ("ONLY", None),
    "on": ("DISTINCT ON", "select DISTINCT over all columns"),
    "query": ("a subquery in IN", "join the table instead"),
    "with_ties": ("WITH TIES", "write FETCH FIRST 10 ROWS ONLY"),
    "percent": ("FETCH ... PERCENT", "write the number of rows"),
    "unnest": ("UNNEST", "write IN (value, ...)"),
}

_NAMES: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Select: ("a subquery outside FROM", "join its tables instead, or write its value as a literal"),
    exp.Exists: ("EXISTS", "join the table and ask for COUNT(DISTINCT key)"),
    exp.Any: ("ANY", "write IN (value, ...), or join the table"),
    exp.All: ("ALL", "compare with one value"),
    exp.Window: ("a window function", "group by a key and aggregate each group; rows are not ranked or numbered"),
    exp.AtTimeZone: ("AT TIME ZONE", "moments are read in UTC; add an INTERVAL to shift them"),
    exp.Tuple: ("a row of several values", "join them to one text: a::text || '/' || b::text"),
    exp.BitString: ("a bit string", "write a plain number"),
    exp.HexString: ("a hexadecimal string", "write a plain number"),
    exp.Union: ("UNION", "ask the two questions one after the other"),
    exp.Intersect: ("INTERSECT", "join the tables instead"),
    exp.Except: ("EXCEPT", "it takes away what another person's rows add, so it has no sound answer"),
    exp.Min: ("MIN", "one person decides a minimum, so it has no useful private answer"),
    exp.Max: ("MAX", "one person decides a maximum, so it has no useful private answer"),
    exp.Lateral: ("LATERAL", "join the tables themselves"),
    exp.Values: ("VALUES", None),
    exp.ByteString: ("an escape string E'...'", "write a plain string '...'"),
    exp.SimilarTo: ("SIMILAR TO", "use LIKE"),
    exp.RegexpLike: ("a regular expression", "use LIKE"),
    exp.RegexpILike: ("a regular expression", "use LIKE"),
    exp.Dot: ("a name of more than three parts", "write schema.table.column"),
    exp.Rollup: ("ROLLUP", _LEVELS),
    exp.Cube: ("CUBE", _LEVELS),
    exp.GroupingSets: ("GROUPING SETS", _LEVELS),
}


_FUNCTION = "the function"
_SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
_SPREAD = "ask for SUM(x), SUM(x * x) and COUNT(x), and compute it from them"
_INNER = "use an inner JOIN; rows without a partner have no sound answer here"
_JOIN_KINDS = frozenset({"", "INNER", "CROSS", "OUTER"})
_IN_FROM = (exp.From, exp.Join, exp.CTE)


Refusal = tuple[str, str | None, exp.Expr]
"""What is wrong with a node: the name of the construct, a hint, and the node to point at."""


def check_grammar(
    select: exp.Expr,
    tokens: Sequence[Token],
    refused: Callable[[exp.Expr, exp.Expr], Refusal | None] | None = None,
) -> None:
    """Refuse the first construct that the table does not allow.

    Args:
      select: the tree of a statement.
      tokens: its tokens, to point at keywords, whose place the tree forgets.
      refused: what is wrong with a node of a root, by another table than ALLOWED.
    Raises: UnsupportedSQL.
    """
    find = refused or _refusal
    if not any(find(node, select) for node in nodes(select)):  # the quicker walk
        return
    node, refusal = next((node, found) for node in preorder(select) if (found := find(node, select)))
    name, hint, near = refusal
    position = position_of(near)
    if isinstance(near, exp.Func) and name == _FUNCTION:
        called, position = function_name(position, near, tokens)
        reason, way = functions.why_refused(called)
        message = f"{name} {called} is not supported{': ' if reason else ''}{reason}"
        raise UnsupportedSQL(message, hint=hint or way or instead(called), position=position)
    keyword = _keyword_position(name, tokens, position)
    raise UnsupportedSQL(f"{name} is not supported", hint=hint, position=keyword or position or position_of(node))


def _refusal(node: exp.Expr, root: exp.Expr) -> Refusal | None:
    """What is wrong with this node itself."""
    if type(node) not in ALLOWED:
        return unknown_construct(node)
    if isinstance(node, exp.Select) and node is not root and not _in_from(node):
        return *_NAMES[exp.Select], node
    if isinstance(node, exp.Join) and (node.kind not in _JOIN_KINDS or node.side not in ("", "LEFT")):
        return f"{node.side or node.kind} JOIN", _INNER, node
    if isinstance(node, exp.Join) and node.method not in ("", "NATURAL"):
        return f"{node.method} JOIN", "use an inner JOIN", node
    if isinstance(node, exp.TableSample) and node.text("method").upper() != "BERNOULLI":
        return "TABLESAMPLE", "write TABLESAMPLE BERNOULLI (percent); other methods draw whole blocks", node
    return unknown_part(node, ALLOWED)


def unknown_construct(node: exp.Expr) -> Refusal:
    """A construct that is in no table."""
    node = node.this if isinstance(node, exp.WithinGroup) else node
    return *_construct(node), node


def unknown_part(node: exp.Expr, table: Mapping[type[exp.Expr], frozenset[str]]) -> Refusal | None:
    """A part of a construct that its row of the table does not name."""
    allowed = table[type(node)]
    for part, value in node.args.items():
        if value and part not in allowed:
            inner = value[0] if isinstance(value, list) else value
            name, hint = _PARTS.get(part, (f"the part {part!r} of {type(node).__name__}", None))
            return name, hint, inner if isinstance(inner, exp.Expr) else node
    return None


def _in_from(node: exp.Expr) -> bool:
    """Is it a subquery of FROM, through any parentheses, or the body of a CTE?"""
    parent = node.parent
    while isinstance(parent, (exp.Subquery, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, _IN_FROM)


def _construct(node: exp.Expr) -> tuple[str, str | None]:
    name, hint = _NAMES.get(type(node), (None, None))
    if name is None and isinstance(node, exp.Func):
        return _FUNCTION, _SPREAD if isinstance(node, _SPREADS) else None
    return name or f"the construct {type(node).__name__}", hint


def _keyword_position(name: str, tokens: Sequence[Token], before: int | None) -> int | None:
    """Where the keyword that names the construct stands: the last one up to `before`, the first one otherwise."""
    word = name.split()[0]
    starts = [token.start + 1 for token in tokens if word.isupper() and token.text.upper().split(" ")[0] == word]
    earlier = [start for start in starts if before is None or start <= before]
    return earlier[-1] if earlier and before is not None else next(iter(starts), None)
