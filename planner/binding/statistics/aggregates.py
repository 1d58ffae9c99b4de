"""Aggregate calls: what each of them adds up over the join tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate
from planner.binding.scope import Scope
from planner.binding.statistics.moments import PAIRED, SPREADS, Centred, Moments, centre
from planner.binding.statistics.null_condition import is_null
from planner.binding.statistics.ranks import RANKED, asked_rank, on_grid
from planner.errors import AmbiguousFunction, InvalidSyntax, UnsupportedSQL
from planner.expressions.bind_scalar import bind_measure, bind_predicate, bind_scalar
from planner.expressions.canonical_value import distinct_value, joint_value
from planner.parsing.keyword_positions import LABEL
from planner.released_expression import ReleasedExpression, ReleasedValue
from planner.sql.columns import summed_column
from planner.sql.result_names import ResultType
from planner.sql.sql_nodes import conjunction
from planner.sql.trees import copied, nodes, position_of


def check_typed(call: exp.Expr, argument: exp.Expr) -> None:
    """Refuse SUM and AVG of NULL or of a quoted literal, whose type nothing says. Raises: AmbiguousFunction."""
    written = argument.unnest()
    if isinstance(written, exp.Null) or (isinstance(written, exp.Literal) and written.is_string):
        message = f"function {call.key}(unknown) is not unique"
        raise AmbiguousFunction(message, hint="write the type: NULL::numeric", position=position_of(written))


_MOST_JOINTLY = 16
"""Columns whose rows of values are counted."""

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, *SPREADS, *PAIRED, *RANKED)


def nested_aggregate(node: exp.Expr) -> UnsupportedSQL:
    """The refusal of `avg(count(*))`, with the way to ask for numbers per person."""
    table = "(SELECT id, count(*) AS n FROM t GROUP BY id) p"
    hint = f"aggregate per person first, by their key: SELECT avg(n) FROM {table}"
    return UnsupportedSQL("an aggregate inside an aggregate is not supported", hint=hint, position=position_of(node))


class Aggregates:
    """The aggregates of one statement, each once.

    Attributes:
      found: so far.
      arguments: of the calls, as they are bound: columns, expressions, stars.
    """

    def __init__(self, scope: Scope, given: Sequence[exp.Expr] = (), *, exactly: bool = False) -> None:
        """The aggregates of a SELECT over a scope.

        Args:
          given: the bound conditions that every tuple passes, which narrow what a sum can reach.
          exactly: are they computed without noise, so that sums need not stay near 0?
        """
        self._exactly = exactly
        self._scope = scope
        self._given = given
        self.found: list[BoundAggregate] = []
        self.arguments: list[exp.Expr] = []

    def bind(self, node: exp.Expr) -> ReleasedExpression | None:
        """What an aggregate call is of the statement's aggregates; None for anything else.

        Args:
          node: its columns bound.
        Raises: UnsupportedSQL.
        """
        where = node.expression.this if isinstance(node, exp.Filter) else None
        call = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(call, _AGGREGATES):
            return None
        within = nodes(call.expression if isinstance(call, exp.WithinGroup) else call)
        nested = next((part for part in within if part is not call and isinstance(part, exp.AggFunc)), None)
        if nested is not None:
            raise nested_aggregate(nested)
        self.arguments += [call.this] if call.this is not None else []
        self.arguments += [call.expression] if isinstance(call, PAIRED) else []
        label = str(node.meta.get(LABEL, "") or call.meta.get(LABEL, ""))
        condition = None if where is None else bind_predicate(where, self._scope)
        if isinstance(call, exp.Count):
            return self._count(call, condition, label)
        if isinstance(call, RANKED):
            return self._rank(call, condition, label)
        if isinstance(call.this, exp.Distinct):
            hint = "each value is everybody's who has it; write {}(x), or GROUP BY x and add up what is common"
            hint = hint.format(type(call).__name__.lower())
            name = type(call).__name__.upper()
            raise UnsupportedSQL(f"{name}(DISTINCT ...) is not supported", hint=hint, position=position_of(call.this))
        check_typed(call, call.this)
        if isinstance(call, exp.Sum):
            return self._sum(call.this, where, label)
        return self._quotient(call, where, condition, label)

    def _quotient(
        self, call: exp.Expr, where: exp.Expr | None, condition: exp.Expr | None, label: str
    ) -> ReleasedExpression:
        """What is computed from counts and sums that are measured together (`planner.binding.statistics.moments`)."""
        arguments = [call.this, call.expression] if isinstance(call, PAIRED) else [call.this]
        for argument in arguments:
            check_typed(call, argument)
        for argument in arguments:
            condition = self._where_known(argument, condition)

        def total(tree: exp.Expr, over: ReleasedValue | None = None) -> ReleasedValue:
            written = label if isinstance(call, exp.Avg) else f"{label}, sum"
            return self._sum(tree, where, written, moment=1, over=None if over is None else over.release)

        def product(tree: exp.Expr, beside: Sequence[ReleasedValue]) -> ReleasedValue:
            x, y, n = (one.release for one in beside)
            what = "squares" if x == y else "products"
            return self._sum(tree, where, f"{label}, sum of {what}", moment=2, around=(x, y, n))

        def count() -> ReleasedValue:
            return self._add(BoundAggregate("count", None, condition, f"{label}, how many", moment=0))

        moments = Moments(count, total, product)
        if isinstance(call, PAIRED):
            y, x = (self._centred(one, other) for one, other in (arguments, arguments[::-1]))
            return moments.paired(call, y, x)
        if isinstance(call, exp.Avg):
            return moments.average(self._centred(call.this))
        return moments.spread(call, self._centred(call.this))

    def _rank(self, call: exp.Expr, condition: exp.Expr | None, label: str) -> ReleasedValue:
        """A quantile or an extreme: NULL has no rank."""
        if isinstance(call, exp.WithinGroup):
            label = str(call.this.meta.get(LABEL, "")) or label
        rank, argument = asked_rank(call)
        self.arguments[-1:] = [argument]
        place, grid = on_grid(call, argument, self._scope)
        known = self._where_known(argument, condition)
        return self._add(BoundAggregate("rank", place, known, label, grid=grid, rank=rank))

    def type_of(self, value: ReleasedValue) -> ResultType:
        """The type of an aggregate in an answer: a count is a whole number, and so is a sum of such."""
        found = self.found[value.release]
        if found.grid is not None:
            return found.grid.type
        return "int8" if found.bounds is None or found.bounds.integral else "float8"

    def _centred(self, argument: exp.Expr, beside: exp.Expr | None = None) -> Centred:
        """An argument around its centre, NULL where the one beside it is."""
        _, bounds = (None, None) if self._exactly else bind_measure(argument, self._scope, self._given)
        unknown = None if beside is None else is_null(beside, self._scope)
        if unknown is not None:
            argument = exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Paren(this=unknown)), true=copied(argument))])
        return Centred(argument, centre(bounds), bounds)

    def _sum(
        self,
        argument: exp.Expr,
        where: exp.Expr | None,
        label: str,
        moment: int | None = None,
        around: tuple[int, int, int] | None = None,
        over: int | None = None,
    ) -> ReleasedValue:
        if where is not None:
            argument = exp.Case(ifs=[exp.If(this=copied(where), true=argument)])
        sql, bounds = bind_measure(argument, self._scope, self._given)
        column = summed_column(argument)
        return self._add(BoundAggregate("sum", sql, None, label, bounds, moment, around, over, column=column))

    def _count(self, call: exp.Count, condition: exp.Expr | None, label: str) -> ReleasedExpression:
        argument = call.this
        if argument is None:
            raise InvalidSyntax("COUNT lacks its argument", hint="write COUNT(*)", position=position_of(call))
        if isinstance(argument, exp.Star):
            return self._add(BoundAggregate("count", None, condition, label))
        if isinstance(argument, exp.Distinct):
            return self._distinct(argument, condition, label)
        if call.expressions:
            raise UnsupportedSQL("COUNT of several columns is not supported", position=position_of(call))
        return self._known(argument, condition, label)

    def _known(self, argument: exp.Expr, condition: exp.Expr | None, label: str) -> ReleasedExpression:
        """How many tuples have a value: equal to COUNT(*) where it cannot be NULL."""
        return self._add(BoundAggregate("count", None, self._where_known(argument, condition), label))

    def _where_known(self, argument: exp.Expr, condition: exp.Expr | None) -> exp.Expr | None:
        null = is_null(argument, self._scope)
        if null is None:
            return condition
        known = exp.Not(this=exp.Paren(this=bind_predicate(null, self._scope)))
        return known if condition is None else conjunction([condition, known])

    def _distinct(self, distinct: exp.Distinct, condition: exp.Expr | None, label: str) -> ReleasedExpression:
        """How many values, or rows of values: of (a, b) NULL counts as one, of a, b a row with NULL is left out."""
        position = position_of(distinct)
        written = distinct.expressions
        row = written[0] if len(written) == 1 and isinstance(written[0], exp.Tuple) else None
        arguments = written if row is None else row.expressions
        if len(arguments) > _MOST_JOINTLY or any(isinstance(part, (exp.Star, exp.Tuple)) for part in arguments):
            hint = f"name the columns, at most {_MOST_JOINTLY}"
            raise UnsupportedSQL("this COUNT(DISTINCT ...) is not supported", hint=hint, position=position)
        values = [self._distinct_value(part, position) for part in arguments]
        for part in arguments if row is None else ():
            condition = self._where_known(part, condition)
        alone = len(values) == 1 and (row is None or is_null(arguments[0], self._scope) is None)
        value = values[0] if alone else joint_value(values)
        return self._add(BoundAggregate("distinct", value, condition, label))

    def _distinct_value(self, argument: exp.Expr, position: int | None) -> exp.Expr:
        scalar = bind_scalar(argument, self._scope)
        value = None if scalar.type is None else distinct_value(scalar.sql, scalar.type)
        if value is None:
            message = f"COUNT(DISTINCT ...) over {scalar.kind} is not supported"
            hint = "count distinct columns of numeric(p, s), whole numbers, texts, dates, timestamps or uuids"
            raise UnsupportedSQL(message, hint=hint, position=position)
        return value

    def _add(self, aggregate: BoundAggregate) -> ReleasedValue:
        for index, other in enumerate(self.found):
            if replace(other, label=aggregate.label) == aggregate:
                return ReleasedValue(index)
        self.found.append(aggregate)
        return ReleasedValue(len(self.found) - 1)
