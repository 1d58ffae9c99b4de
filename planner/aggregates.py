"""Aggregate calls: what each of them adds up over the join tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from planner.bind_scalar import bind_measure, bind_predicate, bind_scalar
from planner.bound_query import BoundAggregate
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.keywords import LABEL
from planner.nullness import is_null
from planner.positions import position_of
from planner.released import Apply, ReleasedExpression, ReleasedValue
from planner.rules.enumerate_domain import distinct_value
from planner.scope import Scope
from planner.sql_nodes import conjunction
from planner.trees import nodes

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg)


class Aggregates:
    """The aggregates of one statement, each once."""

    def __init__(self, scope: Scope, given: Sequence[exp.Expr] = ()) -> None:
        """`given`: the bound conditions that every tuple passes, which narrow what a sum can reach."""
        self._scope = scope
        self._given = given
        self.found: list[BoundAggregate] = []

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
        nested = next((part for part in nodes(call)[1:] if isinstance(part, exp.AggFunc)), None)
        if nested is not None:
            raise UnsupportedSQL("an aggregate inside an aggregate is not supported", position=position_of(nested))
        label = str(node.meta.get(LABEL, ""))
        condition = None if where is None else bind_predicate(where, self._scope)
        if isinstance(call, exp.Count):
            return self._count(call, condition, label)
        if isinstance(call.this, exp.Distinct):
            hint = "use COUNT(DISTINCT x)"
            name = type(call).__name__.upper()
            raise UnsupportedSQL(f"{name}(DISTINCT ...) is not supported", hint=hint, position=position_of(call.this))
        total = self._sum(call.this, where, label)
        if isinstance(call, exp.Sum):
            return total
        return Apply("/", (total, self._known(call.this, condition, f"{label}, how many")))

    def _sum(self, argument: exp.Expr, where: exp.Expr | None, label: str) -> ReleasedExpression:
        if where is not None:
            argument = exp.Case(ifs=[exp.If(this=where, true=argument)])
        sql, bounds = bind_measure(argument, self._scope, self._given)
        return self._add(BoundAggregate("sum", sql, None, label, bounds))

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
        position = position_of(distinct)
        if len(distinct.expressions) != 1 or isinstance(distinct.expressions[0], (exp.Star, exp.Tuple)):
            hint = "count the distinct values of one column"
            raise UnsupportedSQL(
                "COUNT(DISTINCT ...) of several columns is not supported", hint=hint, position=position
            )
        scalar = bind_scalar(distinct.expressions[0], self._scope)
        value = None if scalar.type is None else distinct_value(scalar.sql, scalar.type)
        if value is None:
            message = f"COUNT(DISTINCT ...) over {scalar.kind} is not supported"
            hint = "count distinct columns of numeric(p, s), whole numbers, texts, moments or uuids"
            raise UnsupportedSQL(message, hint=hint, position=position)
        return self._add(
            BoundAggregate("distinct", value, self._where_known(distinct.expressions[0], condition), label)
        )

    def _add(self, aggregate: BoundAggregate) -> ReleasedValue:
        for index, other in enumerate(self.found):
            if replace(other, label=aggregate.label) == aggregate:
                return ReleasedValue(index)
        self.found.append(aggregate)
        return ReleasedValue(len(self.found) - 1)
