"""Which columns of a table may hold NaN: what every catalog says of its tables once it has read them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from planner.schema import Column, Table
from planner.sql.sql_types import Family, sql_type

FLOATS = frozenset({Family.FLOAT})
"""What holds NaN where no decimal does."""

NUMBERS = frozenset({Family.FLOAT, Family.NUMERIC})
"""What holds NaN in PostgreSQL."""


def with_nan(table: Table, families: Collection[Family], free: Collection[str] = ()) -> Table:
    """The table, with a mark at each column that may hold NaN, and so may be missing.

    Args:
      families: the types that the database has NaN of.
      free: the columns of which a constraint that is enforced keeps it.

    >>> table = Table("t", "public", (Column("k", "numeric", False), Column("f", "real", False)), (("k",),), ())
    >>> [column.nan for column in with_nan(table, NUMBERS).columns]
    [False, True]
    """
    keys = {name for key in table.keys for name in key}
    keys |= {name for key in table.foreign_keys for name in key.columns}

    def marked(column: Column) -> Column:
        if column.name in keys or sql_type(column.type).family not in families:
            return column
        kept_out = column.name in free
        return replace(column, nan_free=True) if kept_out else replace(column, nullable=True, nan=True)

    return replace(table, columns=tuple(map(marked, table.columns)))
