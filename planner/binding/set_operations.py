"""Writes set operations without duplicates as groups of rows under UNION ALL.

    SELECT k FROM a INTERSECT SELECT k FROM b
      --> SELECT k FROM (SELECT k, 1 AS side FROM a UNION ALL SELECT k, 2 FROM b) GROUP BY k
          HAVING min(side) = 1 AND max(side) = 2

GROUP BY takes NULLs for equal, and so do set operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from planner.binding.output_names import output_name
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.sql.trees import copied, fold, from_items, holds, named_as, nodes, own_name, position_of, select_within

_SIDE = "\0side"

SET_OPERATION = "set operation"
"""Metadata key of a SELECT that is written for INTERSECT or EXCEPT: the operation's name."""


def with_selects(tree: exp.Select) -> exp.Select:
    """Write UNION, INTERSECT and EXCEPT below FROM and IN as SELECTs over UNION ALL. The tree is not changed.

    Raises: UnsupportedSQL for INTERSECT ALL, EXCEPT ALL, and sides with * or another number of columns.
    """
    if not any(isinstance(node, exp.SetOperation) for node in nodes(tree)):
        return tree
    tree = copied(tree)
    entries = {fold(entry.args["alias"].this): entry for entry in tree.find_all(exp.CTE)}
    for node in reversed([node for node in nodes(tree) if isinstance(node, exp.SetOperation)]):
        if not (isinstance(node, exp.Union) and node.args.get("distinct") is False):
            node.replace(_as_select(node, entries))
    return tree


def _as_select(operation: exp.SetOperation, entries: Mapping[str, exp.CTE]) -> exp.Select:
    name = type(operation).__name__.upper()
    if operation.args.get("distinct") is False:
        hint = f"leave ALL out: {name} of different rows"
        raise UnsupportedSQL(f"{name} ALL is not supported", hint=hint, at=operation)
    sides = [operation.this, operation.expression]
    columns = _names(operation, entries)
    union = isinstance(operation, exp.Union)
    marked = sides if union else [_marked(side, columns, number) for number, side in enumerate(sides, 1)]
    names = columns if union else [*columns, _SIDE]
    rows = exp.Union(this=marked[0], expression=marked[1], distinct=False)
    rows.meta.update(operation.meta)
    alias = exp.TableAlias(this=own_name("\0rows"), columns=[own_name(one) for one in names])
    select = exp.Select(
        expressions=[exp.column(own_name(one)) for one in columns],
        from_=exp.From(this=exp.Subquery(this=rows, alias=alias)),
    )
    if union:
        select.set("distinct", exp.Distinct())
    else:
        select.meta[SET_OPERATION] = name
        select.set("group", exp.Group(expressions=[exp.column(own_name(one)) for one in columns]))
        first, last = (
            exp.EQ(this=call(this=exp.column(own_name(_SIDE))), expression=exp.Literal.number(side))
            for call, side in ((exp.Min, 1), (exp.Max, 1 if isinstance(operation, exp.Except) else 2))
        )
        select.set("having", exp.Having(this=exp.And(this=first, expression=last)))
    if operation.args.get("with_") is not None:
        select.set("with_", operation.args["with_"])
    select.meta.update(operation.meta)
    return select


def _names(query: exp.Expr, entries: Mapping[str, exp.CTE]) -> list[str]:
    """Return the names of a query's columns, those of its first SELECT; `*` may mean a subquery's or a CTE's."""
    while isinstance(query, exp.SetOperation) or (isinstance(query, exp.Subquery) and select_within(query) is None):
        query = query.this
    select = select_within(query)
    star = None if select is None else next((item for item in select.expressions if item.is_star), None)
    if select is not None and star is None:
        return [output_name(item) for item in select.expressions]
    items = [] if select is None else from_items(select)
    item = items[0] if items else None
    inner: exp.Expr | None = entries.get(fold(item.this)) if isinstance(item, exp.Table) else item
    if len(items) == 1 and inner is not None:
        _, given = named_as(inner)
        return [*given, *_names(inner.this, entries)[len(given) :]]
    raise UnsupportedSQL("* in a set operation is not supported", hint="name the columns", at=star or query)


def _marked(side: exp.Expr, columns: Sequence[str], number: int) -> exp.Expr:
    """Add the number of the side to its rows."""
    literal = exp.alias_(exp.Literal.number(number), own_name(_SIDE))
    select = select_within(side)
    parts = ("group", "distinct", "limit", "offset", "having")
    if select is not None and not any(map(select.args.get, parts)) and not holds(select, exp.AggFunc):
        select.append("expressions", literal)
        return select
    alias = exp.TableAlias(this=own_name("\0side"), columns=[own_name(one) for one in columns])
    inner = exp.Subquery(this=side, alias=alias)
    listed = [exp.column(own_name(one)) for one in columns]
    return exp.Select(expressions=[*listed, literal], from_=exp.From(this=inner))


def check_person_in(select: exp.Select) -> None:
    """Refuse an INTERSECT or EXCEPT whose groups several people share. Raises: UnsupportedSQL."""
    name = select.meta.get(SET_OPERATION)
    if name is not None:
        message = f"{name} of values that several people share is not supported: one person's row could add a value"
        raise UnsupportedSQL(message, hint="select the person's key on both sides, too", at=select)


def sides_of(union: exp.Expr) -> list[exp.Select]:
    """List the SELECTs of nested UNION ALLs. Raises: UnsupportedSQL for anything else; InvalidSyntax."""
    select = select_within(union)
    if select is not None:
        return [select]
    while isinstance(union, (exp.Subquery, exp.Paren)):
        union = union.this
    plain = isinstance(union, exp.Union) and union.args.get("distinct") is False
    if not plain or any(map(union.args.get, ("order", "limit", "offset", "with_"))):
        raise UnsupportedSQL("this kind of subquery is not supported", hint="write a SELECT", at=union)
    found = [*sides_of(union.this), *sides_of(union.expression)]
    lengths = {len(one.expressions) for one in found if not any(item.is_star for item in one.expressions)}
    if len(lengths) > 1:
        message = "the sides of UNION have different numbers of columns"
        raise InvalidSyntax(message, hint="write as many columns on either side", position=position_of(union))
    return found
