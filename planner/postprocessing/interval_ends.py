"""Intervals through post-processing: interval arithmetic, written as SQL beside the columns that it is about.

Of a column that follows from released values of its own row by sums, differences, factors that stand in the statement
and functions that never fall, the ends follow from the ends of those values. They are computed by the same database
with the same operators, so nothing is assumed of those but their direction. A column of k noisy values is right
whenever all k intervals are: at confidence 1 - k (1 - c) by the union bound, where each is right at c. A product of
two noisy values, a window and an aggregate over rows have no interval: they are said to have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.limit_offset import output_name
from planner.postprocessing.composed import HIGH, LOW, is_relation
from planner.sql.trees import copied, fold, nodes

_RISING = (exp.Round, exp.Floor, exp.Ceil, exp.Trunc)
_NUMBER_TYPES = frozenset({"SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"})


@dataclass(frozen=True)
class ShownIntervals:
    """Which columns of a statement have intervals.

    Attributes:
      places: the columns; behind all columns of the statement stand a lower and an upper end of each, in this order.
      values: the most noisy values that one of them follows from.
    """

    places: tuple[int, ...] = ()
    values: int = 1


@dataclass(frozen=True)
class _Interval:
    """SQL of the ends of an expression, and the noisy values that it follows from: none of what is exact."""

    low: exp.Expr
    high: exp.Expr
    noisy: frozenset[str] = frozenset()
    extra: int = 0  # values behind a noisy one of a subquery, beyond itself

    @property
    def values(self) -> int:
        """How many intervals must be right for this one to be."""
        return len(self.noisy) + self.extra


def add_interval_ends(outer: exp.Query, noisy: Mapping[str, frozenset[str]]) -> ShownIntervals:
    """Append the ends of the intervals of a statement's columns to its select list, in place.

    Args:
      outer: the SELECT around answers; it is changed.
      noisy: by relation, its columns that have intervals, whose ends are columns of the relation, too.
    """
    if not isinstance(outer, exp.Select) or not _is_plain(outer) or any(item.is_star for item in outer.expressions):
        return ShownIntervals()
    lineage = _Lineage(outer, noisy)
    known = [(place, lineage.interval(item.unalias(), outer)) for place, item in enumerate(outer.expressions)]
    found = [(place, one) for place, one in known if one is not None and one.noisy]
    for number, (_, one) in enumerate(found):
        outer.append("expressions", _named(one.low, f"{number}{LOW}"))
        outer.append("expressions", _named(one.high, f"{number}{HIGH}"))
    return ShownIntervals(tuple(place for place, _ in found), max((one.values for _, one in found), default=1))


def name_columns(outer: exp.Query, whole: Mapping[str, frozenset[str]]) -> None:
    """Give a statement's columns the names that PostgreSQL gives them, and counts that it shows their type, in place.

    Args:
      outer: the SELECT around answers; it is changed.
      whole: by relation, its columns of whole numbers.
    """
    select: exp.Expr = outer
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if not isinstance(select, exp.Select):
        return
    lineage = _Lineage(select, whole)
    items = []
    for item in select.expressions:
        tree = item.unalias()
        if isinstance(tree, exp.Column) and not item.is_star and lineage.is_released(tree, select):
            tree = exp.Cast(this=tree, to=exp.DataType.build("BIGINT"))
        items.append(item if item.is_star else _named(tree, output_name(item)))
    select.set("expressions", items)


def _is_plain(select: exp.Select) -> bool:
    """Is each row of it made from one row of its FROM?"""
    if select.args.get("distinct") is not None or select.args.get("group") is not None:
        return False
    return not any(
        isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Window, exp.Select) is select
        for item in select.expressions
        for node in nodes(item)
    )


class _Lineage:
    def __init__(self, outer: exp.Select, noisy: Mapping[str, frozenset[str]]) -> None:
        self._noisy = noisy
        everywhere = nodes(outer)
        stars = any(
            isinstance(node, exp.Select) and any(item.is_star for item in node.expressions) for node in everywhere
        )
        natural = any(isinstance(node, exp.Join) and node.method for node in everywhere)
        self._nests = not stars and not natural and not any(isinstance(node, exp.SetOperation) for node in everywhere)
        clause = outer.args.get("with_")
        self._common = {fold(entry.args["alias"].this): entry for entry in (clause.expressions if clause else ())}
        self._handed_on: dict[tuple[int, str], int] = {}

    def interval(self, tree: exp.Expr, select: exp.Select) -> _Interval | None:
        """The ends of an expression over a SELECT's FROM; None where they are not known."""
        if isinstance(tree, exp.Column):
            return self._column(tree, select)
        if isinstance(tree, (exp.Literal, exp.DataType, exp.Var)):
            return _Interval(tree, tree)
        if isinstance(tree, exp.Paren):
            return self._applied(tree, select, lambda ends: exp.Paren(this=ends[0]), [tree.this])
        if isinstance(tree, exp.Cast) and tree.to.this.name in _NUMBER_TYPES:
            return self._applied(tree, select, lambda ends: exp.Cast(this=ends[0], to=copied(tree.to)), [tree.this])
        if isinstance(tree, _RISING):
            kept = {name: value for name, value in tree.args.items() if name != "this"}
            if any(isinstance(value, exp.Expr) and not _is_constant(value) for value in kept.values()):
                return None
            return self._applied(tree, select, lambda ends: type(tree)(this=ends[0], **kept), [tree.this])
        if isinstance(tree, (exp.Greatest, exp.Least)):
            kind, arguments = type(tree), [tree.this, *tree.expressions]
            return self._applied(tree, select, lambda ends: kind(this=ends[0], expressions=ends[1:]), arguments)
        rule = _RULES.get(type(tree))
        if rule is None:
            return None
        sides = [self.interval(side, select) for side in children_of(tree)]
        known = [side for side in sides if side is not None]
        return rule(tree, known) if len(known) == len(sides) else None

    def _applied(
        self,
        tree: exp.Expr,
        select: exp.Select,
        build: Callable[[list[exp.Expr]], exp.Expr],
        arguments: list[exp.Expr],
    ) -> _Interval | None:
        """A function that falls with none of its arguments."""
        found = [self.interval(one, select) for one in arguments]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        low, high = build([copied(one.low) for one in known]), build([copied(one.high) for one in known])
        return _joined(low, high, known)

    def is_released(self, column: exp.Column, select: exp.Select) -> bool:
        """Does a column stand for one of a relation, unchanged?"""
        source = self._source(column, select)
        if source is None:
            return False
        _, item = source
        name = fold(column.this)
        if isinstance(item, exp.Table) and is_relation(item):
            return name in self._noisy.get(item.name, frozenset())
        body = self._body(item)
        named = [one for one in body.expressions if output_name(one) == name] if body is not None else []
        tree = named[0].unalias() if len(named) == 1 else None
        return body is not None and isinstance(tree, exp.Column) and self.is_released(tree, body)

    def _column(self, column: exp.Column, select: exp.Select) -> _Interval | None:
        """The ends of what a column of FROM means."""
        source = self._source(column, select)
        if source is None or not isinstance(column.this, exp.Identifier):
            return None
        alias, item = source
        name = fold(column.this)
        if isinstance(item, exp.Table) and is_relation(item):
            if name not in self._noisy.get(item.name, frozenset()):
                return _Interval(column, column)
            return _Interval(_at(alias, f"{name}{LOW}"), _at(alias, f"{name}{HIGH}"), frozenset({f"{alias}.{name}"}))
        return self._within(item, alias, name, column) if self._nests else None

    def _within(self, item: exp.Expr, alias: str, name: str, column: exp.Column) -> _Interval | None:
        """Through a subquery or a query in WITH, which then hands the ends on."""
        body = self._body(item)
        if body is None or not _is_plain(body):
            return None
        named = [one for one in body.expressions if output_name(one) == name]
        if len(named) != 1:
            return None
        if (id(body), name) not in self._handed_on:
            found = self.interval(named[0].unalias(), body)
            if found is None:
                return None
            self._handed_on[id(body), name] = found.values
            if found.noisy:
                body.append("expressions", _named(found.low, f"{name}{LOW}"))
                body.append("expressions", _named(found.high, f"{name}{HIGH}"))
        values = self._handed_on[id(body), name]
        if not values:
            return _Interval(column, column)
        ends = _at(alias, f"{name}{LOW}"), _at(alias, f"{name}{HIGH}")
        return _Interval(*ends, frozenset({f"{alias}.{name}"}), values - 1)

    def _body(self, item: exp.Expr) -> exp.Select | None:
        """The SELECT that an item of FROM stands for, under the names that it gives its columns itself."""
        alias = item.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return None
        body: exp.Expr | None = item.this if isinstance(item, exp.Subquery) else None
        if isinstance(item, exp.Table):
            entry = self._common.get(fold(item.this)) if item.args.get("db") is None else None
            if entry is None or entry.args["alias"].args.get("columns"):
                return None
            body = entry.this
        return body if isinstance(body, exp.Select) else None

    def _source(self, column: exp.Column, select: exp.Select) -> tuple[str, exp.Expr] | None:
        """The item of FROM that a column is of, under its name; None where that is not plain to see."""
        clause = select.args.get("from_")
        joins = select.args.get("joins") or []
        if clause is None or any(join.side in ("LEFT", "RIGHT", "FULL") for join in joins):
            return None
        items = [clause.this, *(join.this for join in joins)]
        if any(item.args.get("joins") or not isinstance(item, (exp.Table, exp.Subquery)) for item in items):
            return None
        named = {_alias(item): item for item in items}
        if column.args.get("db") is not None:
            return None
        table = column.args.get("table")
        if table is not None:
            item = named.get(fold(table))
            return None if item is None else (fold(table), item)
        return next(iter(named.items())) if len(named) == 1 else None


def children_of(tree: exp.Expr) -> list[exp.Expr]:
    """The operands of an operator."""
    return [tree.this] if isinstance(tree, exp.Neg) else [tree.this, tree.expression]


def _alias(item: exp.Expr) -> str:
    alias = item.args.get("alias")
    if alias is not None and alias.this is not None:
        return fold(alias.this)
    return fold(item.this) if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier) else ""


def _joined(low: exp.Expr, high: exp.Expr, parts: list[_Interval]) -> _Interval:
    noisy = frozenset[str]().union(*(part.noisy for part in parts))
    return _Interval(low, high, noisy, sum(part.extra for part in parts))


def _negated(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    (inner,) = parts
    return _joined(exp.Neg(this=copied(inner.high)), exp.Neg(this=copied(inner.low)), parts)


def _added(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    left, right = parts
    low = exp.Add(this=copied(left.low), expression=copied(right.low))
    return _joined(low, exp.Add(this=copied(left.high), expression=copied(right.high)), parts)


def _subtracted(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    left, right = parts
    low = exp.Sub(this=copied(left.low), expression=exp.Paren(this=copied(right.high)))
    high = exp.Sub(this=copied(left.high), expression=exp.Paren(this=copied(right.low)))
    return _joined(low, high, parts)


def _scaled(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    """A product with a number that stands in the statement, whose sign says which end becomes which."""
    (left, right), (first, second) = parts, (_constant(tree.this), _constant(tree.expression))
    if first is not None and second is None:
        ends = [exp.Mul(this=copied(tree.this), expression=copied(end)) for end in (right.low, right.high)]
    elif second is not None:
        ends = [exp.Mul(this=copied(end), expression=copied(tree.expression)) for end in (left.low, left.high)]
    else:
        return None
    low, high = ends if (second if first is None else first) >= 0 else reversed(ends)  # type: ignore[operator]
    return _joined(low, high, parts)


def _divided(tree: exp.Expr, parts: list[_Interval]) -> _Interval | None:
    by = _constant(tree.expression)
    if by is None:
        return None
    ends = [exp.Div(this=copied(end), expression=copied(tree.expression)) for end in (parts[0].low, parts[0].high)]
    low, high = ends if by >= 0 else reversed(ends)
    return _joined(low, high, parts)


_Rule = Callable[[exp.Expr, list[_Interval]], _Interval | None]

_RULES: Mapping[type[exp.Expr], _Rule] = {
    exp.Neg: _negated,
    exp.Add: _added,
    exp.Sub: _subtracted,
    exp.Mul: _scaled,
    exp.Div: _divided,
}


def _is_constant(node: exp.Expr) -> bool:
    return _constant(node) is not None


def _constant(node: exp.Expr) -> float | None:
    """A number that stands in the statement, with its sign."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = _constant(node.this)
        return None if inner is None else -inner
    return float(node.name) if isinstance(node, exp.Literal) and not node.is_string else None


def _at(alias: str, name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))


def _named(tree: exp.Expr, name: str) -> exp.Alias:
    return exp.Alias(this=copied(tree), alias=exp.to_identifier(name, quoted=True))
