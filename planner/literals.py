"""Values written into a statement: read here, so that the database never has to refuse one."""

from __future__ import annotations

import calendar
import re
import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from planner.errors import InvalidSyntax, UnreadableMoment, UnreadableValue, UnsupportedSQL
from planner.positions import position_of
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType
from planner.suggestions import did_you_mean

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?")
_LARGEST, _SMALLEST = Decimal("1e100"), Decimal("1e-100")
_MAX_DIGITS = 200
_SHOWN_LABELS = 10
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800}
_MONTHS = {"MONTH": 1, "YEAR": 12}


def number(node: exp.Expr) -> Decimal:
    """The value of a numeric literal; 0, or of a size that every numeric type of a database can hold."""
    text = node.name
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        raise InvalidSyntax("a number that cannot be read", position=position_of(node))
    value = Decimal(text)
    if value and not _SMALLEST <= value <= _LARGEST:
        raise UnsupportedSQL("a number beyond 1e100 or below 1e-100", position=position_of(node))
    return value


def number_sql(value: Decimal) -> exp.Expr:
    """A numeric literal, written without an exponent."""
    return exp.Literal.number(format(value, "f")) if value >= 0 else exp.Neg(this=number_sql(-value))


def typed(node: exp.Literal, kind: SqlType) -> exp.Expr:
    """A quoted literal as the type that it is compared with.

    Returns: SQL that cannot fail. Raises: InvalidSyntax when the text is no such value; UnsupportedSQL when
      the type takes no literal.
    """
    text = node.name
    if kind.is_string:
        return exp.Literal.string(text)
    if kind.family is Family.DATE and not _DATE.fullmatch(text):
        kind = SqlType(Family.TIMESTAMP)
    if kind.family is Family.DATE:
        return date_sql(_instant(node, _DATE).date())
    if kind.family in (Family.TIMESTAMP, Family.TIMESTAMPTZ):
        return timestamp_sql(_instant(node, _TIMESTAMP))
    if kind.family is Family.UUID:
        return _uuid(node)
    if kind.family is Family.ENUM:
        return _label(node, kind)
    if kind.is_number and _NUMBER.fullmatch(text.removeprefix("-")):
        value = number(exp.Literal(this=text.removeprefix("-"), is_string=False))
        return number_sql(-value if text.startswith("-") else value)
    wanted = "write a number" if kind.is_number else "write a value of its type"
    raise UnreadableValue(f"{kind.family.value} is not compared with text", hint=wanted, position=position_of(node))


def moment(node: exp.Expr) -> date | datetime | None:
    """The value of `DATE '...'`, `TIMESTAMP '...'`, each plus or minus INTERVALs; None for anything else."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval):
        start = moment(node.this)
        return None if start is None else _shift(start, node.expression, -1 if isinstance(node, exp.Sub) else 1)
    return None


def moment_sql(value: date | datetime) -> exp.Expr:
    """A date or timestamp literal."""
    return timestamp_sql(value) if isinstance(value, datetime) else date_sql(value)


def date_sql(value: date) -> exp.Expr:
    """`CAST('1994-01-01' AS DATE)`."""
    return cast_sql(exp.Literal.string(value.isoformat()), "DATE")


def timestamp_sql(value: datetime) -> exp.Expr:
    """`CAST('1994-01-01 00:00:00' AS TIMESTAMP)`."""
    return cast_sql(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")


def _cast(node: exp.Cast) -> date | datetime:
    literal = node.this
    if not (isinstance(literal, exp.Literal) and literal.is_string):
        raise UnsupportedSQL("a cast is not supported", hint="a cast can fail", position=position_of(node))
    if node.to.this is exp.DataType.Type.DATE:
        return _instant(literal, _DATE).date()
    if node.to.this is exp.DataType.Type.TIMESTAMP:
        return _instant(literal, _TIMESTAMP)
    hint = "write DATE '...' or TIMESTAMP '...'"
    raise UnsupportedSQL(
        f"a literal of type {node.to.sql('postgres')} is not supported", hint=hint, position=position_of(node)
    )


def _instant(node: exp.Expr, shape: re.Pattern[str]) -> datetime:
    if shape.fullmatch(node.name):
        try:
            return datetime.fromisoformat(node.name)
        except ValueError:
            pass
    hint = "write '1994-01-31' or '1994-01-31 12:00:00'"
    raise UnreadableMoment("a date that cannot be read", hint=hint, position=position_of(node))


def _uuid(node: exp.Expr) -> exp.Expr:
    try:
        return cast_sql(exp.Literal.string(str(uuid.UUID(node.name))), "UUID")
    except ValueError:
        raise UnreadableValue("a UUID that cannot be read", position=position_of(node)) from None


def _label(node: exp.Expr, kind: SqlType) -> exp.Expr:
    if node.name not in kind.labels:
        some = ", ".join(f"'{label}'" for label in kind.labels[:_SHOWN_LABELS])
        hint = did_you_mean(node.name, kind.labels) or f"write one of its labels: {some}"
        raise UnreadableValue("a text that is no label of the enum", hint=hint, position=position_of(node))
    return exp.Literal.string(node.name)


def _shift(start: date | datetime, interval: exp.Interval, sign: int) -> datetime:
    """Add an interval as PostgreSQL does: months first, a day that the month lacks becomes its last one."""
    amount, unit = interval.this, interval.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    text = amount.name if isinstance(amount, exp.Literal) else ""
    if not re.fullmatch(r"-?\d{1,6}", text) or name not in _SECONDS | _MONTHS:
        hint = "write INTERVAL '3' MONTH; one whole number and one unit"
        raise UnsupportedSQL("this interval is not supported", hint=hint, position=position_of(interval))
    steps = sign * int(text)
    instant = start if isinstance(start, datetime) else datetime(start.year, start.month, start.day)
    try:
        if name in _SECONDS:
            return instant + timedelta(seconds=steps * _SECONDS[name])
        months = instant.year * 12 + instant.month - 1 + steps * _MONTHS[name]
        year, month = divmod(months, 12)
        return instant.replace(
            year=year, month=month + 1, day=min(instant.day, calendar.monthrange(year, month + 1)[1])
        )
    except (ValueError, OverflowError):
        raise InvalidSyntax("a date beyond the years 1 to 9999", position=position_of(interval)) from None
