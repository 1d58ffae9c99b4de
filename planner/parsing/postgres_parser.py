"""The parser library's parser for PostgreSQL, corrected where it takes one construct for another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import ClassVar

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser

from planner.sql.calls import Age
from planner.sql.constants import constant_text
from planner.sql.sql_nodes import cast_sql

_DIALECT = Postgres()


class _Parser(PostgresParser):
    FUNCTION_PARSERS: ClassVar = {
        **PostgresParser.FUNCTION_PARSERS,
        "DATE_PART": lambda self: _date_part(PostgresParser.FUNCTION_PARSERS["DATE_PART"](self)),
        "INITCAP": lambda self: _initcap(PostgresParser.FUNCTION_PARSERS["INITCAP"](self)),
    }
    FUNCTIONS: ClassVar = {
        **PostgresParser.FUNCTIONS,
        "TO_CHAR": lambda args: _call("to_char", exp.ToChar, ("this", "format"), args),
        "AGE": lambda args: _age(args),
        "MAKE_DATE": lambda args: _made(args),
        "TIMEZONE": lambda args: _at_zone(args),
        "MAKE_INTERVAL": lambda args: _made_interval(args),
    }


def postgres_parser() -> PostgresParser:
    """A parser for one statement; its first error is raised.

    to_char keeps its format, which the library takes for one of strftime; age is a node of its own;
    `make_interval(days => n)` becomes `n * INTERVAL '1' DAY`; and
    `date_part('month', x)` becomes `CAST(EXTRACT(month FROM x) AS DOUBLE PRECISION)`, which is its definition: the
    library takes it for EXTRACT itself, which gives a numeric.
    """
    return _Parser(error_level=ErrorLevel.IMMEDIATE, dialect=_DIALECT)


def _date_part(extract: exp.Expr) -> exp.Expr:
    cast = cast_sql(extract, "DOUBLE PRECISION")
    cast.meta[DATE_PART] = True
    return cast


def _initcap(call: exp.Expr) -> exp.Expr:
    """Without the signs between words that the library adds; PostgreSQL knows no others."""
    signs = call.args.get("expression")
    if signs is not None and signs.name == _DIALECT.INITCAP_DEFAULT_DELIMITER_CHARS:
        call.set("expression", None)
    return call


def _call(name: str, kind: type[exp.Expr], parts: Sequence[str], args: list[exp.Expr]) -> exp.Expr:
    """A function of so many arguments; with others it is none that is known."""
    if len(args) != len(parts):
        return exp.Anonymous(this=name, expressions=args)
    return kind(**dict(zip(parts, args, strict=True)))


def _age(args: list[exp.Expr]) -> exp.Expr:
    """Of one moment: from it to the first moment of today."""
    return _call("age", Age, ("this", "expression"), [exp.CurrentDate(), *args] if len(args) == 1 else args)


def _at_zone(args: list[exp.Expr]) -> exp.Expr:
    """`timezone('UTC', x)`, which AT TIME ZONE stands for."""
    if len(args) != 2:
        return exp.Anonymous(this="timezone", expressions=args)
    return exp.AtTimeZone(this=args[1], zone=args[0])


def _made(args: list[exp.Expr]) -> exp.Expr:
    """The date that literals make; with others make_date fails for some row."""
    numbers = [
        arg.name for arg in args if isinstance(arg, exp.Literal) and arg.name.isdecimal() and len(arg.name) < 5
    ]
    try:
        year, month, day = map(int, numbers if len(numbers) == len(args) else ())
        return cast_sql(exp.Literal.string(str(date(year, month, day))), "DATE")
    except ValueError:
        return exp.Anonymous(this="make_date", expressions=args)


_MADE_OF = {"years": "YEAR", "months": "MONTH", "weeks": "WEEK", "days": "DAY", "hours": "HOUR", "mins": "MINUTE",
            "secs": "SECOND"}  # fmt: skip
"""The arguments of make_interval, in order."""


def _made_interval(args: list[exp.Expr]) -> exp.Expr:
    """make_interval() of one kind of units, by name or by place; others may be zeros."""
    found: list[tuple[str, exp.Expr]] = []
    for place, argument in enumerate(args[: len(_MADE_OF)]):
        if isinstance(argument, exp.Kwarg):
            found.append((argument.name.lower(), argument.expression))
        else:
            found.append((list(_MADE_OF)[place], argument))
    counted = [(name, count) for name, count in found if constant_text(count) != "0"] or found[:1]
    names = [name for name, _ in found]
    known = len(found) == len(args) == len(set(names)) and set(names) <= set(_MADE_OF)
    by_name = [isinstance(argument, exp.Kwarg) for argument in args]
    if not known or len(counted) != 1 or by_name != sorted(by_name):  # by place never stands behind by name
        return exp.Anonymous(this="make_interval", expressions=args)
    name, count = counted[0]
    unit = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(_MADE_OF[name]))
    return exp.Mul(this=exp.Paren(this=count), expression=unit)


DATE_PART = "date_part"
"""The key of a cast's meta that says that the analyst wrote date_part."""
