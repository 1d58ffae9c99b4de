"""GROUP BY: columns, conditions and expressions, by position or alias; what depends on them; SELECT DISTINCT."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.binding.expression_domain import buckets, expression_domain, of_fields
from planner.binding.scope import Scope
from planner.errors import InvalidSyntax, UnknownColumn, UnsupportedSQL
from planner.expressions.bind_scalar import bind_scalar
from planner.expressions.scalar import Scalar
from planner.sql.columns import bound_column, column_ref
from planner.sql.result_names import ResultType
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied, fold, holds, position_of


class GroupKeys:
    """The distinct keys of a SELECT: those of GROUP BY, then those that it implies, as they are asked for.

    A column of a public table whose whole primary key is grouped by has one value in each group: it depends on the
    key functionally, and select list, HAVING and ORDER BY may name it, as in PostgreSQL. It becomes a key itself, so
    the question is the one with that column written in GROUP BY: the same groups, the same plan.

    Args:
      given: bound conditions that hold.
    Raises: UnsupportedSQL, InvalidSyntax, and what names raise.
    """

    def __init__(self, select: exp.Select, scope: Scope, given: Sequence[exp.Expr]) -> None:
        group = select.args.get("group")
        self._scope = scope
        self._keys: list[BoundKey] = []
        self._places: dict[exp.Expr, int] = {}
        self._kinds: set[type[exp.Expr]] = {exp.Column}
        for item in group.expressions if group is not None else []:
            written = scope.bind(_meant(item, select, scope)).unnest()
            if written not in self._places:
                self._enter(_bind_key(written, scope, given, position_of(item)))

    @property
    def keys(self) -> Sequence[BoundKey]:
        """All so far; one that is there keeps its place."""
        return self._keys

    def place(self, node: exp.Expr) -> int | None:
        """The index of the key that a bound expression is, entered now if it is implied; None: it is no key."""
        if type(node) not in self._kinds:  # hashing a tree takes long
            return None
        place = self._places.get(node)
        if place is None and isinstance(node, exp.Column) and determined(node, self._scope, self._places):
            return self._enter(_bind_key(node, self._scope, (), position_of(node)))
        return place

    def enum(self, place: int) -> SqlType | None:
        """The enum of a key; with the label of all other values, where a policy has one, it is no type of the
        database's. None for any other key."""
        key = self._keys[place]
        if key.type.family is not Family.ENUM:
            return None
        other = self._scope.declared(key.value)[1].other if isinstance(key.value, exp.Column) else None
        return key.type if other is None else replace(key.type, labels=(*key.type.labels, str(other)), enum="")

    def _enter(self, key: BoundKey) -> int:
        place = self._places[key.written] = len(self._keys)
        self._keys.append(key)
        self._kinds.add(type(key.written))
        return place


def determined(column: exp.Column, scope: Scope, keys: Container[exp.Expr | None]) -> bool:
    """Functional dependency: is the whole primary key of a bound column's public table among the bound `keys`?"""
    primary_key = scope.public_primary_key(column)
    if primary_key is None:
        return False
    alias, _ = column_ref(column)
    return all(bound_column(alias, name) in keys for name in primary_key)


def position_in(count: int, item: exp.Literal, clause: str) -> int:
    """The index of the output, one of `count`, that a position names. Raises InvalidSyntax."""
    index = int(item.name) - 1 if item.name.isdigit() and len(item.name) < 4 else -1
    if not 0 <= index < count:
        raise InvalidSyntax(f"{clause} names a position that is not there", position=position_of(item))
    return index


def constant_place(count: int, item: exp.Expr, clause: str) -> int | None:
    """As `position_in`, for a constant; None for anything else. Raises InvalidSyntax: no other constant names one."""
    if isinstance(item, exp.Literal) and not item.is_string:
        return position_in(count, item, clause)
    if isinstance(item, (exp.Literal, exp.Null, exp.Boolean)):
        hint = "name a column, or its position in the select list"
        raise InvalidSyntax(f"a constant in {clause} that is no position", hint=hint, position=position_of(item))
    return None


def _meant(item: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """An expression; or, as in PostgreSQL, the position or (when no column has that name) the alias of an output."""
    place = constant_place(len(select.expressions), item.unnest(), "GROUP BY")
    if place is not None:
        output: exp.Expr = select.expressions[place].unalias()
        return output
    if isinstance(item, exp.Column) and item.args.get("table") is None:
        try:
            scope.resolve(item)
        except UnknownColumn:
            for output in select.expressions:
                if isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(item.this):
                    meant: exp.Expr = output.this
                    return meant
            raise
    return item


def _bind_key(node: exp.Expr, scope: Scope, given: Sequence[exp.Expr], position: int | None) -> BoundKey:
    if holds(node, exp.AggFunc):
        raise UnsupportedSQL("an aggregate in GROUP BY is not supported", position=position)
    if isinstance(node, exp.Column):
        step = _step(node, scope)
        if step is None:
            return BoundKey(node, node, scope.type_of(node), position)
        return replace(_bind_key(step, scope, given, position), written=node)
    scalar = bind_scalar(node, scope, given)
    whole = buckets(node, scalar)
    if whole is not None:
        return BoundKey(node, whole.sql, SqlType(Family.INTEGER), position, whole.values, _shown(scalar))
    kind, sql = scalar.type or SqlType(Family.TEXT), scalar.sql
    double = kind.family is Family.FLOAT and of_fields(sql)  # one for each value of the fields
    shown: ResultType | None = "float8" if double else "timestamptz" if scalar.zoned else None
    return BoundKey(node, sql, kind, position, expression_domain(node, scalar), shown)


def _step(column: exp.Column, scope: Scope) -> exp.Expr | None:
    """The beginning of the declared step that a column's value is in; None where each value is a group of its own.

    A policy says of a moment that its groups are days, say: a row at noon is in the group of its day. Without this
    the groups would be the midnights, and hold those rows alone that are at a midnight.
    """
    _, declared = scope.declared(column)
    kind = scope.type_of(column)
    if not kind.is_moment or not isinstance(declared.step, str) or declared.domain is not None:
        return None
    if declared.other is not None or (kind.family is Family.DATE and declared.step == "day"):
        return None
    begun = exp.TimestampTrunc(this=copied(column), unit=exp.var(declared.step.upper()))
    return cast_sql(begun, "DATE") if kind.family is Family.DATE else begun


def _shown(scalar: Scalar) -> ResultType:
    """The type in an answer of a whole-valued number, whose key is a bigint."""
    if scalar.drops_fractions:
        return "int8"
    return "float8" if scalar.digits is None else "numeric"


def distinct_as_groups(select: exp.Select) -> exp.Select:
    """`SELECT DISTINCT a, b FROM t` as `SELECT a, b FROM t GROUP BY a, b`; any other statement as it is.

    >>> from sqlglot import parse_one
    >>> distinct_as_groups(parse_one("SELECT DISTINCT ward AS w, day FROM visit")).sql()
    'SELECT ward AS w, day FROM visit GROUP BY ward, day'
    """
    clause = select.args.get("distinct")
    items = [item.unalias() for item in select.expressions]
    plain = not any(isinstance(item, exp.Literal) or holds(item, exp.Star, exp.AggFunc) for item in items)
    if clause is None or clause.args.get("on") is not None or select.args.get("group") or not plain:
        return select
    copy = copied(select)
    copy.set("distinct", None)
    copy.set("group", exp.Group(expressions=[copied(item) for item in items]))
    return copy
