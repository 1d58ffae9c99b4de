"""A statement with `$n` before its values are known: the types of its placeholders and of its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.placeholders import highest_number, number_of, placeholders_in
from planner.errors import UnsupportedSQL
from planner.expressions.coercion import SLOT, Slot, sample
from planner.parsing.constant_datetimes import written_intervals
from planner.policy.policy import Policy
from planner.public.bind import bind_public
from planner.public.route import names_private_table
from planner.released_expression import Given, KeyValue, RowCount
from planner.schema import Schema
from planner.sql.result_names import NUMBERS, ResultType
from planner.sql.result_types import shown_type
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied

_PARAMETERS: Mapping[Family, str] = MappingProxyType({Family.UUID: "uuid", Family.OTHER: "interval"})
"""Types that no answer has, and a placeholder may."""

_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Description:
    """What is known of a statement before its values are.

    Attributes:
      parameters: the type of each `$n`, in order: a ResultType, `uuid` or `interval`, and for what stands in `= ANY`
        the array of one, `int8[]`.
      columns: name and type of each column of the answer.
      noisy: per column, is it a number that follows from released values?
    """

    parameters: tuple[str, ...]
    columns: tuple[tuple[str, ResultType], ...]
    noisy: tuple[bool, ...]


def describe(
    select: exp.Query, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> Description:
    """Type the placeholders and the answer of a statement. Free: it reads structure only.

    Args:
      select: from `planner.parsing.parse.parse`, or within `planner.public.grammar`; it is not changed.
    Raises: UnsupportedSQL for a placeholder whose place says no one type; otherwise what `bind` raises.
    """
    copy = copied(select)
    slots = [Slot() for _ in range(highest_number(copy))]
    for node in placeholders_in(copy):
        node.meta[SLOT] = slots[number_of(node) - 1]
    for node in placeholders_in(copy):
        if isinstance(node.parent, exp.TimestampTrunc) and node.arg_key == "unit":
            sample(node, SqlType(Family.TEXT))
            node.replace(exp.var("DAY"))
            continue
        if isinstance(node.parent, exp.Cast) and node.parent.to.this == exp.DataType.Type.INTERVAL:
            sample(node, SqlType(Family.OTHER))
            node.replace(exp.Literal.string("1 day"))
            continue
        if isinstance(node.parent, exp.Mul) and any(
            isinstance(part, exp.Interval) for part in node.parent.iter_expressions()
        ):
            node.replace(sample(node, SqlType(Family.INTEGER)))
            continue
        kind = _of_released(node)
        if kind is not None:
            node.replace(sample(node, kind))
    written_intervals(copy)
    columns, noisy = _columns(copy, schema, policy, search_path)
    return Description(tuple(_type(slot, index) for index, slot in enumerate(slots, start=1)), columns, noisy)


def _columns(
    query: exp.Query, schema: Schema, policy: Policy, search_path: Sequence[str] | None
) -> tuple[tuple[tuple[str, ResultType], ...], tuple[bool, ...]]:
    """Name and type of each column of the answer, and which are noisy, on the way that the statement takes."""
    if not names_private_table(query, schema, policy, search_path):
        columns = bind_public(query, schema, policy, _SOME_DAY, search_path).columns
        return columns, (False,) * len(columns)
    assert isinstance(query, exp.Select), "the private grammar has nothing else"
    outputs = bind(query, schema, policy, _SOME_DAY, search_path).outputs
    noisy = tuple(
        output.type in NUMBERS and not isinstance(output.expression, (Given, KeyValue, RowCount))
        for output in outputs
    )
    return tuple((output.name, output.type) for output in outputs), noisy


def _of_released(node: exp.Parameter) -> SqlType | None:
    """The type of one that meets released values, which are numbers, or counts rows of the answer."""
    if isinstance(node.parent, (exp.Limit, exp.Offset, exp.Fetch)):
        return SqlType(Family.INTEGER)
    above = node.parent
    while above is not None and not isinstance(above, (exp.AggFunc, exp.Filter, exp.Where, exp.Join, exp.Group)):
        if isinstance(above, exp.Condition) and above.find(exp.AggFunc) is not None:
            return SqlType(Family.FLOAT)
        above = above.parent
    return None


def _type(slot: Slot, index: int) -> str:
    kinds: set[str] = {_PARAMETERS.get(kind.family) or shown_type(kind) or "text" for kind in slot.types}
    if len(slot.arrays) > 1:
        hint = "give the array a number of its own"
        raise UnsupportedSQL(f"${index} stands for an array and for one value", hint=hint)
    if kinds <= NUMBERS and len(kinds) > 1:
        kinds = {"float8" if "float8" in kinds else "numeric"}
    if len(kinds) != 1:
        hint = f"write its type: ${index}::date"
        raise UnsupportedSQL(f"the type of ${index} is not clear from its place", hint=hint)
    return f"{kinds.pop()}[]" if True in slot.arrays else kinds.pop()
