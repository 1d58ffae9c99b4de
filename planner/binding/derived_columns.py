"""The columns of a subquery, CTE or view, in terms of base tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.binding.scope import Meaning, Scope
from planner.errors import (
    InvalidSyntax,
    PlannerError,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.sql.trees import aggregates, bound_column, position_of, select_within

VIEW, SCHEMAS, ANSWERS = "view", "schemas", "answers"
"""Meta keys of a subquery that stands for a view: the view's name, its schema, and whether it is an answer over
private tables.
"""

_WHERE = "choose the rows by WHERE, for example x >= DATE '2024-12-01'"

_INSIDE: dict[str, tuple[str, str | None]] = {
    "group": (
        "GROUP BY inside FROM is not supported: one person's rows would change rows that others share",
        "aggregate once, at the top",
    ),
    "having": ("HAVING inside FROM is not supported", "aggregate once, at the top"),
    "distinct": (
        "DISTINCT inside FROM is not supported: a row that two people share would not change when one leaves",
        "use COUNT(DISTINCT x) at the top",
    ),
    "limit": ("LIMIT inside FROM is not supported: one person's row would push out another's", _WHERE),
    "offset": ("OFFSET inside FROM is not supported: one person's row would push out another's", _WHERE),
    "fetch": ("FETCH inside FROM is not supported: one person's row would push out another's", _WHERE),
    "order": ("ORDER BY inside FROM is not supported", "sort at the top"),
}

GROUPS_WITHOUT_OWNER = frozenset(_INSIDE[part][0] for part in ("group", "having"))
"""The refusals of a subquery in FROM whose groups do not belong to one person each."""

AGGREGATE_INSIDE = "an aggregate inside FROM is not supported: one person's rows would change its value for all"

OF_OTHERS = "{} over rows of other owners is not supported: they would decide who counts"
"""Refuses a construct over private rows of others than the tuple's owners."""

EQUATE_THE_OWNER = "equate the key of the person who owns its rows with a column beside it"
"""How its rows become those of the tuple's owner."""

_INSTEAD_OF_A_VIEW = "query its tables instead; if it holds no personal data, the policy can declare it public"
_OF_AN_ANSWER = f"select its rows alone or beside other answers, or {_INSTEAD_OF_A_VIEW}"


@contextmanager
def within_view(node: exp.Expr) -> Iterator[None]:
    """Let errors within a view's definition name the view, at its place in the statement.

    Tables that may not be queried stay unnamed, as everywhere. The original error is the cause, for the
    administrator. Other subqueries change nothing.

    Raises: StatementTooComplex unchanged; UnknownColumn and UnsupportedSQL that name the view.
    """
    name = node.meta.get(VIEW)
    if name is None:
        yield
        return
    try:
        yield
    except StatementTooComplex as error:
        raise StatementTooComplex(error.message, hint=error.hint, at=node) from None
    except PlannerError as error:
        raise refused_view(name, error, position_of(node), answers=node.meta.get(ANSWERS, False)) from error


def refused_view(name: str, error: PlannerError, position: int | None, *, answers: bool = False) -> PlannerError:
    """Return the error of a view that cannot be queried. A view within a view keeps its own name.

    `answers`: the view is an answer, used where join tuples are needed.
    """
    if error.hint in (_INSTEAD_OF_A_VIEW, _OF_AN_ANSWER):
        return type(error)(error.message, hint=error.hint, position=position)
    if answers:
        message = f"the view {name!r} is an aggregate answer, not a table of private rows: {error.message}"
        return UnsupportedSQL(message, hint=_OF_AN_ANSWER, position=position)
    hidden = isinstance(error, (UnknownColumn, UnknownTable))
    reason = "it reads something that cannot be queried" if hidden else error.message
    kind = UnknownColumn if hidden else UnsupportedSQL
    return kind(f"the view {name!r} cannot be queried: {reason}", hint=_INSTEAD_OF_A_VIEW, position=position)


def refuse_clauses(body: exp.Select, parts: Iterable[str], position: int | None) -> None:
    """Refuse clauses of a SELECT in FROM. Raises: UnsupportedSQL at the first one present."""
    for part in parts:
        if body.args.get(part):
            reason, hint = _INSIDE[part]
            raise UnsupportedSQL(reason, hint=hint, position=position_of(body.args[part]) or position)


def select_project_join(body: exp.Expr, position: int | None) -> exp.Select:
    """Return the SELECT of a subquery that only selects, projects and joins. Raises: UnsupportedSQL otherwise."""
    select = select_within(body)
    if select is None:
        raise UnsupportedSQL("this kind of subquery is not supported", hint="write a SELECT", position=position)
    refuse_clauses(select, _INSIDE, position)
    for item in select.expressions:
        aggregate = next(aggregates(item), None)
        if aggregate is not None:
            raise UnsupportedSQL(AGGREGATE_INSIDE, hint="aggregate once, at the top", at=aggregate)
    return select


def is_star(item: exp.Expr) -> bool:
    """Is an item of the select list `*` or `t.*`?"""
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def meant_sql(meaning: Meaning) -> exp.Expr:
    """Write what a column means, marked as bound."""
    if not isinstance(meaning, tuple):
        return meaning
    column = bound_column(*meaning)
    column.meta["bound"] = True
    return column


def project(select: exp.Select, scope: Scope) -> list[tuple[str, Meaning | None]]:
    """List the columns of the select list as (name, expression). Unnamed ones get a name that nobody can write."""
    return [column for index, item in enumerate(select.expressions) for column in _columns(item, scope, index)]


def named(
    columns: Sequence[tuple[str, Meaning | None]], aliases: Sequence[str], position: int | None
) -> dict[str, Meaning | None]:
    """Map names to meanings, the first ones under the aliases of `AS t(a, b)`; None for a repeated name."""
    if len(aliases) > len(columns):
        message = f"{len(aliases)} column aliases are given, but the number of columns is {len(columns)}"
        raise InvalidSyntax(message, hint="leave out the last aliases", position=position)
    meanings: dict[str, Meaning | None] = {}
    for index, (name, meaning) in enumerate(columns):
        known = aliases[index] if index < len(aliases) else name
        meanings[known] = None if known in meanings else meaning
    return meanings


def _columns(item: exp.Expr, scope: Scope, index: int) -> list[tuple[str, Meaning | None]]:
    if is_star(item):
        return scope.star(item)
    name, value = output_name(item), scope.bind(item.unalias())
    return [(f"\0{index}" if name == "?column?" else name, value)]
