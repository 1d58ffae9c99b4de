"""Binds a parsed SELECT: every name becomes a catalog entry, in a BoundQuery in normal form.

A row of SELECT DISTINCT may belong to several people, so such rows cannot be join tuples. If the outer SELECT only
counts distinct values, duplicates do not matter, and DISTINCT is dropped. And `count(*)` over the rows of one SELECT
DISTINCT counts distinct row values:

    SELECT count(DISTINCT a.who) FROM (SELECT DISTINCT who, day FROM visit) a JOIN patient p ON p.id = a.who
      --> SELECT count(DISTINCT a.who) FROM (SELECT who, day FROM visit) a JOIN patient p ON p.id = a.who
    SELECT count(*) FROM (SELECT DISTINCT who FROM visit) t
      --> SELECT count(DISTINCT (t.who)) FROM (SELECT who FROM visit) t
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType

from sqlglot import exp

from planner.binding.aggregates import Aggregates
from planner.binding.bound_query import BoundQuery
from planner.binding.conditions import absent_rows, required, without_unread
from planner.binding.derived_columns import is_star, meant_sql
from planner.binding.flattened import Flattened, check_connected
from planner.binding.from_clause import bind_rows, may_be_per_person
from planner.binding.group_keys import GroupKeys, distinct_as_groups
from planner.binding.limit_offset import row_count
from planner.binding.outer_joins import check_beside_public
from planner.binding.outer_select import OuterSelect, counts_all, inner_answer
from planner.binding.output_names import output_name
from planner.binding.placeholders import replace_clock
from planner.binding.released_select import ReleasedBinder, ReleasedClauses, check_released_moments
from planner.binding.scope import Scope, Tables
from planner.binding.semi_joins import with_chosen_rows
from planner.binding.set_operations import check_person_in, with_selects
from planner.errors import NoRowAsked, RowsNotShown, StatementTooComplex, UnsupportedSQL
from planner.expressions.predicates import unknown
from planner.limits import MAX_OUTPUTS
from planner.parsing.literal_rows import with_values
from planner.policy.policy import Policy, TablePolicy
from planner.released_expression import Display, KeyValue, Output
from planner.schema import Schema
from planner.sql.trees import aggregates, computes, copied, fold, named_sql, position_of, select_within
from planner.sql.zones import UTC

_LIMITING = ("limit", "offset", "fetch", "having", "qualify", "windows")


def without_duplicates(select: exp.Select) -> exp.Select:
    """Drop the DISTINCT and GROUP BY of subqueries in FROM that do not change the result.

    A lone list of groups by GROUP BY stays, since its groups are known without reading a row.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT count(DISTINCT t.who) FROM (SELECT DISTINCT who FROM visit) AS t JOIN day ON true"
    >>> without_duplicates(parse_one(sql)).sql()
    'SELECT COUNT(DISTINCT t.who) FROM (SELECT who FROM visit) AS t JOIN day ON TRUE'
    """
    if not any(_lists_once(body) for body in _bodies(select)):
        return select
    copy = copied(select)
    _count_rows_of_values(copy)
    calls = _calls(copy)
    grouped = copy.args.get("group") is not None
    if not (calls or grouped) or not all(isinstance(call.this, exp.Distinct) for call in calls):
        return select
    beside = any(body.args.get("group") is None for body in _sources(copy))
    for body in _bodies(copy):
        if _lists_once(body):
            part = "distinct" if body.args.get("distinct") is not None else "group"
            if part == "distinct" or beside:
                body.set(part, None)
    return copy


def _bodies(select: exp.Select) -> Iterator[exp.Select]:
    """Yield the SELECTs of FROM and WITH, recursively, down to those that limit or aggregate rows."""
    for body in _inside(select):
        yield body
        if not _is_limited(body):
            yield from _bodies(body)


def _inside(select: exp.Select) -> Iterator[exp.Select]:
    clause = select.args.get("with_")
    written = [entry.this for entry in (clause.expressions if clause is not None else [])]
    for item in _items(select):
        written += [item.this] if isinstance(item, exp.Subquery) else []
    yield from filter(None, (select_within(body, named=False) for body in written))


def _items(select: exp.Select) -> list[exp.Expr]:
    """List the items of FROM, through parentheses and the joins inside them."""
    clause = select.args.get("from_")
    waiting = [] if clause is None else [clause.this, *(join.this for join in select.args.get("joins") or [])]
    found: list[exp.Expr] = []
    while waiting:
        item = waiting.pop()
        waiting += [join.this for join in item.args.get("joins") or []]
        inner = item.this if isinstance(item, (exp.Subquery, exp.Paren)) else None
        if isinstance(inner, (exp.Table, exp.Paren)) or (isinstance(inner, exp.Subquery) and inner.args.get("alias")):
            waiting.append(inner)
        else:
            found.append(item)
    return found


def _is_limited(body: exp.Select) -> bool:
    """Does it limit or aggregate its rows?"""
    return any(body.args.get(part) for part in _LIMITING) or any(map(computes, body.expressions))


def _lists_once(body: exp.Select) -> bool:
    """Is it SELECT DISTINCT, or a GROUP BY that lists nothing but its keys?"""
    if _is_limited(body) or body.args.get("order") is not None:
        return False
    distinct, group = body.args.get("distinct"), body.args.get("group")
    if distinct is not None:
        return distinct.args.get("on") is None and group is None
    if group is None or any(value for part, value in group.args.items() if part != "expressions"):
        return False
    keys = [_key(key, body) for key in group.expressions]
    return all(item.unalias() in keys for item in body.expressions)


def _key(key: exp.Expr, body: exp.Select) -> exp.Expr:
    """Return the expression that an item of GROUP BY names, itself or by position."""
    items = body.expressions
    if isinstance(key, exp.Literal) and key.name.isdecimal() and 0 < int(key.name[:4]) <= len(items):
        chosen: exp.Expr = items[int(key.name[:4]) - 1].unalias()
        return chosen
    return key


def _sources(select: exp.Select) -> Iterator[exp.Select]:
    """Yield the SELECT behind each item of FROM; for a table, a SELECT of all its rows."""
    clause = select.args.get("with_")
    named = [] if clause is None else [(one.args["alias"], one.this) for one in clause.expressions]
    entries = {fold(alias.this): body for alias, body in named if not alias.args.get("columns")}
    for item in _items(select):
        body: exp.Expr | None = item.this if isinstance(item, exp.Subquery) else None
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) and item.args.get("db") is None:
            body = entries.get(fold(item.this))
        yield (None if body is None else select_within(body, named=False)) or exp.Select()


def _calls(select: exp.Select) -> list[exp.Expr]:
    """List the aggregates of a SELECT, without their FILTER."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    found = [call for clause in clauses if clause is not None for call in aggregates(clause)]
    return [call.this if isinstance(call, exp.Filter) else call for call in found]


def _count_rows_of_values(select: exp.Select) -> None:
    """Write count(*) over one SELECT DISTINCT as a count of distinct row values, in place."""
    items = _items(select)
    sources = list(_sources(select))
    if len(items) != 1 or not _lists_once(sources[0]) or sources[0].args.get("distinct") is None:
        return
    alias = items[0].args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return
    name = alias.this if alias is not None else items[0].this
    listed = sources[0].expressions
    names = [output_name(one) for one in listed]
    plain = all(isinstance(one, (exp.Alias, exp.Column)) and not one.is_star for one in listed)
    if not plain or len(set(names)) < len(names) or not isinstance(name, exp.Identifier):
        return
    for call in _calls(select):
        if not counts_all(call):
            continue
        columns = [exp.Column(this=exp.to_identifier(one, quoted=True), table=copied(name)) for one in names]
        for column in columns:
            column.meta.update(call.meta)
        values = exp.Distinct(expressions=[exp.Tuple(expressions=columns)])
        values.meta.update(call.meta)
        call.set("this", values)


def bind(
    select: exp.Select,
    schema: Schema,
    policy: Policy,
    now: datetime | None = None,
    search_path: Sequence[str] | None = None,
    zone: str = UTC,
) -> BoundQuery:
    """Resolve every name of a SELECT and flatten its joins into the normal form. The SELECT is not changed.

    Args:
      now: the time of now(), snapped here to the policy's grain; None refuses now().
      search_path: where tables without a schema are looked up; None for the policy's schemas.
      zone: the session's time zone, which becomes part of the question.
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
    select = with_selects(with_values(select))
    if len(select.expressions) > MAX_OUTPUTS:
        raise StatementTooComplex(f"more than {MAX_OUTPUTS} columns", at=select.expressions[-1])
    inner = inner_answer(select)
    if inner is not None and not may_be_per_person(inner, schema, policy, search_path):
        check_person_in(inner)
        outer = OuterSelect(select, _bind(inner, schema, policy, search_path, zone, proved))
        if outer.keeps_rows():
            return outer.query()
        if outer.counts_rows():
            return outer.count()
    select = without_duplicates(distinct_as_groups(select))
    flat = Flattened(Tables(schema, policy, search_path, proved, zone))
    scope = bind_rows(select, flat, {})
    check_connected(flat)
    select = _with_named_columns(select, scope)
    keys = GroupKeys(select, scope, flat.predicates)
    return _Answer(select, scope, keys, flat).query()


def _with_named_columns(select: exp.Select, scope: Scope) -> exp.Select:
    """Write the columns of `*` beside GROUP BY, which must be keys like any other column."""
    if select.args.get("group") is None or not any(map(is_star, select.expressions)):
        return select
    items: list[exp.Expr] = []
    for item in select.expressions:
        items += (
            [named_sql(meant_sql(meaning), name) for name, meaning in scope.star(item) if meaning is not None]
            if is_star(item)
            else [item]
        )
    named = copied(select)
    named.set("expressions", items)
    return named


class _Answer(ReleasedClauses):
    """The clauses of a SELECT over released rows: select list, HAVING and ORDER BY."""

    def __init__(self, select: exp.Select, scope: Scope, keys: GroupKeys, flat: Flattened) -> None:
        self._aggregates = Aggregates(scope, flat.predicates)
        binder = ReleasedBinder(keys, self._aggregates)
        super().__init__(select, lambda node: binder.bind(scope.bind(node)))
        self._scope = scope
        self._groups = keys
        self._flat = flat
        never = any(one in (exp.false(), unknown()) for one in flat.predicates)
        self._keeps_no_row = never or row_count(select, "limit") == 0

    def query(self) -> BoundQuery:
        """Bind the whole query; the select list comes first, so its aggregates do too."""
        self._check_aggregates()
        outputs = [self.output(item) for item in self._select.expressions]
        having = self.condition("having")
        order = self.order(outputs)
        self._check_distinct(outputs)
        written = (key.written for key in self._groups.keys)
        check_beside_public(self._flat, written, self._aggregates.arguments)
        tables, predicates = required(self._scope.tables, self._flat.predicates)
        read = [*self._read()]
        tables, predicates, absent = absent_rows(without_unread(tables, predicates, read), predicates, read)
        query = BoundQuery(
            tables=tables,
            predicates=predicates,
            semi_joins=(*self._flat.semi_joins, *absent),
            keys=tuple(self._groups.keys),
            aggregates=tuple(self._aggregates.found),
            display=Display(
                tuple(outputs),
                having,
                order,
                limit=0 if self._groups.keys and self._keeps_no_row else row_count(self._select, "limit"),
                offset=row_count(self._select, "offset") or 0,
            ),
            owner_joins=tuple(self._flat.owner_joins),
        )
        return with_chosen_rows(query, self._flat.tables)

    def _read(self) -> Iterator[exp.Expr]:
        """Yield what the question reads of its tuples, apart from conditions of its joins."""
        yield from (condition for one in self._flat.semi_joins for condition in one.predicates)
        yield from (key.value for key in self._groups.keys)
        for one in self._aggregates.found:
            yield from (tree for tree in (one.argument, one.added, one.condition) if tree is not None)

    def _check_aggregates(self) -> None:
        clauses = [*self._select.expressions, self._select.args.get("having"), self._select.args.get("order")]
        if not self._groups.keys and not any(
            True for clause in clauses if clause is not None for _ in aggregates(clause)
        ):
            hint = "select COUNT(*) or SUM(expression)"
            position = position_of(self._select.expressions[0]) if self._select.expressions else None
            kind = NoRowAsked if self._keeps_no_row else RowsNotShown
            raise kind("a query without an aggregate would show rows", hint=hint, position=position)

    def _check_distinct(self, outputs: list[Output]) -> None:
        """Refuse SELECT DISTINCT over groups, unless it shows every key or there is one row."""
        clause = self._select.args.get("distinct")
        if clause is None:
            return
        shown = {output.expression for output in outputs}
        if clause.args.get("on") is not None:
            raise UnsupportedSQL("DISTINCT ON is not supported", at=clause)
        if not all(KeyValue(index) in shown for index in range(len(self._groups.keys))):
            hint = "select every group key, or leave DISTINCT out"
            raise UnsupportedSQL("SELECT DISTINCT without every group key is not supported", hint=hint, at=clause)
