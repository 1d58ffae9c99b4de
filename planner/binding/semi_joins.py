"""Binds EXISTS, IN, NOT EXISTS and NOT IN over a subquery as semi-joins: conditions of WHERE.

`planner.sensitivity.own_rows` checks later whose rows a subquery may read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate, BoundQuery, BoundSemiJoin, BoundTable, column_type
from planner.binding.conditions import is_null, normal_form
from planner.binding.derived_columns import GROUPS_WITHOUT_OWNER, meant_sql, project
from planner.binding.person_tables import grouped_select
from planner.binding.scope import Meaning, Scope, Tables
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.expressions.bind_scalar import bind_predicate
from planner.expressions.canonical_value import distinct_value, joint_value
from planner.sql.trees import (
    aliases_of,
    bound_column,
    copied,
    holds,
    position_of,
    select_within,
)

_INSIDE = {
    "having": "write a condition on single rows in WHERE",
    "group": "leave GROUP BY out: it does not change whether a row exists",
    "limit": "leave LIMIT out: one row is enough",
    "offset": "leave OFFSET out",
    "fetch": "leave FETCH out: one row is enough",
    "with_": "write WITH before the whole statement",
}

GROUPED = "grouped"
_GROUPS, _VALUE = "groups", "value"

Inner = Callable[[exp.Select], tuple[Scope, list[exp.Expr]]]
"""Binds FROM and WHERE of a subquery; returns its names, which include those around it, and its conditions."""


def is_semi_join(node: exp.Expr) -> bool:
    """Is a condition of WHERE a semi-join: EXISTS, or IN with a subquery, negated or not?

    >>> from sqlglot import parse_one
    >>> [is_semi_join(parse_one(text)) for text in ("NOT (x IN (SELECT k FROM t))", "x IN (1, 2)", "NOT x")]
    [True, False, False]
    """
    inner, _ = _denials(node)
    if isinstance(inner, exp.In):
        return inner.args.get("query") is not None and not isinstance(inner.this.unnest(), exp.Tuple)
    return isinstance(inner, exp.Exists)


def semi_join(node: exp.Expr, scope: Scope, tables: Tables, enter: Inner) -> BoundSemiJoin:
    """Bind a semi-join. Its tables are entered apart, and `enter` binds its FROM and WHERE.

    `x NOT IN (SELECT k ...)` is true if x = k is false for every row. So it is NOT EXISTS of a row in which x = k is
    true or unknown; where x and k are never NULL, of a row in which it is true. The left side of IN is bound in
    `scope`.

    Raises: UnsupportedSQL if the subquery is not a plain join; InvalidSyntax; name errors.
    """
    test, negated = _denials(node)
    label = ("NOT " if negated else "") + _label(test)
    select = _select(test, label)
    with tables.aside():
        conditions = _conditions(test, select, scope, tables, enter, negated=negated)
        _check_rows(tables.entries, label, position_of(select))
        entered = tuple(tables.entries)
    return BoundSemiJoin(entered, normal_form(conditions), negated, label, position_of(node))


def _label(test: exp.Expr) -> str:
    return "IN" if isinstance(test, exp.In) else "EXISTS"


def _conditions(
    test: exp.Expr, select: exp.Select, scope: Scope, tables: Tables, enter: Inner, *, negated: bool
) -> list[exp.Expr]:
    """Return the conditions of the inner rows, including the one on the selected value."""
    try:
        inside, conditions = enter(select)
    except UnsupportedSQL as refusal:
        if GROUPED in select.meta and refusal.message in GROUPS_WITHOUT_OWNER:
            _check_clauses(select.meta[GROUPED], _label(test))
        raise
    shown = project(select, inside)
    if isinstance(test, exp.In):
        return [*conditions, _members(test, shown, scope, inside, conditions, negated=negated)]
    return conditions


def joined_inside(node: exp.Expr, scope: Scope, tables: Tables, enter: Inner) -> list[exp.Expr]:
    """Join the rows of an EXISTS or IN to those of the subquery around it, and return their conditions.

    A row exists with a row beside it if both exist together; their number does not matter. So one semi-join reads
    both, and `planner.sensitivity.own_rows` checks them together.

    Raises: UnsupportedSQL if it is negated, and as `semi_join`.
    """
    test, negated = _denials(node)
    if negated:
        message = "NOT EXISTS or NOT IN inside another subquery of WHERE is not supported"
        raise UnsupportedSQL(message, hint="write it beside the other one, joined by AND", at=node)
    return _conditions(test, _select(test, _label(test)), scope, tables, enter, negated=False)


def with_chosen_rows(query: BoundQuery, tables: Tables) -> BoundQuery:
    """Join public rows that private rows choose by EXISTS or IN with these, and count each public row once.

    Let p be a tuple of public rows with a key, and w(p) what an aggregate adds for it. Over the join the key of p
    determines w(p), and occurs if a row chooses p. So the sum over chosen p is the sum over distinct keys, and the
    groups are the same. Other questions are returned unchanged.

        SELECT count(*) FROM film WHERE film_id IN (SELECT film_id FROM rental)
          --> SELECT count(DISTINCT f.film_id) FROM film f JOIN rental r ON r.film_id = f.film_id
    """
    chosen = [one for one in query.semi_joins if not (one.negated or _all_public(one.tables, tables))]
    added = [one for one in query.aggregates if one.function != "distinct"]
    if not chosen or any(one.function == "rank" or one.around or (one.moment or 0) > 1 for one in added):
        return query
    key = _key(query.tables) if added else exp.Null()
    there = all(entry.outer is None for entry in query.tables) and _all_public(query.tables, tables)
    if key is None or not there or not all(_meets(one, query.tables) for one in chosen):
        return query
    counted = [
        one
        if one.function == "distinct"
        else BoundAggregate("distinct", key, one.condition, one.label, one.bounds, added=one.argument)
        for one in query.aggregates
    ]
    return replace(
        query,
        tables=(*query.tables, *(entry for one in chosen for entry in one.tables)),
        predicates=normal_form([*query.predicates, *(part for one in chosen for part in one.predicates)]),
        semi_joins=tuple(one for one in query.semi_joins if one not in chosen),
        aggregates=tuple(counted),
    )


def _all_public(entries: Sequence[BoundTable], tables: Tables) -> bool:
    return all(tables.is_public(entry.table) for entry in entries)


def _meets(semi_join: BoundSemiJoin, entries: Sequence[BoundTable]) -> bool:
    """Does an equality connect its rows with the tuple? Without one the join would be all pairs."""
    around = {entry.alias for entry in entries}
    read = [aliases_of(part) for part in semi_join.predicates if isinstance(part, exp.EQ)]
    return any(one & around and one - around for one in read)


def _key(entries: Sequence[BoundTable]) -> exp.Expr | None:
    """A value that tells the tuples of an inner join apart; None if a row has no key that can be counted."""
    values: list[exp.Expr] = []
    for entry in entries:
        for name in entry.row_key or ("",):
            kind = column_type(entry.table, name) if name else None
            value = None if kind is None else distinct_value(bound_column(entry.alias, name), kind)
            if value is None:
                return None
            values.append(value)
    return values[0] if len(values) == 1 else joint_value(values)


def _denials(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """Strip parentheses and NOT; the second value says whether the test is negated."""
    negated = False
    while isinstance(node, (exp.Paren, exp.Not)):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    return node, negated


def _select(test: exp.Expr, label: str) -> exp.Select:
    """Return the subquery, which must only select, project and join."""
    written = test.args["query" if isinstance(test, exp.In) else "this"]
    body = select_within(written)
    if body is None:
        hint = "write one EXISTS for each SELECT, joined by AND"
        raise UnsupportedSQL(f"this subquery of {label} is not supported", hint=hint, at=written)
    grouped = grouped_select(body) if isinstance(test, exp.In) and body.args.get("group") is not None else None
    if grouped is not None and len(grouped.expressions) == 1 and not body.args.get("limit"):
        return _of_groups(grouped)
    _check_clauses(body, label)
    aggregate = next((item for item in body.expressions if holds(item, exp.AggFunc)), None)
    if aggregate is not None:
        hint = "select a column"
        raise UnsupportedSQL(f"an aggregate inside {label} is not supported", hint=hint, at=aggregate)
    return body


def _of_groups(select: exp.Select) -> exp.Select:
    """Return `SELECT g.k FROM (SELECT ... GROUP BY ...) AS g`, which reads a per-person subquery."""
    (item,) = select.expressions
    named = copied(select)
    named.set("expressions", [exp.alias_(item.unalias().copy(), _VALUE, quoted=True)])
    subquery = exp.Subquery(this=named, alias=exp.TableAlias(this=exp.to_identifier(_GROUPS, quoted=True)))
    around = exp.select(exp.column(exp.to_identifier(_VALUE, quoted=True)), copy=False)
    around.set("from_", exp.From(this=subquery))
    around.meta[GROUPED] = select
    return around


def _check_clauses(body: exp.Select, label: str) -> None:
    for part, hint in _INSIDE.items():
        found = body.args.get(part)
        if found:
            name = "WITH" if part == "with_" else "GROUP BY" if part == "group" else part.upper()
            raise UnsupportedSQL(f"{name} inside {label} is not supported", hint=hint, at=found)


def _check_rows(entries: list[BoundTable], label: str, position: int | None) -> None:
    if any(entry.outer is not None for entry in entries):
        hint = "use an inner JOIN inside it"
        raise UnsupportedSQL(f"an outer join inside {label} is not supported", hint=hint, position=position)
    if any(entry.sample is not None for entry in entries):
        raise UnsupportedSQL(f"TABLESAMPLE inside {label} is not supported", hint="sample FROM", position=position)


def _members(
    test: exp.In,
    shown: Sequence[tuple[str, Meaning | None]],
    scope: Scope,
    inside: Scope,
    conditions: Sequence[exp.Expr],
    *,
    negated: bool,
) -> exp.Expr:
    """Return the condition that the selected value equals the left side, or, negated, that it may equal it."""
    if len(shown) != 1:
        raise InvalidSyntax("a subquery of IN must have one column", at=test.args["query"])
    value, meant = scope.bind(test.this), shown[0][1]
    assert meant is not None, "what a select list shows means something"
    found = meant_sql(meant)
    equal = exp.EQ(this=exp.Paren(this=value), expression=exp.Paren(this=found))
    equal.meta.update(test.meta)
    if negated and (_may_be_null(value, inside, ()) or _may_be_null(found, inside, conditions)):
        return bind_predicate(exp.Is(this=exp.Paren(this=equal), expression=exp.false(), negate=True), inside)
    return bind_predicate(equal, inside)


def _may_be_null(node: exp.Expr, inside: Scope, conditions: Sequence[exp.Expr]) -> bool:
    """May it be NULL in a row that passes the conditions? `x IS NOT NULL` among them excludes that."""
    required: list[exp.Expr] = [exp.Is(this=node, expression=exp.Null(), negate=True)]
    required.append(exp.Not(this=exp.Is(this=node, expression=exp.Null())))
    return is_null(node, inside) is not None and not any(condition in required for condition in conditions)
