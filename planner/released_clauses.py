"""Select list, HAVING and ORDER BY of a SELECT whose rows are released: names, positions and types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sqlglot import exp

from planner.bound_query import BoundOutput
from planner.errors import UnsupportedSQL
from planner.group_keys import position_in
from planner.output_names import output_name
from planner.positions import position_of
from planner.released import ReleasedExpression, SortKey
from planner.released_binding import Released, ReleasedArithmetic
from planner.scope import fold


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
        return BoundOutput(output_name(item), released.type or "text", released.expression)

    def condition(self, part: str, words: str, over: ReleasedArithmetic | None = None) -> ReleasedExpression | None:
        """What WHERE or HAVING (`part`) keeps of what `over` binds. `words` names it in the error, UnsupportedSQL."""
        clause = self._select.args.get(part)
        if clause is None:
            return None
        released = self._bind(clause.this) if over is None else over.bind(clause.this)
        if released.type not in ("bool", None):
            hint = "write a comparison"
            raise UnsupportedSQL(f"{words} takes a condition", hint=hint, position=position_of(clause))
        return released.expression

    def order(self, outputs: Sequence[BoundOutput]) -> tuple[SortKey, ...]:
        """The keys of ORDER BY. Raises: UnsupportedSQL, InvalidSyntax."""
        clause = self._select.args.get("order")
        return tuple(self._sort_key(item, outputs) for item in clause.expressions) if clause is not None else ()

    def _sort_key(self, item: exp.Ordered, outputs: Sequence[BoundOutput]) -> SortKey:
        """A position or an alias of the select list, as in PostgreSQL before any column; or an expression."""
        node = item.this.unnest()
        expression = None
        if isinstance(node, exp.Literal) and not node.is_string:
            expression = outputs[position_in(len(outputs), node, "ORDER BY")].expression
        elif (
            isinstance(node, exp.Column) and node.args.get("table") is None and isinstance(node.this, exp.Identifier)
        ):
            named = {output.expression for output in outputs if output.name == fold(node.this)}
            if len(named) > 1:
                hint = "sort by its position"
                raise UnsupportedSQL(
                    "ORDER BY a name that several columns have", hint=hint, position=position_of(node)
                )
            expression = next(iter(named), None)
        if expression is None:
            expression = self._bind(node).expression
        return SortKey(expression, bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
