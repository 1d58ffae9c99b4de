"""Casts that the rules write, for DuckDB: each fails for no row and gives what PostgreSQL gives."""

from __future__ import annotations

from sqlglot import exp

from planner.dialects.exact_digits import Typed, as_double, exact_type
from planner.errors import UnsupportedSQL
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType

_SAME_TEXT = frozenset(
    {Family.INTEGER, Family.TEXT, Family.CHAR, Family.BOOL, Family.DATE, Family.TIMESTAMP, Family.UUID, Family.ENUM}
)
"""Types whose text is the same in both databases (years 1 to 9999, which no key of a domain leaves)."""

_LITERALS = {
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMPTZ,
    "uuid": Family.UUID,
}


def duckdb_cast(value: Typed, target: exp.DataType) -> Typed:
    """CAST(value AS target). Raises: UnsupportedSQL for a cast that has not been compared.

    >>> column = Typed(exp.column("n"), SqlType(Family.INTEGER))
    >>> duckdb_cast(column, exp.DataType.build("DECIMAL")).sql.sql("duckdb")
    'CAST(n AS DECIMAL(19, 0))'
    """
    if target.is_type("double"):
        null = isinstance(value.sql, exp.Null)
        return Typed(cast_sql(value.sql, "DOUBLE") if null else as_double(value), SqlType(Family.FLOAT))
    if target.is_type("smallint", "int", "bigint") and (value.type.is_number or value.type.family is Family.BOOL):
        return Typed(exp.Cast(this=value.sql, to=target.copy()), SqlType(Family.INTEGER))
    if target.is_type("decimal") and value.type.family in (Family.INTEGER, Family.NUMERIC):
        kind = exact_type(value.whole, value.scale)  # a choice between integers and numerics may be an integer here
        return Typed(cast_sql(value.sql, f"DECIMAL({kind.precision}, {kind.scale})"), kind)
    fixed = value.type.family is Family.NUMERIC and isinstance(value.sql, exp.Column)  # all its digits, as there
    if target.is_type("text", "varchar") and (fixed or value.type.family in _SAME_TEXT):
        return Typed(cast_sql(value.sql, "TEXT"), SqlType(Family.TEXT))
    for name, family in _LITERALS.items():
        if target.is_type(name) and isinstance(value.sql, exp.Literal):
            return Typed(exp.Cast(this=value.sql, to=target.copy()), SqlType(family))
    if target.is_type("date", "timestamp") and value.type.is_moment:
        family = Family.DATE if target.is_type("date") else Family.TIMESTAMP
        return Typed(exp.TryCast(this=value.sql, to=target.copy()), SqlType(family))
    raise UnsupportedSQL(f"this cast to {target.sql('postgres')} is not supported on DuckDB")
