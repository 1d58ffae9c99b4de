"""Names to catalog entries: a parsed SELECT becomes a BoundQuery in normal form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType

from sqlglot import exp

from planner.binding.answer.outer_select import OuterSelect, inner_answer
from planner.binding.answer.released_binding import Released, ReleasedBinder
from planner.binding.answer.released_clauses import ReleasedClauses, check_released_moments
from planner.binding.bound_query import BoundOutput, BoundQuery
from planner.binding.clock import replace_clock
from planner.binding.duplicates import without_duplicates
from planner.binding.from_clause import Flattened, bind_from, check_beside_public, check_connected, groups_persons
from planner.binding.group_keys import GroupKeys, distinct_as_groups
from planner.binding.limit_offset import keeps_no_row, row_count
from planner.binding.normal_form import normal_form
from planner.binding.scope import Scope, Tables
from planner.binding.statistics.aggregates import Aggregates
from planner.errors import NoRowAsked, RowsNotShown, StatementTooComplex, UnsupportedSQL
from planner.expressions.predicates import unknown
from planner.limits import MAX_OUTPUTS
from planner.policy.policy import Policy, TablePolicy
from planner.released_expression import KeyValue
from planner.schema import Schema
from planner.sql.trees import holds, position_of
from planner.sql.zones import UTC


def bind(
    select: exp.Select,
    schema: Schema,
    policy: Policy,
    now: datetime | None = None,
    search_path: Sequence[str] | None = None,
    zone: str = UTC,
) -> BoundQuery:
    """Resolve every name of a SELECT and flatten its joins.

    Args:
      select: from `planner.parsing.parse.parse`; it is not changed.
      schema: the catalog.
      policy: names the tables that can be queried.
      now: what now() means, before it is snapped to the policy's grain; None: there is no clock.
      search_path: where tables without a schema are looked for; None: as the policy says.
      zone: the session's time zone, which becomes part of what is asked.
    Returns: the query in normal form.
    Raises: UnknownTable, UnknownColumn, AmbiguousColumn, UnsupportedSQL, StatementTooComplex.
    """
    again = partial(_bind, replace_clock(select, now, policy.time_grain, zone), schema, policy, search_path, zone)
    bound = again()
    if zone != UTC:
        check_released_moments(bound, zone)
    return replace(bound, again=again) if any(entry.person for entry in bound.tables) else bound


def _bind(
    select: exp.Select,
    schema: Schema,
    policy: Policy,
    search_path: Sequence[str] | None,
    zone: str,
    proved: Mapping[str, TablePolicy] = MappingProxyType({}),
) -> BoundQuery:
    if len(select.expressions) > MAX_OUTPUTS:
        raise StatementTooComplex(f"more than {MAX_OUTPUTS} columns", position=position_of(select.expressions[-1]))
    inner = inner_answer(select)
    if inner is not None and not groups_persons(inner, schema, policy, search_path):
        outer = OuterSelect(select, _bind(inner, schema, policy, search_path, zone, proved))
        if outer.keeps_rows():
            return outer.query()
        if outer.counts_rows():
            return outer.count()
    select = without_duplicates(distinct_as_groups(select))
    flat = Flattened(Tables(schema, policy, search_path, proved, zone))
    scope = bind_from(select, flat, {})
    check_connected(scope.tables, flat.predicates, flat.crossed, policy.is_public, flat.tables.positions)
    keys = GroupKeys(select, scope, flat.predicates)
    return _Answer(select, scope, keys, flat).query()


class _Answer(ReleasedClauses):
    """The parts of a SELECT that speak of released rows."""

    def __init__(self, select: exp.Select, scope: Scope, keys: GroupKeys, flat: Flattened) -> None:
        super().__init__(select)
        self._scope = scope
        self._groups = keys
        self._flat = flat
        self._aggregates = Aggregates(scope, flat.predicates)
        self._binder = ReleasedBinder(keys, self._aggregates)

    def query(self) -> BoundQuery:
        """The whole query; the select list first, so that its aggregates lead."""
        self._check_aggregates()
        outputs = [self.output(item) for item in self._select.expressions]
        having = self.condition("having", "HAVING")
        order = self.order(outputs)
        self._check_distinct(outputs)
        written = (key.written for key in self._groups.keys)
        check_beside_public(self._flat, written, self._aggregates.arguments)
        predicates = normal_form(self._flat.predicates)
        no_row = keeps_no_row(self._select) or any(one in (exp.false(), unknown()) for one in predicates)
        return BoundQuery(
            tables=tuple(self._scope.tables),
            predicates=predicates,
            semi_joins=tuple(self._flat.semi_joins),
            keys=tuple(self._groups.keys),
            aggregates=tuple(self._aggregates.found),
            outputs=tuple(outputs),
            having=having,
            order=order,
            limit=0 if self._groups.keys and no_row else row_count(self._select, "limit"),
            offset=row_count(self._select, "offset") or 0,
            owner_joins=tuple(self._flat.owner_joins),
        )

    def _check_aggregates(self) -> None:
        clauses = [*self._select.expressions, self._select.args.get("having"), self._select.args.get("order")]
        if not self._groups.keys and not any(clause is not None and holds(clause, exp.AggFunc) for clause in clauses):
            hint = "select COUNT(*) or SUM(expression)"
            position = position_of(self._select.expressions[0]) if self._select.expressions else None
            kind = NoRowAsked if keeps_no_row(self._select) else RowsNotShown
            raise kind("a query without an aggregate would show rows", hint=hint, position=position)

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
        if not all(KeyValue(index) in shown for index in range(len(self._groups.keys))):
            hint = "select every group key, or leave DISTINCT out"
            raise UnsupportedSQL(
                "DISTINCT over some of the group keys is not supported", hint=hint, position=position_of(clause)
            )
