"""A table that may be asked: its columns with what the policy declares of them, its keys, how it joins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CatalogColumn:
    """A column.

    Attributes:
      name, type: as the database has them.
      nullable: may it be NULL?
      low, high: the declared range, of numbers or (in ISO form) of days; None: none is declared.
      domain: the values that may be group keys, as text; None: none are declared.
      note: the same as a few words.
    """

    name: str
    type: str
    nullable: bool
    low: float | str | None
    high: float | str | None
    domain: tuple[str, ...] | None
    note: str


@dataclass(frozen=True)
class JoinPath:
    """`columns` reference `key` of `table`; `owning`: does the row belong to whom that table's row belongs to?"""

    columns: tuple[str, ...]
    table: str
    key: tuple[str, ...]
    owning: bool


@dataclass(frozen=True)
class CatalogTable:
    """A table.

    Attributes:
      name: canonical: no two tables have the same (`planner.schema`).
      namespace: the schema that holds it.
      sql: how a question names it.
      public: is it answered exactly and free?
      privacy_unit: is a row of it somebody who is protected?
      columns: in the table's order.
      keys: what identifies a row.
      joins: its foreign keys; a view has neither of its own.
      kind: `table`, or `view`, which stands for rows of others.
    """

    name: str
    namespace: str
    sql: str
    public: bool
    privacy_unit: bool
    columns: tuple[CatalogColumn, ...]
    keys: tuple[tuple[str, ...], ...]
    joins: tuple[JoinPath, ...]
    kind: str = "table"
