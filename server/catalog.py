"""What may be asked: tables, columns, what the policy declares of them, how tables join. No statistics of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.policy import ColumnPolicy, Policy
from planner.schema import Schema, Table
from planner.sql_types import sql_type

_SHOWN_VALUES = 12


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
      name: in lower case.
      public: is it answered exactly and free?
      privacy_unit: is a row of it somebody who is protected?
      columns: in the table's order.
      keys: what identifies a row.
      joins: its foreign keys.
    """

    name: str
    public: bool
    privacy_unit: bool
    columns: tuple[CatalogColumn, ...]
    keys: tuple[tuple[str, ...], ...]
    joins: tuple[JoinPath, ...]


@dataclass(frozen=True)
class Example:
    """A question to begin with."""

    name: str
    sql: str


@dataclass(frozen=True)
class Catalog:
    """What may be asked, and the defaults of asking."""

    dataset: str
    tables: tuple[CatalogTable, ...]
    epsilon: float
    max_epsilon: float
    delta: float
    time_grain: str
    examples: tuple[Example, ...]


def catalog(schema: Schema, policy: Policy) -> Catalog:
    """What the policy lets anybody ask of the schema."""
    names = sorted(name for name in policy.tables if name in schema.tables)
    tables = tuple(_table(schema.tables[name], policy, names) for name in names)
    return Catalog(
        policy.name,
        tables,
        policy.epsilon,
        policy.max_epsilon,
        policy.delta,
        policy.time_grain,
        tuple(_examples(tables)),
    )


def _table(table: Table, policy: Policy, names: list[str]) -> CatalogTable:
    columns = tuple(
        _column(column.name, column.type, column.nullable, policy.column(table.name, column.name))
        for column in table.columns
    )
    unit = table.name in policy.privacy_units
    joins = tuple(path for path in _joins(table, policy) if path.table in names)
    return CatalogTable(table.name, policy.is_public(table.name), unit, columns, table.unique_keys, joins)


def _joins(table: Table, policy: Policy) -> Iterator[JoinPath]:
    """The catalog's foreign keys as the policy changes them, then those that only the policy declares."""
    declared = {key.columns: key for key in policy.foreign_keys if key.table == table.name}
    for key in table.foreign_keys:
        said = declared.pop(key.columns, None)
        yield JoinPath(key.columns, key.references, key.key, said is None or said.owning)
    for said in declared.values():
        yield JoinPath(said.columns, said.references, said.key, said.owning)


def _column(name: str, kind: str, nullable: bool, declared: ColumnPolicy) -> CatalogColumn:
    low: float | str | None = None
    high: float | str | None = None
    if declared.range is not None:
        low, high = declared.range
    elif declared.dates is not None:
        low, high = (day.isoformat() for day in declared.dates)
    labels = sql_type(kind).labels
    kind = "enum" if labels else kind
    values = declared.domain if declared.domain is not None else labels or None
    domain = None if values is None else tuple(str(value) for value in values)
    return CatalogColumn(name, kind, nullable, low, high, domain, "; ".join(_words(low, high, domain)))


def _words(low: float | str | None, high: float | str | None, domain: tuple[str, ...] | None) -> Iterator[str]:
    if low is not None:
        yield f"{_spelled(low)} to {_spelled(high)}"
    if domain is not None:
        more = "" if len(domain) <= _SHOWN_VALUES else f" and {len(domain) - _SHOWN_VALUES} more"
        yield f"{', '.join(domain[:_SHOWN_VALUES])}{more}"


def _spelled(bound: float | str | None) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


def _examples(tables: tuple[CatalogTable, ...]) -> Iterator[Example]:
    """A count, and a count by a public table that a private one joins or by a declared domain."""
    private = [table for table in tables if not table.public]
    if private:
        yield Example("a count", f"SELECT count(*) FROM {private[-1].name}")
    by_name = {table.name: table for table in tables}
    for table in private:
        for join in table.joins:
            other = by_name[join.table]
            texts = [column.name for column in other.columns if column.type.startswith(("text", "character"))]
            if other.public and texts and len(join.columns) == 1:
                on = f"{table.name}.{join.columns[0]} = {other.name}.{join.key[0]}"
                sql = f"SELECT {texts[0]}, count(*)\nFROM {table.name} JOIN {other.name} ON {on}\nGROUP BY {texts[0]}"
                yield Example(f"a count by {other.name}", sql)
                return
    for table in private:
        for column in table.columns:
            if column.domain is not None:
                sql = f"SELECT {column.name}, count(*)\nFROM {table.name}\nGROUP BY {column.name}"
                yield Example(f"a count by {column.name}", sql)
                return
