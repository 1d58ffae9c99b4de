"""A bound expression over one join tuple: SQL that cannot fail, its type, and for numbers their proved bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Protocol

from sqlglot import exp

from planner.errors import SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.expressions.intervals import Bounds
from planner.schema import sql_identifier
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied, fold, nodes, position_of
from planner.sql.zones import UTC

Measured = tuple[exp.Expr, Bounds | None]
"""SQL of a double (NULL allowed, never NaN) and its bounds; None if it is always NULL."""

Span = tuple[date, date]
"""The first and last day of a date or timestamp."""

_MAX_REPEATED = 400


@dataclass(frozen=True)
class Calendar:
    """First moments of days, weeks, months, and so on, possibly moved: `date_trunc('week', x) - INTERVAL '1 day'`.

    Attributes:
      unit: as in `planner.sql.datetimes`.
      days: the days by which each step is moved.
      zone: the zone whose midnights these are; the steps are timestamps at UTC.
      within: their days in that zone; None: those of the value's span.
    """

    unit: str
    days: int = 0
    zone: str = UTC
    within: Span | None = None


@dataclass(frozen=True)
class Digits:
    """A decimal number with at most `whole` digits before the point and `scale` after it.

    `integral`: does its type drop fractions in a division, as the database's whole types do?
    """

    whole: int
    scale: int
    integral: bool

    @classmethod
    def of(cls, kind: SqlType) -> Digits | None:
        """The digits of a type; None if the type does not limit them."""
        if kind.family is Family.INTEGER:
            return cls(kind.precision or 19, 0, True)
        if kind.family is Family.NUMERIC and kind.precision is not None and kind.scale is not None:
            return cls(max(kind.precision - kind.scale, 1), max(kind.scale, 0), False)
        return None

    @property
    def type(self) -> SqlType:
        """Family INTEGER for whole numbers that fit a bigint, else a numeric with these digits."""
        if self.integral and self.whole <= 18:
            return SqlType(Family.INTEGER, self.whole)
        return SqlType(Family.NUMERIC, self.whole + self.scale, self.scale)


@dataclass(frozen=True)
class Scalar:
    """A bound expression. A number has two forms, plain and clamped.

    Attributes:
      node: the expression as written, for its position.
      type: its type; None for a quoted literal, a placeholder and NULL, which take the type of the other side.
      plain: SQL for conditions and keys, exact and not clamped; None if only the clamped form cannot fail.
      clamped: the double for sums, from clamped columns; may raise PlannerError. None if it is no number.
      digits: of the plain form of an exact number; None for doubles and other types.
      value: of a numeric literal.
      span: the days that a datetime is within, unless it is NULL.
      declared: the declared range of a date column.
      zoned: is it a timestamptz in PostgreSQL? Its SQL is the timestamp at UTC.
      calendar: the steps of the calendar that a datetime is on.
      unranged: columns without a declared range, which the clamped form needs.
    """

    node: exp.Expr
    type: SqlType | None
    plain: exp.Expr | None
    clamped: Callable[[], Measured] | None = None
    digits: Digits | None = None
    value: Decimal | None = None
    span: Span | None = None
    declared: Span | None = None
    zoned: bool = False
    calendar: Calendar | None = None
    unranged: tuple[tuple[str, exp.Expr], ...] = ()

    @property
    def sql(self) -> exp.Expr:
        """SQL of type `type` that fails for no row. Raises: SensitivityUnbounded where that needs ranges."""
        return self.measured()[0] if self.plain is None else copied(self.plain)

    @property
    def bounds(self) -> Bounds | None:
        """The bounds of the clamped form. Raises: SensitivityUnbounded if there are none."""
        return self.measured()[1]

    @property
    def is_null(self) -> bool:
        """Is it the literal NULL?"""
        return isinstance(self.plain, exp.Null)

    @property
    def is_number(self) -> bool:
        """Does arithmetic accept it?"""
        return self.is_null or (self.type is not None and self.type.is_number)

    @property
    def is_interval(self) -> bool:
        """Is it a length of time? Its SQL, both forms and its digits are those of its seconds."""
        return self.type is not None and self.type.family is Family.INTERVAL

    @property
    def seconds(self) -> Scalar:
        """An interval as the number of its seconds; any other value as it is."""
        kind = SqlType(Family.FLOAT) if self.digits is None else self.digits.type
        return replace(self, type=kind) if self.is_interval else self

    @property
    def interval(self) -> Scalar:
        """A number of seconds as an interval."""
        return self if self.is_null else replace(self, type=SqlType(Family.INTERVAL))

    @property
    def drops_fractions(self) -> bool:
        """Does its type drop fractions in a division? Raises: as `bounds`."""
        if self.digits is not None:
            return self.digits.integral
        return self.bounds is not None and self.bounds.integral

    @property
    def has_zone(self) -> bool:
        """Is it a timestamptz in PostgreSQL?"""
        return self.zoned or (self.type is not None and self.type.family is Family.TIMESTAMPTZ)

    @property
    def kind(self) -> str:
        """The name of its type, for messages."""
        return "text" if self.type is None else self.type.shown

    def measured(self) -> Measured:
        """The clamped form: SQL of a double and its bounds.

        Raises: SensitivityUnbounded that names all columns without a range, or if bounds fit no double;
          UnsupportedSQL if it is no number.
        """
        if self.unranged:
            names = ", ".join(sorted({name for name, _ in self.unranged}))
            first = self.unranged[0][1]
            hint = (
                "clip the values with numbers of your own: "
                f"LEAST(GREATEST({sql_identifier(first.name)}, 0), 100); or ask the administrator to declare "
                "`range = [lowest, highest]` for it in the policy"
            )
            position = position_of(first)
            raise SensitivityUnbounded(f"no range is declared for {names}", hint=hint, position=position)
        if self.clamped is None:
            raise self._no_number()
        sql, bounds = self.clamped()
        if bounds is not None and not bounds.safe:
            raise unfit(self.node)
        return sql, bounds

    def _no_number(self) -> UnsupportedSQL:
        name = repr(fold(self.node.this)) if isinstance(self.node, exp.Column) else self.kind
        truth = self.type is not None and self.type.family is Family.BOOL
        hint = "write (x)::int, which is 1 where it is true and 0 where it is false" if truth else None
        if self.type is not None and self.type.is_moment:
            hint = "write median(x), or avg(extract(epoch FROM x))"
        if self.type is not None and self.type.shown == "interval":
            hint = "subtract two moments (ended - started), or keep the length in a column of numbers"
        return UnsupportedSQL(f"{name} is not a number", hint=hint or "sum numbers, or count rows", at=self.node)

    def through(
        self, sql: Callable[[exp.Expr], exp.Expr], bounds: Callable[[Bounds], Bounds]
    ) -> Callable[[], Measured]:
        """The clamped form of a function of this number, from the function's SQL and bounds."""

        def clamped() -> Measured:
            argument, known = self.measured()
            return sql(argument), known and bounds(known)

        return clamped


class Binder(Protocol):
    """Binds the parts of an expression for the handlers of `planner.expressions.functions`."""

    @property
    def zone(self) -> str:
        """The session's time zone."""

    def scalar(self, node: exp.Expr) -> Scalar:
        """Bind an expression of any type."""

    def predicate(self, node: exp.Expr) -> exp.Expr:
        """Bind a condition to a boolean that cannot fail. Raises: UnsupportedSQL, and errors of its parts."""

    def where(self, condition: exp.Expr, *, holds: bool = True) -> Binder:
        """A binder for where a condition is true, or with `holds` false, where it is not."""


def unfit(node: exp.Expr) -> SensitivityUnbounded:
    """The error for bounds that no double can hold."""
    hint = "declare narrower ranges, or ask for a simpler expression"
    return SensitivityUnbounded("the bounds of the sum are too large", hint=hint, at=node)


def unranged(parts: Sequence[Scalar]) -> tuple[tuple[str, exp.Expr], ...]:
    """All columns without a range in several parts."""
    return tuple(entry for part in parts for entry in part.unranged)


def repeated(sql: exp.Expr, node: exp.Expr) -> exp.Expr:
    """Check that SQL to be written more than once is small, as nesting doubles it. Raises: StatementTooComplex."""
    if len(nodes(sql)) > _MAX_REPEATED:
        raise StatementTooComplex("the expression is too large", hint="nest fewer functions", at=node)
    return sql


def wrap(sql: exp.Expr) -> exp.Expr:
    """Add parentheses, unless the expression is atomic."""
    atomic = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.Case, exp.Func)
    return sql if isinstance(sql, atomic) and not isinstance(sql, (exp.And, exp.Or)) else exp.Paren(this=sql)
