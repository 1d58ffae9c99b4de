"""Writes functions that return the elements of a list in one form: a LATERAL item of FROM.

SELECT id, unnest(string_to_array(x, ',')) AS y FROM t         SELECT id FROM t, regexp_split_to_table(x, ',') AS y
  --> SELECT id, l.e AS y FROM t CROSS JOIN LATERAL unnest(string_to_array(x, ',')) AS l(e)

Conditions on the list that a text is split into become conditions on the text:

    'a' = ANY(string_to_array(x, ','))
      --> position(',a,' IN ',' || x || ',') > 0
    array_length(string_to_array(x, ','), 1)
      --> length(x) - length(replace(x, ',', '')) + 1, NULL for an empty text
"""

from __future__ import annotations

import re

from sqlglot import exp

from planner.parsing.spellings import compared_array
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


def list_conditions(tree: exp.Query) -> None:
    """Write conditions on lists that a text is split into as conditions on the text, in place.

    They find an element between two separators, so the separator may not begin as it ends.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 FROM t WHERE 'a' = ANY(string_to_array(x, ','))", dialect="postgres")
    >>> list_conditions(tree)
    >>> tree.sql("postgres")
    "SELECT 1 FROM t WHERE POSITION(',a,' IN ',' || (x) || ',') > 0"
    """
    for node in nodes(tree):
        made = None
        if isinstance(node, (exp.EQ, exp.NEQ)):
            array = compared_array(node)
            found = None if array is None else _place(array, node.this.unnest())
            made = None if found is None else _tested(found, exp.GT if isinstance(node, exp.EQ) else exp.EQ)
        elif isinstance(node, exp.ArrayContainsAll) and isinstance(node.expression, exp.Array):
            places = [_place(node.this.unnest(), element.unnest()) for element in node.expression.expressions]
            if places and None not in places:
                made = exp.Paren(this=exp.and_(*(_tested(one, exp.GT) for one in places if one is not None)))
        elif isinstance(node, exp.ArraySize) and (node.expression is None or node.expression.name == "1"):
            made = _size(node.this.unnest())
        elif isinstance(node, exp.Anonymous) and node.name.lower() == "cardinality" and len(node.expressions) == 1:
            made = _size(node.expressions[0].unnest(), empty=True)
        if made is not None:
            made.meta.update(node.meta)
            node.replace(made)


def _tested(place: exp.Expr, kind: type[exp.Binary]) -> exp.Expr:
    return kind(this=place, expression=exp.Literal.number(0))


def _place(array: exp.Expr, element: exp.Expr) -> exp.Expr | None:
    """Where a text has an element of its list, zero for nowhere; None for anything else."""
    split = _texts(array)
    if split is None or not isinstance(element, exp.Literal) or not element.is_string:
        return None
    text, by = split
    borders = any(by[:length] == by[-length:] for length in range(1, len(by)))
    if borders or not element.name or by in element.name:
        return None
    ends = exp.Literal.string(by)
    around = exp.DPipe(this=exp.DPipe(this=ends, expression=exp.Paren(this=copied(text))), expression=copied(ends))
    return exp.StrPosition(this=around, substr=exp.Literal.string(f"{by}{element.name}{by}"))


def _size(array: exp.Expr, *, empty: bool = False) -> exp.Expr | None:
    """How many elements the list of a text has, split by one character; None for anything else.

    `empty`: is it zero for an empty text, rather than NULL?
    """
    split = _texts(array)
    if split is None or len(split[1]) != 1:
        return None
    some = exp.Nullif(this=copied(split[0]), expression=exp.Literal.string(""))
    without = exp.Replace(
        this=copied(some), expression=exp.Literal.string(split[1]), replacement=exp.Literal.string("")
    )
    fewer = exp.Sub(this=exp.Length(this=some), expression=exp.Length(this=without))
    size = exp.Paren(this=exp.Add(this=fewer, expression=exp.Literal.number(1)))
    if not empty:
        return size
    none = exp.EQ(this=copied(split[0]), expression=exp.Literal.string(""))
    return exp.Case().when(none, exp.Literal.number(0), copy=False).else_(size, copy=False)


def _texts(array: exp.Expr) -> tuple[exp.Expr, str] | None:
    """The text and the separator of string_to_array; None for anything else."""
    if not isinstance(array, exp.StringToArray) or array.args.get("null") is not None:
        return None
    by = array.args.get("expression")
    return (array.this, by.name) if isinstance(by, exp.Literal) and by.is_string and by.name else None


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
