"""Questions to begin with, by what is public alone: people over few groups, so that the default epsilon tells them.

What makes an answer say nothing is known beforehand. A person who may be in G groups has epsilon / G in each, so that
a count of people lies within ln(20) G / epsilon in 95 of 100 answers: where that is more than some dozens of people,
the question is no example. A count of rows is none either, since one person may have any number of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from planner.schema import sql_identifier
from server.explain.catalog_table import CatalogColumn, CatalogTable, JoinPath

_FEW_VALUES, _FEW_YEARS = 12, 24
_TAIL = math.log(20)
_MOST_PEOPLE = 50
"""The widest half of an interval that a first question may have."""

_AVERAGE_NEEDS = 0.25
"""The least epsilon at which averages are right within a tenth, over 10,000 rows of which nobody has more than 10."""

_TEXTS = ("text", "char", "varchar", "bpchar")
_WHOLE = ("smallint", "integer", "bigint", "int2", "int4", "int8")
_DATED = ("date", "timestamp", "timestamp without time zone", "timestamp with time zone", "timestamptz")


@dataclass(frozen=True)
class Example:
    """A question to begin with: the table that it is about, with what it counts; and its words."""

    name: str
    sql: str


def examples(tables: Sequence[CatalogTable], epsilon: float) -> tuple[Example, ...]:
    """First those about people themselves, then about what they have.

    Args:
      tables: what may be asked.
      epsilon: the policy's default, with which an example is asked.
    """
    return (*_of_people(tables, epsilon), *_of_what_they_have(tables, epsilon))


def _of_people(tables: Sequence[CatalogTable], epsilon: float) -> Iterator[Example]:
    """Each person is in one group at most."""
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
    """People counted once in each group, of tables whose rows are one person's."""
    owned = [(table, join) for table in tables for join in [_owner(table, tables)] if join is not None]
    counted = {table.name: f"count(DISTINCT {sql_identifier(join.columns[0])}) AS people" for table, join in owned}
    asked = [table for table, _ in owned]

    def tells(groups: int) -> bool:
        return _TAIL * groups / epsilon <= _MOST_PEOPLE

    for table, column in _first(asked, lambda column: tells(_years(column) or _MOST_PEOPLE)):
        year = f"date_trunc('year', {sql_identifier(column.name)}) AS year"
        sql = f"SELECT {year}, {counted[table.name]}\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"
        yield Example(f"{table.name}: people by year", sql)
        few = partial(_few_with, tells, _years(column) or 0)
        for _, kind in _first([table], few):
            by = f"{year}, {sql_identifier(kind.name)}"
            sql = f"SELECT {by}, {counted[table.name]}\nFROM {table.sql}\nGROUP BY 1, 2\nORDER BY 1, 2"
            yield Example(f"{table.name}: people by year and {kind.name}", sql)
    for table, kind in _first(asked, lambda kind: _is_kind(kind) and tells(len(kind.domain or ()))):
        by = sql_identifier(kind.name)
        sql = f"SELECT {by}, {counted[table.name]}\nFROM {table.sql}\nGROUP BY {by}"
        yield Example(f"{table.name}: people by {kind.name}", sql)
    if epsilon >= _AVERAGE_NEEDS:
        for table, column in _first(asked, _is_amount):
            sql = f"SELECT avg({sql_identifier(column.name)})\nFROM {table.sql}"
            yield Example(f"{table.name}: average {column.name}", sql)


def _first(
    tables: Sequence[CatalogTable], wanted: Callable[[CatalogColumn], bool]
) -> list[tuple[CatalogTable, CatalogColumn]]:
    """The first column that is wanted, with its table; or none."""
    return [(table, column) for table in tables for column in table.columns if wanted(column)][:1]


def _few_with(tells: Callable[[int], bool], years: int, kind: CatalogColumn) -> bool:
    return _is_kind(kind) and tells(years * len(kind.domain or ()))


def _is_amount(column: CatalogColumn) -> bool:
    """Is an average of it of use? Of a few whole numbers, such as years, it is not."""
    low, high = column.low, column.high
    few = column.type in _WHOLE and isinstance(low, float) and isinstance(high, float) and high - low < _FEW_YEARS
    return isinstance(low, float) and not few


def _is_kind(column: CatalogColumn) -> bool:
    return 1 < len(column.domain or ()) <= _FEW_VALUES


def _years(column: CatalogColumn) -> int | None:
    """How many years the declared range of a date has, if they are few."""
    if column.type not in _DATED or not isinstance(column.low, str) or not isinstance(column.high, str):
        return None
    years = date.fromisoformat(column.high).year - date.fromisoformat(column.low).year + 1
    return years if 1 < years <= _FEW_YEARS else None


def _owner(table: CatalogTable, tables: Sequence[CatalogTable]) -> JoinPath | None:
    """The one key by which a row belongs to somebody; None where there are more, or it leads to another table."""
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
