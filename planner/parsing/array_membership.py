"""`x = ANY(array)` and `x <> ALL(array)`: the IN and NOT IN that they are, of arrays written out or bound."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sql.array_texts import BOUND_ARRAY, array_elements
from planner.sql.constants import constant
from planner.sql.sql_types import sql_type
from planner.sql.trees import copied, nodes


def memberships(tree: exp.Query) -> None:
    """Write `= ANY` and `<> ALL` of arrays as IN and NOT IN, in place.

    The array is `ARRAY[...]`, a text `'{...}'`, or a placeholder, each with a cast to an array type or without. Of an
    empty one `= ANY` is false and `<> ALL` true, whatever the row holds; with NULL in its place both are NULL.
    Everything else stays, and is refused by the grammar.

    Args:
      tree: a statement; it is changed.
    Cost: linear.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 FROM t WHERE a = ANY(ARRAY[1, 2]) AND b <> ALL('{x,y}')", dialect="postgres")
    >>> memberships(tree)
    >>> tree.sql("postgres")
    "SELECT 1 FROM t WHERE a IN (1, 2) AND NOT (b IN ('x', 'y'))"
    """
    for node in nodes(tree):
        if isinstance(node, (exp.EQ, exp.NEQ)):
            array = _array(node)
            if array is None:
                continue
            if isinstance(constant(array), exp.Null):
                node.replace(type(node)(this=node.this, expression=exp.Null()))
                continue
            elements = _elements(array, None)
            if elements is not None:
                node.replace(among(node.this, elements, denied=isinstance(node, exp.NEQ)))


def among(value: exp.Expr, elements: Sequence[exp.Expr], *, denied: bool = False) -> exp.Expr:
    """`value IN (elements)`, or NOT IN; a constant where there are none."""
    if not elements:
        return exp.Boolean(this=denied)
    inside = exp.In(this=value, expressions=list(elements))
    return exp.Not(this=exp.Paren(this=inside)) if denied else inside


def _array(node: exp.EQ | exp.NEQ) -> exp.Expr | None:
    """The array that a value is compared with; None where it is compared with something else."""
    right = node.expression
    if isinstance(right, exp.Any) and isinstance(node, exp.EQ):
        inner: exp.Expr = right.this.unnest()
        return inner
    if isinstance(right, exp.Anonymous) and right.name.upper() == ("ALL" if isinstance(node, exp.NEQ) else "SOME"):
        return right.expressions[0].unnest() if len(right.expressions) == 1 else None
    if isinstance(right, exp.All) and isinstance(node, exp.NEQ):
        every: exp.Expr = right.this.unnest()
        return every
    return None


def _elements(array: exp.Expr, kind: exp.DataType | None) -> list[exp.Expr] | None:
    """The elements of an array, as the element type of a cast has them."""
    if isinstance(array, exp.Cast) and array.to.this == exp.DataType.Type.ARRAY and kind is None:
        inner = array.to.expressions
        return _elements(array.this.unnest(), inner[0]) if len(inner) == 1 else None
    if isinstance(array, exp.Array):
        return [_typed(element, kind) for element in array.expressions]
    if isinstance(array, exp.Literal) and array.is_string:
        texts = array_elements(array.name, most=len(array.name))  # a statement is no longer than the proxy reads
        return None if texts is None else [_typed(_element(text, array), kind) for text in texts]
    if isinstance(array, exp.Parameter):
        array.meta[BOUND_ARRAY] = True
        return [_typed(array, kind)]
    return None


def _element(text: str | None, array: exp.Expr) -> exp.Expr:
    literal: exp.Expr = exp.Null() if text is None else exp.Literal.string(text)
    literal.meta.update(array.meta)
    return literal


def _typed(element: exp.Expr, kind: exp.DataType | None) -> exp.Expr:
    """An element as the type of its array: a text of text, a number of numbers, a datetime by a cast."""
    if kind is None or isinstance(element, exp.Null):
        return element
    meant = sql_type(kind.sql("postgres").lower())
    literal = isinstance(element, exp.Literal)
    if meant.is_string and literal:
        text = exp.Literal.string(element.name)
        text.meta.update(element.meta)
        return text
    if literal and meant.is_number:
        return element  # a quoted one is read as the number that it is compared with
    cast = exp.Cast(this=element, to=copied(kind))
    cast.meta.update(element.meta)
    return cast
