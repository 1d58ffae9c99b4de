"""Functions of PostgreSQL that the parser library has no node for, as nodes of its trees."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Age(exp.Expression, exp.Func):
    """`age(later, earlier)`: the years, months and days from one moment to another; PostgreSQL's interval."""

    arg_types: ClassVar = {"this": True, "expression": True}
    _sql_names: ClassVar = ["AGE"]


class InZone(exp.Expression, exp.Func):
    """`timezone(zone, x)`: AT TIME ZONE of another zone than UTC, which no proof about days at UTC looks into."""

    arg_types: ClassVar = {"zone": True, "this": True}
    _sql_names: ClassVar = ["TIMEZONE"]


def local_sql(moment: exp.Expr, zone: str) -> exp.Expr:
    """From a timestamp at UTC to what a clock of the zone shows then."""
    return _in_zone(_in_zone(moment, "UTC"), zone)


def instant_sql(local: exp.Expr, zone: str) -> exp.Expr:
    """From what a clock of the zone shows to the timestamp at UTC."""
    return _in_zone(_in_zone(local, zone), "UTC")


def _in_zone(value: exp.Expr, zone: str) -> InZone:
    return InZone(zone=exp.Literal.string(zone), this=value)
