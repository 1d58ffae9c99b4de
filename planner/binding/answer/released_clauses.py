"""Select list, HAVING and ORDER BY of a SELECT whose rows are released: names, positions and types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sqlglot import exp

from planner.binding.answer.released_binding import Released, ReleasedArithmetic
from planner.binding.bound_query import BoundOutput, BoundQuery
from planner.binding.group_keys import constant_place
from planner.binding.limit_offset import output_name
from planner.errors import UnknownColumn, UnsupportedSQL
from planner.released_expression import Apply, KeyValue, ReleasedExpression, SortKey
from planner.sql.sql_types import Family
from planner.sql.trees import columns_of, fold, position_of


class ReleasedClauses(ABC):
    """The clauses of one SELECT.

    Args:
      select: its tree, which is not changed.
    """

    def __init__(self, select: exp.Select) -> None:
        self._select = select

    @abstractmethod
    def _bind(self, node: exp.Expr) -> Released:
        """An expression over what the SELECT sees."""

    def output(self, item: exp.Expr) -> BoundOutput:
        """An item of the select list."""
        released = self._bind(item.unalias())
        return BoundOutput(output_name(item), released.type or "text", released.expression, released.enum)

    def condition(self, part: str, words: str, over: ReleasedArithmetic | None = None) -> ReleasedExpression | None:
        """What WHERE or HAVING (`part`) keeps of what `over` binds. `words` names it in errors.

        Raises: UnsupportedSQL.
        """
        clause = self._select.args.get(part)
        if clause is None:
            return None
        try:
            released = self._bind(clause.this) if over is None else over.bind(clause.this)
        except UnknownColumn as error:
            if not self._is_named(clause, error.position):
                raise
            hint = f"{words} knows no names of the select list: write what stands behind the name, count(*) > 5"
            raise UnknownColumn(error.message, hint=hint, position=error.position) from None
        if released.type not in ("bool", None):
            hint = "write a comparison"
            raise UnsupportedSQL(f"{words} takes a condition", hint=hint, position=position_of(clause))
        return released.expression

    def _is_named(self, clause: exp.Expr, position: int | None) -> bool:
        """Does a clause name an output of the select list at this place?"""
        names = {output_name(item) for item in self._select.expressions if isinstance(item, exp.Alias)}
        there = [column for column in columns_of(clause) if position_of(column) == position]
        return any(isinstance(column.this, exp.Identifier) and fold(column.this) in names for column in there)

    def order(self, outputs: Sequence[BoundOutput]) -> tuple[SortKey, ...]:
        """The keys of ORDER BY. Raises: UnsupportedSQL, InvalidSyntax."""
        clause = self._select.args.get("order")
        return tuple(self._sort_key(item, outputs) for item in clause.expressions) if clause is not None else ()

    def _sort_key(self, item: exp.Ordered, outputs: Sequence[BoundOutput]) -> SortKey:
        """A position or an alias of the select list, as in PostgreSQL before any column; or an expression."""
        node = item.this.unnest()
        value = None
        place = constant_place(len(outputs), node, "ORDER BY")
        if place is not None:
            value = outputs[place]
        elif (
            isinstance(node, exp.Column) and node.args.get("table") is None and isinstance(node.this, exp.Identifier)
        ):
            named = {output.expression: output for output in outputs if output.name == fold(node.this)}
            if len(named) > 1:
                hint = "sort by its position"
                raise UnsupportedSQL(
                    "ORDER BY a name that several columns have", hint=hint, position=position_of(node)
                )
            value = next(iter(named.values()), None)
        sorted_by = self._bind(node) if value is None else Released(value.expression, value.type, value.enum)
        expression = sorted_by.ordered.expression
        return SortKey(expression, bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def check_released_moments(query: BoundQuery, zone: str) -> None:
    """Refuse to compute with keys that are moments of a time zone, whose texts would be read at UTC.

    Args:
      zone: the session's, another than UTC.
    Raises: UnsupportedSQL.
    """
    zoned = {KeyValue(index) for index, key in enumerate(query.keys) if key.shown == "timestamptz"}
    zoned |= {KeyValue(index) for index, key in enumerate(query.keys) if key.type.family is Family.TIMESTAMPTZ}
    shown, sorted_by = [one.expression for one in query.outputs], [one.expression for one in query.order]
    computed = [query.having, *shown, *sorted_by]
    stack = [expression for expression in computed if isinstance(expression, Apply)]
    while stack:
        for argument in stack.pop().arguments:
            if argument in zoned:
                hint = f"write the condition in WHERE, or group by date_trunc('day', x AT TIME ZONE '{zone}')"
                message = f"a condition on a group key with time zone is not supported in the time zone {zone}"
                raise UnsupportedSQL(message, hint=hint)
            if isinstance(argument, Apply):
                stack.append(argument)
