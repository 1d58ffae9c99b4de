"""A view's definition, from PostgreSQL's spelling of it to a statement as analysts write theirs.

`pg_get_viewdef` writes what the database understood: IN as `= ANY (ARRAY[...])`, LIKE as `~~`, every literal with its
type. Each of these means what the usual spelling means; what has none here is refused as it would be anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from planner.errors import PlannerError
from planner.parsing.parse import Statement, private_select, read
from planner.parsing.syntax.scanner import scan
from planner.sql.trees import children, holds, nodes

_LIKE = {"~~": ("LIKE",), "!~~": ("NOT", "LIKE"), "~~*": ("ILIKE",), "!~~*": ("NOT", "ILIKE")}
_LIKE_ESCAPE = ["like_escape", "(", "''", "::", "text", ",", "''", "::", "text", ")"]
_QUOTED_FUNCTIONS = frozenset({'"left"', '"right"', '"substring"', '"position"', '"overlay"'})
_LISTS = {("=", "ANY"): ("IN",), ("<>", "ALL"): ("NOT", "IN")}
_OF_ONE_TYPE = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif,
    exp.Coalesce, exp.Least, exp.Greatest, exp.Pow, exp.Mod, exp.Add, exp.Sub, exp.Mul, exp.Div,
)  # fmt: skip
"""What PostgreSQL applies to values of one type alone, so that a literal has the type of what stands beside it."""

_TEXTS = frozenset({"TEXT", "VARCHAR", "BPCHAR"})
_WHOLE = frozenset({"SMALLINT", "INT", "BIGINT"})
_NUMBERS = _WHOLE | {"DECIMAL", "DOUBLE"}  # not real: 0.1 is another number there
_VARYING = re.compile(
    r"'(?:[^']|'')*' :: (?:text|character varying)(?: , '(?:[^']|'')*' :: (?:text|character varying))*"
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SPAN = re.compile(r"(-?[0-9]+) (year|mon|day)s?")
_CLOCK_UNITS = (("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1))
_CLOCK_SPAN = re.compile(r"(-?)([0-9]+):([0-9]{2}):([0-9]{2})")


@lru_cache(maxsize=512)
def read_definition(definition: str) -> Statement:
    """The statement of a view.

    Args:
      definition: as `pg_get_viewdef` writes it.
    Returns: a statement that others share: it is not to be changed.
    Raises: PlannerError as `planner.parsing.parse.read` does; its position is one in the definition.
    """
    statement = read(" ".join(_respelled([definition[start:stop] for _, start, stop in scan(definition)])))
    tree = statement.tree
    for node in reversed(nodes(tree)):  # what stands inside is ready before what is around it
        written = _plainer(node)
        if written is not None:
            node.replace(written)
    return replace(statement, tree=tree)


def refusal(definition: str, check: Callable[[Statement], object] = private_select) -> PlannerError | None:
    """Why a definition is not within a grammar; None where it is. The grammar of private tables unless said."""
    try:
        check(read_definition(definition))
    except PlannerError as error:
        return error
    return None


def _respelled(pieces: Sequence[str]) -> list[str]:
    """The words and signs in the usual spelling.

    >>> " ".join(_respelled("c <> ALL ( ARRAY [ 'a' , 'b' ] )".split()))
    "c NOT IN ( 'a' , 'b' )"
    """
    found: list[str] = []
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        listed = _list(pieces, place)
        if listed is not None:
            words, place = listed
            found += words
            continue
        if _matches(pieces[place : place + 10], _LIKE_ESCAPE):
            found += [pieces[place + 2], "ESCAPE", pieces[place + 6]]
            place += 10
            continue
        if piece in _QUOTED_FUNCTIONS and pieces[place + 1 : place + 2] == ["("] and found[-1:] != ["AS"]:
            piece = piece[1:-1]
        found += _LIKE.get(piece, (piece,))
        place += 1
    return found


def _matches(pieces: Sequence[str], form: Sequence[str]) -> bool:
    """Are they the words of a form, in which '' stands for any literal?"""
    if len(pieces) != len(form):
        return False
    return all(
        piece.startswith("'") if word == "''" else piece == word for piece, word in zip(pieces, form, strict=True)
    )


def _list(pieces: Sequence[str], place: int) -> tuple[list[str], int] | None:
    """`= ANY (ARRAY[...])` and `<> ALL (ARRAY[...])`, the array in a cast or not: as IN, and what comes after it."""
    words = _LISTS.get((pieces[place], pieces[place + 1] if place + 1 < len(pieces) else ""))
    if words is None:
        return None
    inner = 2 if list(pieces[place + 2 : place + 6]) == ["(", "(", "ARRAY", "["] else 1
    start = place + 2 + inner
    if list(pieces[place + 2 : start + 2]) != ["("] * inner + ["ARRAY", "["]:
        return None
    depth, stop = 1, start + 2
    while stop < len(pieces) and depth:
        depth += {"[": 1, "]": -1}.get(pieces[stop], 0)
        stop += 1
    values, end = list(pieces[start + 2 : stop - 1]), stop
    if inner == 2:
        if not _VARYING.fullmatch(" ".join(values)) or list(pieces[end : end + 5]) != [")", "::", "text", "[", "]"]:
            return None  # a cast that could change a value
        end += 5
    if depth or not values or "[" in values or list(pieces[end : end + 1]) != [")"]:
        return None
    return [*words, "(", *_respelled(values), ")"], end + 1


def _plainer(node: exp.Expr) -> exp.Expr | None:
    """What an analyst would have written for a node; None where it is that already."""
    if isinstance(node, exp.Paren) and isinstance(node.this, (exp.Literal, exp.Interval)):
        return node.this
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return None
    target, value = node.args["to"], node.this
    name = str(getattr(target.this, "value", target.this))
    if value.is_string:
        return _of_text(node, value, name, target)
    if name not in _NUMBERS or target.expressions or (name in _WHOLE and not value.name.isdecimal()):
        return None  # 2.5::bigint is 3
    return value if _is_beside_a_column(node) else None


def _of_text(node: exp.Cast, value: exp.Literal, name: str, target: exp.Expr) -> exp.Expr | None:
    """A quoted value with its type: a text and an enum's label need none, a number no quotes.

    A type with a length, or one within another cast, could change the value: it stays, to be refused.
    """
    text, sized = value.name, bool(target.expressions)
    if isinstance(target.args.get("kind"), exp.Dot):  # of a schema: an enum where it is compared, otherwise who knows
        return value if _is_beside_a_column(node) else None
    if name in _TEXTS and not sized:
        return value if name != "BPCHAR" or not isinstance(_around(node), exp.Cast) else None
    if name in _NUMBERS and not sized and _NUMBER.fullmatch(text):
        number: exp.Expr = exp.Literal.number(text.removeprefix("-"))
        number.meta.update(value.meta)
        if text.startswith("-"):
            number = exp.Paren(this=exp.Neg(this=number))
        if name in _WHOLE or (name == "DECIMAL" and "." in text) or _is_beside_a_column(node):
            return number
        return exp.Cast(this=number, to=target)  # 5::numeric / 2::numeric has a fraction
    return _interval(text) if name == "INTERVAL" or isinstance(target.this, exp.Interval) else None


def _interval(text: str) -> exp.Expr | None:
    """`'2 mons'` and `'01:00:00'`: of one unit, as they are written by hand."""
    if (span := _SPAN.fullmatch(text)) is not None:
        unit = {"mon": "MONTH"}.get(span[2], span[2].upper())
        return exp.Interval(this=exp.Literal.string(span[1]), unit=exp.Var(this=unit))
    if (clock := _CLOCK_SPAN.fullmatch(text)) is not None:
        hours, minutes, seconds = map(int, clock.groups()[1:])
        total = (hours * 60 + minutes) * 60 + seconds
        unit, size = next((unit, size) for unit, size in _CLOCK_UNITS if total % size == 0)
        return exp.Interval(this=exp.Literal.string(f"{clock[1]}{total // size}"), unit=exp.Var(this=unit))
    return None


def _is_beside_a_column(node: exp.Expr) -> bool:
    """Does it stand beside something that has a type of its own, where both have one type?"""
    around = _around(node)
    if not isinstance(around, _OF_ONE_TYPE):
        return False
    own = [part for part in children(around) if part.unnest() is node]
    if isinstance(around, exp.Nullif) and around.this in own:  # whose type is that of its first value
        return False
    return any(holds(part, exp.Column) for part in children(around) if part not in own)


def _around(node: exp.Expr) -> exp.Expr | None:
    """What it is a part of, through parentheses."""
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    return around
