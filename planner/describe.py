"""Types the placeholders and the answer of a statement with `$n`, before its values are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.placeholders import SOME_DAY, highest_number, number_of, placeholders_in
from planner.errors import UnsupportedSQL
from planner.expressions.coercion import SLOT, Slot, sample
from planner.parsing.spellings import written_intervals
from planner.policy.policy import Policy
from planner.public.bind import bind_public
from planner.public.route import names_private_table
from planner.released_expression import Given, Output
from planner.schema import Schema
from planner.sql.result_types import shown_as
from planner.sql.sql_types import NUMBERS, Family, SqlType
from planner.sql.trees import cast_sql, children, copied

_PARAMETERS: Mapping[Family, str] = MappingProxyType(
    {Family.UUID: "uuid", Family.TIME: "time", Family.INET: "inet", Family.INTERVAL: "interval"}
)
"""Types of placeholders that no answer has."""

_KIND = exp.DataType.Type

_CAST_TO: Mapping[object, str] = MappingProxyType(
    {
        _KIND.SMALLINT: "int2", _KIND.INT: "int4", _KIND.BIGINT: "int8", _KIND.DECIMAL: "numeric",
        _KIND.FLOAT: "float4", _KIND.DOUBLE: "float8", _KIND.TEXT: "text", _KIND.VARCHAR: "varchar",
        _KIND.CHAR: "bpchar", _KIND.BOOLEAN: "bool", _KIND.DATE: "date", _KIND.TIMESTAMP: "timestamp",
        _KIND.TIMESTAMPTZ: "timestamptz", _KIND.UUID: "uuid", _KIND.TIME: "time", _KIND.INET: "inet",
    }
)  # fmt: skip
"""PostgreSQL's names of the types that a placeholder may be cast to."""


@dataclass(frozen=True)
class Description:
    """The types of a statement before its values are known.

    Attributes:
      parameters: the type of each `$n`: that of the cast around it, else a ResultType, `uuid` or `interval` by its
        context. In `= ANY` it is an array type, `int8[]`.
      outputs: the columns of the answer; those of public rows are constants.
    """

    parameters: tuple[str, ...]
    outputs: tuple[Output, ...]


def describe(
    select: exp.Query,
    schema: Schema,
    policy: Policy,
    search_path: Sequence[str] | None = None,
    given: Sequence[str | None] = (),
) -> Description:
    """Type the placeholders and the answer of a statement. It is free, since it reads structure only.

    `given`: the types that the client states for the first placeholders; None leaves one open.

    Raises: UnsupportedSQL for a placeholder without a unique type; otherwise as `bind`.
    """
    copy = copied(select)
    slots = [Slot() for _ in range(highest_number(copy))]
    for node in placeholders_in(copy):
        slot = node.meta[SLOT] = slots[number_of(node) - 1]
        _note_cast(node, slot)
    for slot, kind in zip(slots, given, strict=False):
        slot.stated[:0] = [kind] if kind else []
        slot.given = bool(kind)
    for node in placeholders_in(copy):
        around = _constant_around(node)
        if around is node and isinstance(node.parent, (exp.Add, exp.Sub)) and node.meta[SLOT].given:
            node.replace(_some_value(node.meta[SLOT].stated[0], node))  # date arithmetic takes several types
            continue
        if _is_unit(around):
            sample(node, SqlType(Family.TEXT))
            around.replace(exp.var("DAY"))
            continue
        whole = around.parent
        if whole is not None and _is_interval(whole):
            sample(node, SqlType(Family.INTERVAL if around is node else Family.TEXT))
            whole.replace(exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY")))
            continue
        if isinstance(whole, exp.Mul) and any(isinstance(part.unnest(), exp.Interval) for part in children(whole)):
            node.replace(sample(node, SqlType(Family.INTEGER)))
            continue
        number = _of_released(around)
        if number is not None:
            node.replace(sample(node, number))
    written_intervals(copy)
    outputs = _outputs(copy, schema, policy, search_path)  # this also types the placeholders
    return Description(tuple(_type(slot, index) for index, slot in enumerate(slots, start=1)), outputs)


def types_around(query: exp.Query) -> tuple[str, ...]:
    """Return the types of placeholders around answers: that of a cast, int8 for row counts, else text."""
    slots = [Slot() for _ in range(highest_number(query))]
    for node in placeholders_in(query):
        slot = slots[number_of(node) - 1]
        _note_cast(node, slot)
        if isinstance(_constant_around(node).parent, _COUNTS_ROWS):
            slot.stated.append("int8")
    return tuple((*slot.stated, "text")[0] for slot in slots)


def _outputs(
    query: exp.Query, schema: Schema, policy: Policy, search_path: Sequence[str] | None
) -> tuple[Output, ...]:
    if not names_private_table(query, schema, policy, search_path):
        columns = bind_public(query, schema, policy, SOME_DAY, search_path).columns
        return tuple(Output(name, kind, Given(None)) for name, kind in columns)
    assert isinstance(query, exp.Select), "the private grammar has nothing else"
    return bind(query, schema, policy, SOME_DAY, search_path).display.outputs


def _some_value(kind: str, node: exp.Parameter) -> exp.Expr:
    """Return a literal of a client's type; for a text the placeholder, which takes the type of its context."""
    if kind in _INTERVAL_AND_MOMENTS:
        return cast_sql(exp.Literal.string(_INTERVAL_AND_MOMENTS[kind]), kind)
    return exp.Literal.number(1) if kind in _NUMBERS else node


_INTERVAL_AND_MOMENTS = {
    "interval": "1 day", "date": "2000-01-01", "timestamp": "2000-01-01", "timestamptz": "2000-01-01",
}  # fmt: skip

_NUMBERS = frozenset({"int2", "int4", "int8", "numeric", "float4", "float8"})


def _constant_around(node: exp.Expr) -> exp.Expr:
    """Return the largest constant expression around a placeholder: casts except to an interval, `||` and concat."""
    while isinstance(node.parent, _PARTS_OF_CONSTANTS) and not _is_interval(node.parent):
        node = node.parent
    return node


_PARTS_OF_CONSTANTS = (exp.Cast, exp.Paren, exp.DPipe, exp.Concat)


def _is_interval(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.INTERVAL


_COUNTS_ROWS = (exp.Limit, exp.Offset, exp.Fetch)


def _is_unit(node: exp.Expr) -> bool:
    """Is it the unit of date_trunc or the field of EXTRACT?"""
    if isinstance(node.parent, exp.TimestampTrunc):
        return node.arg_key == "unit"
    return isinstance(node.parent, exp.Extract) and node.arg_key == "this"


def _note_cast(node: exp.Parameter, slot: Slot) -> None:
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    if isinstance(around, exp.Cast) and around.to.this in _CAST_TO:
        slot.stated.append(_CAST_TO[around.to.this])


def _of_released(node: exp.Expr) -> SqlType | None:
    """Return the type of a placeholder beside released values (a number) or of a row count."""
    if isinstance(node.parent, _COUNTS_ROWS):
        return SqlType(Family.INTEGER)
    above = node.parent
    while above is not None and not isinstance(above, (exp.AggFunc, exp.Filter, exp.Where, exp.Join, exp.Group)):
        if isinstance(above, exp.Condition) and above.find(exp.AggFunc) is not None:
            return SqlType(Family.FLOAT)
        above = above.parent
    return None


def _type(slot: Slot, index: int) -> str:
    if slot.given:
        return slot.stated[0]
    kinds: set[str] = {_PARAMETERS.get(kind.family) or shown_as(exp.Null(), kind)[0] for kind in slot.types}
    if len(slot.arrays) > 1:
        hint = "give the array a number of its own"
        raise UnsupportedSQL(f"${index} is used as an array and as one value", hint=hint)
    if kinds <= NUMBERS and len(kinds) > 1:
        kinds = {"float8" if kinds & {"float4", "float8"} else "numeric"}
    if len(kinds) == 1 and slot.stated:
        kinds = {slot.stated[0]}
    if len(kinds) != 1:
        hint = f"write its type: ${index}::date"
        raise UnsupportedSQL(f"the type of ${index} is not clear from its context", hint=hint)
    return f"{kinds.pop()}[]" if True in slot.arrays else kinds.pop()
