"""What may be asked: tables, columns, what the policy declares of them, how tables join. No statistics of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.table_lookup import table_in_sql
from planner.schema import Schema, Table
from planner.sql.sql_types import sql_type

if TYPE_CHECKING:
    from planner.views.examine import ShownView

_SHOWN_VALUES = 12
_FEW_VALUES, _FEW_LINES = 12, 6
"""So many groups, and so many lines over time, does a first question have at most."""

_DATED = ("date", "timestamp", "timestamp without time zone", "timestamp with time zone", "timestamptz")


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


@dataclass(frozen=True)
class Example:
    """A question to begin with."""

    name: str
    sql: str


@dataclass(frozen=True)
class Catalog:
    """What may be asked, where tables without a schema are looked for, and the defaults of asking."""

    dataset: str
    schemas: tuple[str, ...]
    tables: tuple[CatalogTable, ...]
    epsilon: float
    min_epsilon: float
    max_epsilon: float
    delta: float
    time_grain: str
    answer_quantum_s: float
    hold_all_answers: bool
    unbounded_joins: bool
    max_join_tuples: int | None
    examples: tuple[Example, ...]


def catalog(schema: Schema, policy: Policy) -> Catalog:
    """What the policy lets anybody ask of the schema."""
    names = sorted(name for name in policy.tables if name in schema.tables)
    tables = tuple(_table(schema.tables[name], schema, policy, names) for name in names)
    # The planner is not loaded by who only reads a catalog that was sent: the command line, say.
    from planner.views.examine import shown_views

    views = tuple(_view(view, schema, policy) for view in shown_views(schema, policy))
    settings = policy.side_channels
    return Catalog(
        policy.name,
        policy.schemas,
        tables + views,
        policy.epsilon,
        settings.min_epsilon,
        policy.max_epsilon,
        policy.delta,
        policy.time_grain,
        settings.answer_quantum_s,
        settings.hold_all_answers,
        settings.unbounded_joins,
        settings.max_join_tuples,
        tuple(_examples(tables)),
    )


def _table(table: Table, schema: Schema, policy: Policy, names: list[str]) -> CatalogTable:
    columns = tuple(
        _column(column.name, column.type, column.nullable, policy.column(table.name, column.name))
        for column in table.columns
    )
    unit = table.name in policy.privacy_units
    joins = tuple(path for path in _joins(table, policy) if path.table in names)
    sql, public = table_in_sql(table, schema, policy.schemas), policy.is_public(table.name)
    return CatalogTable(table.name, table.namespace, sql, public, unit, columns, table.keys, joins)


def _view(view: ShownView, schema: Schema, policy: Policy) -> CatalogTable:
    """A view: what the policy declares of a column holds where the view shows it as it is."""
    columns = tuple(
        _column(shown.column.name, shown.column.type, shown.column.nullable, policy.column(*shown.base or ("", "")))
        for shown in view.columns
    )
    table = schema.views[view.name].table
    sql = table_in_sql(table, schema, policy.schemas)
    return CatalogTable(view.name, table.namespace, sql, view.public, False, columns, (), (), "view")


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
    """A count; one over the months of a declared range; one by a few declared values; both; one by a public table.

    Each has few groups, so that a first question says something.
    """
    private = [table for table in tables if not table.public]
    if private:
        yield Example("a count", f"SELECT count(*) FROM {private[-1].sql}")
    months = next(_columns(private, lambda column: column.type in _DATED and column.low is not None), None)
    kinds = next(_columns(private, lambda column: 1 < len(column.domain or ()) <= _FEW_VALUES), None)
    if months is not None:
        table, column = months
        month = f"date_trunc('month', {column.name}) AS month"
        sql = f"SELECT {month}, count(*)\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"
        yield Example("a count by month", sql)
        own = next(_columns([table], lambda other: 1 < len(other.domain or ()) <= _FEW_LINES), None)
        if own is not None:
            kind = own[1].name
            sql = f"SELECT {month}, {kind}, count(*)\nFROM {table.sql}\nGROUP BY 1, 2\nORDER BY 1, 2"
            yield Example(f"by month and {kind}", sql)
    if kinds is not None:
        table, column = kinds
        sql = f"SELECT {column.name}, count(*)\nFROM {table.sql}\nGROUP BY {column.name}"
        yield Example(f"a count by {column.name}", sql)
    yield from _by_public_table(tables, private)


def _columns(
    tables: list[CatalogTable], wanted: Callable[[CatalogColumn], bool]
) -> Iterator[tuple[CatalogTable, CatalogColumn]]:
    return ((table, column) for table in tables for column in table.columns if wanted(column))


def _by_public_table(tables: tuple[CatalogTable, ...], private: list[CatalogTable]) -> Iterator[Example]:
    by_name = {table.name: table for table in tables}
    for table in private:
        for join in table.joins:
            other = by_name[join.table]
            texts = [column.name for column in other.columns if column.type.startswith(("text", "character"))]
            if other.public and texts and len(join.columns) == 1:
                on = f"{table.sql}.{join.columns[0]} = {other.sql}.{join.key[0]}"
                sql = f"SELECT {texts[0]}, count(*)\nFROM {table.sql} JOIN {other.sql} ON {on}\nGROUP BY {texts[0]}"
                yield Example(f"a count by {other.name}", sql)
                return
