"""A bound expression over one join tuple: total SQL, its type, and where it is a number what is proved of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
"""SQL of a double (NULL allowed, never NaN) and its bounds; None where it is always NULL."""

Span = tuple[date, date]
"""The first and the last day that a date or timestamp can fall on."""

_MAX_REPEATED = 400


@dataclass(frozen=True)
class Calendar:
    """The first moments of days, weeks, months, ..., moved by whole days: `date_trunc('week', x) - INTERVAL '1 day'`.

    Attributes:
      unit: as `planner.sql.datetimes` names it.
      days: by how many days each step is moved.
      zone: whose clocks show midnight then; the steps are moments at UTC.
      within: the days of that zone that they are in; None: those of the value's span.
    """

    unit: str
    days: int = 0
    zone: str = UTC
    within: Span | None = None


@dataclass(frozen=True)
class Digits:
    """A decimal number with at most `whole` digits before the point and `scale` after it.

    `integral` is a whole number of the database's own types, of which division drops the fraction.
    """

    whole: int
    scale: int
    integral: bool

    @classmethod
    def of(cls, kind: SqlType) -> Digits | None:
        """Those of a type that counts its digits; None of any other."""
        if kind.family is Family.INTEGER:
            return cls(kind.precision or 19, 0, True)
        if kind.family is Family.NUMERIC and kind.precision is not None and kind.scale is not None:
            return cls(max(kind.precision - kind.scale, 1), max(kind.scale, 0), False)
        return None

    @property
    def type(self) -> SqlType:
        """Whole numbers that a bigint holds are of family INTEGER, others numerics of their digits."""
        if self.integral and self.whole <= 18:
            return SqlType(Family.INTEGER, self.whole)
        return SqlType(Family.NUMERIC, self.whole + self.scale, self.scale)


@dataclass(frozen=True)
class Scalar:
    """What an expression is; a number has two forms.

    Attributes:
      node: as written, for its position.
      type: its type; None for a quoted literal, a placeholder and NULL, which take the type of what they meet.
      plain: SQL as conditions and keys use it, exact and not clamped; None where only the clamped form is total.
      clamped: the double that sums use, computed from clamped columns; it may raise PlannerError. None of what is no
        number.
      digits: what is proved of the plain form of an exact number; None for doubles and for what is no number.
      value: of a numeric literal.
      span: of a datetime that is proved to lie within it, or is NULL.
      declared: of a date column: its range.
      zoned: of a timestamp: it is one with time zone, as PostgreSQL has it; its SQL is the timestamp at UTC.
      calendar: of a datetime: on which steps of the calendar each value lies.
      unranged: the columns whose missing range keeps the clamped form from being.
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
        """SQL that raises for no row, of type `type`. Raises SensitivityUnbounded where that needs ranges."""
        return self.measured()[0] if self.plain is None else copied(self.plain)

    @property
    def bounds(self) -> Bounds | None:
        """The public interval of the clamped form. Raises SensitivityUnbounded where there is none."""
        return self.measured()[1]

    @property
    def is_null(self) -> bool:
        """Is it the literal NULL?"""
        return isinstance(self.plain, exp.Null)

    @property
    def is_number(self) -> bool:
        """May it stand in arithmetic?"""
        return self.is_null or (self.type is not None and self.type.is_number)

    @property
    def drops_fractions(self) -> bool:
        """Is it of a whole type, of which PostgreSQL's division drops the fraction? Raises: as `bounds`."""
        if self.digits is not None:
            return self.digits.integral
        return self.bounds is not None and self.bounds.integral

    @property
    def has_zone(self) -> bool:
        """Is it a timestamp with time zone in PostgreSQL?"""
        return self.zoned or (self.type is not None and self.type.family is Family.TIMESTAMPTZ)

    @property
    def kind(self) -> str:
        """Its type's name, for messages."""
        return "text" if self.type is None else self.type.shown

    def measured(self) -> Measured:
        """The clamped form: SQL of a double and its bounds.

        Raises: SensitivityUnbounded naming every column whose range is missing, or where bounds fit no double;
          UnsupportedSQL for what is no number.
        """
        if self.unranged:
            names = ", ".join(sorted({name for name, _ in self.unranged}))
            first = self.unranged[0][1]
            hint = (
                "say which values count, with numbers of your own: "
                f"LEAST(GREATEST({sql_identifier(first.name)}, 0), 100) takes what lies beyond for 0 or 100; or ask"
                " the custodian to declare `range = [lowest, highest]` for it in the policy"
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
        return UnsupportedSQL(f"{name} is no number", hint=hint or "sum numbers, or count rows", at=self.node)

    def through(
        self, sql: Callable[[exp.Expr], exp.Expr], bounds: Callable[[Bounds], Bounds]
    ) -> Callable[[], Measured]:
        """The clamped form of a function of this one, by how the function is written and what it makes of bounds."""

        def clamped() -> Measured:
            argument, known = self.measured()
            return sql(argument), known and bounds(known)

        return clamped


class Binder(Protocol):
    """Binds the parts of an expression; what the handlers of `planner.expressions.functions` need."""

    @property
    def zone(self) -> str:
        """The session's time zone."""

    def scalar(self, node: exp.Expr) -> Scalar:
        """Bind an expression of any type."""

    def predicate(self, node: exp.Expr) -> exp.Expr:
        """Bind a condition: its total SQL, of type boolean. Raises: UnsupportedSQL and whatever its parts raise."""

    def where(self, condition: exp.Expr, *, holds: bool = True) -> Binder:
        """A binder for where a condition is true, or where it is not; as written or bound."""


def unfit(node: exp.Expr) -> SensitivityUnbounded:
    """The error for bounds that a double cannot hold."""
    hint = "declare narrower ranges, or ask for a simpler expression"
    return SensitivityUnbounded("the sum's bounds do not fit a double", hint=hint, at=node)


def unranged(parts: Sequence[Scalar]) -> tuple[tuple[str, exp.Expr], ...]:
    """The columns without a range of several parts."""
    return tuple(entry for part in parts for entry in part.unranged)


def repeated(sql: exp.Expr, node: exp.Expr) -> exp.Expr:
    """SQL that a rewriting writes more than once: it must be small, or nesting would double it every time.

    Raises: StatementTooComplex.
    """
    if len(nodes(sql)) > _MAX_REPEATED:
        raise StatementTooComplex("an expression grows too large", hint="nest fewer functions", at=node)
    return sql


def wrap(sql: exp.Expr) -> exp.Expr:
    """Parentheses where an operator could tear the expression apart."""
    atomic = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Cast, exp.Case, exp.Func)
    return sql if isinstance(sql, atomic) and not isinstance(sql, (exp.And, exp.Or)) else exp.Paren(this=sql)
