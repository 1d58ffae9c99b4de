"""The select list of a subquery or CTE: what each of its columns means, in terms of base tables."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.positions import position_of
from planner.scope import Meaning, Scope, fold

_INSIDE: dict[str, tuple[str, str | None]] = {
    "group": (
        "GROUP BY inside FROM is not supported: one person's rows would change a group instead of adding tuples",
        "aggregate once, at the top",
    ),
    "having": ("HAVING inside FROM is not supported", "aggregate once, at the top"),
    "distinct": (
        "DISTINCT inside FROM is not supported: a row that two people share would not change when one leaves",
        "use COUNT(DISTINCT x) at the top",
    ),
    "limit": ("LIMIT inside FROM is not supported: one person's row would push out another's", "use WHERE"),
    "offset": ("OFFSET inside FROM is not supported: one person's row would push out another's", "use WHERE"),
    "fetch": ("FETCH inside FROM is not supported: one person's row would push out another's", "use WHERE"),
    "order": ("ORDER BY inside FROM is not supported", "sort at the top"),
}


def select_project_join(body: exp.Expr, position: int | None) -> exp.Select:
    """The SELECT of a subquery or CTE, if it only selects, projects and joins. Raises UnsupportedSQL otherwise."""
    while isinstance(body, (exp.Subquery, exp.Paren)) and not body.args.get("joins"):
        body = body.this
    if not isinstance(body, exp.Select):
        raise UnsupportedSQL("this kind of subquery is not supported", hint="write a SELECT", position=position)
    for part, (reason, hint) in _INSIDE.items():
        if body.args.get(part):
            raise UnsupportedSQL(reason, hint=hint, position=position_of(body.args[part]) or position)
    for item in body.expressions:
        aggregate = item.find(exp.AggFunc)
        if aggregate is not None:
            reason = "an aggregate inside FROM is not supported: it is not monotone in one person's rows"
            raise UnsupportedSQL(reason, hint="aggregate once, at the top", position=position_of(aggregate))
    return body


def project(select: exp.Select, scope: Scope) -> list[tuple[str, Meaning | None]]:
    """The columns of the select list, in order: name and meaning. One without a name has none that can be written."""
    return [column for index, item in enumerate(select.expressions) for column in _columns(item, scope, index)]


def named(
    columns: Sequence[tuple[str, Meaning | None]], aliases: Sequence[str], position: int | None
) -> dict[str, Meaning | None]:
    """Columns by name, the first ones under the aliases of `AS t(a, b)`; None for a name that several have."""
    if len(aliases) > len(columns):
        raise InvalidSyntax("more column aliases than columns", position=position)
    meanings: dict[str, Meaning | None] = {}
    for index, (name, meaning) in enumerate(columns):
        known = aliases[index] if index < len(aliases) else name
        meanings[known] = None if known in meanings else meaning
    return meanings


def _columns(item: exp.Expr, scope: Scope, index: int) -> list[tuple[str, Meaning | None]]:
    if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
        return scope.star(item)
    value = scope.bind(item.unalias())
    if isinstance(item, exp.Alias):
        return [(fold(item.args["alias"]), value)]
    if isinstance(item, exp.Column):
        return [(fold(item.this), value)]
    return [(f"\0{index}", value)]
