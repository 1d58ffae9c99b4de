"""Binds subqueries with window functions over the rows of one person each, and SELECT DISTINCT ON.

    SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY person ORDER BY day) AS n FROM visit) v WHERE n = 1
      table  SELECT person AS k1, row_number() OVER (PARTITION BY person ORDER BY day, visit_id) AS a2 FROM visit
      v      SELECT a2 AS n FROM table

Columns and window functions of the select list become the columns of a table, one row for each row of the join; the
select list becomes expressions over it. `planner.planning.person_tables` proves that each partition holds rows of one
person only, and orders rows that ORDER BY leaves equal: by their key, or by all that is read of them. Without that,
the database would choose their order by what else it stores, other people's rows included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import PersonColumn
from planner.binding.derived_columns import refuse_clauses
from planner.binding.output_names import output_name
from planner.binding.person_tables import MOST_ROWS, OwnRows
from planner.binding.scope import Scope, Tables
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.expressions.bind_scalar import bind_scalar
from planner.expressions.datetimes import bounded_moment
from planner.parsing.postgres_parser import LABEL
from planner.policy.policy import ColumnPolicy
from planner.sql.literals import interval_of
from planner.sql.sql_types import Family
from planner.sql.trees import (
    LEAVES,
    aggregates,
    bound_column,
    children,
    copied,
    fold,
    holds,
    nodes,
    position_of,
    rebuilt,
    select_within,
)

_RANKS: Mapping[type[exp.Expr], bool] = {exp.RowNumber: True, exp.Ntile: True, exp.Rank: False, exp.DenseRank: False}
"""Whole numbers from one: do they depend on the order of equal rows?"""

_SHARES = (exp.PercentRank, exp.CumeDist)
_BESIDE = (exp.Lag, exp.Lead)
_IN_FRAME = (exp.FirstValue, exp.LastValue, exp.NthValue)
_ORDERED = frozenset({Family.TEXT, Family.BOOL, Family.ENUM})
_MOST_TIME = {
    "DAY": 40_000,
    "WEEK": 5_000,
    "HOUR": 10**6,
    "MINUTE": 10**7,
    "SECOND": 10**9,
    "MONTH": 1_200,
    "YEAR": 100,
}
"""The most of each unit in a frame, which no moment of the years 1 to 9999 leaves the database's years by."""

_PARTED = _ORDERED | {Family.CHAR, Family.UUID}
_MOST_OFFSET = 1 << 20
_WHOLE_FRAME = ("UNBOUNDED", "PRECEDING", "UNBOUNDED", "FOLLOWING")
_PARTS = ("partition_by", "order", "spec")
_TO_HERE = ("UNBOUNDED", "PRECEDING", "CURRENT ROW", None)


def windows_apart(body: exp.Expr) -> exp.Expr:
    """Write windows beside GROUP BY over a subquery with the groups, and those beside DISTINCT inside one.

    >>> from sqlglot import parse_one
    >>> windows_apart(parse_one("SELECT rank() OVER (ORDER BY sum(x)) AS r FROM t GROUP BY a")).sql()
    'SELECT RANK() OVER (ORDER BY "c1") AS "r" FROM (SELECT SUM(x) AS "c1" FROM t GROUP BY a) AS "rows"'
    """
    select = select_within(body)
    if select is None or not any(map(_has_window, select.expressions)):
        return body
    if select.args.get("windows"):
        body = select = _with_windows(select)
    distinct, group = select.args.get("distinct"), select.args.get("group")
    starred = any(one.is_star for one in select.expressions)
    if starred or (distinct is None) == (group is None) or first_rows(select) is not None:
        return body
    inner, items = copied(select), []
    inner.set("expressions", [])
    inner.set("distinct", None)

    def below(part: exp.Expr) -> exp.Expr:
        """Select a part of the list inside, and read it."""
        name = f"c{len(inner.expressions) + 1}"
        inner.append("expressions", exp.alias_(copied(part), name, quoted=True))
        return _at(exp.column(name, quoted=True), part)

    for item in select.expressions:
        called = {id(call) for call in aggregates(item)}

        def beside(part: exp.Expr, called: set[int] = called) -> exp.Expr:
            if isinstance(part, exp.Column) or id(part) in called:
                return below(part)
            return part if type(part) in LEAVES else rebuilt(part, beside)

        value = item.unalias()
        value = beside(value) if group is not None and _has_window(value) else below(value)
        items.append(exp.alias_(value, output_name(item), quoted=True))
    if group is not None:
        inner.set("group", exp.Group(expressions=[meant(key, select) for key in group.expressions]))
    alias = exp.TableAlias(this=exp.to_identifier("rows", quoted=True))
    outer = exp.Select(expressions=items, from_=exp.From(this=exp.Subquery(this=inner, alias=alias)))
    if distinct is not None:
        outer.set("distinct", copied(distinct))
    return outer


def _with_windows(select: exp.Select) -> exp.Select:
    """Write the windows of WINDOW at each function. Raises: UnsupportedSQL if one builds on another."""
    made = copied(select)
    windows = {fold(one.this): one for one in made.args["windows"]}

    def written(node: exp.Expr) -> exp.Expr:
        name = node.args.get("alias") if isinstance(node, exp.Window) else None
        if name is None:
            return node if type(node) in LEAVES or isinstance(node, exp.Query) else rebuilt(node, written)
        named = windows.get(fold(name))
        if (
            named is None
            or named.args.get("alias")
            or any(node.args.get(one) and named.args.get(one) for one in _PARTS)
        ):
            message = "this use of a named window is not supported"
            raise UnsupportedSQL(message, hint="write the window at each function, as OVER (...)", at=name)
        parts = {part: node.args.get(part) or named.args.get(part) for part in _PARTS}
        return copied(exp.Window(this=node.this, over="OVER", **parts))

    made.set("expressions", list(map(written, made.expressions)))
    made.set("windows", None)
    return made


def _at(column: exp.Column, part: exp.Expr) -> exp.Column:
    """Let a column have the position of what it stands for."""
    position = position_of(part)
    if position is not None:
        column.meta["start"] = position - 1
    return column


def meant(value: exp.Expr, select: exp.Select) -> exp.Expr:
    """Copy an item of GROUP BY or ORDER BY, or what its place or alias in the select list stands for."""
    items = select.expressions
    if isinstance(value, exp.Literal) and value.name.isdecimal() and 0 < int(value.name[:4]) <= len(items):
        value = items[int(value.name[:4]) - 1].unalias()
    elif isinstance(value, exp.Column) and value.args.get("table") is None:
        named = (
            item.this
            for item in items
            if isinstance(item, exp.Alias) and fold(item.args["alias"]) == fold(value.this)
        )
        value = next(named, value)
    return copied(value)


def windowed_select(body: exp.Expr) -> exp.Select | None:
    """Return the SELECT of a subquery that computes window functions over its rows, or keeps the first of each."""
    select = select_within(body)
    if select is None or select.args.get("group") or any(True for one in select.expressions for _ in aggregates(one)):
        return None
    return select if first_rows(select) is not None or any(map(_has_window, select.expressions)) else None


def first_rows(select: exp.Select) -> list[exp.Expr] | None:
    """Return the expressions of DISTINCT ON; None without one."""
    clause = select.args.get("distinct")
    on = None if clause is None else clause.args.get("on")
    return None if on is None else (list(on.expressions) if isinstance(on, exp.Tuple) else [on.unnest()])


def _has_window(item: exp.Expr) -> bool:
    """Does it call a window function outside of its own subqueries?"""
    waiting = [item]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Window):
            return True
        waiting += [] if isinstance(node, exp.Query) else children(node)
    return False


class WindowedRows(OwnRows):
    """Binds a SELECT with window functions as a table of its rows."""

    def __init__(self, select: exp.Select, scope: Scope, tables: Tables, given: Sequence[exp.Expr]) -> None:
        super().__init__(select, scope, tables, given)
        refuse_clauses(select, ("having",), position_of(select))
        self._parts: dict[tuple[str, ...], int | None] = {}

    def _partitions(self) -> Mapping[tuple[str, ...], int | None]:
        return self._parts

    def columns(self, alias: str) -> list[tuple[str, exp.Expr]]:
        """Bind the select list over the table's columns, as (name, expression)."""
        found: list[tuple[str, exp.Expr]] = []
        for item in self._select.expressions:
            if not (item.is_star and isinstance(item, (exp.Star, exp.Column))):
                found.append((output_name(item), self._bound(item.unalias(), alias)))
                continue
            for name, meaning in self._scope.star(item):
                if meaning is None:
                    hint = "name the columns, each with an alias of its own"
                    raise UnsupportedSQL(f"* has several columns {name!r} here", hint=hint, at=item)
                if isinstance(meaning, tuple):
                    found.append((name, self._column(alias, self._own(bound_column(*meaning)), item)))
                else:
                    found.append((name, self._read(self._tables.expand(meaning, position_of(item)), alias)))
        return found

    def conditions(self, alias: str) -> list[exp.Expr]:
        """Bind the condition of DISTINCT ON, that a row is the first of its part.

        Raises: InvalidSyntax if ORDER BY begins with something else.
        """
        on, order = first_rows(self._select), self._select.args.get("order")
        if on is None:
            return []
        ordered = [] if order is None else order.expressions
        on = [meant(one, self._select) for one in on]
        values = [meant(one.this, self._select) for one in ordered]
        bound = [self._scope.bind(one) for one in on]
        if any(self._scope.bind(one) not in bound for one in values[: len(on)]):
            message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
            raise InvalidSyntax(message, hint="begin ORDER BY with the expressions of DISTINCT ON", at=order)
        rest = [rebuilt(one, copied) for one in ordered[len(on) :]]
        for one, value in zip(rest, values[len(on) :], strict=True):
            one.set("this", copied(value))
        window = exp.Window(this=exp.RowNumber(), partition_by=list(map(copied, on)), over="OVER")
        if rest:
            window.set("order", exp.Order(expressions=rest))
        window.meta.update(self._select.args["distinct"].meta)
        return [exp.EQ(this=self._bound(window, alias), expression=exp.Literal.number(1))]

    def _bound(self, node: exp.Expr, alias: str) -> exp.Expr:
        return self._read(self._scope.bind(node), alias)

    def _read(self, node: exp.Expr, alias: str) -> exp.Expr:
        if isinstance(node, exp.Window):
            return self._window(node, alias)
        if isinstance(node, exp.Column):
            return self._column(alias, self._own(node), node)
        return rebuilt(node, lambda part: self._read(part, alias))

    def _window(self, node: exp.Window, alias: str) -> exp.Expr:
        call = node.this.this if isinstance(node.this, exp.Filter) else node.this
        nested = next((one for one in nodes(node)[1:] if isinstance(one, exp.Window)), None)
        if nested is not None:
            hint = "compute it in a subquery of FROM"
            raise UnsupportedSQL("a window function inside another is not supported", hint=hint, at=nested)
        default = call.args.get("default") if isinstance(call, _BESIDE) else None
        made = self._value(node, call)
        label = str(node.this.meta.get(LABEL, "")) or f"{_name(call)}(...)"
        value = self._column(alias, self._entered(replace(made, label=label)), node.this)
        if default is None:
            return value
        reached = type(call)(this=exp.Literal.number(1), offset=call.args.get("offset"))
        there = self._window(exp.Window(**{**node.args, "this": reached}), alias)
        missing = exp.Is(this=there, expression=exp.Null())
        return exp.Case().when(missing, self._read(default, alias), copy=False).else_(value, copy=False)

    def _value(self, node: exp.Window, call: exp.Expr) -> PersonColumn:
        """Bind one window function as a column."""
        frame, order = _frame(node), node.args.get("order")
        if type(call) in _RANKS:
            self._check_ordered(call, node, needed=not _RANKS[type(call)])
            buckets = [] if not isinstance(call, exp.Ntile) else [_offset(call, call.this, least=1)]
            column = self._named("bigint", nullable=False)
            known = self.proved.get(column.name, ColumnPolicy()).range or (1.0, float(MOST_ROWS))
            known = (1.0, float(buckets[0].name)) if buckets else known
            made = PersonColumn(
                column, type(call)(**({"this": buckets[0]} if buckets else {})), ColumnPolicy(range=known)
            )
            return self._over(made, node, None, ties=_RANKS[type(call)])
        if isinstance(call, _SHARES):
            self._check_ordered(call, node, needed=True)
            column = self._named("double precision", nullable=False)
            return self._over(PersonColumn(column, type(call)(), ColumnPolicy(range=(0.0, 1.0))), node, None)
        if isinstance(call, (*_BESIDE, *_IN_FRAME)):
            taken = self._taken(call)
            if isinstance(call, _BESIDE):
                return self._over(taken, node, None, ties=True)
            return self._over(taken, node, self._rows_of(call, frame, order), ties=True)
        made = self._aggregated(node.this, call)
        if isinstance(made.value, exp.Count) and made.declared.range is not None:
            made = replace(made, declared=ColumnPolicy(range=(0.0, made.declared.range[1])))
        if holds(made.value, exp.Distinct):
            raise UnsupportedSQL("DISTINCT in a window function is not supported", at=call)
        if frame is not None and holds(made.value, exp.Min, exp.Max) and not _is_short(frame):
            hint = f"write ROWS with at most {_SHORT} rows PRECEDING, or UNBOUNDED PRECEDING"
            raise UnsupportedSQL(f"{_name(call)} over a long moving frame is not supported", hint=hint, at=call)
        return self._over(made, node, frame, ties=frame is not None and frame.args["kind"] == "ROWS")

    def _check_ordered(self, call: exp.Expr, node: exp.Window, *, needed: bool) -> None:
        if needed and node.args.get("order") is None:
            name = _name(call)
            raise UnsupportedSQL(
                f"{name} without ORDER BY is not supported", hint="add ORDER BY to its OVER", at=call
            )

    def _taken(self, call: exp.Expr) -> PersonColumn:
        """Bind a function that takes the argument of another row; there may be none, so NULL is a value."""
        argument = call.this.unnest()
        scalar = bind_scalar(argument, self._scope, self._given)
        kind, value, declared = self._typed(argument, scalar)
        if kind is None:
            name = _name(call)
            raise UnsupportedSQL(
                f"{name} of {scalar.kind} is not supported", hint="cast it to text or a number", at=call
            )
        plain = isinstance(argument, exp.Column)
        made = type(call)(this=copied(argument) if plain else value)
        given = call.args.get("offset")
        if given is not None:
            made.set("offset", _offset(call, given, least=1 if isinstance(call, exp.NthValue) else 0))
        column = self._named(kind, nullable=True)
        if plain:
            column = replace(self._tables.catalog_column(argument), name=column.name, nullable=True, nan=False)
        return PersonColumn(column, made, replace(declared, null_group=True))

    def _rows_of(self, call: exp.Expr, frame: exp.WindowSpec | None, order: exp.Expr | None) -> exp.WindowSpec:
        """The frame of rows from which a value is taken. A frame of peers would have one value for all of them."""
        ends = _WHOLE_FRAME if order is None and frame is None else _TO_HERE if frame is None else _ends(frame)
        if frame is not None and frame.args["kind"] == "ROWS":
            return frame
        if ends == _WHOLE_FRAME or (ends == _TO_HERE and isinstance(call, exp.FirstValue)):
            return _spec("ROWS", ends)
        hint = "write ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING for the value of the whole partition"
        name = _name(call)
        raise UnsupportedSQL(f"{name} up to the current row's equals is not supported", hint=hint, at=call)

    def _over(
        self, made: PersonColumn, node: exp.Window, frame: exp.WindowSpec | None, *, ties: bool = False
    ) -> PersonColumn:
        """Write the function over its window, and note the columns that part its rows."""
        parts = [one.unnest() for one in node.args.get("partition_by") or []]
        by = [self._compared(one, _PARTED) for one in parts]
        places = [self._own(one) for one in parts if isinstance(one, exp.Column)]
        part = tuple(self._columns[place].column.name for place in places)
        self._parts.setdefault(part, position_of(node.this) or position_of(node))
        order = node.args.get("order")
        ordered = [] if order is None else [one for one in map(self._ordered, order.expressions) if one is not None]
        if frame is not None and _moves_by_time(frame):
            items = [] if order is None else order.expressions
            moments = [bind_scalar(one.this, self._scope, self._given) for one in items]
            if len(ordered) != 1 or not all(one.type is not None and one.type.is_moment for one in moments):
                hint = "sort by one date or timestamp"
                raise UnsupportedSQL("RANGE with an interval needs one ORDER BY", hint=hint, at=node.this)
            ordered[0].set("this", bounded_moment(replace(moments[0], declared=None))[0])

        def over(call: exp.Expr) -> exp.Expr:
            window = exp.Window(this=call, partition_by=list(map(copied, by)), over="OVER")
            if ordered:
                window.set("order", exp.Order(expressions=list(map(copied, ordered))))
            if frame is not None:
                window.set("spec", copied(frame))
            return window

        name = f"{made.column.name[0]}{len(self._columns) + 1}"
        return replace(made, column=replace(made.column, name=name), value=_each(made.value, over), ties=ties)

    def _compared(self, node: exp.Expr, others: frozenset[Family] = _ORDERED) -> exp.Expr:
        scalar = bind_scalar(node, self._scope, self._given)
        if scalar.type is None or not (scalar.is_number or scalar.type.is_moment or scalar.type.family in others):
            message = f"{scalar.kind} in PARTITION BY or ORDER BY of a window is not supported"
            raise UnsupportedSQL(message, hint="use numbers, texts, dates and timestamps", at=node)
        return copied(node) if scalar.type.family is Family.ENUM and isinstance(node, exp.Column) else scalar.sql

    def _ordered(self, node: exp.Expr) -> exp.Expr | None:
        value = node.this.unnest()
        if isinstance(value, (exp.Literal, exp.Null)):
            return None  # a constant orders nothing
        nulls = node.args.get("nulls_first")
        return exp.Ordered(this=self._compared(value), desc=node.args.get("desc"), nulls_first=nulls)


def _each(value: exp.Expr, over: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Write every function of a value over its window."""
    if isinstance(value, (exp.AggFunc, exp.RowNumber)):
        return over(value)
    return value if isinstance(value, exp.Column) else rebuilt(value, lambda part: _each(part, over))


def _name(call: exp.Expr) -> str:
    return call.sql_name().lower() if isinstance(call, exp.Func) else "this function"


def _offset(call: exp.Expr, node: exp.Expr | None, *, least: int) -> exp.Expr:
    """A written whole number. Raises: UnsupportedSQL for any other, which might fail."""
    written = node.name if isinstance(node, exp.Literal) and not node.is_string else ""
    if written.isdecimal() and least <= int(written) <= _MOST_OFFSET:
        return exp.Literal.number(int(written))
    message = f"{_name(call)} takes a whole number from {least} to {_MOST_OFFSET:,} here"
    raise UnsupportedSQL(message, hint="write the number itself", at=call)


def _ends(frame: exp.WindowSpec) -> tuple[str | None, ...]:
    parts = (frame.args.get(part) for part in ("start", "start_side", "end", "end_side"))
    return tuple(part if part is None or isinstance(part, str) else part.sql() for part in parts)


def _spec(kind: str, ends: Sequence[str | exp.Expr | None]) -> exp.WindowSpec:
    start, start_side, end, end_side = ends
    return exp.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)


_SHORT = 100


def _is_short(frame: exp.WindowSpec) -> bool:
    """Whether an extreme over the frame takes linear time: PostgreSQL computes it again where the start moves on."""
    start = frame.args["start"]
    if start == "UNBOUNDED":
        return True
    reach = [frame.args[end] for end in ("start", "end") if frame.args[end] != "CURRENT ROW"]
    return frame.args["kind"] == "ROWS" and all(
        isinstance(end, exp.Literal) and int(end.name) <= _SHORT for end in reach
    )


def _moves_by_time(frame: exp.WindowSpec) -> bool:
    return any(isinstance(frame.args[end], exp.Interval) for end in ("start", "end"))


def _frame(node: exp.Window) -> exp.WindowSpec | None:
    """The frame of a window, with both ends; None without one. Raises: UnsupportedSQL."""
    spec = node.args.get("spec")
    if spec is None:
        return None
    hint = "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, with whole numbers"
    kind = spec.args.get("kind")
    if kind not in ("ROWS", "RANGE"):
        raise UnsupportedSQL("this frame of a window is not supported", hint=hint, at=node.this)
    ends: list[str | exp.Expr | None] = []
    for part, missing in (("start", "CURRENT ROW"), ("end", "CURRENT ROW")):
        end = spec.args.get(part) or missing
        if isinstance(end, exp.Interval) and kind == "RANGE":
            interval_of(end, _MOST_TIME)
        elif not isinstance(end, str):
            if kind != "ROWS":
                raise UnsupportedSQL("RANGE with an offset is not supported", hint=hint, at=node.this)
            end = _offset(node.this, end, least=0)
        ends += [end, spec.args.get(f"{part}_side") if end != "CURRENT ROW" else None]
    return _spec(kind, ends)
