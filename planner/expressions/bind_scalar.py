"""Bind expressions over one join tuple to SQL that cannot fail, with the table of `planner.expressions.functions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from sqlglot import exp

from planner.errors import PlannerError, UnsupportedSQL
from planner.expressions import arithmetic, intervals, predicates
from planner.expressions.coercion import settle, text
from planner.expressions.column_ranges import Known, clamp_column, known_where, span
from planner.expressions.functions import TABLE
from planner.expressions.intervals import Bounds
from planner.expressions.made_dates import stated
from planner.expressions.scalar import Digits, Measured, Scalar, unfit
from planner.policy.policy import ColumnPolicy
from planner.sql.literals import check_type
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql, column_ref, copied

Bound = TypeVar("Bound")

_BOOL = SqlType(Family.BOOL)
_CONDITIONS = (exp.Predicate, exp.Connector, exp.Not)
_FAR = 1e30
"""Conditions read doubles up to this size unchanged. A product of nine of them is still a double."""


class Names(Protocol):
    """What columns in an expression mean; `planner.binding.scope.Scope` implements it."""

    @property
    def zone(self) -> str:
        """The session's time zone."""

    def resolve(self, column: exp.Column) -> exp.Expr:
        """The bound column, or the expression over bound columns that a derived column stands for."""

    def type_of(self, column: exp.Column) -> SqlType:
        """The type of a bound column."""

    def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
        """A bound column's public name with its table, and its policy."""


def bind_scalar(node: exp.Expr, scope: Names, given: Sequence[exp.Expr] = ()) -> Scalar:
    """Bind an expression of any type: resolve names, check types, and type literals. Linear.

    Args:
      given: bound conditions that every tuple passes; they narrow the ranges of columns.
    Returns: an expression that fails for no row.
    Raises: UnsupportedSQL, InvalidSyntax, SensitivityUnbounded, StatementTooComplex, and errors of names, with a
      position.
    """
    scalar = _given(scope, given).scalar(node)
    if scalar.type is None and scalar.plain is not None:
        check_type(scalar.plain, SqlType(Family.TEXT))  # no value beside it can have the type that it states
    return scalar


def bind_predicate(node: exp.Expr, scope: Names) -> exp.Expr:
    """Bind a condition: SQL of a boolean that fails for no row. Raises: as `bind_scalar`."""
    return _Binder(scope).predicate(node)


def bind_measure(
    node: exp.Expr, scope: Names, given: Sequence[exp.Expr] = (), *, adds: bool = True
) -> tuple[exp.Expr, Bounds]:
    """Bind the argument of SUM: SQL of a double, never NaN, and the bounds that a weight needs.

    Args:
      adds: is it summed? Otherwise sums per person have their shorter range.
    Raises: SensitivityUnbounded that names all columns without a range; otherwise as `bind_scalar`.
    """
    binder = replace(_given(scope, given), _adds=adds)
    scalar = settle(binder.scalar(node), SqlType(Family.NUMERIC), binder)
    sql, bounds = scalar.measured()
    if bounds is not None and not bounds.weighable:
        raise unfit(node)
    return sql, bounds or intervals.constant(0.0, True)


def _given(scope: Names, conditions: Sequence[exp.Expr]) -> _Binder:
    binder = _Binder(scope)
    for condition in conditions:
        binder = binder.where(condition)
    return binder


@dataclass(frozen=True)
class _Binder:
    """Binds the parts of one expression, given the known intervals of columns where it is evaluated.

    Attributes:
      _tests: is it part of a condition? Conditions read the table's values, in the declared range or not.
      _bounded: in a condition, do doubles keep their declared ranges nevertheless?
      _adds: is it the argument of SUM?
    """

    _scope: Names
    _known: Known = field(default_factory=dict)
    _tests: bool = False
    _bounded: bool = False
    _adds: bool = False

    @property
    def zone(self) -> str:
        return self._scope.zone

    def where(self, condition: exp.Expr, *, holds: bool = True) -> _Binder:
        return replace(self, _known=known_where(condition, self._scope.resolve, self._known, holds=holds))

    def scalar(self, node: exp.Expr) -> Scalar:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal) and not node.is_string:
            return arithmetic.literal(node)
        if isinstance(node, (exp.Literal, exp.Null, exp.Parameter)):
            return arithmetic.null(node) if isinstance(node, exp.Null) else Scalar(node, None, copied(node))
        function = TABLE.get(type(node))
        if function is None:
            name = type(node).__name__.upper()
            days = "compare numbers of days: a::date - b::date < 30" if isinstance(node, exp.Interval) else None
            raise UnsupportedSQL(f"{name} is not supported here", hint=days, at=node)
        if isinstance(node, exp.StrToDate) and isinstance(node.this, exp.Column):
            return self._date_of_text(node, function.bind(node, self))
        return self._seen(node, function.bind) if isinstance(node, _CONDITIONS) else function.bind(node, self)

    def predicate(self, node: exp.Expr) -> exp.Expr:
        return self._seen(node, lambda node, binder: binder._test(node))

    def _seen(self, node: exp.Expr, bind: Callable[[exp.Expr, _Binder], Bound]) -> Bound:
        """Bind a condition, which reads the table's own values."""
        if self._tests:
            return bind(node, self)
        try:
            return bind(node, replace(self, _tests=True))
        except PlannerError:  # a root, a quotient or a large value needs the declared ranges
            return bind(node, replace(self, _tests=True, _bounded=True))

    def _test(self, node: exp.Expr) -> exp.Expr:
        scalar = self.scalar(node)
        if scalar.is_null:
            return predicates.unknown()
        scalar = settle(scalar, _BOOL, self)
        if scalar.type != _BOOL:
            raise UnsupportedSQL(
                "this expression is not true or false, so it is not a condition",
                hint="write a comparison, as in x > 0",
                at=node,
            )
        return scalar.sql if scalar.plain is None else scalar.plain  # no other tree shares it

    def _date_of_text(self, node: exp.StrToDate, found: Scalar) -> Scalar:
        """A column whose texts hold dates, which in sums and keys is NULL outside of its declared days."""
        column = self._scope.resolve(node.this)
        if self._tests or not isinstance(column, exp.Column):
            return found
        declared = self._scope.declared(column)[1]
        if declared.dates is None or not declared.forms:
            return found
        return stated(node, text(self._column(node.this), self), declared.forms, declared.dates, declared=True)

    def _column(self, node: exp.Column) -> Scalar:
        found = self._scope.resolve(node)
        if not isinstance(found, exp.Column):
            return self.scalar(found)
        kind = self._scope.type_of(found)
        if kind.family is Family.ENUM:
            return Scalar(node, kind, cast_sql(found, "TEXT"))
        name, declared = self._scope.declared(found)
        if not kind.is_number:
            dates = None if self._tests else declared.dates
            return Scalar(node, kind, found, declared=dates)
        known = self._known.get(column_ref(found), ())
        within = (
            (self._adds and declared.added)
            or declared.range
            or span(known)
            or (declared.extent if self._tests else None)
        )
        missing = ((name, node),) if within is None else ()
        low, high = within or (0.0, 0.0)
        if self._tests and not self._bounded and kind.family is Family.FLOAT and not missing:
            low, high = -_FAR, _FAR
        for interval in known:
            low, high = interval.within(low, high, kind)

        def clamped() -> Measured:
            assert not missing, "asked for by `measured`, which raises before"
            return clamp_column(found, kind, low, high)

        return Scalar(node, kind, found, clamped, Digits.of(kind), unranged=missing)
