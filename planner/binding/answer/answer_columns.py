"""What names and aggregates mean in a SELECT around an answer, each of whose groups is one row of it."""

from __future__ import annotations

from sqlglot import exp

from planner.binding.answer.released_binding import Released, ReleasedArithmetic
from planner.binding.bound_query import BoundOutput
from planner.errors import UnknownColumn, UnsupportedSQL
from planner.released_expression import Apply, Given, ReleasedExpression
from planner.sql.result_names import ResultType
from planner.sql.trees import fold, holds, position_of
from planner.suggestions import did_you_mean

_SUMS = (exp.Sum, exp.Avg)


class AnswerColumns(ReleasedArithmetic):
    """Binds expressions over the columns of an answer.

    Args:
      name: the subquery's alias, or None.
      outputs: its columns.
      groups: what GROUP BY names, all keys of the answer among it; None where there are no groups.
    """

    def __init__(
        self,
        name: str | None,
        outputs: tuple[BoundOutput, ...],
        groups: frozenset[ReleasedExpression] | None = None,
    ) -> None:
        self._name = name
        self._outputs = outputs
        self._groups = groups

    def bind(self, node: exp.Expr) -> Released:
        """Bind an expression. Raises: UnknownColumn, UnsupportedSQL."""
        if isinstance(node, exp.Paren):
            return self.bind(node.this)
        if self._groups is not None:
            found = self._of_group(node, self._groups)
            if found is not None:
                return found
        return self._column(node) if isinstance(node, exp.Column) else self._operation(node)

    def check_table(self, column: exp.Column) -> None:
        """What stands before a dot must be the subquery's name. Raises: UnknownColumn."""
        table = column.args.get("table")
        if table is not None and (column.args.get("db") is not None or fold(table) != self._name):
            message = f"there is no table {table.name!r} around this subquery"
            raise UnknownColumn(message, hint="name the subquery's alias", position=position_of(column))

    def _of_group(self, node: exp.Expr, groups: frozenset[ReleasedExpression]) -> Released | None:
        """An aggregate over the one row of a group, or what GROUP BY names; None for what is made of such."""
        row = AnswerColumns(self._name, self._outputs)
        if isinstance(node, exp.AggFunc):
            return _over_one_row(node, row)
        if holds(node, exp.AggFunc):
            return None
        found = row.bind(node)
        if found.expression in groups:
            return found
        if isinstance(node, exp.Column):
            hint = "group by it, or aggregate it"
            raise UnsupportedSQL(f"column {node.name!r} is not a group key", hint=hint, position=position_of(node))
        return None

    def _column(self, column: exp.Column) -> Released:
        self.check_table(column)
        name = fold(column.this)
        found = [output for output in self._outputs if output.name == name]
        if not found:
            hint = did_you_mean(name, (output.name for output in self._outputs))
            raise UnknownColumn(f"the subquery has no column {name!r}", hint=hint, position=position_of(column))
        if len({output.expression for output in found}) > 1:
            message = f"the subquery has several columns {name!r}"
            raise UnsupportedSQL(message, hint="give each an alias of its own", position=position_of(column))
        return Released(found[0].expression, found[0].type, found[0].enum)


def _over_one_row(call: exp.AggFunc, row: AnswerColumns) -> Released:
    """COUNT, SUM or AVG of what one row has."""
    argument = call.this
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        (argument,) = argument.expressions
    if isinstance(call, exp.Count) and isinstance(argument, exp.Star):
        return Released(Given(1), "int8")
    if not isinstance(call, (exp.Count, *_SUMS)) or not isinstance(argument, exp.Expr):
        message = f"{type(call).__name__.upper()} over an answer is not supported"
        raise UnsupportedSQL(message, hint="aggregate once", position=position_of(call))
    value = row.bind(argument)
    if isinstance(call, exp.Count):
        return Released(Apply("case", (Apply("is null", (value.expression,)), Given(0), Given(1))), "int8")
    if not value.is_number:
        raise UnsupportedSQL("a sum of something that is no number", position=position_of(call))
    kind: ResultType | None = "float8" if isinstance(call, exp.Avg) else value.type
    return Released(value.expression, kind)
