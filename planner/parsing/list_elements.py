"""Write functions that return the elements of a list in one form: a LATERAL item of FROM.

SELECT id, unnest(string_to_array(x, ',')) AS y FROM t         SELECT id FROM t, regexp_split_to_table(x, ',') AS y
  --> SELECT id, l.e AS y FROM t CROSS JOIN LATERAL unnest(string_to_array(x, ',')) AS l(e)
"""

from __future__ import annotations

import re

from sqlglot import exp

from planner.sql.trees import aggregates, copied, holds, nodes

_PLAIN = re.compile(r"[^\\^$.|?*+()\[\]{}]+")


def lists_in_from(tree: exp.Query) -> None:
    """Write the lists of a statement, in place. Lists of constants stay as they are.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT id, unnest(string_to_array(x, ',')) AS y FROM t", dialect="postgres")
    >>> lists_in_from(tree)
    >>> tree.sql("postgres").replace(chr(0), "")
    'SELECT id, "list 2" AS "y" FROM t CROSS JOIN LATERAL UNNEST(STRING_TO_ARRAY(x, \\',\\')) AS "lists 2"("list 2")'
    """
    for select in [node for node in nodes(tree) if isinstance(node, exp.Select)]:
        clause = select.args.get("from_")
        if clause is None:
            continue
        for join in select.args.get("joins") or []:
            if (listed := _item(join.this)) is not None:
                join.set("this", listed)
        _select_list(select)


def _select_list(select: exp.Select) -> None:
    """Let the lists of a select list join FROM, unless they are computed from groups."""
    items, grouped = select.expressions, select.args.get("group") is not None
    several = sum(_array(item.unalias()) is not None for item in items) > 1
    if several or any(holds(item, exp.Window) or (not grouped and any(aggregates(item))) for item in items):
        return
    for place, item in enumerate(items, 1):
        value = item.unalias()
        array = _array(value)
        if array is None or (grouped and not _is_key(select, item, place)):
            continue
        name = f"\0list {place}"
        listed = exp.Lateral(this=exp.Unnest(expressions=[array]), alias=_alias(f"\0lists {place}", name))
        select.append("joins", exp.Join(this=listed, kind="CROSS"))
        column = exp.column(name, quoted=True)
        column.meta.update(item.meta)
        for key in select.args["group"].expressions if grouped else ():
            if key == value:
                key.replace(copied(column))
        item.replace(exp.alias_(column, item.alias, quoted=True) if item.alias else exp.alias_(column, _named(value)))


def _is_key(select: exp.Select, item: exp.Expr, place: int) -> bool:
    """Does GROUP BY name an item of the select list?"""
    for key in select.args["group"].expressions:
        number = isinstance(key, exp.Literal) and key.name == str(place)
        if number or key == item.unalias() or (isinstance(key, exp.Column) and key.name == item.alias_or_name):
            return True
    return False


def _named(call: exp.Expr) -> str:
    return call.name.lower() if isinstance(call, exp.Anonymous) else "unnest"


def _alias(table: str, column: str) -> exp.TableAlias:
    return exp.TableAlias(
        this=exp.to_identifier(table, quoted=True), columns=[exp.to_identifier(column, quoted=True)]
    )


def _item(item: exp.Expr) -> exp.Lateral | None:
    """A list in FROM; None for anything else."""
    inner = item.this if isinstance(item, (exp.Lateral, exp.Table)) else item
    array = _array(inner)
    alias = item.args.get("alias")
    if array is None or (isinstance(inner, exp.Unnest) and inner.args.get("offset")) or item.args.get("ordinality"):
        return None
    listed = exp.Lateral(this=exp.Unnest(expressions=[array]), alias=alias)
    listed.meta.update(item.meta)
    return listed


def _array(call: exp.Expr) -> exp.Expr | None:
    """The list that a function returns the elements of; None for anything else, and for constants."""
    if not holds(call, exp.Column):
        return None
    if isinstance(call, exp.Unnest):
        return _split(call.expressions[0]) if len(call.expressions) == 1 else None
    if isinstance(call, exp.Explode):
        return _split(call.this)
    if isinstance(call, exp.Anonymous) and len(call.expressions) == 2:
        text, separator = call.expressions
        if call.name.lower() == "string_to_table":
            return exp.StringToArray(this=text, expression=separator)
        if call.name.lower() == "regexp_split_to_table":
            return _split(exp.Anonymous(this="regexp_split_to_array", expressions=[text, separator]))
    return None


def _split(array: exp.Expr) -> exp.Expr | None:
    """A list that a column holds, or that a text is split into by a separator without a pattern."""
    if isinstance(array, exp.Anonymous) and array.name.lower() == "regexp_split_to_array":
        text, separator = array.expressions if len(array.expressions) == 2 else (None, None)
        if not isinstance(separator, exp.Literal) or not _PLAIN.fullmatch(separator.name):
            return None
        return exp.RegexpSplit(this=text, expression=separator)
    return array if isinstance(array, (exp.Column, exp.StringToArray)) else None
