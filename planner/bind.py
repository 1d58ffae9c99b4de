"""Names to catalog entries: a parsed SELECT becomes a BoundQuery in normal form."""

from __future__ import annotations

from datetime import datetime

from sqlglot import exp

from planner.aggregates import Aggregates
from planner.bound_query import BoundKey, BoundOutput, BoundQuery
from planner.clock import replace_clock
from planner.connections import check_connected
from planner.errors import RowsNotShown, StatementTooComplex, UnsupportedSQL
from planner.from_clause import Flattened, bind_from
from planner.group_keys import bind_keys
from planner.group_listing import distinct_as_groups
from planner.limits import MAX_OUTPUTS
from planner.normal_form import normal_form
from planner.outer_select import OuterSelect, inner_answer
from planner.policy import Policy
from planner.positions import position_of
from planner.released import KeyValue
from planner.released_binding import Released, ReleasedBinder
from planner.released_clauses import ReleasedClauses
from planner.row_count import row_count
from planner.schema import Schema
from planner.scope import Scope, Tables
from planner.trees import holds


def bind(select: exp.Select, schema: Schema, policy: Policy, now: datetime | None = None) -> BoundQuery:
    """Resolve every name of a SELECT and flatten its joins.

    Args:
      select: from `planner.parse.parse`; it is not changed.
      schema: the catalog.
      policy: names the tables that can be queried.
      now: what now() means, before it is snapped to the policy's grain; None: there is no clock.
    Returns: the query in normal form.
    Raises: UnknownTable, UnknownColumn, AmbiguousColumn, UnsupportedSQL, StatementTooComplex.
    """
    return _bind(replace_clock(select, now, policy.time_grain), schema, policy)


def _bind(select: exp.Select, schema: Schema, policy: Policy) -> BoundQuery:
    if len(select.expressions) > MAX_OUTPUTS:
        raise StatementTooComplex(f"more than {MAX_OUTPUTS} columns", position=position_of(select.expressions[-1]))
    inner = inner_answer(select)
    if inner is not None:
        outer = OuterSelect(select, _bind(inner, schema, policy))
        if outer.keeps_rows():
            return outer.query()
    select = distinct_as_groups(select)
    flat = Flattened(Tables(schema, policy))
    scope = bind_from(select, flat, {})
    check_connected(scope.tables, flat.predicates, flat.crossed, policy, flat.tables.positions)
    keys = bind_keys(select, scope, flat.predicates)
    return _Answer(select, scope, keys, flat).query()


class _Answer(ReleasedClauses):
    """The parts of a SELECT that speak of released rows."""

    def __init__(self, select: exp.Select, scope: Scope, keys: list[BoundKey], flat: Flattened) -> None:
        super().__init__(select)
        self._scope = scope
        self._keys = keys
        self._flat = flat
        self._aggregates = Aggregates(scope, flat.predicates)
        self._binder = ReleasedBinder(scope, keys, self._aggregates)

    def query(self) -> BoundQuery:
        """The whole query; the select list first, so that its aggregates lead."""
        self._check_aggregates()
        outputs = [self.output(item) for item in self._select.expressions]
        having = self.condition("having", "HAVING")
        order = self.order(outputs)
        self._check_distinct(outputs)
        return BoundQuery(
            tables=tuple(self._scope.tables),
            predicates=normal_form(self._flat.predicates),
            keys=tuple(self._keys),
            aggregates=tuple(self._aggregates.found),
            outputs=tuple(outputs),
            having=having,
            order=order,
            limit=row_count(self._select, "limit"),
            offset=row_count(self._select, "offset") or 0,
        )

    def _check_aggregates(self) -> None:
        clauses = [*self._select.expressions, self._select.args.get("having"), self._select.args.get("order")]
        if not self._keys and not any(clause is not None and holds(clause, exp.AggFunc) for clause in clauses):
            hint = "select COUNT(*) or SUM(expression)"
            position = position_of(self._select.expressions[0]) if self._select.expressions else None
            raise RowsNotShown("a query without an aggregate would show rows", hint=hint, position=position)

    def _bind(self, node: exp.Expr) -> Released:
        return self._binder.bind(self._scope.bind(node))

    def _check_distinct(self, outputs: list[BoundOutput]) -> None:
        """SELECT DISTINCT over groups changes nothing when every key is shown, or when there is one row."""
        clause = self._select.args.get("distinct")
        if clause is None:
            return
        shown = {output.expression for output in outputs}
        if clause.args.get("on") is not None:
            raise UnsupportedSQL("DISTINCT ON is not supported", position=position_of(clause))
        if not all(KeyValue(index) in shown for index in range(len(self._keys))):
            hint = "select every group key, or leave DISTINCT out"
            raise UnsupportedSQL(
                "DISTINCT over some of the group keys is not supported", hint=hint, position=position_of(clause)
            )
