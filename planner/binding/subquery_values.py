"""Binds subqueries that are values: scalar subqueries, and EXISTS and IN elsewhere than in the AND of WHERE.

Each becomes optional rows beside the tuple, so the proofs about LEFT JOIN and about per-person subqueries apply:

    WHERE c.plan = 'pro' OR EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.freight > 9)
      --> LEFT JOIN (SELECT o.customer_id AS k1 FROM orders o WHERE o.freight > 9 GROUP BY 1) s ON s.k1 = c.id
          WHERE c.plan = 'pro' OR s.k1 IS NOT NULL

    (SELECT count(*) FROM orders o WHERE o.customer_id = c.id)
      --> LEFT JOIN (SELECT o.customer_id AS k1, count(*) AS a1 FROM orders o GROUP BY 1) s ON s.k1 = c.id
          and COALESCE(s.a1, 0)

    (SELECT region FROM states s WHERE s.state = p.state)
      --> LEFT JOIN states s ON s.state = p.state
          and s.region

    (SELECT count(*) FROM visit v WHERE v.patient = w.patient AND v.day < w.day)
      --> LEFT JOIN (SELECT b.id AS k1, count(*) AS a1 FROM visit v, visit b
                     WHERE v.patient = b.patient AND v.day < b.day GROUP BY 1) s ON s.k1 = w.id
          and COALESCE(s.a1, 0)

Each value is that of the subquery. Let p be a tuple. The join equates all keys of the groups, so p finds at most one
group: that of the rows that pass beside p. If it finds none, no row passes beside p. Other conditions than equalities
read a copy of the row of p, found by its key. Without a condition on p there is one group, of public tables only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from planner.binding.bound_query import BoundTable
from planner.binding.conditions import is_null, is_strict
from planner.binding.derived_columns import (
    AGGREGATE_INSIDE,
    EQUATE_THE_OWNER,
    GROUPS_WITHOUT_OWNER,
    OF_OTHERS,
    project,
)
from planner.binding.scope import AGAIN, Scope, Source
from planner.errors import InvalidSyntax, PlannerError, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.expressions.bind_scalar import bind_predicate
from planner.expressions.predicates import conjuncts, unknown
from planner.sql.trees import (
    LEAVES,
    MIRRORED,
    ColumnRef,
    aggregates,
    around,
    bound_column,
    column_ref,
    columns_of,
    conjunction,
    copied,
    holds,
    named_sql,
    own_name,
    position_of,
    rebuilt,
    select_within,
)

Pair = tuple[exp.Expr, exp.Expr]
"""An expression over the rows of a subquery, and the one beside the tuple that it equals."""

_GROUPED = ("group", "having", "limit", "offset", "fetch")
_REFUSED = ("with_", "limit", "offset", "fetch")
_ROWS, _COPY = "rows", "beside"
_MAY_BE_NULL = "its key may be NULL: write NOT EXISTS (SELECT 1 FROM t WHERE t.key = x)"


class Beside(Protocol):
    """The FROM that a subquery's rows are joined to."""

    scope: Scope

    def names_of(self, select: exp.Select) -> Scope:
        """The names of a SELECT's own FROM, whose tables are entered nowhere."""

    def rows(self, select: exp.Select) -> tuple[Scope, list[exp.Expr]]:
        """Enter the tables of a SELECT, which sees the names around it; returns its names and its conditions."""

    def groups(self, subquery: exp.Subquery) -> tuple[Source, list[exp.Expr]]:
        """Enter a subquery of FROM; returns its columns, and its conditions on them."""

    def join(self, source: Source, conditions: list[exp.Expr], node: exp.Expr, label: str, *, needed: bool) -> None:
        """Join the table of an item on conditions, for a construct. Tuples without it stay unless it is `needed`."""


@dataclass(frozen=True)
class SubqueryValues:
    """The subqueries in the expressions over one FROM, with the value of each so far."""

    beside: Beside
    found: dict[tuple[exp.Expr, bool], exp.Expr] = field(default_factory=dict)

    def value(self, node: exp.Expr) -> exp.Expr:
        """Bind a subquery to an expression over bound columns. Equal subqueries are one.

        Raises: UnsupportedSQL; InvalidSyntax; name errors.
        """
        key = node, isinstance(node, exp.In) and _need_be_true(node)
        if key not in self.found:
            self.found[key] = self._value(node)
        return copied(self.found[key])

    @property
    def _scope(self) -> Scope:
        return self.beside.scope

    def _value(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Exists):
            return self._exists(self._rows(node.this, node))
        if isinstance(node, exp.In):
            return self._member(node)
        rows = self._rows(node, node)
        if len(rows.body.expressions) != 1 or rows.body.expressions[0].is_star:
            raise InvalidSyntax("a subquery that is a value must have one column", at=node)
        return self._aggregated(rows)[0] if _aggregates(rows.body) else self._column(rows)

    def _rows(self, written: exp.Expr, node: exp.Expr, members: Sequence[Pair] = ()) -> _Rows:
        """Sort the conditions of a subquery. Raises: UnsupportedSQL."""
        body, label = select_within(written), _label(node)
        if body is None or body.args.get("from_") is None:
            raise UnsupportedSQL("this kind of subquery is not supported", hint="write SELECT ... FROM", at=node)
        refused = next((part for part in _REFUSED if body.args.get(part)), None)
        if refused is not None or (body.args.get("having") and not body.args.get("group")):
            name = "HAVING" if refused is None else "WITH" if refused == "with_" else refused.upper()
            hint = "select max(x) or min(x), or rows by a condition"
            raise UnsupportedSQL(f"{name} inside {label} is not supported", hint=hint, at=node)
        alone = exp.Select(expressions=[exp.Star()], from_=copied(body.args["from_"]))
        alone.set("joins", [copied(join) for join in body.args.get("joins") or []])
        rows = _Rows(node, body, self.beside.names_of(alone))
        for item, value in members:
            if columns_of(item):
                rows.pairs.append((item, value))
            else:
                rows.correlated.append(exp.EQ(this=copied(item), expression=copied(value)))
        where = body.args.get("where")
        for condition in conjuncts(where.this) if where is not None else ():
            rows.sort(condition)
        return rows

    def _member(self, node: exp.In) -> exp.Expr:
        """Bind `x IN (SELECT k ...)`: true if a k is x, else unknown if x or a k is NULL and a row is there."""
        body, beside = select_within(node.args["query"]), node.this.unnest()
        values = beside.expressions if isinstance(beside, exp.Tuple) else [node.this]
        if body is None:
            raise UnsupportedSQL("this kind of subquery is not supported", hint="write SELECT ... FROM", at=node)
        if len(body.expressions) != len(values) or any(item.is_star for item in body.expressions):
            raise InvalidSyntax("IN needs a subquery with as many columns as values", at=node)
        if any(map(body.args.get, _GROUPED)) or _aggregates(body):
            body = _of_rows(body)
        bound = [self._scope.bind(value) for value in values]
        members = [(item.unalias(), value) for item, value in zip(body.expressions, bound, strict=True)]
        rows = self._rows(body, node, members)
        found = self._exists(rows)
        never = all(is_null(one, self._scope) is None for one in bound)
        if _need_be_true(node) or (never and not any(rows.may_be_null(item) for item, _ in members)):
            return found
        counted = copied(body)
        counted.set("expressions", [exp.Count(this=one, big_int=True) for one in (exp.Star(), copied(members[0][0]))])
        try:
            every, known = self._aggregated(self._rows(counted, node))
        except UnsupportedSQL:
            raise UnsupportedSQL(OF_OTHERS.format("NOT IN"), hint=_MAY_BE_NULL, at=node) from None
        if len(values) > 1:
            raise UnsupportedSQL("NOT IN of rows that may be NULL is not supported", hint=_MAY_BE_NULL, at=node)
        null = exp.or_(_missing(bound[0]), exp.LT(this=known, expression=every))
        some = exp.GT(this=copied(every), expression=exp.Literal.number(0))
        return exp.Paren(this=exp.or_(found, exp.and_(some, null, unknown())))

    def _exists(self, rows: _Rows) -> exp.Expr:
        if _aggregates(rows.body) and rows.body.args.get("group") is None:
            hint = "select plain rows inside it"
            raise UnsupportedSQL(f"an aggregate inside {_label(rows.node)} is not supported", hint=hint, at=rows.node)
        alone = not rows.around
        calls = [exp.Count(this=exp.Star(), big_int=True)] if alone else []
        source, keys = self._groups(rows, calls)
        some = exp.GT(this=_bound(source, "a1"), expression=exp.Literal.number(0)) if alone else _is_there(keys[0])
        return exp.Paren(this=some)

    def _column(self, rows: _Rows) -> exp.Expr:
        """The column of the one row that a key finds, or else of the only row that there is."""
        if rows.body.args.get("group") is not None:
            raise rows.several()
        if not rows.inside.tables and not (rows.own or rows.around):  # a row of constants
            return self.beside.rows(rows.body)[0].bind(rows.body.expressions[0].unalias())
        if rows.body.args.get("distinct") is not None or not rows.is_one:
            return self._only(rows)
        inside, conditions = self.beside.rows(rows.body)
        ((_, meant),) = project(rows.body, inside)
        entries, known = inside.entries(inside.sources), _pinned(conditions)
        keys = entries[0].table.keys if len(entries) == 1 else ()
        key = next((key for key in keys if key and all((entries[0].alias, name) in known for name in key)), None)
        if key is None:
            raise rows.several()
        value = _marked(*meant) if isinstance(meant, tuple) else meant
        assert value is not None, "what a select list shows means something"
        node = rows.node
        self.beside.join(inside.sources[0], conditions, node, _label(node), needed=_is_compared(node))
        if is_strict(value):
            return value
        return exp.Paren(this=exp.Case().when(_is_there(_marked(entries[0].alias, key[0])), value, copy=False))

    def _only(self, rows: _Rows) -> exp.Expr:
        """The value of the only row, or with DISTINCT of all rows; NULL where PostgreSQL fails, as there are more."""
        body = copied(rows.body)
        distinct, item = body.args.get("distinct") is not None, body.expressions[0].unalias()
        every, least = exp.Count(this=exp.Star(), big_int=True), exp.Min(this=copied(item))
        one: exp.Expr = exp.EQ(this=every, expression=exp.Literal.number(1))
        if distinct:
            one = exp.EQ(this=every, expression=exp.Count(this=copied(item), big_int=True))
            one = exp.and_(one, exp.EQ(this=copied(least), expression=exp.Max(this=copied(item))))
        body.set("distinct", None)
        body.set("expressions", [exp.Case().when(one, least, copy=False)])
        try:
            return self._aggregated(replace(rows, body=body))[0]
        except UnsupportedSQL as refusal:
            if refusal.message.startswith("MIN of"):
                raise rows.several() from None
            raise

    def _aggregated(self, rows: _Rows) -> list[exp.Expr]:
        """The items of a SELECT that aggregates the rows beside the tuple; a count of no rows is zero."""
        calls = _aggregates(rows.body)
        source, keys = self._groups(rows, calls)
        read: dict[int, exp.Expr] = {}
        for place, call in enumerate(calls, 1):
            read[id(call)] = _bound(source, f"a{place}")
            counts = isinstance(call.this if isinstance(call, exp.Filter) else call, exp.Count)
            if counts and keys and rows.body.args.get("group") is None:
                read[id(call)] = exp.Coalesce(this=read[id(call)], expressions=[exp.Literal.number(0)])
        return [self._scope.bind(_with(item.unalias(), read)) for item in rows.body.expressions]

    def _groups(self, rows: _Rows, calls: Sequence[exp.Expr]) -> tuple[Source, list[exp.Column]]:
        """Enter a subquery's groups by what equals the tuple's columns; return them and their keys."""
        body, label = rows.body, _label(rows.node)
        rows.check_groups()
        pairs, joined = rows.pairs, body.args.get("joins") or []
        own = [*rows.own, *(_is_there(row) for row, _ in pairs if rows.may_be_null(row))]  # no such row passes
        if rows.correlated:
            pairs, copy = self._copied_row(rows)
            own, joined = [*own, *copy.meta[_COPY]], [*joined, exp.Join(this=copy)]
        select = exp.Select(**{part: copied(body.args[part]) for part in ("from_", "having") if body.args.get(part)})
        select.set("joins", [copied(join) for join in joined])
        if own:
            select.set("where", exp.Where(this=conjunction(map(copied, own))))
        shown = [(row, f"k{place}") for place, (row, _) in enumerate(pairs, 1)]
        shown += [(call, f"a{place}") for place, call in enumerate(calls, 1)]
        select.set("expressions", [named_sql(copied(one), name) for one, name in shown])
        if pairs:
            select.set("group", exp.Group(expressions=[copied(row) for row, _ in pairs]))
        select.meta.update(body.meta)
        try:
            source, conditions = self.beside.groups(_as_rows(select))
        except (UnknownColumn, UnknownTable) as unknown_name:
            if self._is_around(own, unknown_name.position):
                hint = "compare the column in this subquery, and not in the one inside it"
                message = f"a subquery inside {label} that reads the rows around both is not supported"
                raise UnsupportedSQL(message, hint=hint, position=unknown_name.position) from None
            raise
        except UnsupportedSQL as refusal:
            if refusal.message not in (*GROUPS_WITHOUT_OWNER, AGGREGATE_INSIDE):
                raise
            hint = EQUATE_THE_OWNER if pairs else "ask for it alone first, and write its value as a literal"
            raise UnsupportedSQL(OF_OTHERS.format(label), hint=hint, at=rows.node) from None
        keys = [_bound(source, f"k{place}") for place in range(1, len(pairs) + 1)]
        for key, (_, beside) in zip(keys, pairs, strict=True):
            equal = exp.EQ(this=key, expression=exp.Paren(this=self._scope.bind(beside)))
            conditions.append(bind_predicate(equal, self._scope))
        if not {column_ref(key) for key in keys} <= _pinned(conditions):
            hint = "cast the column beside it to the type of the subquery's"
            message = f"{label} that compares columns of two types is not supported"
            raise UnsupportedSQL(message, hint=hint, at=rows.node)
        if keys:
            self.beside.join(source, conditions, rows.node, label, needed=False)
        return source, keys

    def _is_around(self, conditions: Sequence[exp.Expr], position: int | None) -> bool:
        """Is the name at this position one of the SELECT around the subquery?"""
        found = [column for one in conditions for column in columns_of(one) if position_of(column) == position]
        try:
            return any(self._scope.resolve(column) is not None for column in found)
        except PlannerError:
            return False

    def _copied_row(self, rows: _Rows) -> tuple[list[Pair], exp.Subquery]:
        """Return the key of the tuple's row that conditions read, and a subquery of its copy, with the conditions.

        Raises: UnsupportedSQL unless they read columns of one table with a key.
        """
        outer = [column for one in rows.around for column in columns_of(one) if not rows.is_own(column)]
        meant = [self._scope.resolve(column) for column in outer]
        bases = [column for value in meant for column in columns_of(value)]
        entry = next((one for one in self._scope.tables if {one.alias} == {column.table for column in bases}), None)
        key = None if entry is None or entry.outer is not None else _key(entry)
        if entry is None or key is None:
            hint = "join the tables in a subquery of FROM that groups by the key"
            if isinstance(rows.node, (exp.Exists, exp.In)):
                hint = "write it as a condition of WHERE, joined by AND"
            message = f"this condition on the rows around {_label(rows.node)} is not supported"
            position = position_of(rows.correlated[0]) or position_of(rows.node)
            raise UnsupportedSQL(message, hint=hint, position=position)
        table = exp.Table(this=own_name(entry.table.relation), db=own_name(entry.table.namespace))
        table.meta[AGAIN] = entry
        names = dict.fromkeys([*key, *(column.name for column in bases)])
        columns = [named_sql(exp.column(exp.to_identifier(name, quoted=True)), f"{_COPY} {name}") for name in names]
        select = exp.Select(expressions=columns, from_=exp.From(this=table))
        copy = exp.Subquery(this=select, alias=exp.TableAlias(this=own_name(_COPY)))
        copies = {id(column): _beside(column.name) for column in bases}
        read = {id(one): exp.Paren(this=_with(value, copies)) for one, value in zip(outer, meant, strict=True)}
        copy.meta[_COPY] = [_with(condition, read) for condition in rows.around]
        return [(_beside(name), _marked(entry.alias, name)) for name in key], copy


@dataclass(frozen=True)
class _Rows:
    """The rows of a subquery.

    Attributes:
      node: the subquery, EXISTS or IN.
      inside: the names of its own FROM.
      own: the conditions on its rows alone.
      pairs: what its rows have equal to the tuple.
      correlated: other conditions that read the tuple.
    """

    node: exp.Expr
    body: exp.Select
    inside: Scope
    own: list[exp.Expr] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    correlated: list[exp.Expr] = field(default_factory=list)

    @property
    def around(self) -> list[exp.Expr]:
        """The conditions that read the tuple."""
        return [*(exp.EQ(this=row, expression=beside) for row, beside in self.pairs), *self.correlated]

    def sort(self, condition: exp.Expr) -> None:
        """Enter a condition of WHERE."""
        compared = condition.unnest()
        if holds(compared, exp.Query) or all(map(self.is_own, columns_of(compared))):
            self.own.append(condition)
            return
        sides = [compared.this, compared.expression] if isinstance(compared, exp.EQ) else []
        mine = [{self.is_own(column) for column in columns_of(side)} for side in sides]
        if mine == [{True}, {False}]:
            self.pairs.append((sides[0], sides[1]))
        elif mine == [{False}, {True}]:
            self.pairs.append((sides[1], sides[0]))
        else:
            self.correlated.append(condition)

    def is_own(self, column: exp.Column) -> bool:
        """Does a name mean a column of its own FROM?"""
        if column.meta.get("bound"):
            return False
        try:
            self.inside.resolve(column)
        except (UnknownColumn, UnknownTable):
            return False
        return True

    @property
    def is_one(self) -> bool:
        """Do conditions fix a key of its only table, so that at most one row passes?"""
        equal = [(one.this, one.expression) for one in self.own if isinstance(one, exp.EQ)]
        equal += [sides[::-1] for sides in equal]
        fixed = [row.unnest() for row, _ in self.pairs]
        fixed += [side.unnest() for side, other in equal if not columns_of(other)]
        held = {self.inside.resolve(column).name for column in fixed if isinstance(column, exp.Column)}
        entries = self.inside.tables
        return len(entries) == 1 and any(key and held.issuperset(key) for key in entries[0].table.keys)

    def may_be_null(self, item: exp.Expr) -> bool:
        """May a value of the rows be NULL?"""
        there = (_is_there(item), exp.Not(this=exp.Is(this=item, expression=exp.Null())))
        listed = any(one.unnest() in there for one in self.own)
        return not listed and is_null(self.inside.bind(item), self.inside) is not None

    def check_groups(self) -> None:
        """Refuse groups of which several could pass beside one tuple. Raises: UnsupportedSQL."""
        group = self.body.args.get("group")
        if group is None:
            return
        fixed = [self.inside.bind(row) for row, _ in self.pairs]
        if len(group.args) != 1 or not all(self.inside.bind(key) in fixed for key in group.expressions):
            raise self.several()

    def several(self) -> UnsupportedSQL:
        """The refusal of a subquery that may have several rows."""
        hint = "select max(x) or min(x), or one row by its key; or write IN (SELECT ...) to match any row"
        message = f"{_label(self.node)} that may have several rows is not supported"
        return UnsupportedSQL(message, hint=hint, at=self.node)


def _pinned(conditions: Sequence[exp.Expr]) -> set[ColumnRef]:
    """The columns that equal a value which does not depend on their own table's row."""
    found = set()
    for condition in conditions:
        if isinstance(condition, exp.EQ):
            sides = condition.this.unnest(), condition.expression.unnest()
            for column, value in (sides, sides[::-1]):
                if isinstance(column, exp.Column) and all(one.table != column.table for one in columns_of(value)):
                    found.add(column_ref(column))
    return found


def _key(entry: BoundTable) -> tuple[str, ...] | None:
    """Columns that identify a row: a key without NULL; the group keys of a per-person subquery."""
    if entry.person is not None:
        grouped = tuple(column.column.name for column in entry.person.columns if column.is_key)
        return grouped if grouped and entry.person.partitions is None else None
    never = {column.name for column in entry.table.columns if not column.nullable}
    keys = [entry.table.primary_key, *entry.table.keys]
    return next((key for key in keys if key and never.issuperset(key)), None)


def _marked(alias: str, name: str) -> exp.Column:
    column = bound_column(alias, name)
    column.meta["bound"] = True
    return column


def _bound(source: Source, name: str) -> exp.Column:
    meant = source.columns[name]
    meant = meant.unnest() if isinstance(meant, exp.Paren) else meant  # a key in parentheses keeps them
    assert isinstance(meant, exp.Column), "a column of groups"
    return _marked(*column_ref(meant))


def _beside(name: str) -> exp.Column:
    """A column of the copied row, under a name that no table has."""
    return exp.column(exp.to_identifier(f"{_COPY} {name}", quoted=True), exp.to_identifier(_COPY, quoted=True))


def _is_there(value: exp.Expr) -> exp.Is:
    return exp.Is(this=copied(value), expression=exp.Null(), negate=True)


def _missing(value: exp.Expr) -> exp.Is:
    return exp.Is(this=exp.Paren(this=copied(value)), expression=exp.Null())


def _label(node: exp.Expr) -> str:
    return "EXISTS" if isinstance(node, exp.Exists) else "IN" if isinstance(node, exp.In) else "a scalar subquery"


def _aggregates(body: exp.Select) -> list[exp.Expr]:
    return [call for item in body.expressions for call in aggregates(item.unalias())]


def _as_rows(select: exp.Select, columns: Sequence[exp.Identifier] = ()) -> exp.Subquery:
    name = exp.to_identifier(_ROWS, quoted=True)
    return exp.Subquery(this=select, alias=exp.TableAlias(this=name, columns=list(columns)))


def _of_rows(body: exp.Select) -> exp.Select:
    """Return `SELECT rows.v1, ... FROM (body) AS rows(v1, ...)`."""
    names = [f"v{place}" for place in range(1, len(body.expressions) + 1)]
    made = exp.Select(
        expressions=[exp.column(exp.to_identifier(name, quoted=True), _ROWS, quoted=True) for name in names]
    )
    inner = _as_rows(copied(body), [exp.to_identifier(name, quoted=True) for name in names])
    made.set("from_", exp.From(this=inner))
    return made


def _need_be_true(node: exp.Expr) -> bool:
    """Is a condition only asked whether it is true, so that NULL means the same as false?"""
    below, above = node, node.parent
    while isinstance(above, (exp.Paren, exp.And, exp.Or)):
        below, above = above, above.parent
    if isinstance(above, exp.If):
        return above.this is below and isinstance(above.parent, exp.Case) and above.parent.this is None
    return isinstance(above, (exp.Where, exp.Join))


def _is_compared(node: exp.Expr) -> bool:
    """Is it a side of a comparison that WHERE joins by AND, so that a tuple without a value does not pass?"""
    above = around(node, exp.Paren)
    if above is None or type(above) not in MIRRORED:
        return False
    where = around(above, exp.Paren, exp.And)
    return isinstance(where, exp.Where) and isinstance(where.parent, exp.Select)


def _with(tree: exp.Expr, read: Mapping[int, exp.Expr]) -> exp.Expr:
    """Copy a tree with some nodes, found by identity, replaced."""
    if id(tree) in read:
        return copied(read[id(tree)])
    return tree if type(tree) in LEAVES else rebuilt(tree, lambda part: _with(part, read))
