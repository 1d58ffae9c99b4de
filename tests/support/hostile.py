"""Values that break careless SQL, in a table of every type; and the names that expressions over it use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from sqlglot import exp

from planner.errors import UnknownColumn
from planner.policy.policy import ColumnPolicy
from planner.sql.sql_types import SqlType, sql_type
from planner.sql.trees import bound_column
from planner.sql.zones import UTC

TYPES = {
    "i": "bigint",
    "j": "integer",
    "n": "numeric(15,2)",
    "m": "numeric",
    "f": "double precision",
    "r": "real",
    "t": "text",
    "v": "varchar(10)",
    "c": "char(5)",
    "d": "date",
    "s": "timestamp",
    "z": "timestamptz",
    "b": "boolean",
}

VALUES: dict[str, list[str | None]] = {
    "i": ["9223372036854775807", "-9223372036854775808", "0", "-1", "1", "7", None],
    "j": ["2147483647", "-2147483648", "0", "3", None],
    "n": ["NaN", "0", "0.01", "-0.01", "9999999999999.99", "-9999999999999.99", "2.5", "-2.5", "1.005", None],
    "m": ["NaN", "Infinity", "-Infinity", "1e-400", "1e400", "-1e300", "0.5", "0", "1e131000", None],
    "f": ["NaN", "Infinity", "-Infinity", "1e-308", "5e-324", "1.7e308", "-1.7e308", "-0", "0.5", "2.5", "3", None],
    "r": ["NaN", "Infinity", "1e38", "1e-38", "0.1", "-3", None],
    "t": ["", " ", "a", "A%_\\", "É straße ŉ İ", "💥💥", "\ufeff\u202e", "x" * 5000, "''--;", None],
    "v": ["", "abc", "a b c d e ", "日本語", None],
    "c": ["", "a", "ab c", "é", None],
    "d": ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "0001-01-01", "9999-12-31", "2024-02-29", None],
    "s": ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999", "2024-02-29 23:59:59.999999",
          "0001-01-01", "9999-12-31 23:59:59.999999", None],
    "z": ["infinity", "-infinity", "4713-01-02 BC", "294276-12-31", "2024-02-29 12:00+14", "0001-01-01 00:00+15",
          None],
    "b": ["true", "false", None],
}  # fmt: skip

COLUMNS = {
    "i": ["i", "j"],
    "n": ["n", "m"],
    "f": ["f", "r"],
    "t": ["t", "v"],
    "c": ["c"],
    "d": ["d"],
    "s": ["s"],
    "z": ["z"],
    "b": ["b"],
}
"""The columns that may fill a hole of `planner.expressions.functions`."""


class HostileNames:
    """The names of one table `h`, with ranges for its numbers and, if wanted, for its dates."""

    def __init__(
        self,
        low: float = -100.0,
        high: float = 1000.0,
        dates: tuple[date, date] | None = None,
        types: Mapping[str, str] = TYPES,
    ) -> None:
        self.zone = UTC
        self._types = types
        self._numbers = ColumnPolicy(range=(low, high))
        self._dates = ColumnPolicy(dates=dates)

    def resolve(self, column: exp.Column) -> exp.Expr:
        """`h.column`."""
        if column.name not in self._types:
            raise UnknownColumn(column.name)
        return bound_column("h", column.name)

    def type_of(self, column: exp.Column) -> SqlType:
        """As the table is made."""
        return sql_type(self._types[column.name])

    def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
        """The same range for every number."""
        kind = self.type_of(column)
        return (
            f"h.{column.name}",
            self._numbers if kind.is_number else self._dates if kind.is_moment else ColumnPolicy(),
        )


def create_table() -> str:
    """SQL that makes `h`, empty."""
    return f"CREATE TABLE h ({', '.join(f'{name} {kind}' for name, kind in TYPES.items())})"


def insert_row() -> str:
    """SQL that adds one row, every value given as text."""
    return f"INSERT INTO h VALUES ({', '.join(f'%s::text::{kind}' for kind in TYPES.values())})"
