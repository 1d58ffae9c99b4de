"""The catalog for analysts: tables, columns, declarations of the policy, and join paths. No statistics of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.table_lookup import table_in_sql
from planner.schema import Schema, Table, sql_identifier
from planner.sql.sql_types import sql_type

if TYPE_CHECKING:
    from planner.examine_views import ShownView

_FEW_VALUES, _FEW_YEARS = 12, 24
_TAIL = math.log(20)
_MOST_PEOPLE = 50
"""The largest half-width of an interval for an example question."""

_AVERAGE_NEEDS = 0.25
"""The smallest epsilon at which averages over 10,000 rows, at most 10 per person, are accurate to a tenth."""

_TEXTS = ("text", "char", "varchar", "bpchar")
_WHOLE = ("smallint", "integer", "bigint", "int2", "int4", "int8")
_DATED = ("date", "timestamp", "timestamp without time zone", "timestamp with time zone", "timestamptz")


@dataclass(frozen=True)
class Example:
    """An example question: the name of its table with what it counts, and its SQL."""

    name: str
    sql: str


def examples(tables: Sequence[CatalogTable], epsilon: float) -> tuple[Example, ...]:
    """Example questions: first about people, then about what they have."""
    return (*_of_people(tables, epsilon), *_of_what_they_have(tables, epsilon))


def _of_people(tables: Sequence[CatalogTable], epsilon: float) -> Iterator[Example]:
    """Questions in which each person is in at most one group."""
    people = [table for table in tables if table.privacy_unit]
    if not people or _TAIL / epsilon > _MOST_PEOPLE:
        return
    yield Example(f"{people[0].name}: how many", f"SELECT count(*)\nFROM {people[0].sql}")
    for table, column in _first(people, _is_kind):
        by = sql_identifier(column.name)
        yield Example(f"{table.name}: by {column.name}", f"SELECT {by}, count(*)\nFROM {table.sql}\nGROUP BY {by}")
    yield from _by_public_table(tables, people)
    for table, column in _first(people, lambda column: _years(column) is not None):
        year = f"date_trunc('year', {sql_identifier(column.name)}) AS year"
        sql = f"SELECT {year}, count(*)\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"
        yield Example(f"{table.name}: by year of {column.name}", sql)


def _of_what_they_have(tables: Sequence[CatalogTable], epsilon: float) -> Iterator[Example]:
    """Questions that count people once per group, over tables whose rows have one owner."""
    owned = [(table, join) for table in tables for join in [_owner(table, tables)] if join is not None]
    count_of_people = {
        table.name: f"count(DISTINCT {sql_identifier(join.columns[0])}) AS people" for table, join in owned
    }
    asked = [table for table, _ in owned]

    def tells(groups: int) -> bool:
        return _TAIL * groups / epsilon <= _MOST_PEOPLE

    for table, column in _first(asked, lambda column: tells(_years(column) or _MOST_PEOPLE)):
        year = f"date_trunc('year', {sql_identifier(column.name)}) AS year"
        sql = f"SELECT {year}, {count_of_people[table.name]}\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"
        yield Example(f"{table.name}: people by year", sql)
        few = partial(_few_with, tells, _years(column) or 0)
        for _, kind in _first([table], few):
            by = f"{year}, {sql_identifier(kind.name)}"
            sql = f"SELECT {by}, {count_of_people[table.name]}\nFROM {table.sql}\nGROUP BY 1, 2\nORDER BY 1, 2"
            yield Example(f"{table.name}: people by year and {kind.name}", sql)
    for table, kind in _first(asked, lambda kind: _is_kind(kind) and tells(len(kind.domain or ()))):
        by = sql_identifier(kind.name)
        sql = f"SELECT {by}, {count_of_people[table.name]}\nFROM {table.sql}\nGROUP BY {by}"
        yield Example(f"{table.name}: people by {kind.name}", sql)
    if epsilon >= _AVERAGE_NEEDS:
        for table, column in _first(asked, _is_amount):
            sql = f"SELECT avg({sql_identifier(column.name)})\nFROM {table.sql}"
            yield Example(f"{table.name}: average {column.name}", sql)


def _first(
    tables: Sequence[CatalogTable], wanted: Callable[[CatalogColumn], bool]
) -> list[tuple[CatalogTable, CatalogColumn]]:
    """The first suitable column with its table, or none."""
    return [(table, column) for table in tables for column in table.columns if wanted(column)][:1]


def _few_with(tells: Callable[[int], bool], years: int, kind: CatalogColumn) -> bool:
    return _is_kind(kind) and tells(years * len(kind.domain or ()))


def _is_amount(column: CatalogColumn) -> bool:
    """Is an average of the column useful? Not of a few whole numbers, such as years."""
    low, high = column.low, column.high
    few = column.type in _WHOLE and isinstance(low, float) and isinstance(high, float) and high - low < _FEW_YEARS
    return isinstance(low, float) and not few


def _is_kind(column: CatalogColumn) -> bool:
    return 1 < len(column.domain or ()) <= _FEW_VALUES


def _years(column: CatalogColumn) -> int | None:
    """The number of years in the declared range of a date, if they are few."""
    if column.type not in _DATED or not isinstance(column.low, str) or not isinstance(column.high, str):
        return None
    years = date.fromisoformat(column.high).year - date.fromisoformat(column.low).year + 1
    return years if 1 < years <= _FEW_YEARS else None


def _owner(table: CatalogTable, tables: Sequence[CatalogTable]) -> JoinPath | None:
    """The one key that leads to a row's owner; None if there are several, or it leads to another table."""
    if table.privacy_unit or table.public:
        return None
    by_name = {one.name: one for one in tables}
    owning = [join for join in table.joins if join.owning and not by_name[join.table].public]
    if len(owning) != 1 or len(owning[0].columns) != 1 or not by_name[owning[0].table].privacy_unit:
        return None
    return owning[0]


def _by_public_table(tables: Sequence[CatalogTable], people: Sequence[CatalogTable]) -> Iterator[Example]:
    by_name = {table.name: table for table in tables}
    for table in people:
        for join in table.joins:
            other = by_name[join.table]
            texts = [column.name for column in other.columns if column.type.startswith(_TEXTS)]
            if other.public and texts and len(join.columns) == 1:
                on = f"{table.sql}.{sql_identifier(join.columns[0])} = {other.sql}.{sql_identifier(join.key[0])}"
                by = sql_identifier(texts[0])
                sql = f"SELECT {by}, count(*)\nFROM {table.sql} JOIN {other.sql} ON {on}\nGROUP BY {by}"
                yield Example(f"{table.name}: by {other.name}", sql)
                return


@dataclass(frozen=True)
class CatalogColumn:
    """A column.

    Attributes:
      name, type: as in the database.
      nullable: may it be NULL?
      low, high: the declared range, of numbers or (in ISO form) of days; or None.
      domain: the declared group domain, as text; or None.
      note: the same in words.
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
    """`columns` reference `key` of `table`; `owning`: does a row belong to the owners of that table's row?"""

    columns: tuple[str, ...]
    table: str
    key: tuple[str, ...]
    owning: bool


@dataclass(frozen=True)
class CatalogTable:
    """A table.

    Attributes:
      name: canonical: unique among tables (`planner.schema`).
      namespace: its schema.
      sql: its name in questions.
      public: is it answered exactly and free?
      privacy_unit: is each row a protected person?
      columns: in the table's order.
      keys: the columns that identify a row.
      joins: its foreign keys; empty for views.
      kind: `table` or `view`.
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


_SHOWN_VALUES = 12


@dataclass(frozen=True)
class Catalog:
    """The tables that may be queried, and the defaults of questions. It reveals nothing of private rows, not even
    their number.

    Attributes:
      dataset: the name that clients connect to.
      schemas: where tables without a schema are looked up, in order.
      tables: and views.
      epsilon: the default epsilon of a query.
      min_epsilon: the smallest epsilon of a query; a join whose duration depends on the data costs more.
      max_epsilon: the largest epsilon of a query.
      delta: the default delta of a query.
      time_grain: now() is rounded to this.
      answer_quantum_s: the release interval in seconds: answers of joins that may explode leave at 1, 2, 4, ... times
        it; 0: at once.
      hold_all_answers: do the answers of other private questions wait as well?
      unbounded_joins: may private tables be joined by other conditions than keys?
      max_join_tuples: a question with a larger or unknown public bound on join tuples is refused; None: no limit.
      examples: example questions.
    """

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
    """The catalog of a schema under a policy."""
    names = sorted(name for name in policy.tables if name in schema.tables)
    tables = tuple(_table(schema.tables[name], schema, policy, names) for name in names)
    # The planner is not loaded by who only reads a catalog that was sent: the command line, say.
    from planner.examine_views import shown_views

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
        examples(tables, policy.epsilon),
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
    """A view. Declarations of the policy apply to columns that the view shows unchanged."""
    columns = tuple(
        _column(shown.column.name, shown.column.type, shown.column.nullable, policy.column(*shown.base or ("", "")))
        for shown in view.columns
    )
    table = schema.views[view.name].table
    sql = table_in_sql(table, schema, policy.schemas)
    return CatalogTable(view.name, table.namespace, sql, view.public, False, columns, (), (), "view")


def _joins(table: Table, policy: Policy) -> Iterator[JoinPath]:
    """The catalog's foreign keys, as the policy changes them, then those that only the policy declares."""
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
    return CatalogColumn(
        name, kind, nullable, low, high, domain, "; ".join(_words(declared.forms, low, high, domain))
    )


def _words(
    forms: tuple[str, ...], low: float | str | None, high: float | str | None, domain: tuple[str, ...] | None
) -> Iterator[str]:
    if forms:
        yield f"a date read as {' or '.join(forms)}"
    if low is not None:
        yield f"{_spelled(low)} to {_spelled(high)}"
    if domain is not None:
        more = "" if len(domain) <= _SHOWN_VALUES else f" and {len(domain) - _SHOWN_VALUES} more"
        yield f"{', '.join(domain[:_SHOWN_VALUES])}{more}"


def _spelled(bound: float | str | None) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)
